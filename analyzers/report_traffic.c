/*
 * Rows of traffic: from what launches count to bandwidth, what limits a kernel, and what cannot be.
 * See report_traffic.h for what each says.
 */
#include "analyzers/report_traffic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/report_counters.h"

/* A ceiling limits from this part of it on. */
#define NEAR_PCT 60.0
/* A launch limits where this part of the duration goes by unused. */
#define UNUSED_PART 0.5
/* A kernel has so many shapes, those with most time, that are told of by themselves. */
#define SHAPES_MAX 32

const char *kp_bound_name(enum kp_bound bound)
{
	static const char *const names[] = {
#define ROW(NAME, name, about) name,
		KP_BOUNDS(ROW)
#undef ROW
	};

	return names[bound];
}

const char *kp_traffic_source_name(enum kp_traffic_source source)
{
	static const char *const names[] = {
		[KP_TRAFFIC_UNKNOWN] = "absent",
		[KP_TRAFFIC_ESTIMATED] = "estimated",
		[KP_TRAFFIC_MEASURED] = "measured",
	};

	return names[source];
}

char kp_traffic_source_letter(enum kp_traffic_source source)
{
	return kp_traffic_source_name(source)[0];
}

/* ---- one row: launches of some classes on some GPUs ---- */

/* Which classes a row has: those of kernels, of all kernels of an operator, or one shape. */
struct choice {
	const uint32_t *rows;
	size_t row_count;
	bool of_operator;
	size_t operator;
	const struct kp_class_key *shape; /* NULL: any */
};

/* The classes of a choice on one GPU. */
static size_t choose(const struct kp_builder *builder, const struct kp_build_counters *counters,
		     const struct choice *choice, uint32_t *classes)
{
	size_t first = 0, count = 0;

	if (choice->shape)
		return kp_intern_find(&counters->classes, choice->shape, sizeof(*choice->shape),
				      classes);
	if (!choice->of_operator) {
		for (size_t i = 0; i < choice->row_count; i++) {
			size_t more = kp_counters_of_row(counters, choice->rows[i], &first);

			memcpy(&classes[count], &counters->by_row[first], more * sizeof(*classes));
			count += more;
		}
		return count;
	}
	for (uint32_t c = 0; c < counters->classes.count; c++) {
		uint32_t row = kp_counters_class(counters, c).row;
		if (row != UINT32_MAX && builder->traffic_operators[row] == choice->operator)
			classes[count++] = c;
	}
	return count;
}

/* Adds what one GPU knows of a metric, weighted by its launches. */
static void add_traffic(struct kp_traffic *sum, double *launches, const struct kp_traffic *part,
			double calls)
{
	double all = *launches + calls;

	if (part->source == KP_TRAFFIC_UNKNOWN || !(all > 0))
		return;
	sum->source = *launches > 0 && sum->source < part->source ? sum->source : part->source;
	sum->mean = (sum->mean * *launches + part->mean * calls) / all;
	sum->ci95 = hypot(sum->ci95 * *launches, part->ci95 * calls) / all;
	sum->launches += part->launches;
	sum->samples += part->samples;
	*launches = all;
}

/* What is added up over GPUs. */
struct adding {
	struct kp_row_traffic *out;
	double launches[KP_METRIC_COUNT];
	double calls, ns;               /* of GPUs with samples */
	const struct kp_build_gpu *gpu; /* that with most of its time */
	double gpu_ns;
};

static void add_gpu(const struct kp_builder *builder, const struct kp_build_gpu *gpu,
		    const struct choice *choice, uint32_t *classes, struct adding *adding)
{
	const struct kp_build_counters *counters = gpu->counters;
	size_t count = choose(builder, counters, choice, classes);
	double calls = 0, ns = 0;

	for (size_t i = 0; i < count; i++) {
		calls += (double)counters->class_calls[classes[i]];
		ns += counters->class_ns[classes[i]];
	}
	for (size_t i = 0; i < KP_METRIC_COUNT && count; i++) {
		if (!counters->metrics[i])
			continue;
		struct kp_traffic part = kp_attribution_of(counters->metrics[i], classes, count);
		add_traffic(&adding->out->metrics[i], &adding->launches[i], &part, calls);
	}
	adding->calls += calls;
	adding->ns += ns;
	if (count && ns >= adding->gpu_ns) {
		adding->gpu = gpu;
		adding->gpu_ns = ns;
	}
}

