/* What all sources of kprof import share; see import.h. */
#include "profiler/import.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/times.h"
#include "trace/vector.h"

#define NOTES_MOST 32

enum kp_status kp_import_init(struct kp_import *import, const char *path, int fd,
			      const char *folder)
{
	*import = (struct kp_import){.path = path};
	import->arena = kp_arena_create();
	return import->arena ? kp_assembly_create(fd, folder, &import->assembly) : KP_NO_MEMORY;
}

void kp_import_fini(struct kp_import *import)
{
	for (size_t i = 0; i < import->process_count; i++)
		free(import->processes[i].devices);
	free(import->processes);
	free(import->notes);
	kp_intern_fini(&import->keys);
	kp_assembly_destroy(import->assembly);
	kp_arena_destroy(import->arena);
}

enum kp_status kp_import_fail(struct kp_import *import, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (!import->complaint[0])
		vsnprintf(import->complaint, sizeof import->complaint, format, arguments);
	va_end(arguments);
	return KP_CORRUPT;
}

enum kp_status kp_import_note(struct kp_import *import, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	for (size_t i = 0; i < import->note_count; i++)
		if (strcmp(import->notes[i], text) == 0)
			return KP_OK;
	if (import->note_count == NOTES_MOST)
		return KP_OK;
	const char *copy = kp_arena_copy(import->arena, text, strlen(text));
	if (!copy || !kp_vector_grow((void **)&import->notes, import->note_count,
				     &import->note_capacity, sizeof *import->notes))
		return KP_NO_MEMORY;
	import->notes[import->note_count++] = copy;
	return KP_OK;
}

/* ---- processes ---- */

static enum kp_status add_process(struct kp_import *import, uint64_t key)
{
	const uint64_t identity[2] = {import->identity, key};
	struct kp_writer *writer;
	enum kp_status status = kp_assembly_process(
		import->assembly, XXH3_64bits(identity, sizeof identity), &writer);

	if (status == KP_UNSUPPORTED)
		return kp_import_fail(import, "it has more than %d processes",
				      KP_ASSEMBLY_PROCESSES_MOST);
	if (status == KP_OK &&
	    !kp_vector_grow((void **)&import->processes, import->process_count,
			    &import->process_capacity, sizeof *import->processes))
		status = KP_NO_MEMORY;
	if (status == KP_OK)
		import->processes[import->process_count++] = (struct kp_import_process){.key = key};
	return status;
}

enum kp_status kp_import_process(struct kp_import *import, uint64_t key, uint32_t *number)
{
	bool added;
	enum kp_status status = kp_intern_put(&import->keys, &key, sizeof key, number, &added);

	return status == KP_OK && added ? add_process(import, key) : status;
}

struct kp_text kp_import_text(struct kp_import *import, const char *bytes, size_t length)
{
	const char *copy = kp_arena_copy(import->arena, bytes, length);

	return (struct kp_text){copy, copy ? length : 0};
}

enum kp_status kp_import_device(struct kp_import *import, uint32_t process,
				const struct kp_device_info *device)
{
	struct kp_import_process *to = &import->processes[process];

	for (size_t i = 0; i < to->device_count; i++)
		if (to->devices[i].device == device->device)
			return KP_OK;
	if (!kp_vector_grow((void **)&to->devices, to->device_count, &to->device_capacity,
			    sizeof *to->devices))
		return KP_NO_MEMORY;
	to->devices[to->device_count++] = *device;
	return KP_OK;
}

/* ---- records ---- */

uint64_t kp_import_time(int64_t source_ns)
{
	if (source_ns <= -KP_IMPORT_SHIFT_NS ||
	    source_ns > (int64_t)KP_TIME_MAX_NS - KP_IMPORT_SHIFT_NS)
		return 0;
	return (uint64_t)(source_ns + KP_IMPORT_SHIFT_NS);
}

static bool see(struct kp_import_process *process, uint64_t start_ns, uint64_t end_ns)
{
	if (kp_time_quality(start_ns, end_ns) != KP_TIME_VALID)
		return false;
	if (process->first_ns == 0 || start_ns < process->first_ns)
		process->first_ns = start_ns;
	if (end_ns > process->last_ns)
		process->last_ns = end_ns;
	return true;
}

enum kp_status kp_import_launch(struct kp_import *import, uint32_t process,
				struct kp_import_launch *launch)
{
	struct kp_import_process *to = &import->processes[process];
	struct kp_writer *writer = kp_assembly_writer(import->assembly, process);
	enum kp_status status = kp_writer_intern(writer, launch->name.bytes, launch->name.length,
						 &launch->config.name);

	if (status == KP_OK)
		status = kp_writer_config(writer, &launch->config, &launch->launch.config);
	to->totals.kernels++;
	to->totals.untimed += !see(to, launch->launch.start_ns, launch->launch.end_ns);
	if (status != KP_OK)
		return status;
	return kp_assembly_add(import->assembly, KP_ASSEMBLY_LAUNCH, process, &launch->launch);
}

enum kp_status kp_import_memop(struct kp_import *import, uint32_t process,
			       const struct kp_memop *memop)
{
	struct kp_import_process *to = &import->processes[process];

	to->totals.memops++;
	see(to, memop->start_ns, memop->end_ns);
	return kp_assembly_add(import->assembly, KP_ASSEMBLY_MEMOP, process, memop);
}

