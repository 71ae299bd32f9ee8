/*
 * libkprof_candidates.so: the built-in kernels and the comparison, for the A/B engine that lives in
 * a program (inject/ab.h). A library of its own, loaded only where rules are, so that
 * libkprof_inject.so carries no device code.
 *
 * It exports one table. Arguments come as the 64-bit values of trace/ab_code.h, one for each row of
 * trace/ab_builtins.def, by its number; those of other built-ins are not looked at.
 */
#ifndef KP_KERNELS_CANDIDATES_H
#define KP_KERNELS_CANDIDATES_H

#include "kernels/compare.h"
#include "kernels/piece.h"
#include "trace/ab_plan.h"

#define KP_CANDIDATES_VERSION 2U
#define KP_CANDIDATES_SYMBOL "kp_candidates"

/* Code that is loaded for the context that was current. */
struct kp_candidates_set {
	struct kp_kernels *kernels;
	struct kp_compare *compare;
};

struct kp_candidates {
	uint32_t version;
	uint32_t part_bytes; /* sizeof(struct kp_compare_part) */
	/* As kp_kernels_create. */
	enum kp_status (*create)(const struct kp_kernels_driver *driver,
				 struct kp_candidates_set *out, int *driver_error);
	/* Sets those of a built-in that a rule does not give. */
	void (*defaults)(uint32_t builtin, int64_t *values);
	/* False: *reason says why not; it lives as long as the library. */
	bool (*supports)(uint32_t builtin, const int64_t *values, const char **reason);
	/* Bytes of device memory that a launch needs beside its data. */
	size_t (*workspace)(const struct kp_candidates_set *set, uint32_t builtin,
			    const int64_t *values);
	enum kp_status (*launch)(const struct kp_candidates_set *set, uint32_t builtin,
				 const int64_t *values, void *workspace, size_t workspace_bytes,
				 void *stream);
	enum kp_status (*pass)(const struct kp_compare *compare, const struct kp_compare_args *args,
			       void *stream);
	enum kp_status (*copy)(const struct kp_compare *compare, const struct kp_copy_args *args,
			       void *stream);
	enum kp_status (*checksum)(const struct kp_compare *compare,
				   const struct kp_checksum_args *args, void *stream);
	enum kp_status (*guard)(const struct kp_compare *compare, const struct kp_guard_args *args,
				void *stream);
	/* As kp_piece_find and kp_piece_compare. */
	bool (*piece)(uint32_t builtin, const int64_t *values, uint64_t draw, struct kp_piece *out);
	enum kp_status (*compare_piece)(const struct kp_piece *piece, const void *const *inputs,
					const void *original, const void *candidate,
					struct kp_piece_errors *out);
};

/* The kp_dtype of a type as in trace/library_call.h; KP_DTYPE_COUNT: it has none here. */
static inline enum kp_dtype kp_candidates_dtype(int64_t code)
{
	return code == 15  ? KP_DTYPE_BF16
	       : code == 3 ? KP_DTYPE_FP16
	       : code == 1 ? KP_DTYPE_FP32
			   : KP_DTYPE_COUNT;
}

#endif
