/*
 * The reader: index, then tables, then batches in order of time; see reader.h.
 *
 * Memory: the index (88 bytes a chunk), the tables (within their budget), one stored and one
 * decompressed payload (16 MiB each at most) and one decoded batch (65,536 records at most).
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "trace/columns.h"
#include "trace/reader_state.h"

static bool is_batch(uint8_t kind)
{
	return kind == KP_CHUNK_LAUNCHES || kind == KP_CHUNK_MEMOPS || kind == KP_CHUNK_RANGES ||
	       kind == KP_CHUNK_SAMPLES || kind == KP_CHUNK_CLOCKS || kind == KP_CHUNK_HOST ||
	       kind == KP_CHUNK_RUNS || kind == KP_CHUNK_LIBRARY_LAUNCHES;
}

static bool is_known(uint8_t kind)
{
	switch (kind) {
#define KIND_ROW(name, number, holds) case KP_CHUNK_##name:
		KP_CHUNK_KINDS(KIND_ROW)
		return true;
	default:
		return false;
	}
}

/* Loads, checks and decompresses a chunk. Errors: KP_IO, KP_CORRUPT, KP_NO_MEMORY. */
static enum kp_status load(struct kp_reader *reader, const struct kp_index_entry *entry,
			   struct kp_cursor *payload)
{
	enum kp_status status;

	kp_buffer_clear(&reader->stored);
	if (!kp_buffer_reserve(&reader->stored, (size_t)entry->header.stored_bytes + 1))
		return KP_NO_MEMORY;
	status = kp_read_at(reader->fds[entry->file], reader->stored.bytes,
			    entry->header.stored_bytes, entry->offset);
	if (status != KP_OK)
		return errno ? status : KP_CORRUPT; /* the file shrank */
	return kp_chunk_open(&entry->header, reader->stored.bytes, reader->decompressor,
			     &reader->raw, payload);
}

static void count_damaged(struct kp_damage *damage, const struct kp_chunk_header *header)
{
	damage->damaged_chunks++;
	damage->damaged_bytes += header->stored_bytes + KP_CHUNK_HEADER_BYTES;
	if (header->kind == KP_CHUNK_LAUNCHES)
		damage->lost_launches += header->record_count;
}

/* ---- opening ---- */

static enum kp_status open_file(struct kp_reader *reader, const char *path)
{
	struct stat about;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us up */

	if (fd < 0)
		return errno == ENOENT ? KP_NOT_FOUND : KP_IO;
	reader->fds[reader->file_count++] = fd;
	if (fstat(fd, &about) != 0)
		return KP_IO;
	if (!S_ISREG(about.st_mode))
		return KP_NOT_SEEKABLE;
	if (about.st_size == 0)
		return KP_EMPTY;
	reader->bytes += (uint64_t)about.st_size;
	return kp_index_scan(&reader->index, fd, (uint64_t)about.st_size,
			     (uint32_t)reader->file_count - 1);
}

/* What to say of a file that added no usable chunk. */
static enum kp_status judge_file(const struct kp_reader *reader, size_t first_entry)
{
	char magic[sizeof(KP_CHUNK_MAGIC) - 1] = {0};
	bool newer = false;

	for (size_t i = first_entry; i < reader->index.count; i++) {
		if (reader->index.entries[i].header.major == KP_CHUNK_MAJOR)
			return KP_OK;
		newer = true;
	}
	if (newer)
		return KP_NEWER;
	if (pread(reader->fds[reader->file_count - 1], magic, sizeof(magic), 0) !=
		    (ssize_t)sizeof(magic) ||
	    memcmp(magic, KP_CHUNK_MAGIC, sizeof(magic)) != 0)
		return KP_NOT_A_TRACE;
	return KP_CORRUPT;
}

static enum kp_status open_files(struct kp_reader *reader, const char *const *paths, size_t count,
				 size_t *bad)
{
	reader->fds = calloc(count, sizeof(*reader->fds));
	if (!reader->fds)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		size_t first_entry = reader->index.count;
		enum kp_status status = open_file(reader, paths[i]);

		if (status == KP_OK)
			status = judge_file(reader, first_entry);
		if (status != KP_OK) {
			*bad = i;
			return status;
		}
	}
	reader->found = reader->index.damage;
	return KP_OK;
}

/*
 * Counts a chunk for the check of its process's numbering; *repeated says that the same chunk was
 * there before (one trace given twice, or concatenated with itself).
 */
