/* The roofline as text and as a picture, of a report that is made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/roofline.h"

#define KERNELS 3

struct made {
	struct kp_report report;
	struct kp_gpu_row gpu;
	struct kp_gpu_traffic traffic;
	struct kp_kernel_row kernels[KERNELS];
	size_t by_time[KERNELS];
};

/* Memory of 1000 GB/s, 100 TFLOP/s: the ridge is at 100 FLOP/byte. */
static void make(struct made *made)
{
	static const char *const names[KERNELS] = {"memory<&>", "compute", "unknown"};
	static const double gbps[KERNELS] = {900, 100, NAN}, intensity[KERNELS] = {1, 500, NAN};

	*made = (struct made){0};
	made->traffic.ceilings.of[KP_CEILING_READ] =
		(struct kp_ceiling){KP_CEILING_MEASURED, 1000, 1000, 1000};
	made->traffic.ceilings.of[KP_CEILING_TENSOR_BF16] =
		(struct kp_ceiling){KP_CEILING_DATASHEET, 100, 100, 100};
	made->gpu.traffic = &made->traffic;
	for (size_t i = 0; i < KERNELS; i++) {
		struct kp_row_traffic *traffic = &made->kernels[i].traffic;

		made->by_time[i] = i;
		made->kernels[i].shortened = names[i];
		traffic->source = isnan(gbps[i]) ? KP_TRAFFIC_UNKNOWN : KP_TRAFFIC_ESTIMATED;
		traffic->gbps = gbps[i];
		traffic->gbps_ci95 = 1;
		traffic->flop_per_byte = intensity[i];
		traffic->peak_pct = gbps[i] / 10;
		traffic->tensor_pct = gbps[i] * intensity[i] / 1e3;
		traffic->bound = i ? KP_BOUND_COMPUTE : KP_BOUND_MEMORY;
	}
	made->report.gpus = &made->gpu;
	made->report.gpu_count = 1;
	made->report.kernels = made->kernels;
	made->report.kernel_count = KERNELS;
	made->report.kernels_by_time = made->by_time;
	made->report.traffic.any = true;
}

static char printed[65536];

static const char *print(const struct kp_report *report, bool svg)
{
	const struct kp_view view = {.width = 80};
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(svg ? kp_print_svg(file, report) : kp_print_roofline(file, report, &view),
			 KP_OK);
	rewind(file);
	size_t length = fread(printed, 1, sizeof(printed) - 1, file);
	printed[length] = '\0';
	fclose(file);
	return printed;
}

static void test_roofline_places_kernels(void **state)
{
	struct made made;
	struct kp_roof roof;

	(void)state;
	make(&made);
	assert_true(kp_roof_of(&made.report, &roof));
	assert_int_equal(roof.count, 2);
	assert_int_equal(roof.placed, 2);
	assert_true(fabs(roof.ridge - 100) < 1e-9);
	assert_true(fabs(kp_roof_at(&roof, 10) - 10) < 1e-9);
	assert_true(fabs(kp_roof_at(&roof, 1000) - 100) < 1e-9);
	assert_true(fabs(roof.points[0].tflops - 0.9) < 1e-9);
	assert_true(roof.low <= 1 && roof.high >= 500 && roof.bottom <= 0.9 && roof.top >= 100);
}

static void test_roofline_draws_text(void **state)
{
	struct made made;

	(void)state;
	make(&made);
	const char *text = print(&made.report, false);
	assert_non_null(strstr(text, "memory 1000 GB/s (measured)"));
	assert_non_null(strstr(text, "ridge at 100 FLOP/byte"));
	const char *grid = strstr(text, " TFLOP/s\n");
	assert_non_null(grid);
	const char *a = strchr(grid, 'a');
	const char *roof = strstr(text, "--------");
	assert_true(roof && a && roof < a); /* the flat roof stands above a */
	assert_non_null(strstr(text, "a    900 e     1.0  90.0% ######################.. memory"));
	assert_non_null(strstr(text, "m measured, e estimated; FLOP/B and TFLOP/s: modelled"));
	assert_null(strstr(text, "unknown"));
}

