/* Memory traffic in reports; see traffic.h. One table for YAML, JSON and CSV. */
#include "profiler/traffic.h"

#include <math.h>
#include <string.h>

#include "profiler/fields.h"
#include "profiler/humanise.h"

/* A value of a row: text, or a number that is null where it is not finite. */
struct value {
	const char *text; /* NULL: a number */
	double number;
};

static struct value number(double value)
{
	return (struct value){NULL, value};
}

static double known(const struct kp_traffic *traffic, double value)
{
	return traffic->source == KP_TRAFFIC_UNKNOWN ? NAN : value;
}

#define NUMBER(name, expression)                                                                   \
	static struct value name(const struct kp_row_traffic *traffic)                             \
	{                                                                                          \
		return number(expression);                                                         \
	}
#define TEXT(name, expression)                                                                     \
	static struct value name(const struct kp_row_traffic *traffic)                             \
	{                                                                                          \
		return (struct value){expression, 0};                                              \
	}
#define METRIC(NAME, key)                                                                          \
	NUMBER(key##_mean, known(&traffic->metrics[KP_METRIC_##NAME],                              \
				 traffic->metrics[KP_METRIC_##NAME].mean))                         \
	NUMBER(key##_ci95, known(&traffic->metrics[KP_METRIC_##NAME],                              \
				 traffic->metrics[KP_METRIC_##NAME].ci95))                         \
	TEXT(key##_source, kp_traffic_source_name(traffic->metrics[KP_METRIC_##NAME].source))

#define METRIC_ROW(NAME, key, unit, title) METRIC(NAME, key)
KP_METRICS(METRIC_ROW)
#undef METRIC_ROW

NUMBER(samples, (double)traffic->metrics[KP_METRIC_DRAM_READ].samples)
TEXT(source, kp_traffic_source_name(traffic->source))
NUMBER(bytes, traffic->bytes)
NUMBER(bytes_ci95, traffic->bytes_ci95)
NUMBER(gbps, traffic->gbps)
NUMBER(gbps_ci95, traffic->gbps_ci95)
NUMBER(peak_gbps, traffic->peak_gbps)
TEXT(peak_source, kp_ceiling_source_name(traffic->peak_source))
NUMBER(peak_pct, traffic->peak_pct)
NUMBER(claimed_pct, traffic->claimed_pct)
NUMBER(tensor_pct, traffic->tensor_pct)
NUMBER(flop_per_byte, traffic->flop_per_byte)
TEXT(flop_source, isfinite(traffic->flop_per_byte) ? "modelled" : "absent")
TEXT(bound, kp_bound_name(traffic->bound))
NUMBER(headroom, traffic->headroom)

struct row {
	const char *key;
	struct value (*value)(const struct kp_row_traffic *traffic);
	int decimals;
};

// clang-format off
static const struct row rows[] = {
	{"memory_source", source, 0},
	{"memory_bytes_per_call", bytes, 0},
	{"memory_bytes_per_call_ci95", bytes_ci95, 0},
	{"memory_gbps", gbps, 2},
	{"memory_gbps_ci95", gbps_ci95, 2},
	{"memory_peak_gbps", peak_gbps, 1},
	{"memory_peak_source", peak_source, 0},
	{"memory_peak_pct", peak_pct, 2},
	{"memory_claimed_pct", claimed_pct, 1},
	{"memory_samples", samples, 0},
	{"tensor_active_pct", tensor_pct, 2},
	{"flop_per_byte", flop_per_byte, 3},
	{"flop_per_byte_source", flop_source, 0},
	{"bound_by", bound, 0},
	{"headroom", headroom, 3},
#define METRIC_ROW(NAME, key, unit, title)                                                         \
	{#key "_per_call", key##_mean, 0},                                                         \
	{#key "_per_call_ci95", key##_ci95, 0},                                                    \
	{#key "_source", key##_source, 0},
	KP_METRICS(METRIC_ROW)
#undef METRIC_ROW
};
// clang-format on

#define ROW_COUNT (sizeof rows / sizeof *rows)

void kp_traffic_emit(struct kp_emit *emit, const struct kp_row_traffic *traffic)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct value value = rows[i].value(traffic);

		if (value.text)
			kp_emit_string(emit, rows[i].key, value.text);
		else
			kp_emit_number(emit, rows[i].key, value.number, rows[i].decimals);
	}
}

void kp_traffic_csv_header(FILE *file)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		fprintf(file, ",%s", rows[i].key);
}

void kp_traffic_csv(FILE *file, const struct kp_row_traffic *traffic)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct value value = rows[i].value(traffic);

		fputc(',', file);
		if (value.text)
			fputs(value.text, file);
		else if (isfinite(value.number))
			fprintf(file, "%.*f", rows[i].decimals, value.number);
	}
}

void kp_traffic_emit_shapes(struct kp_emit *emit, const struct kp_kernel_row *kernel)
{
	kp_emit_list_begin(emit, "shapes");
	for (size_t i = 0; i < kernel->shape_count; i++) {
		const struct kp_shape_row *shape = &kernel->shapes[i];

		kp_emit_map_begin(emit, NULL);
		kp_fields_emit_triple(emit, "grid_blocks", shape->grid);
		kp_fields_emit_triple(emit, "block_threads", shape->block);
		kp_emit_count(emit, "timed_calls", shape->calls);
		kp_emit_number(emit, "avg_ns", shape->mean_ns, 3);
		kp_traffic_emit(emit, &shape->traffic);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_totals(struct kp_emit *emit, const char *key,
			const struct kp_attribution_totals *totals)
{
	kp_emit_map_begin(emit, key);
	kp_emit_number(emit, "sampled", totals->sampled, 0);
	kp_emit_number(emit, "attributed", totals->attributed, 0);
	kp_emit_number(emit, "background", totals->background, 0);
	kp_emit_number(emit, "unattributed", totals->unattributed, 0);
	kp_emit_number(emit, "residual_rms_per_sample", totals->residual, 0);
	kp_emit_number(emit, "window_lag_ns", totals->lag_ns, 0);
	kp_emit_number(emit, "window_lead_ns", totals->lead_ns, 0);
	kp_emit_count(emit, "samples_solved", totals->samples_used);
	kp_emit_count(emit, "launches_left_out", totals->displaced);
	kp_emit_map_end(emit);
}

static void emit_ceilings(struct kp_emit *emit, const struct kp_ceilings *ceilings)
{
	kp_emit_list_begin(emit, "ceilings");
	for (int i = 0; i < KP_CEILING_COUNT; i++) {
		const struct kp_ceiling *ceiling = &ceilings->of[i];

		if (ceiling->source == KP_CEILING_ABSENT)
			continue;
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "name", kp_ceiling_key((enum kp_ceiling_kind)i));
		kp_emit_number(emit, "value", ceiling->value, 3);
		kp_emit_string(emit, "source", kp_ceiling_source_name(ceiling->source));
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

void kp_traffic_emit_gpu(struct kp_emit *emit, const struct kp_gpu_row *gpu)
{
	const struct kp_gpu_traffic *traffic = gpu->traffic;

	if (!traffic) {
		kp_emit_null(emit, "traffic");
		return;
	}
	kp_emit_map_begin(emit, "traffic");
	kp_emit_count(emit, "samples", traffic->samples);
	kp_emit_count(emit, "samples_left_out", traffic->left_out);
	kp_emit_bool(emit, "cut", traffic->cut);
	if (traffic->interval_ns)
		kp_emit_count(emit, "interval_ns", traffic->interval_ns);
	else
		kp_emit_null(emit, "interval_ns");
	for (int i = 0; i < KP_METRIC_COUNT; i++) {
		const char *key = kp_metric_key((enum kp_metric)i);

		if (traffic->has[i])
			emit_totals(emit, key, &traffic->totals[i]);
		else
			kp_emit_null(emit, key);
	}
	emit_ceilings(emit, &traffic->ceilings);
	kp_emit_map_end(emit);
}

/* ---- text ---- */

static struct kp_human bytes_of(double value)
{
	return kp_human_bytes(value > 0 && value < 1e19 ? (uint64_t)value : 0, 3);
}

void kp_traffic_describe(char *out, size_t size, const struct kp_gpu_traffic *traffic)
{
	const struct kp_attribution_totals *read = &traffic->totals[KP_METRIC_DRAM_READ];
	const struct kp_attribution_totals *write = &traffic->totals[KP_METRIC_DRAM_WRITE];
	double sampled = read->sampled + write->sampled;
	double attributed = read->attributed + write->attributed;
	double background = read->background + write->background;
	char interval[48] = "";

	if (traffic->interval_ns)
		snprintf(interval, sizeof interval, " of %s",
			 kp_human_duration((double)traffic->interval_ns, 2).text);
	double left = sampled - attributed - background;
	int length = snprintf(out, size, "%s read, %s written in %s samples%s",
			      bytes_of(read->sampled).text, bytes_of(write->sampled).text,
			      kp_human_count(traffic->samples).text, interval);
	if (sampled > 0 && length > 0 && (size_t)length < size)
		length += snprintf(out + length, size - (size_t)length,
				   "; attributed %.1f%%, background %.1f%%, unattributed %.1f%%",
				   100 * attributed / sampled, 100 * background / sampled,
				   fabs(left) < 0.0005 * sampled ? 0.0 : 100 * left / sampled);
	if (traffic->cut && length > 0 && (size_t)length < size)
		snprintf(out + length, size - (size_t)length,
			 "; only the first of launches and samples, which were too many");
}