/* Bytes and bandwidth, from what was read and written. */
static void set_bytes(struct kp_row_traffic *out, double mean_ns)
{
	const struct kp_traffic *read = &out->metrics[KP_METRIC_DRAM_READ];
	const struct kp_traffic *write = &out->metrics[KP_METRIC_DRAM_WRITE];

	if (!read->source || !write->source)
		return;
	out->source = read->source < write->source ? read->source : write->source;
	out->bytes = read->mean + write->mean;
	out->bytes_ci95 = hypot(read->ci95, write->ci95);
	if (mean_ns > 0) {
		out->gbps = out->bytes / mean_ns;
		out->gbps_ci95 = out->bytes_ci95 / mean_ns;
	}
}

/* The time that tensor pipes worked, and operations for each byte as if all were of 16 bits. */
static void set_tensor(struct kp_row_traffic *out, const struct kp_build_gpu *gpu, double mean_ns)
{
	const struct kp_traffic *cycles = &out->metrics[KP_METRIC_TENSOR_ACTIVE];
	const struct kp_ceiling *peak = &gpu->counters->traffic.ceilings.of[KP_CEILING_TENSOR_BF16];
	const struct kp_device_info *device = gpu->row.info;

	if (!cycles->source || !device || !KP_HAS(device, DEVICE, sm_count) ||
	    !KP_HAS(device, DEVICE, sm_clock_khz) || !(mean_ns > 0))
		return;
	double all = (double)device->sm_count * (double)device->sm_clock_khz * 1e-6 * mean_ns;
	out->tensor_pct = all > 0 ? fmin(100 * cycles->mean / all, 100) : NAN;
	if (peak->source != KP_CEILING_ABSENT && out->source && out->bytes > 0)
		out->flop_per_byte =
			out->tensor_pct / 100 * peak->value * 1e3 * mean_ns / out->bytes;
}

/* Where only reads or only writes are known, they have a ceiling all the same. */
static void check_one(struct kp_row_traffic *out, enum kp_metric metric,
		      const struct kp_ceiling *peak, double mean_ns)
{
	struct kp_traffic *traffic = &out->metrics[metric];
	double least = (traffic->mean - traffic->ci95) / mean_ns;

	if (traffic->source == KP_TRAFFIC_UNKNOWN || peak->source == KP_CEILING_ABSENT ||
	    !(mean_ns > 0) || !(peak->value > 0) || !(least > fmax(peak->value, peak->high)))
		return;
	out->claimed_pct = 100 * traffic->mean / mean_ns / peak->value;
	out->peak_gbps = peak->value;
	out->peak_source = peak->source;
	traffic->source = KP_TRAFFIC_UNKNOWN;
}

/* What memory can do for a row's mix. Nothing at all has no mix: as it may be of either kind, the
 * lower ceiling counts, and only if all of its interval is far from that. */
static bool find_peak(const struct kp_row_traffic *row, const struct kp_build_gpu *gpu,
		      struct kp_ceiling *out)
{
	const struct kp_ceilings *ceilings = &gpu->counters->traffic.ceilings;
	double read = row->metrics[KP_METRIC_DRAM_READ].mean;
	double write = row->metrics[KP_METRIC_DRAM_WRITE].mean;
	struct kp_ceiling writes;

	if (read != 0 || write != 0)
		return kp_ceilings_memory(ceilings, read, write, out) && out->value > 0;
	if (!kp_ceilings_memory(ceilings, 1, 0, out) ||
	    !kp_ceilings_memory(ceilings, 0, 1, &writes))
		return false;
	if (writes.value < out->value)
		*out = writes;
	return out->value > 0 && 100 * row->gbps_ci95 < NEAR_PCT * out->value;
}

/* What lies above the ceiling by more than its error is no result. */
static void set_peak(struct kp_row_traffic *out, const struct kp_build_gpu *gpu, double mean_ns)
{
	const struct kp_ceiling *of = gpu->counters->traffic.ceilings.of;
	struct kp_ceiling peak;

	if (!out->source) {
		check_one(out, KP_METRIC_DRAM_READ, &of[KP_CEILING_READ], mean_ns);
		check_one(out, KP_METRIC_DRAM_WRITE, &of[KP_CEILING_WRITE], mean_ns);
		return;
	}
	if (!find_peak(out, gpu, &peak))
		return;
	out->peak_gbps = peak.value;
	out->peak_source = peak.source;
	double most = fmax(peak.value, peak.high);
	if (out->gbps - out->gbps_ci95 > most) {
		out->claimed_pct = 100 * out->gbps / peak.value;
		out->source = KP_TRAFFIC_UNKNOWN;
		out->bytes = out->bytes_ci95 = out->gbps = out->gbps_ci95 = NAN;
		out->flop_per_byte = NAN;
		out->metrics[KP_METRIC_DRAM_READ].source = KP_TRAFFIC_UNKNOWN;
		out->metrics[KP_METRIC_DRAM_WRITE].source = KP_TRAFFIC_UNKNOWN;
		return;
	}
	out->gbps = fmin(out->gbps, most);
	out->peak_pct = fmin(100 * out->gbps / peak.value, 100);
}