static enum kp_status number_chunk(struct kp_reader *reader, const struct kp_chunk_header *header,
				   bool *repeated)
{
	const uint64_t identity[2] = {header->process, header->sequence};
	uint32_t number;
	bool added = true;
	struct kp_process_tables *process;
	enum kp_status status = kp_tables_process(&reader->tables, header->process, &process);

	if (status == KP_OK && header->sequence != KP_CHUNK_UNNUMBERED)
		status = kp_intern_put(&reader->numbers, identity, sizeof(identity), &number,
				       &added);
	*repeated = !added;
	if (status != KP_OK || *repeated || header->sequence == KP_CHUNK_UNNUMBERED)
		return status;
	process->numbered_chunks++;
	if (header->sequence >= process->next_sequence)
		process->next_sequence = (uint64_t)header->sequence + 1;
	return KP_OK;
}

static enum kp_status add_to_tables(struct kp_reader *reader, const struct kp_index_entry *entry)
{
	struct kp_cursor payload;
	enum kp_status status = load(reader, entry, &payload);

	if (status == KP_OK)
		status = kp_tables_add(&reader->tables, &entry->header, &payload);
	if (status != KP_CORRUPT)
		return status;
	count_damaged(&reader->found, &entry->header);
	return KP_OK;
}

/* Adds what a chunk's header says of the time in which GPUs worked for a process. */
static void see_work(struct kp_process *view, const struct kp_chunk_header *header)
{
	if ((header->kind != KP_CHUNK_LAUNCHES && header->kind != KP_CHUNK_MEMOPS) ||
	    !header->first_ns)
		return;
	if (!view->gpu_first_ns || header->first_ns < view->gpu_first_ns)
		view->gpu_first_ns = header->first_ns;
	if (header->last_ns > view->gpu_last_ns)
		view->gpu_last_ns = header->last_ns;
}

static enum kp_status list_batch(struct kp_reader *reader, size_t number)
{
	const struct kp_chunk_header *header = &reader->index.entries[number].header;
	struct kp_process_tables *process;
	enum kp_status status = kp_tables_process(&reader->tables, header->process, &process);

	if (status != KP_OK)
		return status;
	if (header->kind == KP_CHUNK_LAUNCHES)
		process->view.promised_launches += header->record_count;
	if (header->kind == KP_CHUNK_HOST)
		process->view.promised_host_calls += header->record_count;
	if (header->kind == KP_CHUNK_RANGES)
		process->view.promised_ranges += header->record_count;
	if (header->kind == KP_CHUNK_RUNS)
		process->view.promised_runs += header->record_count;
	if (header->kind == KP_CHUNK_LIBRARY_LAUNCHES)
		process->view.promised_library_launches += header->record_count;
	see_work(&process->view, header);
	reader->batches[reader->batch_count++] = number;
	return KP_OK;
}

/* Sorts the chunks: descriptive ones into the tables, batches into their list. */
static enum kp_status sort_chunks(struct kp_reader *reader)
{
	reader->batches = calloc(reader->index.count + 1, sizeof(*reader->batches));
	if (!reader->batches)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < reader->index.count; i++) {
		const struct kp_index_entry *entry = &reader->index.entries[i];
		enum kp_status status = KP_OK;
		bool repeated;

		if (entry->header.major != KP_CHUNK_MAJOR || !is_known(entry->header.kind)) {
			reader->found.unknown_chunks++;
			continue;
		}
		status = number_chunk(reader, &entry->header, &repeated);
		if (status == KP_OK && repeated) {
			reader->found.repeated_chunks++;
			continue;
		}
		if (status == KP_CORRUPT) { /* of one process too many */
			count_damaged(&reader->found, &entry->header);
			continue;
		}
		if (status == KP_OK && is_batch(entry->header.kind))
			status = list_batch(reader, i);
		else if (status == KP_OK)
			status = add_to_tables(reader, entry);
		if (status != KP_OK)
			return status;
	}
	kp_intern_fini(&reader->numbers);
	for (size_t i = 0; i < reader->tables.count; i++) {
		struct kp_process_tables *process = reader->tables.processes[i];
		enum kp_status status = kp_tables_name_lost(&reader->tables, process);

		if (status == KP_OK)
			status = kp_tables_limit(&reader->tables, process);
		if (status != KP_OK)
			return status;
		if (process->next_sequence > process->numbered_chunks)
			process->view.missing_chunks =
				process->next_sequence - process->numbered_chunks;
		reader->found.missing_chunks += process->view.missing_chunks;
	}
	kp_limits_fini(&reader->tables.limits);
	return KP_OK;
}

static int by_first_ns(const void *a, const void *b, void *context)
{
	const struct kp_index_entry *entries = context;
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	uint64_t left_ns = entries[left].header.first_ns;
	uint64_t right_ns = entries[right].header.first_ns;

	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	return left < right ? -1 : left > right;
}

