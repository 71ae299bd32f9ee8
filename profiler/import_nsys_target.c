/* What nsys says of processes, devices and the clock; see import_nsys.h. */
#include <string.h>

#include "profiler/import_json.h"
#include "profiler/import_nsys.h"

#define BIT KP_NSYS_BIT
#define GPUS_MOST 256

struct gpu {
	int64_t id;
	struct kp_device_info info;
};

static enum kp_status each(struct kp_nsys *nsys, struct kp_nsys_table *table,
			   enum kp_status (*take)(struct kp_nsys *nsys, struct kp_nsys_table *table,
						  void *context),
			   void *context)
{
	enum kp_status status = kp_nsys_open(nsys, table);
	bool any = status == KP_OK;

	while (status == KP_OK && any) {
		status = kp_nsys_next(nsys, table, &any);
		if (status == KP_OK && any)
			status = take(nsys, table, context);
	}
	kp_nsys_close(table);
	return status;
}

static struct kp_text keep(struct kp_nsys *nsys, struct kp_text text)
{
	return kp_import_text(nsys->import, text.bytes, text.length);
}

/* ---- processes ---- */

static enum kp_status take_process(struct kp_nsys *nsys, struct kp_nsys_table *table, void *context)
{
	struct kp_text name = kp_nsys_text(table, KP_NSYS_NAME);
	int64_t global;
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_GLOBAL_PID, &known, &global);
	uint64_t key = (uint64_t)global >> 24;
	uint32_t number;

	(void)context;
	/* Those that used no GPU are none of this trace. */
	if (status != KP_OK || !name.length ||
	    !kp_intern_find(&nsys->import->keys, &key, sizeof key, &number))
		return status;
	KP_SET(&nsys->import->processes[number].info, PROCESS, command, keep(nsys, name));
	return KP_OK;
}

