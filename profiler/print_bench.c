/* Results of kprof bench OPERATOR as text, YAML and JSON; see bench_kernels.h. */
#include <string.h>

#include "profiler/bench_kernels.h"
#include "profiler/emit.h"
#include "profiler/text.h"

static double gbps(const struct kp_bench_result *result, const struct kp_bench_time *time)
{
	return time->median_us > 0 ? (double)result->bytes / time->median_us / 1e3 : 0;
}

/* 0: not of this operator. */
static double tflops(const struct kp_bench_result *result, const struct kp_bench_time *time)
{
	if (!result->operator->flops || !(time->median_us > 0))
		return 0;
	return result->operator->flops(&result->shape) / time->median_us / 1e6;
}

/* The plain kernel's time over the time. */
static double plain_pct(const struct kp_bench_result *result)
{
	return result->cold.median_us > 0 ? 100 * result->plain.median_us / result->cold.median_us
					  : 0;
}

static double ceiling_pct(const struct kp_bench_result *result, const struct kp_bench_time *time)
{
	return result->ceiling_gbps > 0 ? 100 * gbps(result, time) / result->ceiling_gbps : 0;
}

static const char *shape_of(const struct kp_bench_result *result, char out[KP_BENCH_SHAPE_TEXT])
{
	kp_bench_shape_write(result->form, &result->shape, out);
	return out;
}

/* Columns that the longest shape takes. */
static int shape_width(const struct kp_bench_result *results, size_t count)
{
	char shape[KP_BENCH_SHAPE_TEXT];
	size_t most = 13;

	for (size_t i = 0; i < count; i++)
		if (strlen(shape_of(&results[i], shape)) > most)
			most = strlen(shape);
	return (int)most;
}

static void print_row(FILE *file, const struct kp_bench_result *result, int width)
{
	char symbol[64], shape[KP_BENCH_SHAPE_TEXT];

	kp_kernel_symbol(result->plan.kernel, result->dtype, symbol, sizeof(symbol));
	fprintf(file, "%-*s %8.2f ", width, shape_of(result, shape), result->cold.median_us);
	if (result->operator->flops)
		fprintf(file, "%8.0f ", tflops(result, &result->cold));
	fprintf(file, "%9.0f %7.1f%% ", gbps(result, &result->cold), plain_pct(result));
	if (result->ceiling_gbps > 0)
		fprintf(file, "%9.1f%% %8.1f%% ", ceiling_pct(result, &result->cold),
			ceiling_pct(result, &result->cold_chain));
	fprintf(file, "%7.2f %8.2f ", result->hot.median_us, result->hot_chain.median_us);
	/* The last place says little of a sum whose terms are far larger. */
	if (result->operator->bounded)
		fprintf(file, "%8.0f%%  %s\n", result->error_pct, symbol);
	else
		fprintf(file, "%5.2f ulp  %s\n", result->error_ulp, symbol);
}

static void print_reference(FILE *file, const struct kp_bench_result *result,
			    const struct kp_bench_reference *row, int width)
{
	char shape[KP_BENCH_SHAPE_TEXT];

	fprintf(file, "%-*s %-10s %8.2f %6.2fx (%.2f to %.2f) %8.2f %6.2fx (%.2f to %.2f)\n", width,
		shape_of(result, shape), row->name, row->cold.median_us, row->cold_ratio.median,
		row->cold_ratio.least, row->cold_ratio.most, row->hot.median_us,
		row->hot_ratio.median, row->hot_ratio.least, row->hot_ratio.most);
}

