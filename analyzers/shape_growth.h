/*
 * Whether a dimension grows with position: many values, each first seen after smaller ones.
 *
 * Of each value of a group only its first appearance counts. The values in that order are a
 * permutation; in a random permutation of N the expected number of rising subsequences of length L
 * is C(N, L) / L! (there are C(N, L) subsequences, and 1 in L! of them rises), which bounds the
 * chance that there is one. Values grow if the longest that they have makes that less than
 * KP_GROWTH_CHANCE, and if at least half of the steps between neighbouring values are of one, or of
 * a quarter at most: lengths grow by little, layers of a network double. So fewer than 7 values
 * never grow. Pure.
 */
#ifndef KP_ANALYZERS_SHAPE_GROWTH_H
#define KP_ANALYZERS_SHAPE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KP_GROWTH_CHANCE 0.001

struct kp_growth_value {
	uint64_t group; /* values of one process that may follow each other */
	uint64_t value;
	uint64_t first; /* order of its first appearance in the process */
};

/*
 * Whether the values of some group grow. A value may be there several times. Reorders the values;
 * needs room for `count` numbers in `scratch`. Time: count · log(count).
 */
bool kp_growth_found(struct kp_growth_value *values, size_t count, uint64_t *scratch);

#endif