/* Without the tensor pipes' counters nothing but memory can be seen to be the limit. */
static void set_bound(struct kp_row_traffic *out, const struct kp_build_gpu *gpu, double mean_ns)
{
	const struct kp_attribution_totals *totals =
		&gpu->counters->traffic.totals[KP_METRIC_DRAM_READ];
	double memory = isfinite(out->peak_pct) ? out->peak_pct : 0;
	double tensor = isfinite(out->tensor_pct) ? out->tensor_pct : 0;
	double most = fmax(memory, tensor);

	if (!isfinite(out->peak_pct))
		return;
	if (most > 0 && (isfinite(out->tensor_pct) || memory >= NEAR_PCT))
		out->headroom = 100 / most;
	if (most >= NEAR_PCT)
		out->bound = memory >= tensor ? KP_BOUND_MEMORY : KP_BOUND_COMPUTE;
	else if (totals->lag_ns + totals->lead_ns >= UNUSED_PART * mean_ns)
		out->bound = KP_BOUND_LAUNCH;
	else if (isfinite(out->tensor_pct))
		out->bound = KP_BOUND_LATENCY;
}

static void find_traffic(const struct kp_builder *builder, const struct choice *choice,
			 struct kp_row_traffic *out)
{
	struct adding adding = {.out = out};

	*out = (struct kp_row_traffic){.bytes = NAN,
				       .bytes_ci95 = NAN,
				       .gbps = NAN,
				       .gbps_ci95 = NAN,
				       .peak_gbps = NAN,
				       .peak_pct = NAN,
				       .tensor_pct = NAN,
				       .flop_per_byte = NAN,
				       .headroom = NAN,
				       .claimed_pct = NAN};
	for (size_t i = 0; i < builder->gpu_count; i++) {
		if (builder->gpus[i].counters && builder->gpus[i].counters->attribution)
			add_gpu(builder, &builder->gpus[i], choice, builder->traffic_classes,
				&adding);
	}
	if (!adding.gpu)
		return;
	double mean_ns = adding.calls > 0 ? adding.ns / adding.calls : 0;
	set_bytes(out, mean_ns);
	set_tensor(out, adding.gpu, mean_ns);
	set_peak(out, adding.gpu, mean_ns);
	set_bound(out, adding.gpu, mean_ns);
}

void kp_build_traffic_row(struct kp_builder *builder, uint32_t row, size_t operator_index,
			  struct kp_row_traffic *out)
{
	if (!builder->report->traffic.any)
		return;
	builder->traffic_operators[row] = operator_index;
	kp_build_traffic_rows(builder, &row, 1, out);
}

void kp_build_traffic_rows(struct kp_builder *builder, const uint32_t *rows, size_t count,
			   struct kp_row_traffic *out)
{
	const struct choice choice = {.rows = rows, .row_count = count};

	if (builder->report->traffic.any)
		find_traffic(builder, &choice, out);
}

void kp_build_traffic_operator(struct kp_builder *builder, size_t operator_index,
			       struct kp_row_traffic *out)
{
	const struct choice choice = {.of_operator = true, .operator= operator_index };

	if (builder->report->traffic.any)
		find_traffic(builder, &choice, out);
}

/* ---- shapes ---- */

static int by_time(const void *left, const void *right)
{
	const struct kp_shape_row *a = left, *b = right;
	int order = (b->mean_ns * (double)b->calls > a->mean_ns * (double)a->calls) -
		    (b->mean_ns * (double)b->calls < a->mean_ns * (double)a->calls);

	if (!order)
		order = memcmp(a->grid, b->grid, sizeof(a->grid));
	return order ? order : memcmp(a->block, b->block, sizeof(a->block));
}

/* Whether an earlier GPU has the class too, so that its shape has a row. */
static bool is_seen(const struct kp_builder *builder, size_t gpu, const struct kp_class_key *key)
{
	uint32_t class;

	for (size_t i = 0; i < gpu; i++) {
		const struct kp_build_counters *counters = builder->gpus[i].counters;
		if (counters && kp_intern_find(&counters->classes, key, sizeof(*key), &class))
			return true;
	}
	return false;
}

