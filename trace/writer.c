/*
 * The writer: buffers records, interns names, appends chunks; see writer.h.
 *
 * A chunk goes out in one write call on an O_APPEND descriptor. Before launches go out, so do the
 * strings and configurations that they refer to; if those cannot be written, the launches count as
 * lost, because nobody could read them.
 */
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "trace/chunk.h"
#include "trace/columns.h"
#include "trace/fieldset.h"
#include "trace/lanes.h"
#include "trace/rows.h"

#define LAUNCHES_PER_CHUNK 16384
#define MEMOPS_PER_CHUNK 4096
#define RANGES_PER_CHUNK 4096
#define CLOCKS_PER_CHUNK 64
#define SAMPLES_PER_CHUNK 16384
#define HOST_PER_CHUNK 16384
#define RUNS_PER_CHUNK 4096
#define LIBRARY_PER_CHUNK 16384
#define TABLE_BYTES_PER_CHUNK (1U << 20)
#define ZSTD_LEVEL 3

/* One interned table on its way to the file: entries below `written` are there. */
struct table {
	struct kp_intern entries;
	size_t written;
	enum kp_chunk_kind kind;
};

/*
 * The configurations that were asked for last, by a hash of what differs most between them. A loop
 * launches the same few hundred over and over, and interning one was a third of all that a record
 * costs. Far more places than configurations, so that two rarely share one; those that
 * are never used cost address space only.
 */
#define RECENT_CONFIGS 4096
struct recent_config {
	struct kp_launch_config config;
	uint32_t number;
	bool used;
};

struct kp_writer {
	int fd;
	int (*fd_of)(void *context); /* NULL: fd is as it was */
	void *fd_context;
	uint64_t process;
	uint32_t sequence; /* of the next chunk; KP_CHUNK_UNNUMBERED before the process record */
	struct table strings, configs, library_calls, library_nodes;
	struct recent_config recent[RECENT_CONFIGS];
	struct kp_lanes lanes;
	struct kp_launch *launches;
	struct kp_memop *memops;
	struct kp_range *ranges;
	struct kp_clocks clocks[CLOCKS_PER_CHUNK];
	struct kp_host_call *host;         /* NULL until there is one */
	struct kp_launch_run *runs;        /* the same */
	struct kp_library_launch *library; /* the same */
	size_t launch_count, memop_count, range_count, clocks_count, host_count, run_count;
	size_t library_count;
	struct kp_buffer payload, sealed;
	ZSTD_CCtx *compressor;
	struct kp_writer_loss loss;
};

enum kp_status kp_writer_create(int fd, uint64_t process, struct kp_writer **out)
{
	struct kp_writer *writer = calloc(1, sizeof(*writer));

	*out = NULL;
	if (!writer)
		return KP_NO_MEMORY;
	writer->fd = fd;
	writer->process = process;
	writer->sequence = KP_CHUNK_UNNUMBERED;
	writer->strings.kind = KP_CHUNK_STRINGS;
	writer->configs.kind = KP_CHUNK_CONFIGS;
	writer->library_calls.kind = KP_CHUNK_LIBRARY_CALLS;
	writer->library_nodes.kind = KP_CHUNK_LIBRARY_NODES;
	writer->launches = malloc(LAUNCHES_PER_CHUNK * sizeof(*writer->launches));
	writer->memops = malloc(MEMOPS_PER_CHUNK * sizeof(*writer->memops));
	writer->ranges = malloc(RANGES_PER_CHUNK * sizeof(*writer->ranges));
	writer->compressor = ZSTD_createCCtx();
	if (!writer->launches || !writer->memops || !writer->ranges || !writer->compressor) {
		kp_writer_destroy(writer);
		return KP_NO_MEMORY;
	}
	ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	*out = writer;
	return KP_OK;
}

void kp_writer_set_source(struct kp_writer *writer, int (*fd_of)(void *context), void *context)
{
	writer->fd_of = fd_of;
	writer->fd_context = context;
}

