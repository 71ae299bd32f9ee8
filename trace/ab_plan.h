/*
 * The plan of an A/B run: rules as the launcher compiled them, in one flat file that the program
 * maps read-only. Nothing in it is a pointer; places are numbers within its tables.
 *
 * A header, then the tables in the order of KP_AB_TABLES, each at a multiple of 8 bytes, then the
 * texts. kp_ab_plan_check looks at every number once, so that nobody needs to do so later; a plan
 * of another version is refused.
 */
#ifndef KP_TRACE_AB_PLAN_H
#define KP_TRACE_AB_PLAN_H

#include "trace/ab_code.h"
#include "trace/ab_plan_parts.h"
#include "trace/status.h"

#define KP_AB_PLAN_MAGIC 0x3142414b50524fULL
#define KP_AB_PLAN_VERSION 4U
#define KP_AB_PLAN_BYTES_MOST ((size_t)16 << 20)

struct kp_ab_table {
	uint32_t offset, count;
};

/* T(member, type): the tables. */
#define KP_AB_TABLES(T)                                                                            \
	T(rules, struct kp_ab_rule)                                                                \
	T(tensors, struct kp_ab_tensor)                                                            \
	T(arguments, struct kp_ab_argument)                                                        \
	T(members, struct kp_ab_member)                                                            \
	T(accesses, struct kp_ab_access)                                                           \
	T(sizes, uint32_t)                                                                         \
	T(ops, struct kp_ab_op)                                                                    \
	T(texts, char)

struct kp_ab_header {
	uint64_t magic;
	uint32_t version, reserved;
	uint64_t checksum;   /* xxh3 of what follows it */
	uint64_t bytes;      /* of all */
	uint32_t mode;       /* enum kp_ab_mode */
	uint32_t again;      /* a candidate that passed is shadowed at each so-many-th launch */
	uint32_t phase;      /* launches, or ranges, of a phase; 0: no phases */
	uint32_t candidates; /* text: the path of libkprof_candidates.so */
	uint32_t results;    /* text: the file that results are appended to */
	uint32_t seed;       /* of the random order of samples */
	uint32_t trials;     /* 1: what is the user's is tried first; ab_trials.h */
	uint32_t unit;       /* text: the range by which phases count; KP_AB_NONE: by launches */
#define KP_AB_TABLE_MEMBER(member, type) struct kp_ab_table member;
	KP_AB_TABLES(KP_AB_TABLE_MEMBER)
#undef KP_AB_TABLE_MEMBER
};

/* A checked plan. */
struct kp_ab_plan {
	const struct kp_ab_header *header;
#define KP_AB_PLAN_MEMBER(member, type) const type *member;
	KP_AB_TABLES(KP_AB_PLAN_MEMBER)
#undef KP_AB_PLAN_MEMBER
};

/* The checksum of a plan that is not shorter than its header. */
uint64_t kp_ab_plan_sum(const void *bytes, size_t length);
/* Looks at all of a plan. Errors: KP_UNSUPPORTED (another version), KP_INVALID. */
enum kp_status kp_ab_plan_check(const void *bytes, size_t length, struct kp_ab_plan *out);

#endif