/* Calls and mean duration of a shape, over all GPUs. */
static void set_shape(const struct kp_builder *builder, const struct kp_class_key *key,
		      struct kp_shape_row *shape)
{
	double ns = 0;
	uint32_t class;

	*shape = (struct kp_shape_row){0};
	memcpy(shape->grid, key->grid, sizeof(shape->grid));
	memcpy(shape->block, key->block, sizeof(shape->block));
	for (size_t i = 0; i < builder->gpu_count; i++) {
		const struct kp_build_counters *counters = builder->gpus[i].counters;
		if (!counters || !counters->attribution ||
		    !kp_intern_find(&counters->classes, key, sizeof(*key), &class))
			continue;
		shape->calls += counters->class_calls[class];
		ns += counters->class_ns[class];
	}
	shape->mean_ns = shape->calls ? ns / (double)shape->calls : 0;
}

/* All shapes of a kernel, largest first; free them. NULL without memory. */
static struct kp_shape_row *collect_shapes(const struct kp_builder *builder, uint32_t row,
					   size_t *count)
{
	size_t most = 1, first = 0;
	struct kp_shape_row *shapes;

	for (size_t i = 0; i < builder->gpu_count; i++)
		most += builder->gpus[i].counters ? builder->gpus[i].counters->classes.count : 0;
	shapes = malloc(most * sizeof(*shapes));
	*count = 0;
	for (size_t i = 0; shapes && i < builder->gpu_count; i++) {
		const struct kp_build_counters *counters = builder->gpus[i].counters;

		if (!counters || !counters->attribution)
			continue;
		size_t classes = kp_counters_of_row(counters, row, &first);
		for (size_t c = 0; c < classes; c++) {
			struct kp_class_key key =
				kp_counters_class(counters, counters->by_row[first + c]);
			if (!is_seen(builder, i, &key))
				set_shape(builder, &key, &shapes[(*count)++]);
		}
	}
	if (shapes)
		qsort(shapes, *count, sizeof(*shapes), by_time);
	return shapes;
}

enum kp_status kp_build_traffic_shapes(struct kp_builder *builder, uint32_t row,
				       struct kp_kernel_row *kernel)
{
	struct kp_shape_row *all, *shapes;
	size_t count;

	if (!builder->report->traffic.any)
		return KP_OK;
	all = collect_shapes(builder, row, &count);
	count = count < SHAPES_MAX ? count : SHAPES_MAX;
	shapes = kp_arena_alloc(builder->report->arena, (count + 1) * sizeof(*shapes));
	for (size_t i = 0; all && shapes && i < count; i++) {
		struct kp_class_key key = {.row = row};
		const struct choice choice = {.shape = &key};

		shapes[i] = all[i];
		memcpy(key.grid, all[i].grid, sizeof(key.grid));
		memcpy(key.block, all[i].block, sizeof(key.block));
		find_traffic(builder, &choice, &shapes[i].traffic);
	}
	free(all);
	kernel->shapes = shapes;
	kernel->shape_count = count;
	return all && shapes ? KP_OK : KP_NO_MEMORY;
}

/* ---- all of it ---- */

enum kp_status kp_build_traffic_begin(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;
	size_t most = 0;

	for (size_t i = 0; i < builder->gpu_count; i++) {
		struct kp_build_counters *counters = builder->gpus[i].counters;
		const struct kp_gpu_row *row = &builder->gpus[i].row;

		if (!counters || !counters->sample_count)
			continue;
		if (kp_counters_solve(counters) != KP_OK)
			return KP_NO_MEMORY;
		kp_ceilings_find(report->options.ceilings, row->info,
				 &row->process->info.driver_name, &counters->traffic.ceilings);
		report->traffic.any = true;
		most = counters->classes.count > most ? counters->classes.count : most;
		struct kp_gpu_traffic *kept = kp_arena_alloc(report->arena, sizeof(*kept));
		if (!kept)
			return KP_NO_MEMORY;
		*kept = counters->traffic;
		builder->gpus[i].row.traffic = kept;
	}
	if (!report->traffic.any)
		return KP_OK;
	builder->traffic_operators =
		calloc(builder->row_count + 1, sizeof(*builder->traffic_operators));
	builder->traffic_classes = calloc(most + 1, sizeof(*builder->traffic_classes));
	return builder->traffic_operators && builder->traffic_classes ? KP_OK : KP_NO_MEMORY;
}
