/* Traces as sequences of chunks, for those who damage them on purpose. */
#ifndef KP_FUZZ_CHUNKS_H
#define KP_FUZZ_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_MAX_CHUNKS 256

/* Where one chunk lies in the bytes; its header need not be sound. */
struct fuzz_chunk {
	size_t offset, length; /* header included */
};

/* Finds at most FUZZ_MAX_CHUNKS chunks by their magic and their lengths; returns how many. */
size_t fuzz_find_chunks(const uint8_t *bytes, size_t size, struct fuzz_chunk *out);
/* Makes the checksums of all chunks fit what they cover, whatever that is. */
void fuzz_mend_chunks(uint8_t *bytes, size_t size);

#endif
