/*
 * Shapes of kprof bench: sizes by name, and what else an operator's work depends on.
 *
 *   4096x8192                          sizes, in the order of the operator's form
 *   32x32x8x4096x128,page=16,varied    and words: a paged cache, lengths that vary
 *   8x14336x4096,e4m3                  the type of weights or caches
 *   32x32x32x2048x128,causal           a row sees keys up to its own
 *
 * A comma does for an x too.
 */
#ifndef KP_PROFILER_BENCH_SHAPES_H
#define KP_PROFILER_BENCH_SHAPES_H

#include "kernels/kernels.h"

#define KP_BENCH_SIZES_MOST 5
#define KP_BENCH_SIZE_MOST (1U << 24)
#define KP_BENCH_SHAPES_MOST 48
#define KP_BENCH_SHAPE_TEXT 96 /* bytes that a shape takes as text at most */

/* Zero: not of this operator. */
struct kp_bench_shape {
	uint32_t rows, columns;                            /* of operators on rows */
	uint32_t tokens, outputs, inputs;                  /* of linear layers */
	uint32_t batch, q_heads, kv_heads, keys, head_dim; /* of attention */
	uint32_t page_tokens;                              /* 0: a contiguous cache */
	bool varied;                                       /* lengths between 1 and keys */
	bool causal;                                       /* a row sees keys up to its own */
	enum kp_dtype narrow; /* of weights or caches; KP_DTYPE_BF16: as all else */
};

/* What the shapes of an operator consist of. */
struct kp_bench_form {
	const char *words; /* for people, as in ROWSxCOLUMNS */
	struct kp_bench_size {
		const char *key;          /* as documents have it */
		size_t offset;            /* of the member of kp_bench_shape */
	} sizes[KP_BENCH_SIZES_MOST + 1]; /* ended by NULL */
	size_t unit;                      /* which of them counts independent units, and */
	const char *unit_word;            /* what one is called */
	uint32_t samples;                 /* units that the reference takes at most */
	bool is_paged, is_narrow;         /* takes page= and varied; e4m3 */
	bool takes_int8, is_causal;       /* int8; causal */
	bool reads; /* all but a little is read: reading is what it is compared with */
};

extern const struct kp_bench_form kp_bench_rows;

/* A size of a shape; which: < the number of sizes. */
uint32_t kp_bench_size_get(const struct kp_bench_form *form, const struct kp_bench_shape *shape,
			   size_t which);
void kp_bench_size_set(const struct kp_bench_form *form, struct kp_bench_shape *shape, size_t which,
		       uint32_t value);

/* How many independent units there are. */
uint32_t kp_bench_units(const struct kp_bench_form *form, const struct kp_bench_shape *shape);

/* Reads `length` bytes of text; false: that is no shape of this form. */
bool kp_bench_shape_parse(const struct kp_bench_form *form, const char *text, size_t length,
			  struct kp_bench_shape *out);
void kp_bench_shape_write(const struct kp_bench_form *form, const struct kp_bench_shape *shape,
			  char out[KP_BENCH_SHAPE_TEXT]);

/* Keys of a sequence, and of all together. */
uint32_t kp_bench_length(const struct kp_bench_shape *shape, uint32_t sequence);
uint64_t kp_bench_lengths(const struct kp_bench_shape *shape);

#endif
