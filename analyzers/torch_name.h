/*
 * Mangled names of PyTorch's kernels, read piece by piece against patterns. A pattern is the
 * mangled text itself, in which
 *   %  is a number, which is taken down
 *   ^  is the number of a lambda, taken down: 0 for none, else one more than is written
 *   @  is a scalar type, which is taken down (torch_launch.h); a substitution S…_ stands for the
 *      last class among them, for no other scalar class has been named before it
 *   ~  is a substitution, S…_ or T…_
 *   $  is an anonymous namespace, whose name has a hash of its translation unit
 * A piece that does not match takes nothing. Time is bounded by the pattern's and name's lengths.
 */
#ifndef KP_ANALYZERS_TORCH_NAME_H
#define KP_ANALYZERS_TORCH_NAME_H

#include <stdbool.h>
#include <stdint.h>

#define KP_TORCH_NAME_TYPES 8
#define KP_TORCH_NAME_NUMBERS 6

struct kp_torch_name {
	const char *at; /* the rest */
	uint32_t numbers[KP_TORCH_NAME_NUMBERS];
	uint8_t types[KP_TORCH_NAME_TYPES]; /* enum kp_torch_type */
	uint8_t number_count, type_count;
};

/* Takes what `pattern` matches off the name. */
bool kp_torch_name_take(struct kp_torch_name *name, const char *pattern);

#endif