void kp_writer_destroy(struct kp_writer *writer)
{
	if (!writer)
		return;
	kp_intern_fini(&writer->strings.entries);
	kp_intern_fini(&writer->configs.entries);
	kp_intern_fini(&writer->library_calls.entries);
	kp_intern_fini(&writer->library_nodes.entries);
	kp_lanes_fini(&writer->lanes);
	free(writer->launches);
	free(writer->memops);
	free(writer->ranges);
	free(writer->host);
	free(writer->runs);
	free(writer->library);
	kp_buffer_fini(&writer->payload);
	kp_buffer_fini(&writer->sealed);
	ZSTD_freeCCtx(writer->compressor);
	free(writer);
}

/* ---- chunks ---- */

static enum kp_status write_all(struct kp_writer *writer, const uint8_t *bytes, size_t length)
{
	if (writer->fd_of)
		writer->fd = writer->fd_of(writer->fd_context);
	while (length) {
		ssize_t n = write(writer->fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!writer->loss.first_errno)
				writer->loss.first_errno = n < 0 ? errno : EIO;
			return KP_IO;
		}
		bytes += n;
		length -= (size_t)n;
	}
	return KP_OK;
}

/* Seals the payload as a chunk and appends it. A chunk that fails keeps its number: a gap shows. */
static enum kp_status put_chunk(struct kp_writer *writer, enum kp_chunk_kind kind, size_t records,
				uint64_t first_ns, uint64_t last_ns)
{
	struct kp_chunk_header header = {
		.kind = (uint8_t)kind,
		.record_count = (uint32_t)records,
		.sequence = writer->sequence,
		.process = writer->process,
		.first_ns = first_ns,
		.last_ns = last_ns,
	};
	enum kp_status status;

	if (writer->payload.failed)
		return KP_NO_MEMORY;
	status = kp_chunk_seal(&header, &writer->payload, writer->compressor, &writer->sealed);
	if (status != KP_OK)
		return status;
	if (writer->sequence != KP_CHUNK_UNNUMBERED)
		writer->sequence++;
	return write_all(writer, writer->sealed.bytes, writer->sealed.length);
}

static enum kp_status put_fields(struct kp_writer *writer, enum kp_chunk_kind kind,
				 const struct kp_fieldset *layout, const void *record)
{
	kp_buffer_clear(&writer->payload);
	kp_fieldset_encode(layout, record, &writer->payload);
	return put_chunk(writer, kind, 1, 0, 0);
}

/* ---- interned tables ---- */

static enum kp_status put_table(struct kp_writer *writer, struct table *table)
{
	while (table->written < table->entries.count) {
		size_t at = table->written;
		enum kp_status status;

		kp_buffer_clear(&writer->payload);
		kp_buffer_put_varint(&writer->payload, at);
		while (at < table->entries.count &&
		       writer->payload.length < TABLE_BYTES_PER_CHUNK &&
		       at - table->written < KP_CHUNK_MAX_RECORDS) {
			size_t length;
			const uint8_t *bytes =
				kp_intern_bytes(&table->entries, (uint32_t)at++, &length);

			kp_buffer_put_varint(&writer->payload, length);
			kp_buffer_put(&writer->payload, bytes, length);
		}
		status = put_chunk(writer, table->kind, at - table->written, 0, 0);
		if (status != KP_OK)
			return status;
		table->written = at;
	}
	return KP_OK;
}

static enum kp_status put_tables(struct kp_writer *writer)
{
	struct table *const tables[] = {&writer->strings, &writer->configs, &writer->library_calls,
					&writer->library_nodes};
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < sizeof(tables) / sizeof(tables[0]); i++)
		status = put_table(writer, tables[i]);
	return status;
}

enum kp_status kp_writer_intern(struct kp_writer *writer, const char *bytes, size_t length,
				uint32_t *out)
{
	if (length > KP_STRING_MAX_BYTES)
		length = KP_STRING_MAX_BYTES;
	return kp_intern_put(&writer->strings.entries, bytes, length, out, NULL);
}

enum kp_status kp_writer_library_call(struct kp_writer *writer, const struct kp_library_call *call,
				      uint32_t *out)
{
	uint8_t coded[KP_ROW_CALL_BYTES];
	size_t length = kp_row_encode_call(call, coded);

	return kp_intern_put(&writer->library_calls.entries, coded, length, out, NULL);
}

