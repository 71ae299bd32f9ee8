/* The workspace of topk_topp_sample, for its host and its device code. Not installed. */
#ifndef KP_KERNELS_SAMPLE_WORK_H
#define KP_KERNELS_SAMPLE_WORK_H

#include "kernels/topk_topp_sample.h"

/* Bits of a number's key (sample_state.cuh): those of fp16 as fp32 has it, without its last 13. */
#define KP_SAMPLE_KEY_BITS(dtype)                                                                  \
	((dtype) == KP_DTYPE_BF16 ? 16U : (dtype) == KP_DTYPE_FP16 ? 19U : 32U)

enum kp_sample_stage {
	KP_SAMPLE_TOP_K,       /* looks for the key of the k-th largest */
	KP_SAMPLE_TOP_P_BEGIN, /* for that of top-p: the total is not known yet */
	KP_SAMPLE_TOP_P,
	KP_SAMPLE_FOUND,   /* threshold holds */
	KP_SAMPLE_NOTHING, /* the row has no distribution */
};

/* Where the search for a row's threshold is. */
struct kp_sample_state {
	uint64_t target;     /* ones or weight still to come, from `high` downwards */
	float most;          /* the largest element */
	uint32_t stage;      /* enum kp_sample_stage */
	uint32_t high, span; /* keys high - span … high are in question */
	uint32_t threshold;  /* keys from here on are kept, as far as it is known */
	uint32_t arrived;    /* blocks of the row that are done with this launch */
};

/* Of a row: the histogram, the state, a part's sum of weights, a part's largest element. */
#define KP_SAMPLE_ROW_BYTES(splits)                                                                \
	(KP_SAMPLE_BUCKETS * sizeof(uint64_t) + sizeof(struct kp_sample_state) +                   \
	 (size_t)(splits)*2 * sizeof(uint64_t))

#endif
