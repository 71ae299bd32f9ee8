/*
 * Which part of a long kernel name says most, for places that cannot hold all of it.
 *
 * Generic kernels carry what they do in a template argument: of
 *   elementwise_kernel<128, 4, BinaryFunctor<BFloat16, BFloat16, BFloat16, MulFunctor<float>>>
 * it is MulFunctor. Types, and wrappers that stand around every functor, say nothing.
 */
#ifndef KP_ANALYZERS_TELLING_H
#define KP_ANALYZERS_TELLING_H

#include <stddef.h>

/* A part of a name; length 0: there is none. */
struct kp_word {
	const char *bytes;
	size_t length;
};

/* The telling template argument of a short name (kp_name_shorten): a pointer into `shortened`. */
struct kp_word kp_name_telling(const char *shortened);

#endif