enum kp_status kp_writer_library_node(struct kp_writer *writer, const struct kp_library_node *node)
{
	uint8_t coded[KP_ROW_NODE_BYTES];
	size_t length = kp_row_encode_node(node, coded);
	uint32_t unused;

	if (node->call >= writer->library_calls.entries.count)
		return KP_INVALID;
	return kp_intern_put(&writer->library_nodes.entries, coded, length, &unused, NULL);
}

static size_t recent_place(const struct kp_launch_config *config)
{
	uint64_t hash = config->name;

	hash = hash * 31 + config->stream;
	hash = hash * 31 + config->grid[0];
	hash = hash * 31 + config->grid[1];
	hash = hash * 31 + config->block[0];
	return (hash * 0x9e3779b97f4a7c15ULL >> 32) % RECENT_CONFIGS;
}

static enum kp_status intern_config(struct kp_writer *writer, const struct kp_launch_config *config,
				    uint32_t *out)
{
	uint8_t coded[KP_ROW_CONFIG_BYTES];
	size_t length = kp_row_encode_config(config, coded);
	bool added;
	enum kp_status status;

	status = kp_intern_put(&writer->configs.entries, coded, length, out, &added);
	if (status != KP_OK || !added)
		return status;
	return kp_lanes_add(&writer->lanes, config);
}

enum kp_status kp_writer_config(struct kp_writer *writer, const struct kp_launch_config *config,
				uint32_t *out)
{
	struct recent_config *recent = &writer->recent[recent_place(config)];
	enum kp_status status;

	if (recent->used && memcmp(&recent->config, config, sizeof(*config)) == 0) {
		*out = recent->number;
		return KP_OK;
	}
	status = intern_config(writer, config, out);
	if (status == KP_OK)
		*recent = (struct recent_config){*config, *out, true};
	return status;
}

/* ---- launches, memory operations, ranges, clocks, samples, calls ---- */

#define START_OF(record) (*(const uint64_t *)(record))

static int by_start(const void *a, const void *b)
{
	return START_OF(a) < START_OF(b) ? -1 : START_OF(a) > START_OF(b);
}

static void sort_by_start(void *records, size_t count, size_t stride)
{
	const char *at = records;

	for (size_t i = 1; i < count; i++)
		if (START_OF(at + i * stride) < START_OF(at + (i - 1) * stride)) {
			qsort(records, count, stride, by_start);
			return;
		}
}

/* The span of the valid times; every record begins with start_ns, end_ns. */
static void span_of(const void *records, size_t count, size_t stride, uint64_t *first_ns,
		    uint64_t *last_ns)
{
	*first_ns = *last_ns = 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t *times = (const void *)((const char *)records + i * stride);

		if (kp_time_quality(times[0], times[1]) != KP_TIME_VALID)
			continue;
		if (!*first_ns || times[0] < *first_ns)
			*first_ns = times[0];
		if (times[1] > *last_ns)
			*last_ns = times[1];
	}
}

static void put_columns(struct kp_writer *writer, enum kp_chunk_kind kind, size_t count)
{
	kp_buffer_clear(&writer->payload);
	if (kind == KP_CHUNK_LAUNCHES)
		kp_columns_put_launches(writer->launches, count, &writer->lanes, &writer->payload);
	else if (kind == KP_CHUNK_MEMOPS)
		kp_columns_put_memops(writer->memops, count, &writer->payload);
	else if (kind == KP_CHUNK_RANGES)
		kp_columns_put_ranges(writer->ranges, count, &writer->payload);
	else if (kind == KP_CHUNK_CLOCKS)
		kp_columns_put_clocks(writer->clocks, count, &writer->payload);
	else if (kind == KP_CHUNK_HOST)
		kp_columns_put_host(writer->host, count, &writer->payload);
	else if (kind == KP_CHUNK_RUNS)
		kp_columns_put_runs(writer->runs, count, &writer->payload);
	else
		kp_columns_put_library(writer->library, count, &writer->payload);
}

/* Writes the `*count` buffered records of one kind and empties the buffer; *lost grows on failure.
 */
