/*
 * Apache Parquet: one table of events, in row groups of ROWS rows, pages compressed by zstd.
 *
 * Written here rather than by Arrow, which is a hundred times the size of kprof. The events' own
 * columns are coded as differences, the templates' through dictionaries: within a row group each
 * template has a slot, each column maps slots to entries of its dictionary, so that a row costs one
 * look-up a column. Nothing of a row group outlives it but its description.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <zstd.h>

#include "analyzers/report_losses.h"
#include "profiler/export.h"
#include "profiler/parquet_encode.h"
#include "profiler/parquet_meta.h"
#include "trace/vector.h"

#define ROWS ((size_t)1 << 17)
#define COLUMNS (KP_EXPORT_FIXED_COUNT + KP_EXPORT_OWN_COUNT)
#define ZSTD_LEVEL 1

struct parquet {
	struct kp_export *job;
	size_t rows; /* in the row group */
	uint64_t all_rows;
	uint32_t *has;       /* by row, as in the event */
	uint32_t *slots;     /* by row */
	uint64_t *own;       /* by column and row */
	uint32_t *templates; /* by slot */
	size_t slot_count;
	uint32_t *slot_of; /* by template, plus 1; 0: it has none in this row group */
	size_t slot_of_capacity;
	uint32_t *scratch;                   /* by row: levels of definition, or entries */
	uint64_t *known;                     /* by row: values that are known */
	uint32_t *entries;                   /* by slot: of the dictionary; UINT32_MAX: not known */
	struct kp_intern dictionary;         /* the column's, of its cells */
	struct kp_buffer page, head, footer; /* under construction */
	struct kp_buffer groups;             /* descriptions of the row groups so far */
	size_t group_count;
	void *compressed;
	size_t compressed_capacity;
	ZSTD_CCtx *compressor;
	struct kp_parquet_chunk chunks[COLUMNS];
	bool failed;
};

/* ---- pages ---- */

/* Compresses and writes the page under construction. */
static void put_page(struct parquet *parquet, struct kp_parquet_chunk *chunk, bool dictionary,
		     size_t values, enum kp_parquet_encoding encoding)
{
	struct kp_buffer *page = &parquet->page, *head = &parquet->head;
	size_t bound = ZSTD_compressBound(page->length), size;

	if (bound > parquet->compressed_capacity) {
		free(parquet->compressed);
		parquet->compressed = malloc(bound);
		parquet->compressed_capacity = parquet->compressed ? bound : 0;
	}
	size = parquet->compressed ? ZSTD_compressCCtx(parquet->compressor, parquet->compressed,
						       bound, page->bytes, page->length, ZSTD_LEVEL)
				   : 0;
	if (page->failed || !parquet->compressed || ZSTD_isError(size) ||
	    page->length > INT32_MAX) {
		parquet->failed = true;
		return;
	}
	const struct kp_parquet_page about = {dictionary, (uint32_t)page->length, (uint32_t)size,
					      (uint32_t)values, encoding};
	kp_buffer_clear(head);
	kp_parquet_put_page(head, &about);
	parquet->failed |= head->failed;
	*(dictionary ? &chunk->dictionary_at : &chunk->data_at) = kp_out_at(&parquet->job->out);
	chunk->raw_bytes += head->length + page->length;
	chunk->compressed_bytes += head->length + size;
	kp_out_put(&parquet->job->out, head->bytes, head->length);
	kp_out_put(&parquet->job->out, parquet->compressed, size);
}

/* Begins a page of data with the levels of definition, which stand in scratch. */
static void begin_data(struct parquet *parquet)
{
	struct kp_buffer *page = &parquet->page;

	kp_buffer_clear(page);
	kp_buffer_put_u32(page, 0);
	kp_parquet_hybrid(page, parquet->scratch, parquet->rows, 1);
	if (!page->failed)
		kp_buffer_patch_u32(page, 0, (uint32_t)page->length - 4);
}

/* ---- columns ---- */

static void put_own(struct parquet *parquet, unsigned column, struct kp_parquet_chunk *chunk)
{
	const uint64_t *values = parquet->own + (size_t)column * ROWS;
	size_t known = 0;

	for (size_t i = 0; i < parquet->rows; i++) {
		parquet->scratch[i] = parquet->has[i] >> column & 1U;
		parquet->known[known] = values[i];
		known += parquet->scratch[i];
	}
	chunk->unknown = parquet->rows - known;
	begin_data(parquet);
	if (known > 0)
		kp_parquet_delta(&parquet->page, parquet->known, known);
	chunk->encoding = known > 0 ? KP_PARQUET_DELTA : KP_PARQUET_PLAIN;
	chunk->ranged = known > 0;
	for (size_t i = 0; i < known; i++) {
		int64_t value = (int64_t)parquet->known[i];

		if (value < 0)
			chunk->ranged = false; /* signed readers and unsigned ones would differ */
		if (i == 0 || value < chunk->least)
			chunk->least = value;
		if (i == 0 || value > chunk->most)
			chunk->most = value;
	}
	put_page(parquet, chunk, false, parquet->rows, chunk->encoding);
}

