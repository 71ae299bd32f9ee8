/* Shapes in YAML, JSON and CSV, and one in words; see shapes.h. */
#include "profiler/shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "profiler/fields.h"
#include "profiler/humanise.h"
#include "profiler/text.h"

struct line {
	char *text;
	size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...)
{
	size_t room = line->size - line->length;
	va_list arguments;

	va_start(arguments, format);
	int written = vsnprintf(line->text + line->length, room, format, arguments);
	va_end(arguments);
	if (written > 0)
		line->length += (size_t)written < room ? (size_t)written : room - 1;
}

static const char *type_name(uint64_t code)
{
	const struct kp_data_type *type = kp_data_type(code);

	return type ? type->name : NULL;
}

/* cuBLAS's letters. */
static const char *transpose_letter(uint64_t transpose)
{
	static const char *const letters[] = {[0] = "?",
					      [KP_TRANSPOSE_NONE] = "N",
					      [KP_TRANSPOSE_YES] = "T",
					      [KP_TRANSPOSE_CONJUGATE] = "C"};

	return transpose < sizeof letters / sizeof *letters ? letters[transpose] : "?";
}

static void put_text(struct line *line, struct kp_text text)
{
	char visible[96];

	kp_text_visible(visible, sizeof visible, text.bytes, text.length);
	put(line, "%s", visible);
}

/* "convolution n 2 c 32, bf16 to bf16, padding 1x1" */
static void describe_sizes(struct line *line, const struct kp_shape *shape)
{
	const struct kp_library_call *call = shape->use.call;
	const char *a = type_name(call->a_type);
	const char *d = type_name(call->d_type ? call->d_type : call->c_type);
	const char *kind = call->kind == KP_LIBRARY_CONVOLUTION ? "convolution"
			   : call->kind == KP_LIBRARY_ATTENTION ? "attention"
								: "";
	struct kp_text name;

	put(line, "%s", kind);
	if (!*kind && shape->detail.length)
		put_text(line, shape->detail);
	else if (!*kind)
		put(line, "library call");
	for (unsigned i = 0; i < KP_LIBRARY_SIZES; i++) {
		name = kp_shape_size_name(shape->use.sizes, i);
		if (!name.length)
			break;
		put(line, " ");
		put_text(line, name);
		put(line, " %" PRIu64, kp_library_sizes(call)[i]);
	}
	if (call->causal)
		put(line, ", causal");
	if (call->groups > 1)
		put(line, ", groups %" PRIu64, call->groups);
	if (a)
		put(line, d && d != a ? ", %s to %s" : ", %s", a, d);
	if (*kind && shape->detail.length) {
		put(line, ", ");
		put_text(line, shape->detail);
	}
}

static void describe_call(struct line *line, const struct kp_shape *shape)
{
	const struct kp_library_call *call = shape->use.call;
	const char *epilogue = kp_library_epilogue_name(call->epilogue);
	const char *a = type_name(call->a_type), *b = type_name(call->b_type);
	const char *d = type_name(call->d_type ? call->d_type : call->c_type);

	if (call->kind != KP_LIBRARY_GEMM && call->kind != KP_LIBRARY_GEMV) {
		describe_sizes(line, shape);
		return;
	}
	put(line, "m %" PRIu64 " n %" PRIu64, call->m, call->n);
	if (call->kind == KP_LIBRARY_GEMM)
		put(line, " k %" PRIu64, call->k);
	if (call->batch != 1)
		put(line, " batch %" PRIu64, call->batch);
	put(line, ", %s%s%s to %s, %s%s", a ? a : "?", a && b && a != b ? " by " : "",
	    a && b && a != b ? b : "", d ? d : "?", transpose_letter(call->transpose_a),
	    call->kind == KP_LIBRARY_GEMM ? transpose_letter(call->transpose_b) : "");
	if (call->epilogue > 1)
		put(line, ", %s", epilogue ? epilogue : "epilogue");
	if (shape->detail.length) {
		put(line, ", ");
		put_text(line, shape->detail);
	}
}

static void describe_triple(struct line *line, const char *name, const uint32_t *values)
{
	put(line, "%s %" PRIu32, name, values[0]);
	if (values[1] != 1 || values[2] != 1)
		put(line, "x%" PRIu32, values[1]);
	if (values[2] != 1)
		put(line, "x%" PRIu32, values[2]);
}

void kp_shapes_describe(char *out, size_t size, const struct kp_shape *shape)
{
	const struct kp_launch_config *config = shape->use.config;
	struct line line = {out, size, 0};

	out[0] = '\0';
	if (shape->use.call) {
		describe_call(&line, shape);
		return;
	}
	describe_triple(&line, "grid", config->grid);
	describe_triple(&line, ", block", config->block);
	if (config->dynamic_shared_bytes)
		put(&line, ", shared %s", kp_human_bytes(config->dynamic_shared_bytes, 3).text);
}

