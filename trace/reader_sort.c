/*
 * Sorting the chunks of a trace once its files are indexed; see reader.h.
 *
 * A chunk is known by its process and its number there. One that is in the files several times, of
 * a trace given twice or of a copy of it, is taken once: at the place of its first copy, from the
 * first copy that is readable. So a damaged copy costs nothing where a good one is at hand.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/reader_state.h"

/* The chunks that are there, each once. */
struct sorting {
	struct kp_reader *reader;
	struct kp_intern numbers; /* (process, sequence) of the chunks so far */
	uint32_t *heads;          /* of each of these, the entry that stands for it */
	uint32_t *order;          /* the entries that stand for a chunk */
	size_t count;
	bool copied; /* some are there more than once */
};

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

static bool is_torn(const struct kp_index_entry *entry)
{
	return entry->offset == 0;
}

/* A chunk that nothing delivers, also for its process, if anything else of that is there. */
static void count_lost(struct kp_reader *reader, struct kp_damage *damage,
		       const struct kp_chunk_header *header)
{
	uint64_t launches = header->kind == KP_CHUNK_LAUNCHES ? header->record_count : 0;
	uint32_t index;

	damage->damaged_chunks++;
	damage->lost_launches += launches;
	if (!kp_intern_find(&reader->tables.identities, &header->process, sizeof(header->process),
			    &index))
		return;
	reader->tables.processes[index]->view.lost_launches += launches;
	reader->tables.processes[index]->view.lost_chunks++;
}

void kp_reader_count_damaged(struct kp_reader *reader, struct kp_damage *damage,
			     const struct kp_chunk_header *header)
{
	damage->damaged_bytes += header->stored_bytes + KP_CHUNK_HEADER_BYTES;
	count_lost(reader, damage, header);
}

/* Counts a whole chunk for the check of its process's numbering. Errors: KP_CORRUPT: of one process
 * too many. */
static enum kp_status number_chunk(struct kp_reader *reader, const struct kp_chunk_header *header)
{
	struct kp_process_tables *process;
	enum kp_status status = kp_tables_process(&reader->tables, header->process, &process);

	if (status != KP_OK || header->sequence == KP_CHUNK_UNNUMBERED)
		return status;
	process->numbered_chunks++;
	if (header->sequence >= process->next_sequence)
		process->next_sequence = (uint64_t)header->sequence + 1;
	return KP_OK;
}

/* Takes one more of a chunk that `head` stands for. */
static enum kp_status add_copy(struct sorting *sorting, uint32_t head, uint32_t number)
{
	struct kp_index_entry *entries = sorting->reader->index.entries;
	struct kp_index_entry *first = &entries[head], *copy = &entries[number];

	sorting->copied = true;
	sorting->reader->found.repeated_chunks++;
	if (is_torn(copy))
		return KP_OK;
	if (is_torn(first)) {
		enum kp_status status = number_chunk(sorting->reader, &copy->header);

		if (status == KP_OK)
			*first = *copy;
		return status == KP_CORRUPT ? KP_OK : status; /* then it stays torn */
	}
	if (memcmp(&first->header, &copy->header, sizeof(first->header)) != 0)
		return KP_OK; /* not the same, whatever it is */
	copy->copy = first->copy;
	first->copy = number + 1;
	return KP_OK;
}

/* Takes a chunk of a known kind. Errors: KP_CORRUPT, KP_NO_MEMORY. */
static enum kp_status add_chunk(struct sorting *sorting, uint32_t number)
{
	const struct kp_index_entry *entry = &sorting->reader->index.entries[number];
	const uint64_t identity[2] = {entry->header.process, entry->header.sequence};
	uint32_t chunk;
	bool added = true;
	enum kp_status status = KP_OK;

	if (entry->header.sequence != KP_CHUNK_UNNUMBERED) {
		status = kp_intern_put(&sorting->numbers, identity, sizeof(identity), &chunk,
				       &added);
		if (status == KP_OK && !added)
			return add_copy(sorting, sorting->heads[chunk], number);
		if (status == KP_OK)
			sorting->heads[chunk] = number;
	}
	if (status == KP_OK && !is_torn(entry))
		status = number_chunk(sorting->reader, &entry->header);
	if (status == KP_OK)
		sorting->order[sorting->count++] = number;
	return status;
}

