/* A/B rules that were read: choosing among them, naming them, writing them as a plan. */
#include <stdlib.h>
#include <string.h>

#include "analyzers/ab_rules_parts.h"

extern const unsigned char kp_ab_rules_yaml[];
extern const size_t kp_ab_rules_yaml_length;

size_t kp_ab_rules_count(const struct kp_ab_rules *rules)
{
	return rules->rules_count;
}

struct kp_ab_rule_words kp_ab_rules_words(const struct kp_ab_rules *rules, size_t i)
{
	const struct kp_ab_rule *rule = &rules->rules[i];

	return (struct kp_ab_rule_words){
		.name = rules->texts + rule->name,
		.recognised = rule->match == KP_AB_MATCH_RECOGNISED,
		.off = kp_ab_rules_is_off(rules, i),
		.matches = rule->match != KP_AB_MATCH_GEMM ? rules->texts + rule->pattern
			   : rule->pattern == KP_AB_NONE   ? "cuBLAS and cuBLASLt products"
							   : rules->texts + rule->pattern,
		.by = rule->replace == KP_AB_REPLACE_BUILTIN ? kp_ab_rules_builtins[rule->builtin]
							     : rules->texts + rule->symbol,
		.about = rules->abouts[i],
		.module = rule->module,
		.builtin = rule->replace == KP_AB_REPLACE_BUILTIN,
	};
}

const char *kp_ab_rules_data(const struct kp_ab_rules *rules, size_t rule, size_t data)
{
	const struct kp_ab_rule *of = &rules->rules[rule];

	return data < of->tensor_count ? rules->texts + rules->tensors[of->first_tensor + data].name
				       : "";
}

static bool is_wanted(const char *name, const char *const *names, size_t count)
{
	size_t i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i < count;
}

bool kp_ab_rules_keep(struct kp_ab_rules *rules, const char *const *names, size_t count,
		      const char **missing)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < rules->rules_count &&
		       strcmp(rules->texts + rules->rules[at].name, names[i]) != 0)
			at++;
		*missing = names[i];
		if (at == rules->rules_count)
			return false;
	}
	for (size_t i = 0; i < rules->rules_count; i++) {
		if (!is_wanted(rules->texts + rules->rules[i].name, names, count))
			continue;
		rules->abouts[kept] = rules->abouts[i];
		rules->rules[kept++] = rules->rules[i];
	}
	rules->rules_count = kept;
	kp_ab_rules_allow_unseen(rules);
	return true;
}

static size_t rounded(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Where the tables of a plan lie; returns its length. */
static size_t lay_out(const struct kp_ab_rules *rules, size_t more_texts,
		      struct kp_ab_header *header)
{
	size_t at = rounded(sizeof(*header));

#define PLACE(member, type)                                                                        \
	header->member = (struct kp_ab_table){(uint32_t)at, (uint32_t)rules->member##_count};      \
	at += rounded(rules->member##_count * sizeof(type));
	KP_AB_TABLES(PLACE)
#undef PLACE
	header->texts.count += (uint32_t)more_texts;
	return header->texts.offset + rounded(header->texts.count);
}

/* All rules are compared with the program's inputs alone. */
static void leave_inputs(struct kp_ab_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rules[i].as_given = 1;
}

enum kp_status kp_ab_rules_plan(const struct kp_ab_rules *rules,
				const struct kp_ab_plan_settings *settings, void **out,
				size_t *length)
{
	size_t candidates = strlen(settings->candidates) + 1;
	size_t results = strlen(settings->results) + 1;
	size_t unit = settings->unit ? strlen(settings->unit) + 1 : 0;
	struct kp_ab_header header = {.magic = KP_AB_PLAN_MAGIC,
				      .version = KP_AB_PLAN_VERSION,
				      .mode = settings->mode,
				      .again = settings->again,
				      .phase = settings->phase,
				      .seed = settings->seed,
				      .trials = settings->trials};
	size_t bytes = lay_out(rules, candidates + results + unit, &header);
	char *plan = bytes <= KP_AB_PLAN_BYTES_MOST ? calloc(1, bytes) : NULL;

	*out = plan;
	*length = bytes;
	if (!plan)
		return bytes <= KP_AB_PLAN_BYTES_MOST ? KP_NO_MEMORY : KP_INVALID;
#define COPY(member, type)                                                                         \
	if (rules->member##_count)                                                                 \
		memcpy(plan + header.member.offset, rules->member,                                 \
		       rules->member##_count * sizeof(type));
	KP_AB_TABLES(COPY)
#undef COPY
	if (!settings->other_inputs)
		leave_inputs((void *)(plan + header.rules.offset), rules->rules_count);
	header.candidates = (uint32_t)rules->texts_count;
	header.results = header.candidates + (uint32_t)candidates;
	memcpy(plan + header.texts.offset + header.candidates, settings->candidates, candidates);
	header.unit = unit ? header.results + (uint32_t)results : KP_AB_NONE;
	memcpy(plan + header.texts.offset + header.results, settings->results, results);
	if (unit)
		memcpy(plan + header.texts.offset + header.unit, settings->unit, unit);
	header.bytes = bytes;
	memcpy(plan, &header, sizeof(header));
	((struct kp_ab_header *)(void *)plan)->checksum = kp_ab_plan_sum(plan, bytes);
	return KP_OK;
}

enum kp_status kp_ab_rules_add_builtin(struct kp_ab_rules *rules)
{
	struct kp_rules_error error;

	return kp_ab_rules_add(rules, (const char *)kp_ab_rules_yaml, kp_ab_rules_yaml_length, "",
			       &error);
}
