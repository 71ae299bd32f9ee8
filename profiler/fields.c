/* The fields of the rows of a report; see fields.h. Tables and pure functions. */
#include "profiler/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/report.h"
#include "profiler/text.h"

/* Nanoseconds of means are given to the picosecond, shares to a ten-thousandth of a percent. */
#define NS_DECIMALS 3
#define PCT_DECIMALS 4

// clang-format off
#define TIMES(row)                                                                                 \
	{"timed_calls", KP_FIELD_U64, offsetof(row, durations.timed), 0, false},                   \
	{"total_ns", KP_FIELD_U64, offsetof(row, durations.total_ns), 0, true},                    \
	{"avg_ns", KP_FIELD_DOUBLE, offsetof(row, durations.mean_ns), NS_DECIMALS, true},          \
	{"median_ns", KP_FIELD_DOUBLE, offsetof(row, durations.median_ns), NS_DECIMALS, true},     \
	{"min_ns", KP_FIELD_U64, offsetof(row, durations.min_ns), 0, true},                        \
	{"max_ns", KP_FIELD_U64, offsetof(row, durations.max_ns), 0, true},                        \
	{"stddev_ns", KP_FIELD_DOUBLE, offsetof(row, durations.stddev_ns), NS_DECIMALS, true}

#define SHARES(row)                                                                                \
	{"share_of_kernel_time_pct", KP_FIELD_DOUBLE, offsetof(row, shares.kernel_pct),            \
	 PCT_DECIMALS, true},                                                                      \
	{"share_of_busy_time_pct", KP_FIELD_DOUBLE, offsetof(row, shares.busy_pct),                \
	 PCT_DECIMALS, true},                                                                      \
	{"share_of_span_pct", KP_FIELD_DOUBLE, offsetof(row, shares.span_pct), PCT_DECIMALS, true}

#define ALONE(row)                                                                                 \
	{"exclusive_ns", KP_FIELD_U64, offsetof(row, alone_ns), 0, true},                          \
	{"exclusive_share_of_span_pct", KP_FIELD_DOUBLE, offsetof(row, shares.alone_pct),          \
	 PCT_DECIMALS, true},                                                                      \
	{"critical_path_ns", KP_FIELD_U64, offsetof(row, path_ns), 0, true},                       \
	{"critical_path_share_of_span_pct", KP_FIELD_DOUBLE, offsetof(row, shares.path_pct),       \
	 PCT_DECIMALS, true}

static const struct kp_field operator_fields[] = {
	{"name", KP_FIELD_STRING, offsetof(struct kp_operator_row, name), 0, false},
	{"above_threshold", KP_FIELD_BOOL,
	 offsetof(struct kp_operator_row, above_threshold), 0, false},
	SHARES(struct kp_operator_row),
	ALONE(struct kp_operator_row),
	{"calls", KP_FIELD_U64, offsetof(struct kp_operator_row, calls), 0, false},
	TIMES(struct kp_operator_row),
	{"written_out_ns", KP_FIELD_U64, offsetof(struct kp_operator_row, written_out_ns), 0, true},
	{0},
};

static const struct kp_field variant_fields[] = {
	{"name", KP_FIELD_STRING, offsetof(struct kp_variant_row, name), 0, false},
	{"above_threshold", KP_FIELD_BOOL,
	 offsetof(struct kp_variant_row, above_threshold), 0, false},
	SHARES(struct kp_variant_row),
	{"calls", KP_FIELD_U64, offsetof(struct kp_variant_row, calls), 0, false},
	TIMES(struct kp_variant_row),
	{0},
};

static const struct kp_field kernel_fields[] = {
	{"name", KP_FIELD_STRING, offsetof(struct kp_kernel_row, shortened), 0, false},
	{"full_name", KP_FIELD_STRING, offsetof(struct kp_kernel_row, full), 0, false},
	{"mangled_name", KP_FIELD_STRING, offsetof(struct kp_kernel_row, mangled), 0, false},
	{"above_threshold", KP_FIELD_BOOL,
	 offsetof(struct kp_kernel_row, above_threshold), 0, false},
	SHARES(struct kp_kernel_row),
	ALONE(struct kp_kernel_row),
	{"calls", KP_FIELD_U64, offsetof(struct kp_kernel_row, calls), 0, false},
	{"graph_calls", KP_FIELD_U64, offsetof(struct kp_kernel_row, graph_calls), 0, false},
	TIMES(struct kp_kernel_row),
	{"launch_configurations", KP_FIELD_U32,
	 offsetof(struct kp_kernel_row, config_count), 0, false},
	{"grid_blocks", KP_FIELD_TRIPLE, offsetof(struct kp_kernel_row, grid), 0, false},
	{"block_threads", KP_FIELD_TRIPLE, offsetof(struct kp_kernel_row, block), 0, false},
	{"registers_per_thread", KP_FIELD_U32, offsetof(struct kp_kernel_row, registers), 0, false},
	{"static_shared_bytes_per_block", KP_FIELD_U32,
	 offsetof(struct kp_kernel_row, static_shared_bytes), 0, false},
	{"dynamic_shared_bytes_per_block", KP_FIELD_U32,
	 offsetof(struct kp_kernel_row, dynamic_shared_bytes), 0, false},
	{"variant", KP_FIELD_STRING, offsetof(struct kp_kernel_row, variant), 0, false},
	{"dtype", KP_FIELD_STRING, offsetof(struct kp_kernel_row, dtype), 0, false},
	{"library", KP_FIELD_STRING, offsetof(struct kp_kernel_row, library), 0, false},
	{"label_source", KP_FIELD_SOURCE, offsetof(struct kp_kernel_row, label_source), 0, false},
	{0},
};

