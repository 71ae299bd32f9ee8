/*
 * The container of a trace file: a sequence of self-describing chunks, each a 64-byte header and a
 * payload. docs/trace-format.md describes every byte. All integers are little-endian.
 */
#ifndef KP_TRACE_CHUNK_H
#define KP_TRACE_CHUNK_H

#include <stdbool.h>

#include "trace/codec.h"
#include "trace/status.h"

#define KP_CHUNK_MAGIC "KPRF"
#define KP_CHUNK_HEADER_BYTES 64
#define KP_CHUNK_MAJOR 1 /* a reader refuses other majors, */
#define KP_CHUNK_MINOR 0 /* and accepts any minor */
#define KP_CHUNK_ZSTD 1  /* flag: the payload is one zstd frame */
/* Limits that a reader enforces before it allocates. */
#define KP_CHUNK_MAX_BYTES (16U << 20)
#define KP_CHUNK_MAX_RECORDS (1U << 16)
/* The sequence of a chunk that stands outside its process's numbering. */
#define KP_CHUNK_UNNUMBERED UINT32_MAX

/* X(NAME, number, holds): what a chunk may be. Numbers are the identity on disk. */
#define KP_CHUNK_KINDS(X)                                                                          \
	X(PROCESS, 1, "fields of one process")                                                     \
	X(DEVICE, 2, "fields of one device")                                                       \
	X(CLOCK, 3, "fields of one pair of clock readings")                                        \
	X(COUNTS, 4, "fields of one set of counts; later ones replace")                            \
	X(NOTE, 5, "fields of one message")                                                        \
	X(END, 6, "fields of the end of a process")                                                \
	X(STRINGS, 7, "interned strings, numbered on")                                             \
	X(CONFIGS, 8, "interned launch configurations, numbered on")                               \
	X(LAUNCHES, 9, "columns of kernel launches")                                               \
	X(MEMOPS, 10, "columns of memory copies and sets")                                         \
	X(RANGES, 11, "columns of NVTX ranges")                                                    \
	X(WINDOW, 16, "fields of one window in which records were on")                             \
	X(COUNTERS, 20, "fields of one session of hardware counters, or why there is none")        \
	X(SAMPLES, 21, "columns of samples of hardware counters")                                  \
	X(CLOCKS, 22, "columns of clocks, power and temperature")                                  \
	X(HOST, 24, "columns of the program's calls that launched kernels")                        \
	X(LIBRARY_CALLS, 25, "interned calls of libraries, numbered on")                           \
	X(LIBRARY_NODES, 26, "nodes of graphs that were captured in such calls, numbered on")      \
	X(LIBRARY_LAUNCHES, 27, "columns of launches in such calls, and of launches of graphs")    \
	X(RUNS, 28, "columns of launches in a row of one thread")

enum kp_chunk_kind {
#define KP_CHUNK_ROW(name, number, holds) KP_CHUNK_##name = (number),
	KP_CHUNK_KINDS(KP_CHUNK_ROW)
#undef KP_CHUNK_ROW
};

/* A header as it stands on disk (fields in host order once it has been parsed). */
struct kp_chunk_header {
	uint8_t magic[4];
	uint8_t kind; /* enum kp_chunk_kind */
	uint8_t major, minor;
	uint8_t flags;
	uint32_t stored_bytes; /* of the payload, as it stands in the file */
	uint32_t raw_bytes;    /* of the payload, once decompressed */
	uint32_t record_count;
	uint32_t sequence;     /* number of this chunk among those of its process, from 0 */
	uint64_t process;      /* random identity */
	uint64_t first_ns;     /* smallest valid start in it; 0: none */
	uint64_t last_ns;      /* largest valid end in it; 0: none */
	uint64_t payload_hash; /* XXH3-64 of the stored payload */
	uint64_t header_hash;  /* XXH3-64 of the 56 bytes before */
};

_Static_assert(sizeof(struct kp_chunk_header) == KP_CHUNK_HEADER_BYTES, "header is 64 bytes");

/* Whether these 64 bytes are a header whose checksum fits and whose lengths are allowed. */
bool kp_chunk_parse(const uint8_t bytes[KP_CHUNK_HEADER_BYTES], struct kp_chunk_header *out);

/*
 * Seals a payload: compresses it where that helps (`compressor` is a ZSTD_CCtx, NULL: never), fills
 * in lengths and checksums, and leaves header and stored payload in `out`. The caller has set kind,
 * record_count, sequence, process, first_ns and last_ns. Errors: KP_NO_MEMORY, KP_INVALID (too
 * big).
 */
enum kp_status kp_chunk_seal(struct kp_chunk_header *header, const struct kp_buffer *payload,
			     void *compressor, struct kp_buffer *out);

/*
 * Opens a stored payload of header->stored_bytes: checks it and decompresses into `raw` if need be.
 * *out is the payload, borrowed from `stored` or `raw`. Errors: KP_CORRUPT, KP_NO_MEMORY.
 */
enum kp_status kp_chunk_open(const struct kp_chunk_header *header, const uint8_t *stored,
			     void *decompressor, struct kp_buffer *raw, struct kp_cursor *out);

#endif