static void print_references(FILE *file, const struct kp_bench_result *results, size_t count,
			     int width)
{
	char shape[KP_BENCH_SHAPE_TEXT];
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any = any || results[i].references.ours_cold.most_us > 0;
	if (!any)
		return;
	fprintf(file, "\n%-*s %-10s %8s %23s %8s %23s\n", width, "Against", "", "Cold, µs",
		"Times as fast", "Hot, µs", "Times as fast");
	for (size_t i = 0; i < count; i++) {
		const struct kp_bench_references *references = &results[i].references;

		for (size_t row = 0; row < references->count; row++)
			print_reference(file, &results[i], &references->rows[row], width);
		if (references->count == 0)
			fprintf(file, "%-*s none of them can do this\n", width,
				shape_of(&results[i], shape));
	}
	fputs("\nTimes as fast: theirs over kprof's in one process, turn by turn: the median,\n"
	      "least and most.\n",
	      file);
}

void kp_print_bench(FILE *file, const struct kp_gpu *gpu, const struct kp_bench_result *results,
		    size_t count)
{
	bool reads = count > 0 && results[0].form->reads;
	int width = shape_width(results, count);
	char name[512];

	kp_text_visible(name, sizeof(name), gpu->name, strlen(gpu->name));
	fprintf(file, "GPU        %s, device %d\n", name, gpu->ordinal);
	fprintf(file,
		"Measured   in graphs, twice %d repetitions in the order ABBA, random data, clocks "
		"as found\n",
		KP_TIMER_REPETITIONS);
	if (reads)
		fprintf(file, "Reading    %.0f GB/s at most, measured before\n",
			results[0].ceiling_gbps);
	fprintf(file, "\n%-*s %9s ", width, "Shape", "Cold, µs");
	if (count > 0 && results[0].operator->flops)
		fprintf(file, "%8s ", "TFLOP/s");
	fprintf(file, "%9s %8s ", "GB/s", reads ? "Of read" : "Of copy");
	if (reads)
		fprintf(file, "%10s %9s ", "Of most", "In chain");
	fprintf(file, "%8s %9s %9s  %s\n", "Hot, µs", "Chain, µs", "Error", "Kernel");
	for (size_t i = 0; i < count; i++)
		print_row(file, &results[i], width);
	fprintf(file, "\n%s over the time, both cold. Chain: hot,\nas dependent launches.%s\n",
		reads ? "Of read: the time of plainly reading as many bytes"
		      : "Of copy: the time of a plain copy of as many bytes",
		reads ? " Of most: of the GB/s that reading reaches; in chain: as\ncold, dependent "
			"launches."
		      : "");
	print_references(file, results, count, width);
}

static void emit_time(struct kp_emit *emit, const char *key, const struct kp_bench_time *time)
{
	kp_emit_map_begin(emit, key);
	kp_emit_number(emit, "median_us", time->median_us, 3);
	kp_emit_number(emit, "least_us", time->least_us, 3);
	kp_emit_number(emit, "most_us", time->most_us, 3);
	kp_emit_map_end(emit);
}

static void emit_ratio(struct kp_emit *emit, const char *key, const struct kp_bench_ratio *ratio)
{
	kp_emit_map_begin(emit, key);
	kp_emit_number(emit, "median", ratio->median, 3);
	kp_emit_number(emit, "least", ratio->least, 3);
	kp_emit_number(emit, "most", ratio->most, 3);
	kp_emit_map_end(emit);
}

static void emit_references(struct kp_emit *emit, const struct kp_bench_references *references)
{
	if (!(references->ours_cold.most_us > 0))
		return;
	kp_emit_map_begin(emit, "against");
	emit_time(emit, "ours_cold", &references->ours_cold);
	emit_time(emit, "ours_hot", &references->ours_hot);
	kp_emit_number(emit, "ours_error", references->ours_error, 8);
	kp_emit_list_begin(emit, "references");
	for (size_t i = 0; i < references->count; i++) {
		const struct kp_bench_reference *row = &references->rows[i];

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "name", row->name);
		kp_emit_string(emit, "group", row->group);
		emit_time(emit, "cold", &row->cold);
		emit_time(emit, "hot", &row->hot);
		emit_ratio(emit, "cold_ratio", &row->cold_ratio);
		emit_ratio(emit, "hot_ratio", &row->hot_ratio);
		kp_emit_number(emit, "error", row->error, 8);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
}