/* The dictionary of a template's column, as a page; an entry for each slot. */
static void put_dictionary(struct parquet *parquet, unsigned column, struct kp_parquet_chunk *chunk)
{
	struct kp_export_events *events = parquet->job->events;
	struct kp_buffer *page = &parquet->page;

	kp_buffer_clear(page);
	for (size_t slot = 0; slot < parquet->slot_count; slot++) {
		const struct kp_export_template *template =
			kp_export_events_template(events, parquet->templates[slot]);
		const uint64_t *cell = &template->cells[column];
		bool added;

		parquet->entries[slot] = UINT32_MAX;
		if (!(template->has >> column & 1U))
			continue;
		if (kp_intern_put(&parquet->dictionary, cell, sizeof *cell, &parquet->entries[slot],
				  &added) != KP_OK) {
			parquet->failed = true;
			return;
		}
		if (!added)
			continue;
		if (chunk->type == KP_PARQUET_TEXT) {
			const char *text = kp_export_events_text(events, *cell);

			kp_buffer_put_u32(page, (uint32_t)strlen(text));
			kp_buffer_put(page, text, strlen(text));
		} else {
			kp_buffer_put(page, cell, sizeof *cell);
		}
	}
	if (parquet->dictionary.count > 0)
		put_page(parquet, chunk, true, parquet->dictionary.count, KP_PARQUET_PLAIN);
}

static void put_fixed(struct parquet *parquet, unsigned column, struct kp_parquet_chunk *chunk)
{
	size_t known = 0, count;
	uint8_t width;

	parquet->dictionary = (struct kp_intern){0};
	put_dictionary(parquet, column, chunk);
	count = parquet->dictionary.count;
	kp_intern_fini(&parquet->dictionary);
	if (parquet->failed)
		return;
	for (size_t i = 0; i < parquet->rows; i++)
		parquet->scratch[i] = parquet->entries[parquet->slots[i]] != UINT32_MAX;
	begin_data(parquet);
	for (size_t i = 0; i < parquet->rows; i++) {
		uint32_t entry = parquet->entries[parquet->slots[i]];

		parquet->scratch[known] = entry;
		known += entry != UINT32_MAX;
	}
	chunk->unknown = parquet->rows - known;
	chunk->encoding = known > 0 ? KP_PARQUET_DICTIONARY : KP_PARQUET_PLAIN;
	if (known > 0) {
		width = (uint8_t)kp_parquet_width(count - 1);
		kp_buffer_put(&parquet->page, &width, 1);
		kp_parquet_hybrid(&parquet->page, parquet->scratch, known, width);
	}
	put_page(parquet, chunk, false, parquet->rows, chunk->encoding);
}

/* The columns of the file, in the order of export_events.h: head, body, tail. */
static void list_columns(struct kp_parquet_column out[COLUMNS])
{
	size_t count = 0;

	for (unsigned i = 0; i < KP_EXPORT_FIXED_COUNT; i++) {
		if (i == KP_EXPORT_HEAD_COUNT)
			count += KP_EXPORT_OWN_COUNT;
		out[count++] = (struct kp_parquet_column){
			kp_export_fixed_columns[i].name,
			kp_export_fixed_columns[i].text ? KP_PARQUET_TEXT : KP_PARQUET_INT64,
			false};
	}
	for (unsigned i = 0; i < KP_EXPORT_OWN_COUNT; i++)
		out[KP_EXPORT_HEAD_COUNT + i] = (struct kp_parquet_column){
			kp_export_own_columns[i].name, KP_PARQUET_INT64,
			i == KP_EXPORT_COLUMN_GRAPH_NODE || i == KP_EXPORT_COLUMN_BYTES ||
				i == KP_EXPORT_COLUMN_VALUE};
}

/* Writes the row group and forgets its rows. */
static enum kp_status put_group(struct parquet *parquet)
{
	struct kp_parquet_column columns[COLUMNS];