static void test_roofline_draws_a_picture(void **state)
{
	struct made made;

	(void)state;
	make(&made);
	const char *text = print(&made.report, true);
	assert_int_equal(strncmp(text, "<svg ", 5), 0);
	assert_non_null(strstr(text, "memory&lt;&amp;&gt;"));
	assert_non_null(strstr(text, "class=\"r\""));
	size_t circles = 0;
	for (const char *at = text; (at = strstr(at, "<circle")); at++)
		circles++;
	assert_int_equal(circles, 2);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
}

/* A kernel that hardly touches memory, and ceilings that nothing has, stay in the picture. */
static void test_roofline_keeps_all_in_the_picture(void **state)
{
	struct made made;
	const char *at;
	char *end;

	(void)state;
	make(&made);
	made.kernels[1].traffic.flop_per_byte = 1e12;
	made.kernels[1].traffic.gbps = 1e-8;
	for (int i = 0; i < 2; i++) {
		unsigned circles = 0;

		for (at = print(&made.report, true); (at = strstr(at, "cx=\"")); circles++) {
			double x = strtod(at + 4, &end);

			at = strstr(at, "cy=\"");
			assert_true(x >= 70 && x <= 870);
			x = strtod(at + 4, &end);
			assert_true(x >= 50 && x <= 470);
		}
		assert_int_equal(circles, 2);
		assert_null(strstr(printed, "nan"));
		assert_null(strstr(printed, "inf"));
		made.traffic.ceilings.of[KP_CEILING_READ].value = 1e-3;
		made.traffic.ceilings.of[KP_CEILING_TENSOR_BF16].value = 1e6;
	}
}

static void test_roofline_says_when_no_kernel_is_known(void **state)
{
	struct made made;

	(void)state;
	make(&made);
	for (size_t i = 0; i < KERNELS; i++)
		made.kernels[i].traffic.source = KP_TRAFFIC_UNKNOWN;
	assert_non_null(strstr(print(&made.report, false), "No kernel is beneath the roof"));
	assert_null(strstr(printed, "Bound"));
	assert_non_null(strstr(print(&made.report, true), "No kernel is beneath the roof"));
}

static void test_roofline_says_that_gpus_differ(void **state)
{
	struct kp_gpu_traffic traffic;
	struct kp_gpu_row gpus[3];
	struct made made;

	(void)state;
	make(&made);
	traffic = made.traffic;
	gpus[0] = gpus[1] = gpus[2] = made.gpu;
	gpus[1].traffic = &traffic;
	gpus[2].traffic = NULL;
	made.report.gpus = gpus;
	made.report.gpu_count = 3;
	assert_null(strstr(print(&made.report, false), "first GPU"));
	traffic.ceilings.of[KP_CEILING_READ].value = 4800;
	assert_non_null(strstr(print(&made.report, false), "first GPU"));
	assert_non_null(strstr(print(&made.report, true), "first GPU"));
}

/* The title of a chip with four digits of everything is whole. */
static void test_roofline_has_room_for_its_title(void **state)
{
	struct made made;

	(void)state;
	make(&made);
	made.traffic.ceilings.of[KP_CEILING_READ].value = 800;
	made.traffic.ceilings.of[KP_CEILING_TENSOR_BF16].value = 2250;
	assert_non_null(strstr(print(&made.report, false), "ridge at 2812 FLOP/byte\n"));
}

static void test_roofline_says_when_there_is_none(void **state)
{
	struct made made;

	(void)state;
	make(&made);
	made.gpu.traffic = NULL;
	assert_non_null(strstr(print(&made.report, false), "There is no roofline"));
	assert_non_null(strstr(print(&made.report, true), "No roofline"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roofline_places_kernels),
		cmocka_unit_test(test_roofline_draws_text),
		cmocka_unit_test(test_roofline_draws_a_picture),
		cmocka_unit_test(test_roofline_keeps_all_in_the_picture),
		cmocka_unit_test(test_roofline_says_when_no_kernel_is_known),
		cmocka_unit_test(test_roofline_says_that_gpus_differ),
		cmocka_unit_test(test_roofline_has_room_for_its_title),
		cmocka_unit_test(test_roofline_says_when_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
