/*
 * Events of Chrome traces as records; see import_chrome.h.
 *
 * Kineto puts what ran on a GPU under the GPU's number as pid and the stream's as tid, and what ran
 * on the host under real ones: all of a file is one process. Proton says neither pid nor device,
 * and has the stream as tid. kprof export has real pids, and the rest among the arguments.
 */
#include "profiler/import_chrome.h"

#include <stdlib.h>
#include <string.h>

#include "trace/times.h"
#include "trace/vector.h"

/* Times from here on are of the wall clock: 2001. PyTorch before 2.3 wrote these. */
#define EPOCH_NS 1000000000000000000LL
#define CPU_OP_DOMAIN "cpu_op"
#define NAMES_EVENT "kprof_kernel" /* as export_chrome.c writes it */

enum category { KERNEL, COPY, SET, CALL, RANGE, CPU_OP, IGNORED };

/* Of Kineto, of older versions of it, and of kprof export. */
static const struct {
	const char *name;
	enum category category;
} categories[] = {
	{"kernel", KERNEL},
	{"gpu_memcpy", COPY},
	{"gpu_memset", SET},
	{"cuda_runtime", CALL},
	{"cuda_driver", CALL},
	{"user_annotation", RANGE},
	{"cpu_op", CPU_OP},
	{"Kernel", KERNEL},
	{"Memcpy", COPY},
	{"Memset", SET},
	{"Runtime", CALL},
	{"Operator", CPU_OP},
	{"UserAnnotation", RANGE},
	{"copy", COPY},
	{"set", SET},
	{"call", CALL},
	{"range", RANGE},
};