static enum kp_status flush_batch(struct kp_writer *writer, enum kp_chunk_kind kind, void *records,
				  size_t stride, size_t *count, uint64_t *lost)
{
	size_t buffered = *count;
	uint64_t first_ns, last_ns;
	enum kp_status status;

	*count = 0;
	if (buffered == 0)
		return KP_OK;
	status = put_tables(writer);
	if (status == KP_OK) {
		sort_by_start(records, buffered, stride);
		span_of(records, buffered, stride, &first_ns, &last_ns);
		put_columns(writer, kind, buffered);
		status = put_chunk(writer, kind, buffered, first_ns, last_ns);
	}
	if (status != KP_OK)
		*lost += buffered;
	return status;
}

static enum kp_status flush_launches(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_LAUNCHES, writer->launches, sizeof(*writer->launches),
			   &writer->launch_count, &writer->loss.launches);
}

static enum kp_status flush_memops(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_MEMOPS, writer->memops, sizeof(*writer->memops),
			   &writer->memop_count, &writer->loss.memops);
}

static enum kp_status flush_ranges(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_RANGES, writer->ranges, sizeof(*writer->ranges),
			   &writer->range_count, &writer->loss.ranges);
}

static enum kp_status flush_clocks(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_CLOCKS, writer->clocks, sizeof(*writer->clocks),
			   &writer->clocks_count, &writer->loss.clocks);
}

static enum kp_status flush_host(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_HOST, writer->host, sizeof(*writer->host),
			   &writer->host_count, &writer->loss.host_calls);
}

static enum kp_status flush_runs(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_RUNS, writer->runs, sizeof(*writer->runs),
			   &writer->run_count, &writer->loss.runs);
}

static enum kp_status flush_library(struct kp_writer *writer)
{
	return flush_batch(writer, KP_CHUNK_LIBRARY_LAUNCHES, writer->library,
			   sizeof(*writer->library), &writer->library_count,
			   &writer->loss.library_launches);
}

enum kp_status kp_writer_launch(struct kp_writer *writer, const struct kp_launch *launch)
{
	if (launch->config >= writer->configs.entries.count)
		return KP_INVALID;
	writer->launches[writer->launch_count++] = *launch;
	return writer->launch_count == LAUNCHES_PER_CHUNK ? flush_launches(writer) : KP_OK;
}

enum kp_status kp_writer_memop(struct kp_writer *writer, const struct kp_memop *memop)
{
	writer->memops[writer->memop_count++] = *memop;
	return writer->memop_count == MEMOPS_PER_CHUNK ? flush_memops(writer) : KP_OK;
}

enum kp_status kp_writer_range(struct kp_writer *writer, const struct kp_range *range)
{
	if (range->domain >= writer->strings.entries.count ||
	    range->name >= writer->strings.entries.count)
		return KP_INVALID;
	writer->ranges[writer->range_count++] = *range;
	return writer->range_count == RANGES_PER_CHUNK ? flush_ranges(writer) : KP_OK;
}

enum kp_status kp_writer_clocks(struct kp_writer *writer, const struct kp_clocks *clocks)
{
	writer->clocks[writer->clocks_count++] = *clocks;
	return writer->clocks_count == CLOCKS_PER_CHUNK ? flush_clocks(writer) : KP_OK;
}

static enum kp_status put_samples(struct kp_writer *writer, const struct kp_counter_sample *samples,
				  size_t count)
{
	uint64_t first_ns, last_ns;

	span_of(samples, count, sizeof(*samples), &first_ns, &last_ns);
	kp_buffer_clear(&writer->payload);
	kp_columns_put_samples(samples, count, &writer->payload);
	return put_chunk(writer, KP_CHUNK_SAMPLES, count, first_ns, last_ns);
}

enum kp_status kp_writer_samples(struct kp_writer *writer, const struct kp_counter_sample *samples,
				 size_t count)
{
	enum kp_status first = KP_OK;

	while (count) {
		size_t part = count < SAMPLES_PER_CHUNK ? count : SAMPLES_PER_CHUNK;
		enum kp_status status = put_samples(writer, samples, part);

		if (status != KP_OK)
			writer->loss.samples += part;
		if (first == KP_OK)
			first = status;
		samples += part;
		count -= part;
	}
	return first;
}