#define ESTIMATE(row)                                                                              \
	{"total_ns_estimated", KP_FIELD_DOUBLE, offsetof(row, estimate.total_ns), 0, true},        \
	{"total_ns_ci95", KP_FIELD_DOUBLE, offsetof(row, estimate.total_ci95_ns), 0, true},        \
	{"total_ns_estimated_by_time", KP_FIELD_DOUBLE,                                            \
	 offsetof(row, estimate.total_by_time_ns), 0, true},                                       \
	{"calls_estimated", KP_FIELD_DOUBLE, offsetof(row, estimate.calls), 1, false},             \
	{"calls_ci95", KP_FIELD_DOUBLE, offsetof(row, estimate.calls_ci95), 1, false}

static const struct kp_field operator_estimate_fields[] = {
	ESTIMATE(struct kp_operator_row),
	{0},
};

static const struct kp_field variant_estimate_fields[] = {
	ESTIMATE(struct kp_variant_row),
	{0},
};

static const struct kp_field kernel_estimate_fields[] = {
	ESTIMATE(struct kp_kernel_row),
	{0},
};

#define CALL_TIMES(row)                                                                            \
	{"launches_tied", KP_FIELD_U64, offsetof(row, host.tied), 0, false},                       \
	{"launch_threads", KP_FIELD_U32, offsetof(row, host.threads), 0, false},                   \
	{"launch_call_total_ns", KP_FIELD_U64, offsetof(row, host.call.total_ns), 0, true},        \
	{"launch_call_median_ns", KP_FIELD_DOUBLE, offsetof(row, host.call.median_ns),             \
	 NS_DECIMALS, true},                                                                       \
	{"launch_call_p99_ns", KP_FIELD_DOUBLE, offsetof(row, host.call_p99_ns), NS_DECIMALS,      \
	 true},                                                                                    \
	{"launch_call_max_ns", KP_FIELD_U64, offsetof(row, host.call.max_ns), 0, true}

#define QUEUE_TIMES(row)                                                                           \
	{"queue_median_ns", KP_FIELD_DOUBLE, offsetof(row, host.queue.median_ns), NS_DECIMALS,     \
	 true},                                                                                    \
	{"queue_p99_ns", KP_FIELD_DOUBLE, offsetof(row, host.queue_p99_ns), NS_DECIMALS, true},    \
	{"queue_max_ns", KP_FIELD_U64, offsetof(row, host.queue.max_ns), 0, true}

static const struct kp_field operator_call_fields[] = {CALL_TIMES(struct kp_operator_row), {0}};
static const struct kp_field operator_queue_fields[] = {QUEUE_TIMES(struct kp_operator_row), {0}};
static const struct kp_field kernel_call_fields[] = {CALL_TIMES(struct kp_kernel_row), {0}};
static const struct kp_field kernel_queue_fields[] = {QUEUE_TIMES(struct kp_kernel_row), {0}};

static const struct kp_field memop_fields[] = {
	{"name", KP_FIELD_STRING, offsetof(struct kp_memop_row, name), 0, false},
	{"bytes", KP_FIELD_U64, offsetof(struct kp_memop_row, bytes), 0, false},
	{"calls", KP_FIELD_U64, offsetof(struct kp_memop_row, calls), 0, false},
	TIMES(struct kp_memop_row),
	{0},
};
// clang-format on

const struct kp_row_kind kp_operator_fields = {operator_fields,
					       offsetof(struct kp_operator_row, durations)};
const struct kp_row_kind kp_variant_fields = {variant_fields,
					      offsetof(struct kp_variant_row, durations)};
const struct kp_row_kind kp_kernel_fields = {kernel_fields,
					     offsetof(struct kp_kernel_row, durations)};
const struct kp_row_kind kp_operator_estimate_fields = {
	operator_estimate_fields, offsetof(struct kp_operator_row, durations)};
const struct kp_row_kind kp_variant_estimate_fields = {variant_estimate_fields,
						       offsetof(struct kp_variant_row, durations)};
const struct kp_row_kind kp_kernel_estimate_fields = {kernel_estimate_fields,
						      offsetof(struct kp_kernel_row, durations)};
const struct kp_row_kind kp_operator_call_fields = {operator_call_fields,
						    offsetof(struct kp_operator_row, host.call)};