static bool equals(struct kp_text text, const char *word)
{
	return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

static bool contains(struct kp_text text, const char *word)
{
	return text.length && memmem(text.bytes, text.length, word, strlen(word)) != NULL;
}

static enum category category_of(struct kp_text name)
{
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
		if (equals(name, categories[i].name))
			return categories[i].category;
	return IGNORED;
}

static uint32_t small(uint64_t number)
{
	return number <= UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* The first of two names of one argument that is there. */
static uint64_t either(const struct kp_chrome_values *values, enum kp_chrome_number a,
		       enum kp_chrome_number b)
{
	return kp_chrome_has(values, a) ? values->numbers[a] : kp_chrome_number(values, b);
}

/* ---- where and when ---- */

/* A process, and what an event of the host tells about it. */
static enum kp_status find_process(struct kp_chrome_events *events,
				   const struct kp_chrome_values *values, bool on_host,
				   uint32_t *process)
{
	uint64_t pid = kp_chrome_number(values, KP_CHROME_PID);
	enum kp_status status = kp_import_process(events->import, events->own ? pid : 0, process);

	if (status != KP_OK)
		return status;
	struct kp_process_info *info = &events->import->processes[*process].info;
	if ((on_host || events->own) && kp_chrome_has(values, KP_CHROME_PID) &&
	    !KP_HAS(info, PROCESS, pid))
		KP_SET(info, PROCESS, pid, pid);
	return KP_OK;
}

/* Where times are of the wall clock, they are an anchor themselves. */
static void anchor(struct kp_import_process *process, int64_t at_ns)
{
	if (process->clock.has || at_ns < EPOCH_NS)
		return;
	KP_SET(&process->clock, CLOCK, monotonic_ns, kp_import_time(at_ns));
	KP_SET(&process->clock, CLOCK, realtime_ns, (uint64_t)at_ns);
}

/* Both 0 where the event has no times that can be. */
static void times_of(const struct kp_chrome_values *values, struct kp_import_process *process,
		     uint64_t *start_ns, uint64_t *end_ns)
{
	int64_t ts = values->times_ns[KP_CHROME_TS], dur = values->times_ns[KP_CHROME_DUR];

	*start_ns = *end_ns = 0;
	if (values->has_time != (1U << KP_CHROME_TS | 1U << KP_CHROME_DUR) || dur < 0 ||
	    dur > INT64_MAX - KP_IMPORT_SHIFT_NS || ts > INT64_MAX - dur)
		return;
	*start_ns = kp_import_time(ts);
	*end_ns = kp_import_time(ts + dur);
	if (*start_ns == 0 || *end_ns == 0)
		*start_ns = *end_ns = 0;
	anchor(process, ts);
}

static uint32_t device_of(struct kp_chrome_events *events, const struct kp_chrome_values *values)
{
	if (kp_chrome_has(values, KP_CHROME_ARG_DEVICE))
		return small(values->numbers[KP_CHROME_ARG_DEVICE]);
	if (!events->own && kp_chrome_has(values, KP_CHROME_PID))
		return small(values->numbers[KP_CHROME_PID]);
	return 0;
}

static uint32_t stream_of(const struct kp_chrome_values *values)
{
	return small(either(values, KP_CHROME_STREAM, KP_CHROME_TID));
}

/* ---- kinds ---- */

static void take_shape(const struct kp_chrome_values *values, struct kp_launch_config *config)
{
	for (unsigned i = 0; i < 3; i++) {
		config->grid[i] =
			values->triple_counts[0] == 3
				? values->triples[0][i]
				: small(kp_chrome_number(values, KP_CHROME_OWN_GRID_X + i));
		config->block[i] =
			values->triple_counts[1] == 3
				? values->triples[1][i]
				: small(kp_chrome_number(values, KP_CHROME_OWN_BLOCK_X + i));
	}
}

/* The name that the driver has, where kprof wrote it. */
static struct kp_text name_of(const struct kp_chrome_events *events, struct kp_text shown)
{
	uint32_t number;

	if (events->own && kp_intern_find(&events->names, shown.bytes, shown.length, &number))
		return events->mangled[number];
	return shown;
}

static enum kp_status take_kernel(struct kp_chrome_events *events,
				  const struct kp_chrome_values *values, uint32_t process)
{
	struct kp_import_launch launch = {
		.name = name_of(events, kp_chrome_text(values, KP_CHROME_NAME)),
		.config = {.device = device_of(events, values),
			   .context = small(kp_chrome_number(values, KP_CHROME_CONTEXT)),
			   .stream = stream_of(values),
			   .registers = small(
				   either(values, KP_CHROME_REGISTERS, KP_CHROME_OWN_REGISTERS)),
			   .static_shared_bytes =
				   small(kp_chrome_number(values, KP_CHROME_OWN_STATIC_SHARED)),
			   /* Kineto gives the sum of both. */
			   .dynamic_shared_bytes = small(
				   either(values, KP_CHROME_SHARED, KP_CHROME_OWN_DYNAMIC_SHARED))},
		.launch = {.correlation = small(kp_chrome_number(values, KP_CHROME_CORRELATION)),
			   .graph = small(either(values, KP_CHROME_GRAPH, KP_CHROME_OWN_GRAPH)),
			   .graph_node =
				   either(values, KP_CHROME_GRAPH_NODE, KP_CHROME_OWN_GRAPH_NODE)},
	};

	take_shape(values, &launch.config);
	times_of(values, &events->import->processes[process], &launch.launch.start_ns,
		 &launch.launch.end_ns);
	return kp_import_launch(events->import, process, &launch);
}

/* «Memcpy HtoD (Pinned -> Device)», «copy host to device». */
static uint32_t kind_of_copy(struct kp_text name)
{
	static const struct {
		const char *word, *own;
		uint32_t kind;
	} kinds[] = {
		{"HtoD", "host to device", KP_MEMOP_HOST_TO_DEVICE},
		{"DtoH", "device to host", KP_MEMOP_DEVICE_TO_HOST},
		{"DtoD", "device to device", KP_MEMOP_DEVICE_TO_DEVICE},
		{"HtoH", "host to host", KP_MEMOP_HOST_TO_HOST},
		{"PtoP", "peer to peer", KP_MEMOP_PEER_TO_PEER},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (contains(name, kinds[i].word) || contains(name, kinds[i].own))
			return kinds[i].kind;
	return KP_MEMOP_OTHER;
}

static enum kp_status take_memop(struct kp_chrome_events *events,
				 const struct kp_chrome_values *values, uint32_t process, bool set)
{
	struct kp_memop memop = {
		.bytes = kp_chrome_number(values, KP_CHROME_BYTES),
		.graph_node = either(values, KP_CHROME_GRAPH_NODE, KP_CHROME_OWN_GRAPH_NODE),
		.kind = set ? KP_MEMOP_SET : kind_of_copy(kp_chrome_text(values, KP_CHROME_NAME)),
		.device = device_of(events, values),
		.context = small(kp_chrome_number(values, KP_CHROME_CONTEXT)),
		.stream = stream_of(values),
		.correlation = small(kp_chrome_number(values, KP_CHROME_CORRELATION)),
	};

	times_of(values, &events->import->processes[process], &memop.start_ns, &memop.end_ns);
	if (!kp_chrome_has(values, KP_CHROME_BYTES) &&
	    kp_import_note(events->import, KP_IMPORT_NO_BYTES) != KP_OK)
		return KP_NO_MEMORY;
	return kp_import_memop(events->import, process, &memop);
}

static enum kp_status take_call(struct kp_chrome_events *events,
				const struct kp_chrome_values *values, uint32_t process)
{
	struct kp_host_call call = {
		.thread = small(either(values, KP_CHROME_OWN_THREAD, KP_CHROME_TID)),
		.context = KP_HOST_UNKNOWN,
		.stream = KP_HOST_UNKNOWN,
		.correlation = small(kp_chrome_number(values, KP_CHROME_CORRELATION)),
	};

	if (!call.correlation ||
	    !kp_import_launches(kp_chrome_text(values, KP_CHROME_NAME), &call.kind))
		return KP_OK;
	call.kernels = call.kind == KP_HOST_GRAPH ? KP_HOST_UNKNOWN : 1;
	times_of(values, &events->import->processes[process], &call.start_ns, &call.end_ns);
	return call.end_ns ? kp_import_call(events->import, process, &call) : KP_OK;
}

static enum kp_status take_range(struct kp_chrome_events *events,
				 const struct kp_chrome_values *values, uint32_t process,
				 bool cpu_op)
{
	struct kp_range range = {
		.thread = small(either(values, KP_CHROME_OWN_THREAD, KP_CHROME_TID)),
		.depth = KP_ASSEMBLY_NESTED,
	};
	struct kp_text domain = cpu_op ? (struct kp_text){CPU_OP_DOMAIN, strlen(CPU_OP_DOMAIN)}
				       : kp_chrome_text(values, KP_CHROME_DOMAIN);

	if (events->own) /* one without a depth was started and ended */
		range.depth = kp_chrome_has(values, KP_CHROME_OWN_DEPTH)
				      ? small(values->numbers[KP_CHROME_OWN_DEPTH])
				      : UINT32_MAX;
	times_of(values, &events->import->processes[process], &range.start_ns, &range.end_ns);
	if (range.end_ns == 0)
		return KP_OK;
	return kp_import_range(events->import, process, domain,
			       kp_chrome_text(values, KP_CHROME_NAME), &range);
}

/* What kprof export says of a kernel before its first slice. */
static enum kp_status take_name(struct kp_chrome_events *events,
				const struct kp_chrome_values *values)
{
	struct kp_text shown = kp_chrome_text(values, KP_CHROME_ARG_NAME);
	struct kp_text mangled = kp_chrome_text(values, KP_CHROME_MANGLED);
	uint32_t number;
	bool added;
	enum kp_status status =
		kp_intern_put(&events->names, shown.bytes, shown.length, &number, &added);

	if (status != KP_OK || !added)
		return status;
	if (!kp_vector_reserve((void **)&events->mangled, events->names.count,
			       &events->mangled_capacity, sizeof *events->mangled))
		return KP_NO_MEMORY;
	events->mangled[number] = kp_import_text(events->import, mangled.bytes, mangled.length);
	return events->mangled[number].bytes ? KP_OK : KP_NO_MEMORY;
}

static enum kp_status take_process_name(struct kp_chrome_events *events,
					const struct kp_chrome_values *values)
{
	struct kp_import *import = events->import;
	struct kp_text command = kp_chrome_text(values, KP_CHROME_COMMAND);
	struct kp_text host = kp_chrome_text(values, KP_CHROME_PROCESS_HOST);
	struct kp_text rank = kp_chrome_text(values, KP_CHROME_PROCESS_RANK);
	uint32_t process;
	enum kp_status status = find_process(events, values, false, &process);

	if (status != KP_OK)
		return status;
	/* Exports of older versions have the name alone, which begins with the command. */
	if (!command.length)
		command = kp_chrome_text(values, KP_CHROME_ARG_NAME);
	struct kp_process_info *info = &import->processes[process].info;
	KP_SET(info, PROCESS, command, kp_import_text(import, command.bytes, command.length));
	if (host.length)
		KP_SET(info, PROCESS, host, kp_import_text(import, host.bytes, host.length));
	if (rank.length)
		KP_SET(info, PROCESS, rank, kp_import_text(import, rank.bytes, rank.length));
	return KP_OK;
}

static enum kp_status take_metadata(struct kp_chrome_events *events,
				    const struct kp_chrome_values *values)
{
	struct kp_text name = kp_chrome_text(values, KP_CHROME_NAME);

	if (!events->own)
		return KP_OK;
	if (equals(name, NAMES_EVENT))
		return take_name(events, values);
	return equals(name, "process_name") ? take_process_name(events, values) : KP_OK;
}

enum kp_status kp_chrome_event(struct kp_chrome_events *events,
			       const struct kp_chrome_values *values)
{
	struct kp_text phase = kp_chrome_text(values, KP_CHROME_PH);
	enum category category = category_of(kp_chrome_text(values, KP_CHROME_CAT));
	enum kp_status status;
	uint32_t process;

	events->any |= phase.length > 0;
	if (equals(phase, "M"))
		return take_metadata(events, values);
	if (!equals(phase, "X") || category == IGNORED)
		return KP_OK;
	events->any_kernel |= category == KERNEL || category == COPY || category == SET;
	status = find_process(events, values, category >= CALL, &process);
	if (status != KP_OK)
		return status;
	switch (category) {
	case KERNEL:
		return take_kernel(events, values, process);
	case COPY:
	case SET:
		return take_memop(events, values, process, category == SET);
	case CALL:
		return take_call(events, values, process);
	default:
		return take_range(events, values, process, category == CPU_OP);
	}
}

/* ---- devices ---- */

enum kp_status kp_chrome_device(struct kp_chrome_events *events,
				const struct kp_chrome_values *values)
{
	struct kp_text name = kp_chrome_text(values, KP_CHROME_DEVICE_NAME);
	struct kp_device_info device = {0};
	uint32_t process;
	enum kp_status status = kp_import_process(events->import, 0, &process);

	if (status != KP_OK || !kp_chrome_has(values, KP_CHROME_DEVICE_ID))
		return status;
	KP_SET(&device, DEVICE, device, values->numbers[KP_CHROME_DEVICE_ID]);
	if (name.length)
		KP_SET(&device, DEVICE, name,
		       kp_import_text(events->import, name.bytes, name.length));
#define TAKE(number, field)                                                                        \
	if (kp_chrome_has(values, KP_CHROME_DEVICE_##number))                                      \
		KP_SET(&device, DEVICE, field, values->numbers[KP_CHROME_DEVICE_##number]);
	TAKE(MEMORY, memory_bytes)
	TAKE(MAJOR, compute_major)
	TAKE(MINOR, compute_minor)
	TAKE(THREADS, threads_per_sm)
	TAKE(REGISTERS, registers_per_sm)
	TAKE(SHARED, shared_bytes_per_sm)
	TAKE(SMS, sm_count)
#undef TAKE
	return kp_import_device(events->import, process, &device);
}

void kp_chrome_events_fini(struct kp_chrome_events *events)
{
	kp_intern_fini(&events->names);
	free(events->mangled);
}