static void emit_launch(struct kp_emit *emit, const struct kp_launch_config *config)
{
	kp_fields_emit_triple(emit, "grid_blocks", config->grid);
	kp_fields_emit_triple(emit, "block_threads", config->block);
	kp_emit_count(emit, "static_shared_bytes_per_block", config->static_shared_bytes);
	kp_emit_count(emit, "dynamic_shared_bytes_per_block", config->dynamic_shared_bytes);
}

/* A size of 0 is one that is not known. */
static void emit_size(struct kp_emit *emit, const char *key, uint64_t size)
{
	if (size)
		kp_emit_count(emit, key, size);
	else
		kp_emit_null(emit, key);
}

/* Sizes by name, each with what it counts: a list, for names may be anything. */
static void emit_sizes(struct kp_emit *emit, const struct kp_shape *shape)
{
	struct kp_text name;

	if (shape->use.call->kind == KP_LIBRARY_ATTENTION)
		kp_emit_bool(emit, "causal", shape->use.call->causal == 1);
	if (!shape->use.sizes.length)
		return;
	kp_emit_list_begin(emit, "sizes");
	for (unsigned i = 0; i < KP_LIBRARY_SIZES; i++) {
		name = kp_shape_size_name(shape->use.sizes, i);
		if (!name.length)
			break;
		kp_emit_map_begin(emit, NULL);
		kp_emit_text(emit, "name", name);
		kp_emit_count(emit, "value", kp_library_sizes(shape->use.call)[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

static void emit_call(struct kp_emit *emit, const struct kp_shape *shape)
{
	const struct kp_library_call *call = shape->use.call;
	static const char *const kinds[] = {[KP_LIBRARY_OTHER] = "other",
					    [KP_LIBRARY_GEMM] = "gemm",
					    [KP_LIBRARY_GEMV] = "gemv",
					    [KP_LIBRARY_CONVOLUTION] = "convolution",
					    [KP_LIBRARY_ATTENTION] = "attention"};
	const uint64_t types[] = {call->a_type, call->b_type, call->c_type, call->d_type};
	static const char *const type_keys[] = {"a_type", "b_type", "c_type", "d_type"};

	kp_emit_string(emit, "operation",
		       call->kind < sizeof kinds / sizeof *kinds ? kinds[call->kind] : NULL);
	if (shape->detail.length)
		kp_emit_text(emit, "detail", shape->detail);
	else
		kp_emit_null(emit, "detail");
	emit_sizes(emit, shape);
	emit_size(emit, "m", call->m);
	emit_size(emit, "n", call->n);
	emit_size(emit, "k", call->k);
	emit_size(emit, "batch", call->batch);
	for (int i = 0; i < 4; i++)
		kp_emit_string(emit, type_keys[i], type_name(types[i]));
	kp_emit_string(emit, "compute_type", kp_library_compute_name(call->compute_type));
	kp_emit_string(emit, "transpose_a", transpose_letter(call->transpose_a));
	kp_emit_string(emit, "transpose_b", transpose_letter(call->transpose_b));
	kp_emit_string(emit, "epilogue", kp_library_epilogue_name(call->epilogue));
}

/* What it costs at least is modelled; what it moved comes from counters, or is not known. */
static void emit_work(struct kp_emit *emit, const struct kp_shape *shape)
{
	bool modelled = isfinite(shape->work.flops) || isfinite(shape->work.least_bytes);

	kp_emit_number(emit, "flops_per_call", shape->work.flops, 0);
	kp_emit_number(emit, "least_bytes_per_call", shape->work.least_bytes, 0);
	kp_emit_string(emit, "work_source", modelled ? "modelled" : "absent");
	kp_emit_number(emit, "bytes_per_call", shape->bytes_per_call, 0);
	kp_emit_string(emit, "bytes_source",
		       kp_traffic_source_name(isfinite(shape->bytes_per_call)
						      ? shape->use.bytes_source
						      : KP_TRAFFIC_UNKNOWN));
	kp_emit_number(emit, "waste", shape->waste, 3);
}

static void emit_shape(struct kp_emit *emit, const struct kp_report *report,
		       const struct kp_shape *shape)
{
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "source", kp_shape_source_name(kp_shape_source(&shape->use)));
	kp_emit_string(emit, "kernel", report->kernels[shape->kernel].shortened);
	kp_emit_count(emit, "launches", shape->use.launches);
	kp_emit_count(emit, "graph_launches", shape->use.graph_launches);
	kp_emit_count(emit, "total_ns", shape->use.total_ns);
	kp_emit_number(emit, "share_pct", shape->share_pct, 4);
	if (shape->use.call) {
		emit_call(emit, shape);
		emit_work(emit, shape);
	} else {
		emit_launch(emit, shape->use.config);
	}
	kp_emit_map_end(emit);
}

static void emit_dims(struct kp_emit *emit, const char *key, const struct kp_stability *stability,
		      uint32_t dims)
{
	kp_emit_list_begin(emit, key);
	for (enum kp_shape_dim dim = 0; dim < KP_SHAPE_DIM_COUNT; dim++)
		if (dims >> dim & 1U)
			kp_emit_string(emit, NULL, kp_stability_dim_name(stability, dim));
	kp_emit_list_end(emit);
}

void kp_shapes_emit(struct kp_emit *emit, const struct kp_report *report,
		    const struct kp_stability *stability)
{
	bool timed = stability->versions > 0;

	kp_emit_map_begin(emit, "stability");
	kp_emit_string(emit, "verdict", kp_shapes_verdict_name(stability->verdict));
	kp_emit_string(emit, "reason", stability->reason);
	kp_emit_count(emit, "distinct_shapes", stability->count);
	emit_size(emit, "versions", stability->versions);
	emit_size(emit, "versions_of_one_kernel", stability->versions_each);
	kp_emit_number(emit, "top_shape_pct", timed ? stability->top_pct : NAN, 4);
	kp_emit_number(emit, "top_five_shapes_pct", timed ? stability->top_five_pct : NAN, 4);
	kp_emit_number(emit, "library_calls_pct", timed ? stability->called_pct : NAN, 4);
	kp_emit_number(emit, "kernel_parameters_pct", timed ? stability->parameters_pct : NAN, 4);
	emit_dims(emit, "varies", stability, stability->varies);
	emit_dims(emit, "grows_with_position", stability, stability->grows);
	kp_emit_bool(emit, "parameters_may_vary", stability->hidden);
	kp_emit_count(emit, "autotuning_launches", stability->trials);
	kp_emit_count(emit, "autotuning_total_ns", stability->trial_ns);
	if (report) {
		kp_emit_list_begin(emit, "shapes");
		for (size_t i = 0; i < stability->shape_count; i++)
			emit_shape(emit, report, &stability->shapes[i]);
		kp_emit_list_end(emit);
	}
	kp_emit_map_end(emit);
}

void kp_shapes_emit_calls(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_library_account *library = &report->library;

	if (!report->library_any) {
		kp_emit_null(emit, "library_calls");
		return;
	}
	kp_emit_map_begin(emit, "library_calls");
	kp_emit_count(emit, "calls", library->calls);
	kp_emit_count(emit, "launches", library->launches);
	kp_emit_count(emit, "launches_tied", library->launches_tied);
	kp_emit_count(emit, "launches_lost", library->launches_lost);
	kp_emit_count(emit, "graph_nodes", library->graph_nodes);
	kp_emit_count(emit, "graph_launches_tied", library->graph_launches);
	kp_emit_map_end(emit);
}

/* ---- CSV ---- */

static void csv_number(FILE *file, double value, int decimals)
{
	fputc(',', file);
	if (isfinite(value))
		fprintf(file, "%.*f", decimals, value);
}

static enum kp_status csv_shape(FILE *file, const struct kp_report *report, const char *of,
				const struct kp_shape *shape)
{
	enum kp_status status = kp_fields_csv_text(file, of);
	char described[160];

	fputc(',', file);
	if (status == KP_OK)
		status = kp_fields_csv_text(file, report->kernels[shape->kernel].shortened);
	kp_shapes_describe(described, sizeof described, shape);
	fprintf(file, ",%s,", kp_shape_source_name(kp_shape_source(&shape->use)));
	if (status == KP_OK)
		status = kp_fields_csv_text(file, described);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, shape->use.launches,
		shape->use.graph_launches, shape->use.total_ns);
	csv_number(file, shape->share_pct, 4);
	csv_number(file, shape->work.flops, 0);
	csv_number(file, shape->work.least_bytes, 0);
	csv_number(file, shape->use.call ? shape->bytes_per_call : NAN, 0);
	csv_number(file, shape->waste, 3);
	fputs("\r\n", file);
	return status;
}

enum kp_status kp_print_shapes_csv(FILE *file, const struct kp_report *report,
				   const struct kp_view *view)
{
	bool kernels = view->by == KP_BY_KERNEL;
	size_t count = kernels ? report->kernel_count : report->operator_count;
	enum kp_status status = KP_OK;

	fprintf(file,
		"%s,kernel,source,shape,launches,graph_launches,total_ns,share_pct,"
		"flops_per_call,least_bytes_per_call,bytes_per_call,waste\r\n",
		kernels ? "full_name" : "operator");
	for (size_t i = 0; i < count; i++) {
		size_t at = kernels ? report->kernels_by_time[i] : i;
		const struct kp_stability *stability =
			kernels ? report->kernels[at].stability : report->operators[at].stability;
		const char *name = kernels ? report->kernels[at].full : report->operators[at].name;

		for (size_t k = 0; k < stability->shape_count && status == KP_OK; k++)
			status = csv_shape(file, report, name, &stability->shapes[k]);
	}
	return status;
}