const struct kp_row_kind kp_operator_queue_fields = {operator_queue_fields,
						     offsetof(struct kp_operator_row, host.queue)};
const struct kp_row_kind kp_kernel_call_fields = {kernel_call_fields,
						  offsetof(struct kp_kernel_row, host.call)};
const struct kp_row_kind kp_kernel_queue_fields = {kernel_queue_fields,
						   offsetof(struct kp_kernel_row, host.queue)};
const struct kp_row_kind kp_memop_fields = {memop_fields, offsetof(struct kp_memop_row, durations)};

/* What a label rests on; nothing where there is none. */
static const char *source_name(const void *member)
{
	return kp_label_source_name(*(const enum kp_label_source *)member);
}

static bool is_absent(const struct kp_row_kind *kind, const struct kp_field *field, const void *row)
{
	const struct kp_durations *durations =
		(const void *)((const char *)row + kind->durations_offset);

	return field->is_timing && durations->timed == 0;
}

void kp_fields_emit_triple(struct kp_emit *emit, const char *key, const uint32_t *values)
{
	kp_emit_list_begin(emit, key);
	for (int i = 0; i < 3; i++)
		kp_emit_count(emit, NULL, values[i]);
	kp_emit_list_end(emit);
}

static void emit_field(struct kp_emit *emit, const struct kp_field *field, const void *member)
{
	switch (field->type) {
	case KP_FIELD_STRING:
		kp_emit_string(emit, field->key, *(const char *const *)member);
		break;
	case KP_FIELD_U64:
		kp_emit_count(emit, field->key, *(const uint64_t *)member);
		break;
	case KP_FIELD_U32:
		kp_emit_count(emit, field->key, *(const uint32_t *)member);
		break;
	case KP_FIELD_TRIPLE:
		kp_fields_emit_triple(emit, field->key, member);
		break;
	case KP_FIELD_DOUBLE:
		kp_emit_number(emit, field->key, *(const double *)member, field->decimals);
		break;
	case KP_FIELD_BOOL:
		kp_emit_bool(emit, field->key, *(const bool *)member);
		break;
	case KP_FIELD_SOURCE:
		kp_emit_string(emit, field->key, source_name(member));
		break;
	}
}

void kp_fields_emit(struct kp_emit *emit, const struct kp_row_kind *kind, const void *row)
{
	for (const struct kp_field *field = kind->fields; field->key; field++) {
		if (is_absent(kind, field, row))
			kp_emit_null(emit, field->key);
		else
			emit_field(emit, field, (const char *)row + field->offset);
	}
}

enum kp_status kp_fields_csv_text(FILE *file, const char *text)
{
	char *exact = kp_text_exact(text, strlen(text));

	if (!exact)
		return KP_NO_MEMORY;
	bool quote = strpbrk(exact, ",\"\r\n") != NULL;
	if (quote)
		fputc('"', file);
	for (const char *c = exact; *c; c++) {
		if (*c == '"')
			fputc('"', file);
		fputc(*c, file);
	}
	if (quote)
		fputc('"', file);
	free(exact);
	return KP_OK;
}

static enum kp_status csv_text_or_nothing(FILE *file, const char *text)
{
	return text ? kp_fields_csv_text(file, text) : KP_OK;
}

static enum kp_status csv_field(FILE *file, const struct kp_field *field, const void *member)
{
	const uint32_t *triple = member;

	switch (field->type) {
	case KP_FIELD_STRING:
		return csv_text_or_nothing(file, *(const char *const *)member);
	case KP_FIELD_U64:
		fprintf(file, "%" PRIu64, *(const uint64_t *)member);
		break;
	case KP_FIELD_U32:
		fprintf(file, "%" PRIu32, *(const uint32_t *)member);
		break;
	case KP_FIELD_TRIPLE:
		fprintf(file, "\"%" PRIu32 ",%" PRIu32 ",%" PRIu32 "\"", triple[0], triple[1],
			triple[2]);
		break;
	case KP_FIELD_DOUBLE:
		if (isfinite(*(const double *)member))
			fprintf(file, "%.*f", field->decimals, *(const double *)member);
		break;
	case KP_FIELD_BOOL:
		fputs(*(const bool *)member ? "true" : "false", file);
		break;
	case KP_FIELD_SOURCE:
		return csv_text_or_nothing(file, source_name(member));
	}
	return KP_OK;
}

void kp_fields_csv_header(FILE *file, const struct kp_row_kind *kind)
{
	for (const struct kp_field *field = kind->fields; field->key; field++)
		fprintf(file, "%s%s", field == kind->fields ? "" : ",", field->key);
}

enum kp_status kp_fields_csv(FILE *file, const struct kp_row_kind *kind, const void *row)
{
	enum kp_status status = KP_OK;

	for (const struct kp_field *field = kind->fields; field->key && status == KP_OK; field++) {
		if (field != kind->fields)
			fputc(',', file);
		if (!is_absent(kind, field, row))
			status = csv_field(file, field, (const char *)row + field->offset);
	}
	return status;
}
