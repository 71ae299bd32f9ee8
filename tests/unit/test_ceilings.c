/* What a GPU can do at most, without measuring; and what memory gives to a mix of bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/ceilings.h"

static struct kp_device_info named(const char *name)
{
	struct kp_device_info device = {0};

	KP_SET(&device, DEVICE, name, ((struct kp_text){name, strlen(name)}));
	return device;
}

/* What CUDA says of an H200. */
static struct kp_device_info h200(void)
{
	struct kp_device_info device = named("NVIDIA H200");

	KP_SET(&device, DEVICE, compute_major, 9);
	KP_SET(&device, DEVICE, compute_minor, 0);
	KP_SET(&device, DEVICE, sm_count, 132);
	KP_SET(&device, DEVICE, sm_clock_khz, 1980000);
	KP_SET(&device, DEVICE, memory_clock_khz, 3201000);
	KP_SET(&device, DEVICE, memory_bus_bits, 6144);
	return device;
}

static void check(const struct kp_ceiling *ceiling, enum kp_ceiling_source source, double value)
{
	assert_int_equal(ceiling->source, source);
	assert_true(fabs(ceiling->value - value) <= 1e-3 * value);
	assert_true(ceiling->low <= ceiling->value && ceiling->value <= ceiling->high);
}

static void test_ceilings_datasheet_by_name(void **state)
{
	struct kp_device_info device = h200();
	struct kp_ceilings ceilings;

	(void)state;
	kp_ceilings_of_device(&device, &ceilings);
	check(&ceilings.of[KP_CEILING_READ], KP_CEILING_DATASHEET, 4800);
	check(&ceilings.of[KP_CEILING_COPY], KP_CEILING_DATASHEET, 4800);
	check(&ceilings.of[KP_CEILING_TENSOR_BF16], KP_CEILING_DATASHEET, 989.4);
	check(&ceilings.of[KP_CEILING_TENSOR_INT8], KP_CEILING_DATASHEET, 1978.9);
	device = named("Tesla V100-SXM2-16GB");
	kp_ceilings_of_device(&device, &ceilings);
	check(&ceilings.of[KP_CEILING_TENSOR_FP16], KP_CEILING_DATASHEET, 125);
	assert_int_equal(ceilings.of[KP_CEILING_TENSOR_BF16].source, KP_CEILING_ABSENT);
}

static void test_ceilings_computed_of_unknown_chips(void **state)
{
	struct kp_device_info device = h200();
	struct kp_ceilings ceilings;

	(void)state;
	KP_SET(&device, DEVICE, name, ((struct kp_text){"NVIDIA H201", 11}));
	kp_ceilings_of_device(&device, &ceilings);
	check(&ceilings.of[KP_CEILING_READ], KP_CEILING_COMPUTED, 4917);
	check(&ceilings.of[KP_CEILING_FP32], KP_CEILING_COMPUTED, 66.9);
	assert_int_equal(ceilings.of[KP_CEILING_TENSOR_BF16].source, KP_CEILING_ABSENT);
}

/* A slice of a chip has not the chip's peaks, nor has another chip whose name begins alike. */
static void test_ceilings_no_peaks_of_others(void **state)
{
	static const char *const names[] = {"NVIDIA H200 MIG 1g.18gb", "NVIDIA H20 ", "NVIDIA ", "",
					    "H"};
	struct kp_device_info device;
	struct kp_ceilings ceilings;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		device = named(names[i]);
		kp_ceilings_of_device(&device, &ceilings);
		for (int kind = 0; kind < KP_CEILING_COUNT; kind++)
			assert_int_equal(ceilings.of[kind].source, KP_CEILING_ABSENT);
	}
	device = h200();
	KP_SET(&device, DEVICE, mig, 1);
	kp_ceilings_of_device(&device, &ceilings);
	assert_int_equal(ceilings.of[KP_CEILING_READ].source, KP_CEILING_ABSENT);
	kp_ceilings_of_device(NULL, &ceilings);
	assert_int_equal(ceilings.of[KP_CEILING_READ].source, KP_CEILING_ABSENT);
}

static void test_ceilings_merge_keeps_the_better(void **state)
{
	struct kp_device_info device = h200();
	struct kp_ceilings ceilings, measured = {0};

	(void)state;
	kp_ceilings_of_device(&device, &ceilings);
	measured.of[KP_CEILING_READ] = (struct kp_ceiling){KP_CEILING_MEASURED, 4480, 4470, 4490};
	measured.of[KP_CEILING_COPY] = (struct kp_ceiling){KP_CEILING_COMPUTED, 1, 1, 1};
	kp_ceilings_merge(&ceilings, &measured);
	check(&ceilings.of[KP_CEILING_READ], KP_CEILING_MEASURED, 4480);
	check(&ceilings.of[KP_CEILING_COPY], KP_CEILING_DATASHEET, 4800);
}