/* What the trace that was exported counted of losses: what is not there stays lost. */
static void take_count(struct kp_import_process *process, struct kp_text fact, struct kp_text value)
{
	uint64_t count;

	if (!kp_json_count(value, &count))
		return;
#define TAKE(field)                                                                                \
	if (fact.length == sizeof("." #field) - 1 &&                                               \
	    memcmp(fact.bytes, "." #field, fact.length) == 0)                                      \
	KP_SET(&process->counts, COUNTS, field, count)
	TAKE(kernels_issued);
	TAKE(kernels_recorded);
	TAKE(records_dropped);
	TAKE(kernels_unwritten);
	TAKE(kernels_filtered);
	TAKE(kernels_out_of_window);
	TAKE(kernels_lost);
#undef TAKE
}

/* What kprof export says of a process where nsys has no table for it: «kprof.process3.rank». */
static enum kp_status take_fact(struct kp_nsys *nsys, struct kp_nsys_table *table, void *context)
{
	struct kp_text name = kp_nsys_text(table, KP_NSYS_NAME);
	struct kp_text value = kp_nsys_text(table, KP_NSYS_VALUE);
	static const char before[] = "kprof.process";
	size_t at = sizeof before - 1;
	uint64_t index = 0;

	(void)context;
	if (name.length < at || memcmp(name.bytes, before, at) != 0)
		return KP_OK;
	for (; at < name.length && name.bytes[at] >= '0' && name.bytes[at] <= '9'; at++)
		index = index * 10 + (uint64_t)(name.bytes[at] - '0');
	struct kp_text fact = {name.bytes + at, name.length - at};
	for (size_t i = 0; i < nsys->import->process_count; i++) {
		struct kp_import_process *process = &nsys->import->processes[i];

		if (process->key >> 24 != index) /* export_sqlite_schema.c puts it there */
			continue;
		if (fact.length == 5 && memcmp(fact.bytes, ".rank", 5) == 0)
			KP_SET(&process->info, PROCESS, rank, keep(nsys, value));
		if (fact.length == 5 && memcmp(fact.bytes, ".host", 5) == 0)
			KP_SET(&process->info, PROCESS, host, keep(nsys, value));
		if (fact.length == 8 && memcmp(fact.bytes, ".command", 8) == 0)
			KP_SET(&process->info, PROCESS, command, keep(nsys, value));
		take_count(process, fact, value);
	}
	return KP_OK;
}

/* The export has no windows: what lies between them looks idle, and nothing was outside of them. */
static enum kp_status note_windows(struct kp_nsys *nsys)
{
	uint64_t outside = 0;

	for (size_t i = 0; i < nsys->import->process_count; i++) {
		struct kp_counts *counts = &nsys->import->processes[i].counts;

		outside |= counts->kernels_out_of_window;
		counts->kernels_issued -= counts->kernels_issued < counts->kernels_out_of_window
						  ? counts->kernels_issued
						  : counts->kernels_out_of_window;
		counts->kernels_out_of_window = 0;
		counts->has &= ~(1ULL << KP_COUNTS_kernels_out_of_window);
	}
	if (!outside)
		return KP_OK;
	return kp_import_note(nsys->import,
			      "the trace that was exported was recorded in windows, which the "
			      "export does not have: time between them counts as idle");
}

static enum kp_status take_exporter(struct kp_nsys *nsys, struct kp_nsys_table *table,
				    void *context)
{
	struct kp_text name = kp_nsys_text(table, KP_NSYS_NAME);
	struct kp_text value = kp_nsys_text(table, KP_NSYS_VALUE);

	(void)context;
	if (name.length == 8 && memcmp(name.bytes, "exporter", 8) == 0)
		nsys->import->own = value.length >= 5 && memcmp(value.bytes, "kprof", 5) == 0;
	return KP_OK;
}

static enum kp_status take_environment(struct kp_nsys *nsys, struct kp_nsys_table *table,
				       void *context)
{
	struct kp_text name = kp_nsys_text(table, KP_NSYS_NAME);
	struct kp_text value = kp_nsys_text(table, KP_NSYS_VALUE);

	(void)context;
	if (name.length != 8 || strncasecmp(name.bytes, "hostname", 8) != 0)
		return KP_OK;
	for (size_t i = 0; i < nsys->import->process_count; i++)
		KP_SET(&nsys->import->processes[i].info, PROCESS, host, keep(nsys, value));
	return KP_OK;
}

/* ---- the clock ---- */

static enum kp_status take_clock(struct kp_nsys *nsys, struct kp_nsys_table *table, void *context)
{
	int64_t utc;
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_UTC, &known, &utc);

	(void)context;
	for (size_t i = 0; status == KP_OK && known && utc > 0 && i < nsys->import->process_count;
	     i++) {
		struct kp_clock_info *clock = &nsys->import->processes[i].clock;

		KP_SET(clock, CLOCK, monotonic_ns, KP_IMPORT_SHIFT_NS);
		KP_SET(clock, CLOCK, realtime_ns, (uint64_t)utc);
	}
	return status;
}

/* ---- devices ---- */

struct gpus {
	struct gpu list[GPUS_MOST];
	size_t count;
	bool tied; /* TARGET_INFO_CUDA_DEVICE said which process has which */
};

static enum kp_status take_gpu(struct kp_nsys *nsys, struct kp_nsys_table *table, void *context)
{
	struct gpus *gpus = context;
	struct kp_device_info info = {0};
	struct kp_text name = kp_nsys_text(table, KP_NSYS_NAME);
	struct kp_text uuid = kp_nsys_text(table, KP_NSYS_UUID);
	struct kp_text bus = kp_nsys_text(table, KP_NSYS_BUS);
	enum kp_status status = KP_OK;
	int64_t id, value;
	bool known;

#define TAKE(column, field, divisor, least)                                                        \
	if (status == KP_OK)                                                                       \
		status = kp_nsys_number(nsys, table, KP_NSYS_##column, &known, &value);            \
	if (status == KP_OK && known && value >= (least))                                          \
		KP_SET(&info, DEVICE, field, (uint64_t)value / (divisor));
	TAKE(L2, l2_bytes, 1, 1)
	TAKE(MEMORY, memory_bytes, 1, 1)
	TAKE(CLOCK_RATE, sm_clock_khz, 1000, 1)
	TAKE(SMS, sm_count, 1, 1)
	TAKE(MAJOR, compute_major, 1, 1)
	TAKE(MINOR, compute_minor, 1, 0)
#undef TAKE
	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_ID, &known, &id);
	if (status != KP_OK || gpus->count == GPUS_MOST)
		return status;
	KP_SET(&info, DEVICE, device, (uint64_t)id);
	status = kp_nsys_number(nsys, table, KP_NSYS_CU_DEVICE, &known, &value);
	if (known && value >= 0)
		KP_SET(&info, DEVICE, device, (uint64_t)value);
	if (name.length)
		KP_SET(&info, DEVICE, name, keep(nsys, name));
	if (uuid.length)
		KP_SET(&info, DEVICE, uuid, keep(nsys, uuid));
	if (bus.length)
		KP_SET(&info, DEVICE, pci, keep(nsys, bus));
	gpus->list[gpus->count++] = (struct gpu){id, info};
	return status;
}

static enum kp_status give(struct kp_nsys *nsys, const struct gpu *gpu, uint64_t device,
			   int64_t pid, bool all)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < nsys->import->process_count; i++) {
		const struct kp_process_info *process = &nsys->import->processes[i].info;
		struct kp_device_info info = gpu->info;

		if (!all && (!KP_HAS(process, PROCESS, pid) || (int64_t)process->pid != pid))
			continue;
		KP_SET(&info, DEVICE, device, device);
		status = kp_import_device(nsys->import, (uint32_t)i, &info);
	}
	return status;
}