enum kp_status kp_reader_open(const char *const *paths, size_t count, struct kp_reader **out,
			      size_t *bad)
{
	struct kp_reader *reader = calloc(1, sizeof(*reader));
	enum kp_status status;

	*out = NULL;
	*bad = 0;
	if (!reader)
		return KP_NO_MEMORY;
	reader->decompressor = ZSTD_createDCtx();
	status = reader->decompressor ? open_files(reader, paths, count, bad) : KP_NO_MEMORY;
	if (status == KP_OK)
		status = kp_tables_init(&reader->tables, reader->bytes);
	if (status == KP_OK)
		status = sort_chunks(reader);
	if (status != KP_OK) {
		int saved = errno;

		kp_reader_close(reader);
		errno = saved;
		return status;
	}
	if (reader->batch_count)
		qsort_r(reader->batches, reader->batch_count, sizeof(*reader->batches), by_first_ns,
			reader->index.entries);
	*out = reader;
	return KP_OK;
}

void kp_reader_close(struct kp_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->file_count; i++)
		close(reader->fds[i]);
	free(reader->fds);
	kp_index_fini(&reader->index);
	kp_intern_fini(&reader->numbers);
	free(reader->batches);
	kp_tables_fini(&reader->tables);
	kp_buffer_fini(&reader->stored);
	kp_buffer_fini(&reader->raw);
	ZSTD_freeDCtx(reader->decompressor);
	kp_batch_fini(&reader->batch);
	free(reader->windows);
	free(reader);
}

/* ---- batches ---- */

/* Whether every valid start is at or after the header's first_ns, as the order of batches needs. In
 * records that are in order only the first ones can be before it. */
static bool keeps_promise(const void *records, size_t count, size_t stride, uint64_t first_ns,
			  bool ordered)
{
	for (size_t i = 0; i < count; i++) {
		const uint64_t *times = (const void *)((const char *)records + i * stride);

		if (times[0] >= first_ns) {
			if (ordered)
				return true;
		} else if (kp_time_quality(times[0], times[1]) == KP_TIME_VALID) {
			return false;
		}
	}
	return true;
}

static bool in_order(const void *records, size_t count, size_t stride)
{
	for (size_t i = 1; i < count; i++) {
		const char *at = (const char *)records + i * stride;

		if (*(const uint64_t *)at < *(const uint64_t *)(at - stride))
			return false;
	}
	return true;
}

static bool names_known(const struct kp_range *ranges, size_t count,
			const struct kp_process *process)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].domain >= process->string_count ||
		    ranges[i].name >= process->string_count)
			return false;
	return true;
}

static bool calls_known(const struct kp_library_launch *launches, size_t count,
			const struct kp_process *process)
{
	for (size_t i = 0; i < count; i++)
		if (!launches[i].graph && launches[i].call >= process->library_call_count)
			return false;
	return true;
}

/* Whether all are of one session that the process has. */
static bool session_known(const struct kp_counter_sample *samples, size_t count,
			  const struct kp_process *process)
{
	for (size_t i = 1; i < count; i++)
		if (samples[i].session != samples[0].session)
			return false;
	return count == 0 || kp_process_counters(process, samples[0].session);
}

/* Makes room for a batch of `count` records of `stride` bytes. */
static bool reserve_records(struct kp_batch *memory, size_t count, size_t stride)
{
	size_t bytes = count * stride + 1;
	void *grown;

	if (bytes <= memory->bytes)
		return true;
	grown = realloc(memory->records, bytes);
	if (!grown)
		return false;
	memory->records = grown;
	memory->bytes = bytes;
	return true;
}

void kp_batch_fini(struct kp_batch *memory)
{
	free(memory->records);
	*memory = (struct kp_batch){0};
}

static const size_t strides[] = {
	[KP_CHUNK_LAUNCHES] = sizeof(struct kp_launch),
	[KP_CHUNK_MEMOPS] = sizeof(struct kp_memop),
	[KP_CHUNK_RANGES] = sizeof(struct kp_range),
	[KP_CHUNK_SAMPLES] = sizeof(struct kp_counter_sample),
	[KP_CHUNK_CLOCKS] = sizeof(struct kp_clocks),
	[KP_CHUNK_HOST] = sizeof(struct kp_host_call),
	[KP_CHUNK_RUNS] = sizeof(struct kp_launch_run),
	[KP_CHUNK_LIBRARY_LAUNCHES] = sizeof(struct kp_library_launch),
};

/* Decodes the records of a chunk for which there is room. */
static enum kp_status decode_records(void *records, const struct kp_chunk_header *header,
				     struct kp_process_tables *process, struct kp_cursor *payload,
				     struct kp_event *out)
{
	size_t count = header->record_count;