enum kp_status kp_import_range(struct kp_import *import, uint32_t process, struct kp_text domain,
			       struct kp_text name, struct kp_range *range)
{
	struct kp_import_process *to = &import->processes[process];
	struct kp_writer *writer = kp_assembly_writer(import->assembly, process);
	enum kp_status status =
		kp_writer_intern(writer, domain.bytes, domain.length, &range->domain);

	if (status == KP_OK)
		status = kp_writer_intern(writer, name.bytes, name.length, &range->name);
	if (status != KP_OK)
		return status;
	to->totals.ranges++;
	see(to, range->start_ns, range->end_ns);
	return kp_assembly_add(import->assembly, KP_ASSEMBLY_RANGE, process, range);
}

enum kp_status kp_import_call(struct kp_import *import, uint32_t process,
			      const struct kp_host_call *call)
{
	struct kp_import_process *to = &import->processes[process];

	to->totals.calls++;
	see(to, call->start_ns, call->end_ns);
	return kp_assembly_add(import->assembly, KP_ASSEMBLY_CALL, process, call);
}

bool kp_import_launches(struct kp_text name, uint32_t *kind)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} calls[] = {
		{"cudaLaunchCooperativeKernel", KP_HOST_COOPERATIVE},
		{"cuLaunchCooperativeKernel", KP_HOST_COOPERATIVE},
		{"cudaLaunchKernel", KP_HOST_LAUNCH},
		{"cuLaunchKernel", KP_HOST_LAUNCH},
		{"cudaGraphLaunch", KP_HOST_GRAPH},
		{"cuGraphLaunch", KP_HOST_GRAPH},
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		size_t length = strlen(calls[i].name);

		if (name.length >= length && memcmp(name.bytes, calls[i].name, length) == 0) {
			*kind = calls[i].kind;
			return true;
		}
	}
	return false;
}

/* ---- writing ---- */

/*
 * Where the wall clock is known, it becomes the trace's: sources begin theirs where they like, and
 * so those of several ranks fit together.
 */
static void set_clock(struct kp_import *import, uint32_t number)
{
	struct kp_import_process *process = &import->processes[number];
	int64_t by_ns = (int64_t)(process->clock.realtime_ns - process->clock.monotonic_ns);

	if (!KP_HAS(&process->clock, CLOCK, realtime_ns) ||
	    process->clock.realtime_ns > KP_TIME_MAX_NS / 2)
		return;
	process->clock.monotonic_ns = process->clock.realtime_ns;
	process->first_ns = kp_assembly_moved(process->first_ns, by_ns);
	process->last_ns = kp_assembly_moved(process->last_ns, by_ns);
	kp_assembly_move(import->assembly, number, by_ns);
}

static enum kp_status put_process(struct kp_import *import, struct kp_import_process *process,
				  struct kp_writer *writer)
{
	struct kp_counts counts = process->counts;
	enum kp_status status;

	KP_SET(&process->info, PROCESS, kprof_version,
	       ((struct kp_text){KPROF_VERSION, strlen(KPROF_VERSION)}));
	KP_SET(&process->info, PROCESS, source,
	       ((struct kp_text){import->source, strlen(import->source)}));
	if (process->first_ns)
		KP_SET(&process->info, PROCESS, start_ns, process->first_ns);
	/* What was recorded and is not in the source is lost. */
	if (!KP_HAS(&counts, COUNTS, kernels_recorded) ||
	    counts.kernels_recorded < process->totals.kernels)
		KP_SET(&counts, COUNTS, kernels_recorded, process->totals.kernels);
	KP_SET(&counts, COUNTS, kernels_untimed, process->totals.untimed);
	KP_SET(&counts, COUNTS, memops_recorded, process->totals.memops);
	KP_SET(&counts, COUNTS, ranges_recorded, process->totals.ranges);
	status = kp_writer_process(writer, &process->info);
	for (size_t i = 0; status == KP_OK && i < process->device_count; i++)
		status = kp_writer_device(writer, &process->devices[i]);
	if (status == KP_OK && process->clock.has)
		status = kp_writer_clock(writer, &process->clock);
	for (size_t i = 0; status == KP_OK && i < import->note_count; i++)
		status = kp_writer_note(writer, KP_NOTE_INFO, import->notes[i]);
	return status == KP_OK ? kp_writer_counts(writer, &counts) : status;
}

enum kp_status kp_import_finish(struct kp_import *import)
{
	enum kp_status status = KP_OK;

	for (uint32_t i = 0; status == KP_OK && i < import->process_count; i++) {
		set_clock(import, i);
		status = put_process(import, &import->processes[i],
				     kp_assembly_writer(import->assembly, i));
	}
	if (status == KP_OK)
		status = kp_assembly_finish(import->assembly);
	for (size_t i = 0; status == KP_OK && i < import->process_count; i++) {
		struct kp_end end = {0};

		if (import->processes[i].last_ns)
			KP_SET(&end, END, end_ns, import->processes[i].last_ns);
		KP_SET(&end, END, way, KP_END_EXIT);
		status = kp_writer_end(kp_assembly_writer(import->assembly, (uint32_t)i), &end);
	}
	return status;
}

struct kp_import_totals kp_import_totals(const struct kp_import *import)
{
	struct kp_import_totals sum = {0};

	for (size_t i = 0; i < import->process_count; i++) {
		const struct kp_import_totals *one = &import->processes[i].totals;

		sum.kernels += one->kernels;
		sum.untimed += one->untimed;
		sum.memops += one->memops;
		sum.ranges += one->ranges;
		sum.calls += one->calls;
	}
	return sum;
}