static enum kp_status take_cuda_device(struct kp_nsys *nsys, struct kp_nsys_table *table,
				       void *context)
{
	struct gpus *gpus = context;
	int64_t gpu = 0, device = 0, pid = 0;
	bool known = false, numbered = false, of_process = false;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_GPU_ID, &known, &gpu);

	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_CUDA_ID, &numbered, &device);
	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_PID, &of_process, &pid);
	for (size_t i = 0; status == KP_OK && known && numbered && of_process && i < gpus->count;
	     i++) {
		if (gpus->list[i].id != gpu)
			continue;
		gpus->tied = true;
		return give(nsys, &gpus->list[i], (uint64_t)device, pid, false);
	}
	return status;
}

static enum kp_status read_devices(struct kp_nsys *nsys)
{
	struct kp_nsys_table table = {.name = "TARGET_INFO_GPU",
				      .wanted = BIT(ID) | BIT(NAME) | BIT(UUID) | BIT(BUS) |
						BIT(L2) | BIT(MEMORY) | BIT(CLOCK_RATE) | BIT(SMS) |
						BIT(CU_DEVICE) | BIT(MAJOR) | BIT(MINOR)};
	struct kp_nsys_table ties = {.name = "TARGET_INFO_CUDA_DEVICE",
				     .wanted = BIT(GPU_ID) | BIT(CUDA_ID) | BIT(PID)};
	struct gpus gpus = {.count = 0};
	enum kp_status status = each(nsys, &table, take_gpu, &gpus);

	if (status == KP_OK && !table.there)
		return kp_import_note(nsys->import, "the source does not describe its GPUs");
	if (status == KP_OK)
		status = each(nsys, &ties, take_cuda_device, &gpus);
	for (size_t i = 0; status == KP_OK && !gpus.tied && i < gpus.count; i++)
		status = give(nsys, &gpus.list[i], gpus.list[i].info.device, 0, true);
	return status;
}

enum kp_status kp_nsys_read_target(struct kp_nsys *nsys)
{
	struct kp_nsys_table processes = {.name = "PROCESSES",
					  .wanted = BIT(GLOBAL_PID) | BIT(NAME)};
	struct kp_nsys_table environment = {.name = "TARGET_INFO_SYSTEM_ENV",
					    .wanted = BIT(NAME) | BIT(VALUE)};
	struct kp_nsys_table facts = {.name = "META_DATA_CAPTURE",
				      .wanted = BIT(NAME) | BIT(VALUE)};
	struct kp_nsys_table exporter = {.name = "META_DATA_EXPORT",
					 .wanted = BIT(NAME) | BIT(VALUE)};
	struct kp_nsys_table clock = {.name = "TARGET_INFO_SESSION_START_TIME", .wanted = BIT(UTC)};
	enum kp_status status = each(nsys, &processes, take_process, NULL);

	if (status == KP_OK)
		status = each(nsys, &environment, take_environment, NULL);
	if (status == KP_OK)
		status = each(nsys, &facts, take_fact, NULL);
	if (status == KP_OK)
		status = each(nsys, &exporter, take_exporter, NULL);
	if (status == KP_OK)
		status = note_windows(nsys);
	if (status == KP_OK)
		status = each(nsys, &clock, take_clock, NULL);
	return status == KP_OK ? read_devices(nsys) : status;
}
