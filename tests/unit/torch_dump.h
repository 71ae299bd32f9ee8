/*
 * Recorded launches of PyTorch's kernels (tests/recorded/torch_launches), and decoded launches and
 * sequences as text.
 */
#ifndef KP_TESTS_TORCH_DUMP_H
#define KP_TESTS_TORCH_DUMP_H

#include <stdio.h>

#include "analyzers/torch_sequence.h"

#define TORCH_DUMP_PARAMS 16
#define TORCH_DUMP_BYTES 32768 /* of all of a kernel's parameters */
#define TORCH_DUMP_TEXT 4096

struct torch_record {
	char name[TORCH_DUMP_TEXT], expected[TORCH_DUMP_TEXT]; /* what IS says */
	uint32_t grid[3];
	size_t count, sizes[TORCH_DUMP_PARAMS];
	unsigned char *bytes[TORCH_DUMP_PARAMS]; /* each an allocation of its size, to be freed */
};

struct torch_case {
	char name[256];
	struct torch_record *records;
	size_t count;
	char sequences[8][TORCH_DUMP_TEXT]; /* what SEQ says */
	size_t sequence_count;
};

/* The next case; false at the end. Aborts where the file is not as it should be. */
bool torch_dump_next(FILE *file, struct torch_case *out);
void torch_dump_free(struct torch_case *unit);

/* As a file has it, without what is expected. */
void torch_dump_write(FILE *file, const struct torch_record *record);

/* Whether a record is one of a known kernel, decoded. */
bool torch_dump_decode(const struct torch_record *record, struct kp_torch_launch *out);

void torch_dump_describe(const struct kp_torch_launch *launch, char text[TORCH_DUMP_TEXT]);
void torch_dump_describe_sequence(const struct kp_torch_sequence *sequence,
				  char text[TORCH_DUMP_TEXT]);

#endif