	if (parquet->rows == 0)
		return KP_OK;
	list_columns(columns);
	for (unsigned i = 0; i < COLUMNS && !parquet->failed; i++) {
		struct kp_parquet_chunk *chunk = &parquet->chunks[i];
		unsigned own = i - KP_EXPORT_HEAD_COUNT;

		*chunk = (struct kp_parquet_chunk){
			.name = columns[i].name, .type = columns[i].type, .values = parquet->rows};
		if (i >= KP_EXPORT_HEAD_COUNT && own < KP_EXPORT_OWN_COUNT)
			put_own(parquet, own, chunk);
		else
			put_fixed(parquet, i < KP_EXPORT_HEAD_COUNT ? i : i - KP_EXPORT_OWN_COUNT,
				  chunk);
	}
	if (parquet->failed)
		return KP_NO_MEMORY;
	kp_parquet_put_group(&parquet->groups, parquet->chunks, COLUMNS, parquet->rows);
	for (size_t i = 0; i < parquet->slot_count; i++)
		parquet->slot_of[parquet->templates[i]] = 0;
	parquet->group_count++;
	parquet->all_rows += parquet->rows;
	parquet->rows = parquet->slot_count = 0;
	return parquet->groups.failed ? KP_NO_MEMORY : KP_OK;
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct parquet *parquet = context;
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < count && status == KP_OK; i++) {
		const struct kp_export_event *event = &list[i];
		size_t row = parquet->rows++;

		if (event->template >= parquet->slot_of_capacity &&
		    !kp_vector_reserve((void **)&parquet->slot_of, (size_t)event->template + 1,
				       &parquet->slot_of_capacity, sizeof *parquet->slot_of))
			return KP_NO_MEMORY;
		if (!parquet->slot_of[event->template]) {
			parquet->templates[parquet->slot_count++] = event->template;
			parquet->slot_of[event->template] = (uint32_t)parquet->slot_count;
		}
		parquet->slots[row] = parquet->slot_of[event->template] - 1;
		parquet->has[row] = event->has;
		for (size_t k = 0; k < KP_EXPORT_OWN_COUNT; k++)
			parquet->own[k * ROWS + row] = event->own[k];
		if (parquet->rows == ROWS)
			status = put_group(parquet);
	}
	return status == KP_OK ? kp_export_status(parquet->job) : status;
}

static enum kp_status put_footer(struct parquet *parquet)
{
	struct kp_reader *reader = kp_export_events_reader(parquet->job->events);
	struct kp_parquet_column columns[COLUMNS];
	struct kp_buffer *footer = &parquet->footer;
	uint64_t dropped = 0;
	bool known = true;
	char text[24], lost[24];

	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_counts *counts = &kp_reader_process(reader, i)->counts;

		known = known && KP_HAS(counts, COUNTS, records_dropped);
		dropped += counts->records_dropped;
	}
	snprintf(text, sizeof text, "%" PRIu64, dropped);
	snprintf(lost, sizeof lost, "%" PRIu64, kp_losses_promised(reader));
	const struct kp_parquet_fact facts[] = {
		{"kprof.records_dropped", known ? text : "unknown"},
		{"kprof.lost_launches", lost},
	};
	list_columns(columns);
	kp_parquet_put_footer(footer, columns, COLUMNS, parquet->all_rows, &parquet->groups,
			      parquet->group_count, facts, sizeof facts / sizeof *facts);
	kp_buffer_put_u32(footer, (uint32_t)footer->length);
	kp_buffer_put(footer, "PAR1", 4);
	kp_out_put(&parquet->job->out, footer->bytes, footer->length);
	return footer->failed || footer->length > UINT32_MAX ? KP_NO_MEMORY : KP_OK;
}

static bool allocate(struct parquet *parquet)
{
	parquet->has = malloc(ROWS * sizeof *parquet->has);
	parquet->slots = malloc(ROWS * sizeof *parquet->slots);
	parquet->own = malloc(ROWS * KP_EXPORT_OWN_COUNT * sizeof *parquet->own);
	parquet->templates = malloc(ROWS * sizeof *parquet->templates);
	parquet->scratch = malloc(ROWS * sizeof *parquet->scratch);
	parquet->known = malloc((ROWS + 1) * sizeof *parquet->known);
	parquet->entries = malloc(ROWS * sizeof *parquet->entries);
	parquet->compressor = ZSTD_createCCtx();
	return parquet->has && parquet->slots && parquet->own && parquet->templates &&
	       parquet->scratch && parquet->known && parquet->entries && parquet->compressor;
}

static void release(struct parquet *parquet)
{
	free(parquet->has);
	free(parquet->slots);
	free(parquet->own);
	free(parquet->templates);
	free(parquet->slot_of);
	free(parquet->scratch);
	free(parquet->known);
	free(parquet->entries);
	free(parquet->compressed);
	ZSTD_freeCCtx(parquet->compressor);
	kp_buffer_fini(&parquet->page);
	kp_buffer_fini(&parquet->head);
	kp_buffer_fini(&parquet->footer);
	kp_buffer_fini(&parquet->groups);
	free(parquet);
}

enum kp_status kp_export_parquet(struct kp_export *job)
{
	struct parquet *parquet = calloc(1, sizeof *parquet);
	enum kp_status status;

	if (!parquet)
		return KP_NO_MEMORY;
	parquet->job = job;
	kp_out_put(&job->out, "PAR1", 4);
	status = allocate(parquet) ? kp_export_events_each(job->events, take, parquet)
				   : KP_NO_MEMORY;
	if (status == KP_OK)
		status = put_group(parquet);
	if (status == KP_OK)
		status = put_footer(parquet);
	release(parquet);
	return status;
}
