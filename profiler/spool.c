/* Sorting more than fits in memory; see spool.h. */
#include "profiler/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/vector.h"

#define LEAST_ROOM 1024 /* records */

/* One run while it is merged: a part of it in memory. */
struct source {
	const struct kp_spool *spool;
	uint64_t next, end; /* records of the file that are still to be read */
	char *part;
	size_t at, count, room; /* records in `part` */
};

void kp_spool_init(struct kp_spool *spool, size_t stride, const char *folder)
{
	*spool = (struct kp_spool){.stride = stride, .folder = folder, .fd = -1};
}

static int compare(const void *left, const void *right, void *stride)
{
	const uint64_t *a = left, *b = right;

	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	if (a[1] != b[1])
		return a[1] > b[1] ? -1 : 1;
	return memcmp(left, right, *(const size_t *)stride);
}

static void sort(struct kp_spool *spool)
{
	const char *at = spool->records;

	for (size_t i = 1; i < spool->count; i++, at += spool->stride)
		if (compare(at, at + spool->stride, &spool->stride) > 0) {
			qsort_r(spool->records, spool->count, spool->stride, compare,
				&spool->stride);
			return;
		}
}

static int open_aside(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	snprintf(path, sizeof path, "%s/.kprof.XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static enum kp_status write_all(int fd, const char *at, size_t length)
{
	while (length > 0) {
		ssize_t wrote = write(fd, at, length);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			errno = wrote == 0 ? EIO : errno;
			return KP_IO;
		}
		at += wrote;
		length -= (size_t)wrote;
	}
	return KP_OK;
}

/* Puts what is in memory aside, in order. */
static enum kp_status put_aside(struct kp_spool *spool)
{
	if (spool->fd < 0)
		spool->fd = open_aside(spool->folder);
	if (spool->fd < 0)
		return KP_IO;
	if (!kp_vector_grow((void **)&spool->runs, spool->run_count, &spool->run_capacity,
			    sizeof *spool->runs))
		return KP_NO_MEMORY;
	sort(spool);
	enum kp_status status = write_all(spool->fd, spool->records, spool->count * spool->stride);
	spool->runs[spool->run_count++] = (struct kp_spool_run){spool->aside, spool->count};
	spool->aside += spool->count;
	spool->count = 0;
	return status;
}

enum kp_status kp_spool_add(struct kp_spool *spool, const void *record)
{
	size_t most = KP_SPOOL_BYTES / spool->stride;

	if (spool->count == most) {
		enum kp_status status = put_aside(spool);

		if (status != KP_OK)
			return status;
	}
	if (spool->count == spool->capacity) {
		size_t room = spool->capacity ? spool->capacity * 2 : LEAST_ROOM;

		room = room < most ? room : most;
		char *grown = realloc(spool->records, room * spool->stride);
		if (!grown)
			return KP_NO_MEMORY;
		spool->records = grown;
		spool->capacity = room;
	}
	memcpy(spool->records + spool->count++ * spool->stride, record, spool->stride);
	return KP_OK;
}

/* ---- merging ---- */

static const char *head(const struct source *source)
{
	return source->part + source->at * source->spool->stride;
}

/* Makes the next record of a run the one at its head, if there is one. */
static enum kp_status refill(struct source *source)
{
	size_t stride = source->spool->stride, done = 0;
	uint64_t left = source->end - source->next;
	size_t count = left < source->room ? (size_t)left : source->room;

	while (done < count * stride) {
		ssize_t got = pread(source->spool->fd, source->part + done, count * stride - done,
				    (off_t)(source->next * stride + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got == 0 ? EIO : errno;
			return KP_IO;
		}
		done += (size_t)got;
	}
	source->next += count;
	source->at = 0;
	source->count = count;
	return KP_OK;
}

static bool before(const struct source *a, const struct source *b)
{
	size_t stride = a->spool->stride;
	int order = compare(head(a), head(b), &stride);

	return order < 0 || (order == 0 && a < b);
}

/* Lets the source at `at` of the heap sink to its place. */
static void sift(struct source **heap, size_t count, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		struct source *moved = heap[at];

		if (child + 1 < count && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], moved))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
	}
}

static enum kp_status merge(struct source **heap, size_t count, kp_spool_sink *sink, void *context)
{
	for (size_t at = count / 2; at-- > 0;)
		sift(heap, count, at);
	while (count > 0) {
		struct source *first = heap[0];
		enum kp_status status = sink(context, head(first));

		if (status == KP_OK && ++first->at == first->count)
			status = refill(first);
		if (status != KP_OK)
			return status;
		if (first->count == 0)
			heap[0] = heap[--count];
		sift(heap, count, 0);
	}
	return KP_OK;
}

/* Every run gets an equal part of the memory that the records had. */
static enum kp_status merge_runs(struct kp_spool *spool, kp_spool_sink *sink, void *context)
{
	size_t room = spool->capacity / spool->run_count;
	struct source *sources = calloc(spool->run_count, sizeof *sources);
	struct source **heap = calloc(spool->run_count, sizeof *heap);
	char *parts = spool->records;
	enum kp_status status = sources && heap ? KP_OK : KP_NO_MEMORY;

	if (room == 0) { /* more runs than records in one: many terabytes */
		room = 1;
		parts = malloc(spool->run_count * spool->stride);
		if (!parts)
			status = KP_NO_MEMORY;
	}
	for (size_t i = 0; status == KP_OK && i < spool->run_count; i++) {
		const struct kp_spool_run *run = &spool->runs[i];

		sources[i] = (struct source){.spool = spool,
					     .next = run->first,
					     .end = run->first + run->count,
					     .part = parts + i * room * spool->stride,
					     .room = room};
		heap[i] = &sources[i];
		status = refill(&sources[i]);
	}
	if (status == KP_OK)
		status = merge(heap, spool->run_count, sink, context);
	if (parts != spool->records)
		free(parts);
	free(sources);
	free(heap);
	return status;
}

enum kp_status kp_spool_drain(struct kp_spool *spool, kp_spool_sink *sink, void *context)
{
	enum kp_status status = KP_OK;

	if (spool->run_count > 0 && spool->count > 0)
		status = put_aside(spool);
	if (status == KP_OK && spool->run_count > 0)
		return merge_runs(spool, sink, context);
	sort(spool);
	for (size_t i = 0; status == KP_OK && i < spool->count; i++)
		status = sink(context, spool->records + i * spool->stride);
	return status;
}

void kp_spool_fini(struct kp_spool *spool)
{
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool->records);
	free(spool->runs);
	*spool = (struct kp_spool){.fd = -1};
}
