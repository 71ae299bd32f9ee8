/*
 * Rules about chains of kernels that one kernel could do; fusions.yaml says what they mean. Private
 * to operators_load.c and fusion*.c.
 *
 * A rule is a row of elements; each stands for one launch, or as its bits say for none or several.
 * Where elements and launches can be paired in more than one way, the longest chain counts.
 */
#ifndef KP_ANALYZERS_FUSION_RULES_H
#define KP_ANALYZERS_FUSION_RULES_H

#include "analyzers/fusion.h"
#include "analyzers/operators_rules.h"
#include "analyzers/rules_yaml.h"

#define KP_FUSION_RULES_MAX 64
#define KP_FUSION_ELEMENTS_MAX 31

struct kp_fusion_rule {
	const char *name, *about;
	const char *builtin; /* NULL: none of kprof's kernels does it */
	enum kp_fusion_confidence confidence;
	bool absorbed;  /* nothing of it need remain */
	bool same_grid; /* its launches have one grid and block */
	struct kp_pattern_list elements[KP_FUSION_ELEMENTS_MAX]; /* words: steps and operators */
	size_t element_count;
	uint32_t optional, repeated; /* bit of each element: it may be absent, be there again */
	uint32_t stays;              /* launches of it are not of the chain: they stay */
	/* Whether the chain is an operator written out, and the variants that its launches then
	 * are: one, or where they differ of each element; those that stay have none. */
	bool written_out;
	size_t variants[KP_FUSION_ELEMENTS_MAX];
};

/* Reads a list of rules and puts it before those that are there. Errors: KP_INVALID (the yaml's
 * error is filled), KP_NO_MEMORY. */
enum kp_status kp_fusion_rules_read(struct kp_rules_yaml *yaml, const yaml_node_t *list,
				    struct kp_operators *out);

/* The variant that a chain's member is, the first being 0; of a rule that is written out. */
size_t kp_fusion_rule_variant(const struct kp_fusion_rule *rule, size_t member);

/*
 * How the last attempt of a rule went along a strip that found nothing from its beginning to `end`:
 * another one that comes to the same place in the same state goes on as that did.
 */
struct kp_fusion_memo {
	uint32_t next[64]; /* the elements that could come at each place */
	size_t end;        /* 0: there was no such attempt */
	bool open;
};

/* Launches of a stream, one behind the other. */
struct kp_fusion_strip {
	const uint16_t *words;
	size_t count;  /* 64 at most */
	uint64_t used; /* bits of those that are part of a chain already: for others they only stay
			*/
	struct kp_fusion_memo *memo; /* of the strip that this is the end of; NULL: none */
	size_t at;                   /* where this one begins in it */
};

/* Bits of the elements that may come behind a launch that is any of those in `fits`; behind none:
 * first. The bit behind the last element: the chain may end there. */
uint32_t kp_fusion_rule_next(const struct kp_fusion_rule *rule, uint32_t fits);

/*
 * The longest chain of a rule that begins with the first launch; elements[word] has
 * the bits of the elements that it can be. Returns how many launches it takes, 0: none; bits of
 * *members are those that are part of it, and *open says whether launches behind the last could
 * make it longer.
 */
size_t kp_fusion_rule_match(const struct kp_fusion_rule *rule, const uint32_t *elements,
			    const struct kp_fusion_strip *strip, uint64_t *members, bool *open);

#endif
