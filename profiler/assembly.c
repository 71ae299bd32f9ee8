/* Putting a trace together; see assembly.h. */
#include "profiler/assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/spool.h"
#include "trace/intern.h"
#include "trace/vector.h"

/* Ranges that are open at once in one thread and domain; those further in have this depth. */
#define DEPTH_MOST 4096

/* Where the number of the process stands behind a record: records are multiples of 8 bytes. */
static const size_t sizes[KP_ASSEMBLY_KIND_COUNT] = {
#define X(NAME, type) sizeof(type),
	KP_ASSEMBLY_KINDS(X)
#undef X
};
#define X(NAME, type)                                                                              \
	_Static_assert(sizeof(type) % 8 == 0, "a record is a multiple of 8 bytes");                \
	_Static_assert(sizeof(type) + 8 <= 128, "a row holds a record");
KP_ASSEMBLY_KINDS(X)
#undef X

/* The ends of the ranges that are open in one thread and domain, the innermost last. */
struct nest {
	uint64_t *ends;
	size_t count, capacity;
};

struct kp_assembly {
	int fd;
	struct member {
		struct kp_writer *writer;
		int64_t by_ns;
	} * members;
	size_t count, capacity;
	struct kp_spool spools[KP_ASSEMBLY_KIND_COUNT];
	struct kp_intern nest_keys; /* (process, thread, domain) */
	struct nest *nests;
	size_t nest_capacity;
};

enum kp_status kp_assembly_create(int fd, const char *folder, struct kp_assembly **out)
{
	struct kp_assembly *assembly = calloc(1, sizeof *assembly);

	*out = assembly;
	if (!assembly)
		return KP_NO_MEMORY;
	assembly->fd = fd;
	for (int kind = 0; kind < KP_ASSEMBLY_KIND_COUNT; kind++)
		kp_spool_init(&assembly->spools[kind], sizes[kind] + 8, folder);
	return KP_OK;
}

void kp_assembly_destroy(struct kp_assembly *assembly)
{
	if (!assembly)
		return;
	for (size_t i = 0; i < assembly->count; i++)
		kp_writer_destroy(assembly->members[i].writer);
	for (size_t i = 0; i < assembly->nest_keys.count && i < assembly->nest_capacity; i++)
		free(assembly->nests[i].ends);
	for (int kind = 0; kind < KP_ASSEMBLY_KIND_COUNT; kind++)
		kp_spool_fini(&assembly->spools[kind]);
	kp_intern_fini(&assembly->nest_keys);
	free(assembly->nests);
	free(assembly->members);
	free(assembly);
}

enum kp_status kp_assembly_process(struct kp_assembly *assembly, uint64_t id,
				   struct kp_writer **writer)
{
	enum kp_status status;

	*writer = NULL;
	if (assembly->count == KP_ASSEMBLY_PROCESSES_MOST)
		return KP_UNSUPPORTED;
	if (!kp_vector_grow((void **)&assembly->members, assembly->count, &assembly->capacity,
			    sizeof(*assembly->members)))
		return KP_NO_MEMORY;
	status = kp_writer_create(assembly->fd, id, writer);
	if (status == KP_OK)
		assembly->members[assembly->count++] = (struct member){*writer, 0};
	return status;
}

struct kp_writer *kp_assembly_writer(const struct kp_assembly *assembly, uint32_t process)
{
	return assembly->members[process].writer;
}

void kp_assembly_move(struct kp_assembly *assembly, uint32_t process, int64_t by_ns)
{
	assembly->members[process].by_ns = by_ns;
}

enum kp_status kp_assembly_add(struct kp_assembly *assembly, enum kp_assembly_kind kind,
			       uint32_t process, const void *record)
{
	uint64_t row[16], number = process;

	memcpy(row, record, sizes[kind]);
	memcpy((char *)row + sizes[kind], &number, sizeof number);
	return kp_spool_add(&assembly->spools[kind], row);
}

/* ---- writing ---- */