enum kp_status kp_writer_host(struct kp_writer *writer, const struct kp_host_call *call)
{
	if (!writer->host)
		writer->host = malloc(HOST_PER_CHUNK * sizeof(*writer->host));
	if (!writer->host) {
		writer->loss.host_calls++;
		return KP_NO_MEMORY;
	}
	writer->host[writer->host_count++] = *call;
	return writer->host_count == HOST_PER_CHUNK ? flush_host(writer) : KP_OK;
}

enum kp_status kp_writer_run(struct kp_writer *writer, const struct kp_launch_run *run)
{
	if (!writer->runs)
		writer->runs = malloc(RUNS_PER_CHUNK * sizeof(*writer->runs));
	if (!writer->runs) {
		writer->loss.runs++;
		return KP_NO_MEMORY;
	}
	writer->runs[writer->run_count++] = *run;
	return writer->run_count == RUNS_PER_CHUNK ? flush_runs(writer) : KP_OK;
}

enum kp_status kp_writer_library(struct kp_writer *writer, const struct kp_library_launch *launch)
{
	if (!launch->graph && launch->call >= writer->library_calls.entries.count)
		return KP_INVALID;
	if (!writer->library)
		writer->library = malloc(LIBRARY_PER_CHUNK * sizeof(*writer->library));
	if (!writer->library) {
		writer->loss.library_launches++;
		return KP_NO_MEMORY;
	}
	writer->library[writer->library_count++] = *launch;
	return writer->library_count == LIBRARY_PER_CHUNK ? flush_library(writer) : KP_OK;
}

void kp_writer_skip(struct kp_writer *writer, uint64_t chunks)
{
	/* None left before those without a number: then the gap is shorter. */
	if (writer->sequence < KP_CHUNK_UNNUMBERED / 2)
		writer->sequence += chunks < KP_CHUNK_UNNUMBERED / 2 ? (uint32_t)chunks
								     : KP_CHUNK_UNNUMBERED / 2;
}

enum kp_status kp_writer_flush(struct kp_writer *writer)
{
	const enum kp_status results[] = {flush_launches(writer), flush_memops(writer),
					  flush_ranges(writer),   flush_clocks(writer),
					  flush_host(writer),     flush_runs(writer),
					  flush_library(writer)};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i] != KP_OK)
			return results[i];
	return KP_OK;
}

/* ---- descriptive records ---- */

enum kp_status kp_writer_process(struct kp_writer *writer, const struct kp_process_info *info)
{
	if (writer->sequence == KP_CHUNK_UNNUMBERED)
		writer->sequence = 0;
	return put_fields(writer, KP_CHUNK_PROCESS, &kp_process_fieldset, info);
}

enum kp_status kp_writer_device(struct kp_writer *writer, const struct kp_device_info *info)
{
	return put_fields(writer, KP_CHUNK_DEVICE, &kp_device_fieldset, info);
}

enum kp_status kp_writer_clock(struct kp_writer *writer, const struct kp_clock_info *info)
{
	return put_fields(writer, KP_CHUNK_CLOCK, &kp_clock_fieldset, info);
}

enum kp_status kp_writer_counts(struct kp_writer *writer, const struct kp_counts *counts)
{
	return put_fields(writer, KP_CHUNK_COUNTS, &kp_counts_fieldset, counts);
}

enum kp_status kp_writer_note(struct kp_writer *writer, enum kp_note_level level, const char *text)
{
	struct kp_note note = {0};

	KP_SET(&note, NOTE, level, level);
	KP_SET(&note, NOTE, text, ((struct kp_text){text, strlen(text)}));
	return put_fields(writer, KP_CHUNK_NOTE, &kp_note_fieldset, &note);
}

enum kp_status kp_writer_window(struct kp_writer *writer, const struct kp_window_info *window)
{
	return put_fields(writer, KP_CHUNK_WINDOW, &kp_window_fieldset, window);
}

enum kp_status kp_writer_counters(struct kp_writer *writer, const struct kp_counters_info *counters)
{
	return put_fields(writer, KP_CHUNK_COUNTERS, &kp_counters_fieldset, counters);
}

enum kp_status kp_writer_end(struct kp_writer *writer, const struct kp_end *end)
{
	return put_fields(writer, KP_CHUNK_END, &kp_end_fieldset, end);
}

struct kp_writer_loss kp_writer_loss(const struct kp_writer *writer)
{
	return writer->loss;
}
