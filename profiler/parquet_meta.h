/*
 * Parquet's descriptions of pages, columns and the file, in Thrift's compact protocol. Field
 * numbers are those of apache/parquet-format's parquet.thrift.
 */
#ifndef KP_PROFILER_PARQUET_META_H
#define KP_PROFILER_PARQUET_META_H

#include "trace/codec.h"

enum kp_parquet_type { KP_PARQUET_INT64 = 2, KP_PARQUET_TEXT = 6 };
enum kp_parquet_encoding {
	KP_PARQUET_PLAIN = 0,
	KP_PARQUET_RLE = 3,
	KP_PARQUET_DELTA = 5,
	KP_PARQUET_DICTIONARY = 8
};

struct kp_parquet_page {
	bool dictionary;                      /* else data, with levels of definition before it */
	uint32_t raw_bytes, compressed_bytes; /* of what follows the header */
	uint32_t values;                      /* those that are not known included */
	enum kp_parquet_encoding encoding;
};

/* A column of a row group. */
struct kp_parquet_chunk {
	const char *name;
	enum kp_parquet_type type;
	enum kp_parquet_encoding encoding;
	uint64_t values, unknown;
	uint64_t raw_bytes, compressed_bytes; /* headers of pages included */
	uint64_t dictionary_at, data_at;      /* in the file; dictionary_at 0: there is none */
	bool ranged;                          /* least and most are known */
	int64_t least, most;
};

struct kp_parquet_column {
	const char *name;
	enum kp_parquet_type type;
	bool is_unsigned;
};

struct kp_parquet_fact {
	const char *key, *value;
};

void kp_parquet_put_page(struct kp_buffer *out, const struct kp_parquet_page *page);
void kp_parquet_put_group(struct kp_buffer *out, const struct kp_parquet_chunk *chunks,
			  size_t count, uint64_t rows);
/* The footer: `groups` are the bytes of `group_count` row groups. */
void kp_parquet_put_footer(struct kp_buffer *out, const struct kp_parquet_column *columns,
			   size_t column_count, uint64_t rows, const struct kp_buffer *groups,
			   size_t group_count, const struct kp_parquet_fact *facts,
			   size_t fact_count);

#endif