/* The record of a row, moved, and whose it is. Every record begins with its start and end. */
static const struct member *take(const struct kp_assembly *assembly, enum kp_assembly_kind kind,
				 const void *row, void *record)
{
	const struct member *member;
	uint64_t number, times[2];

	memcpy(&number, (const char *)row + sizes[kind], sizeof number);
	member = &assembly->members[number];
	memcpy(record, row, sizes[kind]);
	memcpy(times, row, sizeof times);
	for (int i = 0; i < 2; i++)
		times[i] = kp_assembly_moved(times[i], member->by_ns);
	memcpy(record, times, sizeof times);
	return member;
}

static enum kp_status put_launch(void *context, const void *row)
{
	struct kp_launch launch;
	const struct member *member = take(context, KP_ASSEMBLY_LAUNCH, row, &launch);

	return kp_writer_launch(member->writer, &launch);
}

static enum kp_status put_memop(void *context, const void *row)
{
	struct kp_memop memop;
	const struct member *member = take(context, KP_ASSEMBLY_MEMOP, row, &memop);

	return kp_writer_memop(member->writer, &memop);
}

static enum kp_status put_call(void *context, const void *row)
{
	struct kp_host_call call;
	const struct member *member = take(context, KP_ASSEMBLY_CALL, row, &call);

	return kp_writer_host(member->writer, &call);
}

/* How many ranges of its thread and domain are open around it. They come in order of start. */
static enum kp_status find_depth(struct kp_assembly *assembly, uint32_t process,
				 struct kp_range *range)
{
	const uint32_t key[3] = {process, range->thread, range->domain};
	uint32_t number;
	enum kp_status status;

	status = kp_intern_put(&assembly->nest_keys, key, sizeof key, &number, NULL);
	if (status == KP_OK && !kp_vector_reserve((void **)&assembly->nests, (size_t)number + 1,
						  &assembly->nest_capacity, sizeof(struct nest)))
		status = KP_NO_MEMORY;
	if (status != KP_OK)
		return status;
	struct nest *nest = &assembly->nests[number];
	while (nest->count > 0 && nest->ends[nest->count - 1] <= range->start_ns)
		nest->count--;
	range->depth = (uint32_t)nest->count;
	if (nest->count == DEPTH_MOST)
		return KP_OK;
	if (!kp_vector_grow((void **)&nest->ends, nest->count, &nest->capacity, sizeof *nest->ends))
		return KP_NO_MEMORY;
	nest->ends[nest->count++] = range->end_ns;
	return KP_OK;
}

static enum kp_status put_range(void *context, const void *row)
{
	struct kp_assembly *assembly = context;
	struct kp_range range;
	const struct member *member = take(assembly, KP_ASSEMBLY_RANGE, row, &range);
	enum kp_status status = KP_OK;

	if (range.depth == KP_ASSEMBLY_NESTED)
		status = find_depth(assembly, (uint32_t)(member - assembly->members), &range);
	return status == KP_OK ? kp_writer_range(member->writer, &range) : status;
}

enum kp_status kp_assembly_finish(struct kp_assembly *assembly)
{
	static kp_spool_sink *const sinks[KP_ASSEMBLY_KIND_COUNT] = {
		[KP_ASSEMBLY_LAUNCH] = put_launch,
		[KP_ASSEMBLY_MEMOP] = put_memop,
		[KP_ASSEMBLY_RANGE] = put_range,
		[KP_ASSEMBLY_CALL] = put_call,
	};
	enum kp_status status = KP_OK;

	for (int kind = 0; status == KP_OK && kind < KP_ASSEMBLY_KIND_COUNT; kind++) {
		status = kp_spool_drain(&assembly->spools[kind], sinks[kind], assembly);
		kp_spool_fini(&assembly->spools[kind]);
	}
	for (size_t i = 0; status == KP_OK && i < assembly->count; i++)
		status = kp_writer_flush(assembly->members[i].writer);
	for (size_t i = 0; status == KP_IO && i < assembly->count; i++) {
		int error = kp_writer_loss(assembly->members[i].writer).first_errno;

		if (error)
			errno = error;
	}
	return status;
}
