/*
 * What counters say of fusion candidates: bytes saved, and the time that they are worth where the
 * chain keeps memory busy.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/fusion_build.h"

/* An addition of 6 MB and a norm of 4 MB, ten times. */
#define RUNS 10
#define ADD_NS 2000
#define NORM_NS 1500

struct scene {
	struct kp_operators *operators;
	struct kp_fusion_finder *finder;
	struct kp_report report;
	struct kp_kernel_row kernels[2];
	struct kp_operator_row operator_rows[1];
	struct kp_launch_config configs[2];
};

static void set_traffic(struct kp_row_traffic *traffic, double read, double written, double peak)
{
	traffic->source = KP_TRAFFIC_ESTIMATED;
	traffic->metrics[KP_METRIC_DRAM_READ].mean = read;
	traffic->metrics[KP_METRIC_DRAM_WRITE].mean = written;
	traffic->bytes = read + written;
	traffic->peak_gbps = peak;
}

static void open_scene(struct scene *scene, double peak_gbps)
{
	*scene = (struct scene){.report = {.kernels = scene->kernels,
					   .kernel_count = 2,
					   .operators = scene->operator_rows,
					   .operator_count = 1,
					   .span_ns = 100000,
					   .traffic.any = true}};
	scene->report.arena = kp_arena_create();
	assert_int_equal(kp_operators_builtin(&scene->operators), KP_OK);
	assert_int_equal(kp_fusion_finder_create(scene->operators, &scene->finder), KP_OK);
	scene->kernels[0].full = "add_kernel";
	scene->kernels[1].full = "rms_norm_kernel";
	for (int i = 0; i < 2; i++) {
		scene->kernels[i].durations.total_ns = 1000;
		scene->kernels[i].alone_ns = 1000;
		scene->configs[i].grid[0] = 1;
	}
	set_traffic(&scene->kernels[0].traffic, 4e6, 2e6, peak_gbps);
	set_traffic(&scene->kernels[1].traffic, 2e6, 2e6, peak_gbps);
}

static const struct kp_fusion_row *rank(struct scene *scene)
{
	static const size_t places[2] = {0, 1};
	uint64_t now_ns = 1000;

	for (int i = 0; i < 2 * RUNS; i++) {
		struct kp_fusion_launch launch = {.start_ns = now_ns,
						  .config = &scene->configs[i % 2],
						  .row = (uint32_t)i % 2};
		struct kp_label label;

		assert_int_equal(
			kp_operators_match(scene->operators, scene->kernels[i % 2].full, &label),
			KP_OK);
		launch.word = kp_fusion_finder_word(scene->finder, &label);
		launch.end_ns = now_ns + (i % 2 ? NORM_NS : ADD_NS);
		now_ns = launch.end_ns;
		assert_int_equal(kp_fusion_finder_launch(scene->finder, 0, &launch), KP_OK);
	}
	assert_int_equal(kp_fusion_finder_end(scene->finder), KP_OK);
	assert_int_equal(kp_fusion_put(scene->finder, scene->operators, places, &scene->report),
			 KP_OK);
	assert_int_equal(scene->report.fusion.count, 1);
	return &scene->report.fusion.rows[0];
}

static void close_scene(struct scene *scene)
{
	kp_fusion_finder_destroy(scene->finder);
	kp_operators_destroy(scene->operators);
	kp_arena_destroy(scene->report.arena);
}

static void assert_near(double value, double expected)
{
	assert_true(fabs(value - expected) < 1e-6 * fabs(expected) + 1e-3);
}

/*
 * 10 MB a run in 3.5 µs: 2857 GB/s of 4000. The addition reads two tensors and writes one that the
 * norm reads: two thirds of its 6 MB remain, and half of the norm's 4 MB.
 */
static void test_fusion_bytes_of_busy_chains(void **state)
{
	const struct kp_fusion_row *row;
	struct scene scene;
	double gbps = 10e6 / 3500;

	(void)state;
	open_scene(&scene, 4000);
	row = rank(&scene);
	assert_string_equal(row->name, "addition and norm");
	assert_true(row->by_bytes);
	assert_int_equal(row->bytes_source, KP_TRAFFIC_ESTIMATED);
	assert_near(row->bytes, 10e6 * RUNS);
	assert_near(row->bytes_saved_low, 4e6 * RUNS);
	assert_near(row->bytes_saved_high, 4e6 * RUNS); /* 4 MB read by the first, 2 MB written */
	assert_near(row->kernel_gain.low, RUNS * 4e6 / gbps);
	assert_near(row->kernel_gain.high, RUNS * (3500 - 6e6 / 4000));
	close_scene(&scene);
}

/* Far below the ceiling bytes are not what takes the time. */
static void test_fusion_bytes_of_idle_memory(void **state)
{
	const struct kp_fusion_row *row;
	struct scene scene;

	(void)state;
	open_scene(&scene, 20000);
	row = rank(&scene);
	assert_false(row->by_bytes);
	assert_near(row->bytes_saved_low, 4e6 * RUNS);
	assert_near(row->kernel_gain.low,
		    RUNS * (3500 - (ADD_NS * 2 / 3.0 + NORM_NS / 2.0))); /* more than the longest */
	assert_near(row->kernel_gain.high, RUNS * (3500 - NORM_NS));
	close_scene(&scene);
}

/* The usual grid's own bytes count, not those of all launches of the kernel. */
static void test_fusion_bytes_of_the_shape(void **state)
{
	struct kp_shape_row shape = {.grid = {1, 0, 0}};
	const struct kp_fusion_row *row;
	struct scene scene;

	(void)state;
	open_scene(&scene, 4000);
	set_traffic(&shape.traffic, 1e6, 1e6, 4000);
	scene.kernels[1].shapes = &shape;
	scene.kernels[1].shape_count = 1;
	row = rank(&scene);
	assert_near(row->bytes, 8e6 * RUNS);
	close_scene(&scene);
}

static void test_fusion_bytes_are_absent_where_one_is(void **state)
{
	const struct kp_fusion_row *row;
	struct scene scene;

	(void)state;
	open_scene(&scene, 4000);
	scene.kernels[1].traffic.source = KP_TRAFFIC_UNKNOWN;
	row = rank(&scene);
	assert_true(isnan(row->bytes));
	assert_true(isnan(row->bytes_saved_low));
	assert_false(row->by_bytes);
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fusion_bytes_of_busy_chains),
		cmocka_unit_test(test_fusion_bytes_of_idle_memory),
		cmocka_unit_test(test_fusion_bytes_of_the_shape),
		cmocka_unit_test(test_fusion_bytes_are_absent_where_one_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
