/* The kinds of sequences by name, and how well each is known; see torch_sequence.h. */
#include "analyzers/torch_sequence.h"

#include <string.h>

/* One row of torch_sequences.def sets one member. */
enum {
#define MARK(kind, seen) SEEN_##kind = KP_TORCH_SEEN_##seen,
#define STEP(op, group, values, shapes, types, scalar)
#define PATTERN(kind, rows_of, inputs, outputs, steps)
#include "analyzers/torch_sequences.def"
#undef MARK
#undef STEP
#undef PATTERN
	SEEN_NONE = KP_TORCH_SEEN_HOST
};

const struct kp_torch_sequence_words kp_torch_sequence_kinds[KP_TORCH_SEQUENCE_COUNT] = {
#define WORDS(NAME, key, inputs, outputs, what)                                                    \
	{key,  inputs,      outputs,                                                               \
	 what, SEEN_##NAME, KP_TORCH_SEQUENCE_##NAME < KP_TORCH_SEQUENCE_ROPE},
	KP_TORCH_SEQUENCES(WORDS)
#undef WORDS
};

uint8_t kp_torch_sequence_find(const char *key)
{
	for (unsigned i = KP_TORCH_SEQUENCE_NONE + 1; i < KP_TORCH_SEQUENCE_COUNT; i++)
		if (strcmp(kp_torch_sequence_kinds[i].key, key) == 0)
			return (uint8_t)i;
	return KP_TORCH_SEQUENCE_NONE;
}
