/* The launcher's side of trace/ab_counts.h. */
#ifndef KP_PROFILER_AB_COUNTS_H
#define KP_PROFILER_AB_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A new file of zeros behind its first eight bytes, which processes map and share; says what is
 * wrong and returns false.
 */
bool kp_ab_shared_make(const char *path, uint64_t magic, size_t bytes);

/* The one of counts, beside the plan; says what is wrong and returns false. */
bool kp_ab_counts_make(const char *plan);
/*
 * Adds what processes have counted for the first `rules` to `results`, as lines of theirs.
 * *processes is how many have counted here. False: said.
 */
bool kp_ab_counts_collect(const char *plan, uint32_t rules, const char *results,
			  uint64_t *processes);
void kp_ab_counts_remove(const char *plan);

#endif
