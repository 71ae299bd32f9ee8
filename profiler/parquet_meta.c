/* Parquet's descriptions of pages, columns and the file; see parquet_meta.h. */
#include "profiler/parquet_meta.h"

/* Thrift's compact types. */
enum { I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };
enum { CODEC_ZSTD = 6, OPTIONAL = 1, AS_UTF8 = 0, AS_UINT64 = 14 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

/* Fields are numbered by their difference from the one before: `last` is that one. */
static void put_field(struct kp_buffer *out, unsigned *last, unsigned field, unsigned type)
{
	uint8_t byte = (uint8_t)((field - *last) << 4 | type);

	kp_buffer_put(out, &byte, 1);
	*last = field;
}

static void put_number(struct kp_buffer *out, unsigned *last, unsigned field, unsigned type,
		       uint64_t value)
{
	put_field(out, last, field, type);
	kp_buffer_put_varint(out, kp_zigzag(value));
}

static void put_bytes(struct kp_buffer *out, const void *bytes, size_t length)
{
	kp_buffer_put_varint(out, length);
	kp_buffer_put(out, bytes, length);
}

static void put_binary(struct kp_buffer *out, unsigned *last, unsigned field, const void *bytes,
		       size_t length)
{
	put_field(out, last, field, BINARY);
	put_bytes(out, bytes, length);
}

static void put_list(struct kp_buffer *out, unsigned *last, unsigned field, unsigned type,
		     size_t count)
{
	uint8_t byte = (uint8_t)((count < 15 ? count : 15) << 4 | type);

	put_field(out, last, field, LIST);
	kp_buffer_put(out, &byte, 1);
	if (count >= 15)
		kp_buffer_put_varint(out, count);
}

static void put_stop(struct kp_buffer *out)
{
	kp_buffer_put(out, "", 1);
}

void kp_parquet_put_page(struct kp_buffer *out, const struct kp_parquet_page *page)
{
	unsigned last = 0, inner = 0;

	put_number(out, &last, 1, I32, page->dictionary ? PAGE_DICTIONARY : PAGE_DATA);
	put_number(out, &last, 2, I32, page->raw_bytes);
	put_number(out, &last, 3, I32, page->compressed_bytes);
	put_field(out, &last, page->dictionary ? 7 : 5, STRUCT);
	put_number(out, &inner, 1, I32, page->values);
	put_number(out, &inner, 2, I32, page->encoding);
	if (!page->dictionary) { /* levels of definition and of repetition */
		put_number(out, &inner, 3, I32, KP_PARQUET_RLE);
		put_number(out, &inner, 4, I32, KP_PARQUET_RLE);
	}
	put_stop(out);
	put_stop(out);
}

static void put_statistics(struct kp_buffer *out, const struct kp_parquet_chunk *chunk)
{
	unsigned last = 0;

	put_number(out, &last, 3, I64, chunk->unknown);
	if (chunk->ranged) {
		put_binary(out, &last, 5, &chunk->most, sizeof chunk->most);
		put_binary(out, &last, 6, &chunk->least, sizeof chunk->least);
	}
	put_stop(out);
}

static void put_chunk(struct kp_buffer *out, const struct kp_parquet_chunk *chunk)
{
	unsigned last = 0, inner = 0;

	put_number(out, &last, 2, I64,
		   chunk->dictionary_at ? chunk->dictionary_at : chunk->data_at);
	put_field(out, &last, 3, STRUCT);
	put_number(out, &inner, 1, I32, chunk->type);
	put_list(out, &inner, 2, I32, chunk->dictionary_at ? 3 : 2);
	kp_buffer_put_varint(out, kp_zigzag(KP_PARQUET_RLE));
	kp_buffer_put_varint(out, kp_zigzag(chunk->encoding));
	if (chunk->dictionary_at)
		kp_buffer_put_varint(out, kp_zigzag(KP_PARQUET_PLAIN));
	put_list(out, &inner, 3, BINARY, 1);
	put_bytes(out, chunk->name, strlen(chunk->name));
	put_number(out, &inner, 4, I32, CODEC_ZSTD);
	put_number(out, &inner, 5, I64, chunk->values);
	put_number(out, &inner, 6, I64, chunk->raw_bytes);
	put_number(out, &inner, 7, I64, chunk->compressed_bytes);
	put_number(out, &inner, 9, I64, chunk->data_at);
	if (chunk->dictionary_at)
		put_number(out, &inner, 11, I64, chunk->dictionary_at);
	put_field(out, &inner, 12, STRUCT);
	put_statistics(out, chunk);
	put_stop(out);
	put_stop(out);
}

void kp_parquet_put_group(struct kp_buffer *out, const struct kp_parquet_chunk *chunks,
			  size_t count, uint64_t rows)
{
	unsigned last = 0;
	uint64_t bytes = 0;

	put_list(out, &last, 1, STRUCT, count);
	for (size_t i = 0; i < count; i++) {
		put_chunk(out, &chunks[i]);
		bytes += chunks[i].raw_bytes;
	}
	put_number(out, &last, 2, I64, bytes);
	put_number(out, &last, 3, I64, rows);
	put_stop(out);
}

static void put_schema(struct kp_buffer *out, const struct kp_parquet_column *columns, size_t count)
{
	unsigned last = 0;

	put_binary(out, &last, 4, "events", 6);
	put_number(out, &last, 5, I32, count);
	put_stop(out);
	for (size_t i = 0; i < count; i++) {
		last = 0;
		put_number(out, &last, 1, I32, columns[i].type);
		put_number(out, &last, 3, I32, OPTIONAL);
		put_binary(out, &last, 4, columns[i].name, strlen(columns[i].name));
		if (columns[i].type == KP_PARQUET_TEXT)
			put_number(out, &last, 6, I32, AS_UTF8);
		else if (columns[i].is_unsigned)
			put_number(out, &last, 6, I32, AS_UINT64);
		put_stop(out);
	}
}

void kp_parquet_put_footer(struct kp_buffer *out, const struct kp_parquet_column *columns,
			   size_t column_count, uint64_t rows, const struct kp_buffer *groups,
			   size_t group_count, const struct kp_parquet_fact *facts,
			   size_t fact_count)
{
	static const char writer[] = "kprof version " KPROF_VERSION;
	unsigned last = 0;

	put_number(out, &last, 1, I32, 1);
	put_list(out, &last, 2, STRUCT, column_count + 1);
	put_schema(out, columns, column_count);
	put_number(out, &last, 3, I64, rows);
	put_list(out, &last, 4, STRUCT, group_count);
	kp_buffer_put(out, groups->bytes, groups->length);
	put_list(out, &last, 5, STRUCT, fact_count);
	for (size_t i = 0; i < fact_count; i++) {
		unsigned inner = 0;

		put_binary(out, &inner, 1, facts[i].key, strlen(facts[i].key));
		put_binary(out, &inner, 2, facts[i].value, strlen(facts[i].value));
		put_stop(out);
	}
	put_binary(out, &last, 6, writer, sizeof writer - 1);
	/* Least and most of each column are in the order of its type: without this they do not
	 * count. */
	put_list(out, &last, 7, STRUCT, column_count);
	for (size_t i = 0; i < column_count; i++) {
		unsigned inner = 0;

		put_field(out, &inner, 1, STRUCT);
		put_stop(out);
		put_stop(out);
	}
	put_stop(out);
}
