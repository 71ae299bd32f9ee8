/*
 * Times on a process's clock that NVTX ranges cover: those that are iterations, and prefill and
 * decode.
 *
 * The ranges of one name are collected first, then sorted; a GPU's timeline then walks along them.
 * What counts as prefill or decode is a range whose name is that word, whatever its case, with
 * numbers and words such as «step» beside it: «decode step 7», but not «decode attention», which
 * is a part of it. Not thread-safe.
 */
#ifndef KP_ANALYZERS_PHASES_H
#define KP_ANALYZERS_PHASES_H

#include "trace/records.h"
#include "trace/status.h"

/* X(NAME, word) */
#define KP_PHASES(X)                                                                               \
	X(PREFILL, "prefill")                                                                      \
	X(DECODE, "decode")

enum kp_phase {
#define KP_PHASE_ENUM(name, word) KP_PHASE_##name,
	KP_PHASES(KP_PHASE_ENUM)
#undef KP_PHASE_ENUM
		KP_PHASE_COUNT
};
extern const char *const kp_phase_names[KP_PHASE_COUNT];

/* The phase that a range's name stands for; KP_PHASE_COUNT: none, or both. */
enum kp_phase kp_phase_of(struct kp_text name);

/* More ranges of a name than that are left out. */
#define KP_STRETCHES_MAX ((size_t)1 << 20)

struct kp_stretch {
	uint64_t begin_ns, end_ns;
};

struct kp_stretches {
	struct kp_stretch *items;
	size_t count, capacity;
	uint64_t left_out; /* that overlap with others, or are too many */
};

/* Adds a range; one with impossible times is left out. Errors: KP_NO_MEMORY. */
enum kp_status kp_stretches_add(struct kp_stretches *stretches, uint64_t begin_ns, uint64_t end_ns);
/* Sorts them, and joins those that overlap or touch. */
void kp_stretches_join(struct kp_stretches *stretches);
/* Sorts them, and leaves out those that begin before the one before has ended. */
void kp_stretches_part(struct kp_stretches *stretches);
void kp_stretches_fini(struct kp_stretches *stretches);

#endif
