/* Results of kprof bench OPERATOR as text, YAML and JSON; see bench_kernels.h. */
#include <inttypes.h>
#include <string.h>

#include "profiler/bench_kernels.h"
#include "profiler/emit.h"
#include "profiler/text.h"

static double gbps(const struct kp_bench_result *result, const struct kp_bench_time *time)
{
	return time->median_us > 0 ? (double)result->bytes / time->median_us / 1e3 : 0;
}

static double copy_pct(const struct kp_bench_result *result)
{
	return result->cold.median_us > 0 ? 100 * result->copy.median_us / result->cold.median_us
					  : 0;
}

void kp_print_bench(FILE *file, const struct kp_gpu *gpu, const struct kp_bench_result *results,
		    size_t count)
{
	char name[512], symbol[64], shape[32];

	kp_text_visible(name, sizeof(name), gpu->name, strlen(gpu->name));
	fprintf(file, "GPU        %s, device %d\n", name, gpu->ordinal);
	fprintf(file,
		"Measured   in graphs, twice %d repetitions in the order ABBA, random data, clocks "
		"as found\n\n",
		KP_TIMER_REPETITIONS);
	fprintf(file, "%-13s %9s %9s %8s %8s %9s %9s  %s\n", "Shape", "Cold, µs", "GB/s", "Of copy",
		"Hot, µs", "Chain, µs", "Error", "Kernel");
	for (size_t i = 0; i < count; i++) {
		const struct kp_bench_result *result = &results[i];

		kp_kernel_symbol(result->plan.kernel, result->dtype, symbol, sizeof(symbol));
		snprintf(shape, sizeof(shape), "%" PRIu32 "x%" PRIu32, result->shape.rows,
			 result->shape.columns);
		fprintf(file, "%-13s %8.2f %9.0f %7.1f%% %7.2f %8.2f %5.2f ulp  %s\n", shape,
			result->cold.median_us, gbps(result, &result->cold), copy_pct(result),
			result->hot.median_us, result->dependent.median_us, result->error_ulp,
			symbol);
	}
	fputs("\nOf copy: the time of a plain copy of as many bytes over the time, both cold. "
	      "Chain: hot,\nas dependent launches.\n",
	      file);
}

static void emit_time(struct kp_emit *emit, const char *key, const struct kp_bench_time *time)
{
	kp_emit_map_begin(emit, key);
	kp_emit_number(emit, "median_us", time->median_us, 3);
	kp_emit_number(emit, "least_us", time->least_us, 3);
	kp_emit_number(emit, "most_us", time->most_us, 3);
	kp_emit_map_end(emit);
}

static void emit_result(struct kp_emit *emit, const struct kp_bench_result *result)
{
	char symbol[64];

	kp_kernel_symbol(result->plan.kernel, result->dtype, symbol, sizeof(symbol));
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "operator", result->operator->name);
	kp_emit_count(emit, "rows", result->shape.rows);
	kp_emit_count(emit, "columns", result->shape.columns);
	kp_emit_string(emit, "dtype", kp_dtype_name(result->dtype));
	kp_emit_string(emit, "kernel", symbol);
	kp_emit_count(emit, "grid_blocks", (uint64_t)result->plan.grid_x * result->plan.grid_y);
	kp_emit_count(emit, "block_threads", result->plan.threads);
	kp_emit_count(emit, "bytes", result->bytes);
	kp_emit_count(emit, "buffer_sets", result->sets);
	kp_emit_count(emit, "graph_nodes", result->nodes);
	kp_emit_count(emit, "checked_rows", result->checked_rows);
	kp_emit_number(emit, "error_ulp", result->error_ulp, 3);
	emit_time(emit, "cold", &result->cold);
	emit_time(emit, "hot", &result->hot);
	emit_time(emit, "chain", &result->dependent);
	emit_time(emit, "copy", &result->copy);
	kp_emit_number(emit, "cold_gbps", gbps(result, &result->cold), 1);
	kp_emit_number(emit, "of_copy_pct", copy_pct(result), 1);
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
