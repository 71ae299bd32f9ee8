/*
 * Whole sequences among the launches of PyTorch's eager kernels: what a program does in several
 * launches and one kernel could do. docs/torch-launches.md.
 *
 * The launches are decoded ones (torch_launch.h) that follow each other on one stream, with nothing
 * between. A sequence is recognised only if its data flow is proved: every value that a member
 * reads was written, as a whole, by the member that the pattern names, with no write to any of its
 * bytes between; all else that it reads comes from before the sequence. Pure: no allocation, no
 * lock, at most KP_TORCH_SEQUENCE_MOST launches and a fixed number of patterns.
 */
#ifndef KP_ANALYZERS_TORCH_SEQUENCE_H
#define KP_ANALYZERS_TORCH_SEQUENCE_H

#include "analyzers/torch_launch.h"

#define KP_TORCH_SEQUENCE_MOST 10
#define KP_TORCH_SEQUENCE_INPUTS 3
#define KP_TORCH_SEQUENCE_OUTPUTS 2

/*
 * X(NAME, key, inputs, outputs, what it computes). Each operation rounds to the type that its
 * launch writes, as it does one by one; f32 within norms and, with a cast, softmax.
 */
#define KP_TORCH_SEQUENCES(X)                                                                      \
	X(NONE, "none", "", "", "")                                                                \
	X(RMS, "rms norm", "x,weight", "y", "x / sqrt(mean(x x) + eps), cast, times weight")       \
	X(RMS_RESIDUAL, "residual, rms norm", "a,weight,b", "y,sum", "the same of a + b")          \
	X(RMS_ONE, "rms norm, 1 + weight", "x,weight", "y", "with 1 + weight in f32, then cast")   \
	X(SILU_MUL, "silu mul", "gate,up", "y", "silu(gate) up")                                   \
	X(GELU_MUL, "gelu mul", "gate,up", "y", "gelu(gate) up, by erf")                           \
	X(GELU_TANH_MUL, "gelu tanh mul", "gate,up", "y", "gelu(gate) up, by tanh")                \
	X(SOFTMAX, "scale, softmax", "scores", "y", "softmax(scale scores)")                       \
	X(SOFTMAX_MASK, "scale, mask, softmax", "scores,mask", "y",                                \
	  "softmax(scale scores + mask)")                                                          \
	X(ROPE, "rope", "x,cos,sin", "y", "x cos + rotated x sin, tables of whole heads")          \
	X(ROPE_HALVES, "rope, halves", "x,cos,sin", "y", "the same, tables of half of a head")

enum kp_torch_sequence_kind {
#define KP_TORCH_SEQUENCE_ENUM(NAME, key, inputs, outputs, what) KP_TORCH_SEQUENCE_##NAME,
	KP_TORCH_SEQUENCES(KP_TORCH_SEQUENCE_ENUM)
#undef KP_TORCH_SEQUENCE_ENUM
		KP_TORCH_SEQUENCE_COUNT
};

struct kp_torch_sequence {
	uint8_t kind, launches;
	uint8_t seen; /* HOST: what it was told by was never seen on a GPU; not to be acted on */
	uint8_t type; /* of y */
	/* y is exactly the elements of an input; another output, or y otherwise, lies on an input.
	 */
	bool in_place, overwrites;
	bool reuses; /* an intermediate lies on an input, which the launches destroy */
	/* Norms, softmax: over `columns`. Gates: rows that may lie apart. ROPE: heads' lengths. */
	uint64_t columns, rows;
	double eps, scale; /* 0: not of this kind; scale 1: there is none */
	/*
	 * In the order of the kind. Norms, gates, softmax: [columns, rows], strides 0 where they
	 * are broadcast; a mask has dimensions of its own, elements in the order of scores. ROPE:
	 * [of a head, positions, heads, batch], all of the sizes of x but cos and sin of
	 * ROPE_HALVES, which have half heads.
	 */
	struct kp_torch_tensor inputs[KP_TORCH_SEQUENCE_INPUTS];
	struct kp_torch_tensor outputs[KP_TORCH_SEQUENCE_OUTPUTS];
	uint8_t input_count, output_count;
	/*
	 * What members write that is no output, in order; dead only if that is known from
	 * elsewhere. An output but y that a later member overwrites is among them, and not among
	 * the outputs.
	 */
	struct kp_torch_tensor intermediates[KP_TORCH_SEQUENCE_MOST];
	uint8_t intermediate_count;
};

enum kp_torch_match {
	KP_TORCH_MATCH_NO,   /* these launches are no sequence, and none that begins so */
	KP_TORCH_MATCH_MORE, /* they may begin one */
	KP_TORCH_MATCH_WHOLE /* all of them are one, in `out` */
};

/* `out` is set where they are a whole one; a longer one may begin with it. */
enum kp_torch_match kp_torch_sequence_match(const struct kp_torch_launch *launches, size_t count,
					    struct kp_torch_sequence *out);
/* The same of one kind alone, and its shortest; none are rotary embeddings. */
enum kp_torch_match kp_torch_sequence_is(uint8_t kind, const struct kp_torch_launch *launches,
					 size_t count, struct kp_torch_sequence *out);

/* Where an operation (enum kp_torch_op) may stand in sequences of a kind, as bits. */
enum { KP_TORCH_PLACE_NONE = 0, KP_TORCH_PLACE_FIRST = 1, KP_TORCH_PLACE_ANY = 2 };
uint8_t kp_torch_sequence_place(uint8_t kind, uint8_t op);
/* The kind whose sequences have these operations, whatever their operands; NONE: there is none. */
uint8_t kp_torch_sequence_of(const uint8_t *ops, size_t count);

/* torch_kinds.c: what is known of a kind. */
struct kp_torch_sequence_words {
	const char *key, *inputs, *outputs, *what; /* operands divided by commas */
	uint8_t seen;                              /* its mark in torch_sequences.def */
	bool patterned;                            /* kp_torch_sequence_is knows it */
};
extern const struct kp_torch_sequence_words kp_torch_sequence_kinds[KP_TORCH_SEQUENCE_COUNT];
/* By its key; NONE: there is no such kind. */
uint8_t kp_torch_sequence_find(const char *key);

#endif
