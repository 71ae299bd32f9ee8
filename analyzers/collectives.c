/* Collective operations of NCCL; see collectives.h. */
#include "analyzers/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "trace/times.h"
#include "trace/vector.h"

enum { NOT_KNOWN, NO, YES };

static bool contains(struct kp_text text, const char *word)
{
	return text.length && memmem(text.bytes, text.length, word, strlen(word)) != NULL;
}

bool kp_is_collective(struct kp_text name)
{
	return contains(name, "nccl") &&
	       (contains(name, "AllReduce") || contains(name, "AllGather") ||
		contains(name, "ReduceScatter"));
}

enum kp_status kp_collectives_init(struct kp_collectives *collectives,
				   const struct kp_reader *reader)
{
	*collectives = (struct kp_collectives){.process_count = kp_reader_process_count(reader)};
	collectives->processes =
		calloc(collectives->process_count + 1, sizeof *collectives->processes);
	return collectives->processes ? KP_OK : KP_NO_MEMORY;
}

void kp_collectives_fini(struct kp_collectives *collectives)
{
	for (size_t i = 0; collectives->processes && i < collectives->process_count; i++) {
		free(collectives->processes[i].list);
		free(collectives->processes[i].configs);
		free(collectives->processes[i].names);
	}
	free(collectives->processes);
	kp_intern_fini(&collectives->names);
	*collectives = (struct kp_collectives){0};
}

static enum kp_status judge(struct kp_collectives *collectives, struct kp_collectives_process *own,
			    const struct kp_process *process, uint32_t config)
{
	if (!own->configs) {
		own->configs = calloc(process->config_count + 1, sizeof *own->configs);
		own->names = calloc(process->config_count + 1, sizeof *own->names);
	}
	if (!own->configs || !own->names)
		return KP_NO_MEMORY;
	if (own->configs[config] != NOT_KNOWN)
		return KP_OK;
	struct kp_text name = kp_process_string(process, process->configs[config].name);
	own->configs[config] = kp_is_collective(name) ? YES : NO;
	if (own->configs[config] == NO)
		return KP_OK;
	return kp_intern_put(&collectives->names, name.bytes, name.length, &own->names[config],
			     NULL);
}

enum kp_status kp_collectives_add(struct kp_collectives *collectives,
				  const struct kp_process *process, const struct kp_launch *launch)
{
	struct kp_collectives_process *own = &collectives->processes[process->index];
	enum kp_status status = judge(collectives, own, process, launch->config);

	if (status != KP_OK || own->configs[launch->config] != YES ||
	    own->count == KP_COLLECTIVES_MOST ||
	    kp_time_quality(launch->start_ns, launch->end_ns) != KP_TIME_VALID)
		return status;
	if (!kp_vector_grow((void **)&own->list, own->count, &own->capacity, sizeof *own->list))
		return KP_NO_MEMORY;
	own->list[own->count++] = (struct kp_collective){launch->start_ns, launch->end_ns,
							 own->names[launch->config]};
	return KP_OK;
}

static int compare(const void *left, const void *right)
{
	const struct kp_collective *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void kp_collectives_sort(struct kp_collectives *collectives)
{
	for (size_t i = 0; i < collectives->process_count; i++) {
		struct kp_collectives_process *own = &collectives->processes[i];

		if (own->count)
			qsort(own->list, own->count, sizeof *own->list, compare);
	}
}

/* The first whose name is not below `name`. */
static size_t lower_bound(const struct kp_collectives_process *process, uint64_t name)
{
	size_t low = 0, high = process->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->list[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct kp_collective *kp_collectives_of(const struct kp_collectives_process *process,
					      uint32_t name, size_t *count)
{
	size_t first = lower_bound(process, name);

	*count = lower_bound(process, (uint64_t)name + 1) - first;
	return *count ? &process->list[first] : NULL;
}