/* The shape, as --shape has it, and each size of it. */
static void emit_shape(struct kp_emit *emit, const struct kp_bench_result *result)
{
	char shape[KP_BENCH_SHAPE_TEXT];

	kp_emit_string(emit, "shape", shape_of(result, shape));
	for (size_t i = 0; result->form->sizes[i].key; i++)
		kp_emit_count(emit, result->form->sizes[i].key,
			      kp_bench_size_get(result->form, &result->shape, i));
	if (result->form->is_paged) {
		kp_emit_count(emit, "page_tokens", result->shape.page_tokens);
		kp_emit_bool(emit, "varied", result->shape.varied);
	}
	if (result->form->is_causal)
		kp_emit_bool(emit, "causal", result->shape.causal);
	kp_emit_string(emit, "dtype", kp_dtype_name(result->dtype));
	if (result->form->is_narrow)
		kp_emit_string(emit, "narrow_dtype", kp_dtype_name(result->shape.narrow));
}

static void emit_times(struct kp_emit *emit, const struct kp_bench_result *result)
{
	bool reads = result->form->reads;

	emit_time(emit, "cold", &result->cold);
	emit_time(emit, "cold_chain", &result->cold_chain);
	emit_time(emit, "hot", &result->hot);
	emit_time(emit, "chain", &result->hot_chain);
	emit_time(emit, reads ? "read" : "copy", &result->plain);
	kp_emit_number(emit, "cold_gbps", gbps(result, &result->cold), 1);
	if (result->operator->flops)
		kp_emit_number(emit, "cold_tflops", tflops(result, &result->cold), 1);
	kp_emit_number(emit, reads ? "of_read_pct" : "of_copy_pct", plain_pct(result), 1);
	if (!reads)
		return;
	kp_emit_number(emit, "ceiling_gbps", result->ceiling_gbps, 1);
	kp_emit_number(emit, "of_ceiling_pct", ceiling_pct(result, &result->cold), 1);
	kp_emit_number(emit, "chain_of_ceiling_pct", ceiling_pct(result, &result->cold_chain), 1);
}

static void emit_result(struct kp_emit *emit, const struct kp_bench_result *result)
{
	char symbol[64];

	kp_kernel_symbol(result->plan.kernel, result->dtype, symbol, sizeof(symbol));
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "operator", result->operator->name);
	emit_shape(emit, result);
	kp_emit_string(emit, "kernel", symbol);
	kp_emit_count(emit, "grid_blocks", (uint64_t)result->plan.grid_x * result->plan.grid_y);
	kp_emit_count(emit, "block_threads", result->plan.threads);
	kp_emit_count(emit, "bytes", result->bytes);
	kp_emit_count(emit, "buffer_sets", result->sets);
	kp_emit_count(emit, "graph_nodes", result->nodes);
	kp_emit_count(emit, "checked_units", result->checked_units);
	kp_emit_number(emit, "error_ulp", result->error_ulp, 3);
	kp_emit_number(emit, "error_of_allowed_pct", result->error_pct, 1);
	emit_times(emit, result);
	emit_references(emit, &result->references);
	kp_emit_map_end(emit);
}

enum kp_status kp_document_bench(FILE *file, const struct kp_gpu *gpu,
				 const struct kp_bench_result *results, size_t count,
				 enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = format == KP_FORMAT_JSON ? kp_emit_json_create(file, &emit)
							 : kp_emit_yaml_create(file, &emit);

	if (status != KP_OK)
		return status;
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "schema", "kprof.bench/v1");
	kp_emit_string(emit, "gpu", gpu->name);
	kp_emit_string(emit, "uuid", gpu->uuid[0] ? gpu->uuid : NULL);
	kp_emit_string(emit, "driver", gpu->driver->release[0] ? gpu->driver->release : NULL);
	kp_emit_list_begin(emit, "results");
	for (size_t i = 0; i < count; i++)
		emit_result(emit, &results[i]);
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