static void test_ceilings_memory_of_a_mix(void **state)
{
	struct kp_ceilings ceilings = {0};
	struct kp_ceiling *of = ceilings.of, limit;

	(void)state;
	of[KP_CEILING_READ] = (struct kp_ceiling){KP_CEILING_MEASURED, 4500, 4400, 4600};
	of[KP_CEILING_COPY] = (struct kp_ceiling){KP_CEILING_MEASURED, 4000, 3900, 4100};
	of[KP_CEILING_WRITE] = (struct kp_ceiling){KP_CEILING_DATASHEET, 3000, 3000, 3000};
	assert_true(kp_ceilings_memory(&ceilings, 1e9, 0, &limit));
	check(&limit, KP_CEILING_MEASURED, 4500);
	assert_true(kp_ceilings_memory(&ceilings, 1e9, 1e9, &limit));
	check(&limit, KP_CEILING_MEASURED, 4000);
	assert_true(kp_ceilings_memory(&ceilings, 0, 1, &limit));
	check(&limit, KP_CEILING_DATASHEET, 3000);
	/* A quarter of the bytes written: half way in time a byte. */
	assert_true(kp_ceilings_memory(&ceilings, 3, 1, &limit));
	check(&limit, KP_CEILING_MEASURED, 2 / (1 / 4500.0 + 1 / 4000.0));
	assert_true(kp_ceilings_memory(&ceilings, 1, 3, &limit));
	check(&limit, KP_CEILING_DATASHEET, 2 / (1 / 3000.0 + 1 / 4000.0));
}

static void test_ceilings_memory_absent(void **state)
{
	struct kp_ceilings ceilings = {0};
	struct kp_ceiling limit;

	(void)state;
	assert_false(kp_ceilings_memory(&ceilings, 1, 1, &limit));
	ceilings.of[KP_CEILING_COPY] = (struct kp_ceiling){KP_CEILING_MEASURED, 4000, 4000, 4000};
	assert_true(kp_ceilings_memory(&ceilings, 1, 1, &limit));
	assert_false(kp_ceilings_memory(&ceilings, 2, 1, &limit));
	assert_int_equal(limit.source, KP_CEILING_ABSENT);
	assert_false(kp_ceilings_memory(&ceilings, 0, 0, &limit));
	assert_false(kp_ceilings_memory(&ceilings, -1, 2, &limit));
	assert_false(kp_ceilings_memory(&ceilings, NAN, 1, &limit));
	assert_false(kp_ceilings_memory(&ceilings, INFINITY, INFINITY, &limit));
}

/* A finder answers; without one, what the device itself says does. */
static void find_constant(void *context, const struct kp_device_info *device,
			  const struct kp_text *driver_name, struct kp_ceilings *out)
{
	(void)device;
	(void)driver_name;
	*out = *(const struct kp_ceilings *)context;
}

static void test_ceilings_find(void **state)
{
	struct kp_ceilings known = {0}, ceilings;
	const struct kp_ceilings_finder finder = {find_constant, &known};
	struct kp_device_info device = h200();

	(void)state;
	known.of[KP_CEILING_READ] = (struct kp_ceiling){KP_CEILING_MEASURED, 1, 1, 1};
	kp_ceilings_find(&finder, &device, NULL, &ceilings);
	check(&ceilings.of[KP_CEILING_READ], KP_CEILING_MEASURED, 1);
	kp_ceilings_find(NULL, &device, NULL, &ceilings);
	check(&ceilings.of[KP_CEILING_READ], KP_CEILING_DATASHEET, 4800);
	kp_ceilings_find(&finder, NULL, NULL, &ceilings);
	assert_int_equal(ceilings.of[KP_CEILING_READ].source, KP_CEILING_ABSENT);
}

/* Each kind has words of its own, and a key that ends in its unit. */
static void test_ceilings_words(void **state)
{
	(void)state;
	for (int kind = 0; kind < KP_CEILING_COUNT; kind++) {
		const char *unit = kp_ceiling_unit((enum kp_ceiling_kind)kind);
		const char *key = strrchr(kp_ceiling_key((enum kp_ceiling_kind)kind), '_');

		assert_non_null(key);
		assert_string_equal(key, strcmp(unit, "GB/s") == 0    ? "_gbps"
					 : strcmp(unit, "TOP/s") == 0 ? "_tops"
								      : "_tflops");
		assert_non_null(kp_ceiling_about((enum kp_ceiling_kind)kind));
	}
	assert_string_equal(kp_ceiling_source_name(KP_CEILING_MEASURED), "measured");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ceilings_datasheet_by_name),
		cmocka_unit_test(test_ceilings_computed_of_unknown_chips),
		cmocka_unit_test(test_ceilings_no_peaks_of_others),
		cmocka_unit_test(test_ceilings_merge_keeps_the_better),
		cmocka_unit_test(test_ceilings_memory_of_a_mix),
		cmocka_unit_test(test_ceilings_memory_absent),
		cmocka_unit_test(test_ceilings_find),
		cmocka_unit_test(test_ceilings_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