	switch ((enum kp_chunk_kind)header->kind) {
	case KP_CHUNK_LAUNCHES:
		out->kind = KP_EVENT_LAUNCHES;
		out->launches = records;
		return kp_columns_get_launches(payload, count, &process->lanes, records);
	case KP_CHUNK_MEMOPS:
		out->kind = KP_EVENT_MEMOPS;
		out->memops = records;
		return kp_columns_get_memops(payload, count, records);
	case KP_CHUNK_RANGES:
		out->kind = KP_EVENT_RANGES;
		out->ranges = records;
		return kp_columns_get_ranges(payload, count, records);
	case KP_CHUNK_SAMPLES:
		out->kind = KP_EVENT_SAMPLES;
		out->samples = records;
		return kp_columns_get_samples(payload, count, records);
	case KP_CHUNK_HOST:
		out->kind = KP_EVENT_HOST;
		out->calls = records;
		return kp_columns_get_host(payload, count, records);
	case KP_CHUNK_RUNS:
		out->kind = KP_EVENT_RUNS;
		out->runs = records;
		return kp_columns_get_runs(payload, count, records);
	case KP_CHUNK_LIBRARY_LAUNCHES:
		out->kind = KP_EVENT_LIBRARY;
		out->library = records;
		return kp_columns_get_library(payload, count, records);
	default:
		out->kind = KP_EVENT_CLOCKS;
		out->clocks = records;
		return kp_columns_get_clocks(payload, count, records);
	}
}

/* Whether a decoded batch keeps what reader.h promises. */
static bool is_sound(const struct kp_event *event, const struct kp_chunk_header *header)
{
	size_t stride = strides[header->kind];
	const void *records = event->launches; /* of whichever kind */

	if (event->kind == KP_EVENT_RANGES) {
		if (!names_known(event->ranges, event->count, event->process))
			return false;
	} else if (!in_order(records, event->count, stride)) {
		return false;
	}
	if (event->kind == KP_EVENT_SAMPLES &&
	    !session_known(event->samples, event->count, event->process))
		return false;
	if (event->kind == KP_EVENT_LIBRARY &&
	    !calls_known(event->library, event->count, event->process))
		return false;
	return keeps_promise(records, event->count, stride, header->first_ns,
			     event->kind != KP_EVENT_RANGES);
}

static enum kp_status decode(struct kp_batch *memory, const struct kp_chunk_header *header,
			     struct kp_process_tables *process, struct kp_cursor *payload,
			     struct kp_event *out)
{
	enum kp_status status;

	if (!reserve_records(memory, header->record_count, strides[header->kind]))
		return KP_NO_MEMORY;
	status = decode_records(memory->records, header, process, payload, out);
	if (status != KP_OK)
		return status;
	out->process = &process->view;
	out->count = header->record_count;
	return is_sound(out, header) ? KP_OK : KP_CORRUPT;
}

enum kp_status kp_reader_next_into(struct kp_reader *reader, struct kp_batch *memory,
				   struct kp_event *out)
{
	while (kp_reader_reach(reader)) {
		const struct kp_index_entry *entries = reader->index.entries;
		const struct kp_index_entry *entry =
			&entries[reader->batches[reader->next_batch++]];
		struct kp_process_tables *process;
		struct kp_cursor payload;
		enum kp_status status;

		out->watermark_ns =
			kp_reader_reach(reader)
				? entries[reader->batches[reader->next_batch]].header.first_ns
				: UINT64_MAX;
		status = kp_tables_process(&reader->tables, entry->header.process, &process);
		if (status == KP_OK)
			status = load(reader, entry, &payload);
		if (status == KP_OK)
			status = decode(memory, &entry->header, process, &payload, out);
		if (status == KP_OK && !kp_reader_keep(reader, memory->records, out))
			continue;
		if (status != KP_CORRUPT) {
			out->damaged_chunks =
				reader->found.damaged_chunks + reader->reading.damaged_chunks;
			return status;
		}
		count_damaged(&reader->reading, &entry->header);
	}
	return KP_END;
}

enum kp_status kp_reader_next(struct kp_reader *reader, struct kp_event *out)
{
	return kp_reader_next_into(reader, &reader->batch, out);
}

void kp_reader_rewind(struct kp_reader *reader)
{
	reader->next_batch = 0;
	reader->reading = (struct kp_damage){0};
}

size_t kp_reader_process_count(const struct kp_reader *reader)
{
	return reader->tables.count;
}

const struct kp_process *kp_reader_process(const struct kp_reader *reader, size_t index)
{
	return &reader->tables.processes[index]->view;
}

struct kp_damage kp_reader_damage(const struct kp_reader *reader)
{
	struct kp_damage damage = reader->found;

	damage.damaged_chunks += reader->reading.damaged_chunks;
	damage.damaged_bytes += reader->reading.damaged_bytes;
	damage.lost_launches += reader->reading.lost_launches;
	return damage;
}

uint64_t kp_reader_bytes(const struct kp_reader *reader)
{
	return reader->bytes;
}