static enum kp_status list_chunks(struct sorting *sorting)
{
	struct kp_reader *reader = sorting->reader;

	for (size_t i = 0; i < reader->index.count; i++) {
		const struct kp_index_entry *entry = &reader->index.entries[i];
		enum kp_status status;

		if (entry->header.major != KP_CHUNK_MAJOR || !is_known(entry->header.kind)) {
			reader->found.unknown_chunks += !is_torn(entry);
			reader->found.damaged_chunks += is_torn(entry);
			continue;
		}
		status = add_chunk(sorting, (uint32_t)i);
		if (status == KP_CORRUPT)
			kp_reader_count_damaged(reader, &reader->found, &entry->header);
		else if (status != KP_OK)
			return status;
	}
	return KP_OK;
}

/* As each process wrote them, those without a number last; copies may come in any order. */
static int by_sequence(const void *a, const void *b, void *context)
{
	const struct kp_index_entry *entries = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct kp_chunk_header *left = &entries[x].header, *right = &entries[y].header;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->sequence != right->sequence)
		return left->sequence < right->sequence ? -1 : 1;
	return x < y ? -1 : x > y;
}

static enum kp_status add_to_tables(struct kp_reader *reader, const struct kp_index_entry *entry)
{
	struct kp_cursor payload;
	enum kp_status status = kp_reader_load(reader, entry, &payload);

	if (status == KP_OK)
		status = kp_tables_add(&reader->tables, &entry->header, &payload);
	if (status != KP_CORRUPT)
		return status;
	kp_reader_count_damaged(reader, &reader->found, &entry->header);
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

/* Descriptive chunks into the tables, batches into their list. */
static enum kp_status take_chunks(const struct sorting *sorting)
{
	struct kp_reader *reader = sorting->reader;
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < sorting->count; i++) {
		const struct kp_index_entry *entry = &reader->index.entries[sorting->order[i]];

		if (is_torn(entry)) { /* the scan counted its bytes */
			count_lost(reader, &reader->found, &entry->header);
		} else if (is_batch(entry->header.kind)) {
			status = list_batch(reader, sorting->order[i]);
		} else {
			status = add_to_tables(reader, entry);
		}
	}
	return status;
}

static enum kp_status settle_tables(struct kp_reader *reader)
{
	for (size_t i = 0; i < reader->tables.count; i++) {
		struct kp_process_tables *process = reader->tables.processes[i];
		enum kp_status status = kp_tables_name_lost(&reader->tables, process);

		if (status == KP_OK)
			status = kp_tables_limit(&reader->tables, process);
		if (status != KP_OK)
			return status;
		process->lost_at_opening = process->view.lost_launches;
		process->lost_chunks_at_opening = process->view.lost_chunks;
		if (process->next_sequence > process->numbered_chunks)
			process->view.missing_chunks =
				process->next_sequence - process->numbered_chunks;
		reader->found.missing_chunks += process->view.missing_chunks;
	}
	kp_limits_fini(&reader->tables.limits);
	return KP_OK;
}

enum kp_status kp_reader_sort(struct kp_reader *reader)
{
	size_t most = reader->index.count + 1;
	struct sorting sorting = {.reader = reader};
	enum kp_status status = KP_NO_MEMORY;

	if (most > UINT32_MAX)
		return KP_NO_MEMORY;
	reader->batches = calloc(most, sizeof(*reader->batches));
	sorting.heads = calloc(most, sizeof(*sorting.heads));
	sorting.order = calloc(most, sizeof(*sorting.order));
	if (reader->batches && sorting.heads && sorting.order)
		status = list_chunks(&sorting);
	if (status == KP_OK && sorting.copied)
		qsort_r(sorting.order, sorting.count, sizeof(*sorting.order), by_sequence,
			reader->index.entries);
	if (status == KP_OK)
		status = take_chunks(&sorting);
	if (status == KP_OK)
		status = settle_tables(reader);
	kp_intern_fini(&sorting.numbers);
	free(sorting.heads);
	free(sorting.order);
	return status;
}
