/*
 * Decoding of PyTorch's launches (analyzers/torch_launch.h) on recorded ones, on what is not one,
 * and on any bytes.
 */
#include "torch_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/torch_tensor.h"

static const char *const files[] = {RECORDED "/torch_launches/h200.txt",
				    RECORDED "/torch_launches/host.txt"};
enum { ON_GPU, ON_HOST };

/* Calls `with` for every record of a file. */
static void for_each(int file, void (*with)(const struct torch_record *))
{
	FILE *stream = fopen(files[file], "r");
	struct torch_case unit;
	size_t records = 0;

	assert_non_null(stream);
	while (torch_dump_next(stream, &unit)) {
		for (size_t i = 0; i < unit.count; i++, records++)
			with(&unit.records[i]);
		torch_dump_free(&unit);
	}
	assert_true(records > 40);
	fclose(stream);
}

/* A case's record; the case is to be freed. */
static const struct torch_record *find(int file, const char *name, size_t number,
				       struct torch_case *unit)
{
	FILE *stream = fopen(files[file], "r");
	bool found = false;

	assert_non_null(stream);
	while (!found && torch_dump_next(stream, unit)) {
		found = strcmp(unit->name, name) == 0;
		if (!found)
			torch_dump_free(unit);
	}
	fclose(stream);
	assert_true(found && number < unit->count);
	return &unit->records[number];
}

static bool is_known(const struct torch_record *record)
{
	return strcmp(record->expected, "not known") != 0;
}

static void check_is_as_recorded(const struct torch_record *record)
{
	char text[TORCH_DUMP_TEXT] = "not known";
	struct kp_torch_launch launch;

	if (torch_dump_decode(record, &launch))
		torch_dump_describe(&launch, text);
	assert_string_equal(text, record->expected);
}

static void test_torch_launch_reads_what_was_recorded(void **state)
{
	(void)state;
	for_each(ON_GPU, check_is_as_recorded);
	for_each(ON_HOST, check_is_as_recorded);
}

static void check_seen_on_gpu(const struct torch_record *record)
{
	struct kp_torch_launch launch;

	if (torch_dump_decode(record, &launch))
		assert_int_equal(launch.seen, KP_TORCH_SEEN_GPU);
}

static void test_torch_launch_of_gpu_is_seen_there(void **state)
{
	(void)state;
	for_each(ON_GPU, check_seen_on_gpu);
}

/* tests/gpu's program added a row of 4096 to 1237 rows of bf16: by hand, apart from the file. */
static void test_torch_launch_reads_broadcast(void **state)
{
	struct kp_torch_launch launch;
	struct torch_case unit;
	const struct kp_torch_tensor *tensors = launch.tensors;

	(void)state;
	assert_true(torch_dump_decode(find(ON_GPU, "add broadcast 1237x4096 + 4096", 0, &unit),
				      &launch));
	assert_int_equal(launch.op, KP_TORCH_ADD);
	assert_int_equal(launch.outputs, 1);
	assert_int_equal(launch.inputs, 2);
	assert_true(launch.scalars[0] == 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tensors[i].type, KP_TORCH_BF16);
		assert_int_equal(tensors[i].dims, 2);
		assert_int_equal(tensors[i].sizes[0], 4096);
		assert_int_equal(tensors[i].sizes[1], 1237);
		assert_int_equal(tensors[i].strides[0], 2);
		assert_int_equal(tensors[i].strides[1], i == 2 ? 0 : 8192);
	}
	torch_dump_free(&unit);
}

/* mean(-1, keepdim) of 1237 rows of 4096 f32, after a cast from bf16. */
static void test_torch_launch_reads_cast_and_mean(void **state)
{
	struct kp_torch_launch cast, mean;
	struct torch_case unit;

	(void)state;
	find(ON_GPU, "mean keepdim f32", 1, &unit);
	assert_true(torch_dump_decode(&unit.records[0], &cast));
	assert_true(torch_dump_decode(&unit.records[1], &mean));
	assert_int_equal(cast.op, KP_TORCH_COPY);
	assert_int_equal(cast.tensors[0].type, KP_TORCH_F32);
	assert_int_equal(cast.tensors[1].type, KP_TORCH_BF16);
	assert_int_equal(cast.tensors[0].sizes[0], 1237 * 4096);
	assert_int_equal(mean.op, KP_TORCH_MEAN);
	assert_int_equal(mean.tensors[1].address, cast.tensors[0].address);
	assert_int_equal(mean.reduced, 1);
	assert_int_equal(mean.tensors[1].sizes[0], 4096);
	assert_int_equal(mean.tensors[1].sizes[1], 1237);
	assert_true(mean.scalars[0] == 1.0 / 4096);
	torch_dump_free(&unit);
}

static void test_torch_launch_reads_exponents(void **state)
{
	static const struct {
		const char *name;
		double exponent;
	} cases[] = {{"pow 3 torch.float32", 3},      {"pow 3 torch.bfloat16", 3},
		     {"pow -2 torch.float32", -2},    {"pow -2 torch.bfloat16", -2},
		     {"pow 1.7 torch.float32", 1.7F}, {"pow 1.7 torch.bfloat16", 1.703125}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kp_torch_launch launch;
		struct torch_case unit;

		assert_true(torch_dump_decode(find(ON_HOST, cases[i].name, 0, &unit), &launch));
		assert_int_equal(launch.op, KP_TORCH_POW);
		assert_true(launch.scalars[0] == cases[i].exponent);
		torch_dump_free(&unit);
	}
}

/* ---- what is not one ---- */

static void check_needs_sizes(const struct torch_record *record)
{
	size_t sizes[TORCH_DUMP_PARAMS + 1] = {0};
	struct kp_torch_kind kind;

	memcpy(sizes, record->sizes, sizeof(record->sizes));
	if (is_known(record))
		assert_true(kp_torch_launch_classify(record->name, sizes, record->count, &kind));
	assert_false(kp_torch_launch_classify(record->name, sizes, record->count - 1, &kind));
	assert_false(kp_torch_launch_classify(record->name, sizes, record->count + 1, &kind));
	for (size_t i = 0; i < record->count; i++) {
		sizes[i]++;
		assert_false(kp_torch_launch_classify(record->name, sizes, record->count, &kind));
		sizes[i] -= 2;
		assert_false(kp_torch_launch_classify(record->name, sizes, record->count, &kind));
		sizes[i]++;
	}
	assert_null(kind.kernel);
}

static void test_torch_launch_needs_its_sizes(void **state)
{
	(void)state;
	for_each(ON_GPU, check_needs_sizes);
	for_each(ON_HOST, check_needs_sizes);
}

/* No prefix, nor anything behind, nor another letter is the same kernel, or one of other operands.
 */
static void check_needs_name(const struct torch_record *record)
{
	size_t length = strlen(record->name);
	char *name = malloc(length + 2);
	struct kp_torch_kind kind;

	assert_non_null(name);
	memcpy(name, record->name, length + 1);
	memcpy(name + length, "_", 2);
	assert_false(kp_torch_launch_classify(name, record->sizes, record->count, &kind));
	for (size_t i = length; i-- > 0;) {
		name[i] = '\0';
		assert_false(kp_torch_launch_classify(name, record->sizes, record->count, &kind));
	}
	for (size_t i = 0; i < length; i++) {
		memcpy(name, record->name, length + 1);
		name[i] = '!';
		/* Within an anonymous namespace any letters may be. */
		if (kp_torch_launch_classify(name, record->sizes, record->count, &kind))
			assert_non_null(strstr(record->name, "_GLOBAL__N_"));
	}
	free(name);
}

static void test_torch_launch_needs_its_name(void **state)
{
	(void)state;
	for_each(ON_GPU, check_needs_name);
	for_each(ON_HOST, check_needs_name);
}

static void test_torch_launch_reads_no_nonsense(void **state)
{
	static const char *const names[] = {
		"",
		"_ZN2at6native",
		"triton_poi_fused_mul_silu_slice_0",
		"_ZN2at6native29vectorized_elementwise_kernelILi99999999999999999999E",
		"_ZN99999999999_GLOBAL__N__",
		"_ZN2at6native999999999_GLOBAL__N__x28vectorized_layer_norm_kernelIffLb0E",
		"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_10AbsFunctorIS4_EE",
	};
	static const size_t sizes[3] = {4, 1, 16};
	struct kp_torch_launch launch;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		static const uint64_t zero[2];
		const void *params[3] = {zero, zero, zero};

		assert_false(kp_torch_launch_read(names[i], params, sizes, 3, &launch));
	}
}

/* A size without the factor that divides by it is of another layout. */
static void test_torch_launch_checks_divisors(void **state)
{
	struct kp_torch_launch launch;
	struct torch_case unit;
	struct torch_record *record;

	(void)state;
	find(ON_GPU, "add broadcast 1237x4096 + 4096", 0, &unit);
	record = &unit.records[0];
	for (size_t bit = 0; bit < 8 * (4 + 24UL); bit++) {
		record->bytes[1][bit / 8] ^= 1U << bit % 8;
		assert_false(torch_dump_decode(record, &launch));
		record->bytes[1][bit / 8] ^= 1U << bit % 8;
	}
	assert_true(torch_dump_decode(record, &launch));
	torch_dump_free(&unit);
}

/* Partial sums over several blocks have buffers beside the operands: left alone. */
static void test_torch_launch_leaves_split_reductions(void **state)
{
	struct kp_torch_launch launch;
	struct torch_case unit;

	(void)state;
	assert_false(torch_dump_decode(find(ON_GPU, "sum all", 0, &unit), &launch));
	torch_dump_free(&unit);
	assert_false(
		torch_dump_decode(find(ON_HOST, "torch.bfloat16 mean dim 0", 0, &unit), &launch));
	torch_dump_free(&unit);
}

/* ---- any bytes ---- */

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*state >> 33);
}

static void check_sound(const struct kp_torch_launch *launch)
{
	assert_in_range(launch->outputs + launch->inputs, 1, KP_TORCH_TENSORS);
	assert_in_range(launch->op, KP_TORCH_NONE + 1, KP_TORCH_OP_COUNT - 1);
	for (uint8_t i = 0; i < launch->outputs + launch->inputs; i++) {
		uint64_t begin, end;

		assert_true(launch->tensors[i].dims <= KP_TORCH_DIMS);
		if (launch->tensors[i].address == 0)
			continue;
		assert_true(kp_torch_tensor_range(&launch->tensors[i], &begin, &end));
		assert_true(begin < end);
	}
}

/* Some bytes of a recorded launch are changed, many or few. */
static void check_any_bytes(const struct torch_record *record)
{
	static uint64_t random = 11;
	struct torch_record copy = *record;
	struct kp_torch_launch launch;

	if (copy.count == 0)
		return;
	for (int round = 0; round < 300; round++) {
		size_t changes = 1 + next_random(&random) % (round % 2 ? 4 : 400);

		for (size_t i = 0; i < copy.count; i++) {
			copy.bytes[i] = malloc(record->sizes[i]);
			assert_non_null(copy.bytes[i]);
			memcpy(copy.bytes[i], record->bytes[i], record->sizes[i]);
		}
		for (size_t i = 0; i < changes; i++) {
			size_t which = next_random(&random) % copy.count;

			copy.bytes[which][next_random(&random) % copy.sizes[which]] =
				(unsigned char)next_random(&random);
		}
		for (int i = 0; i < 3; i++)
			copy.grid[i] = next_random(&random) >> next_random(&random) % 32;
		if (torch_dump_decode(&copy, &launch))
			check_sound(&launch);
		for (size_t i = 0; i < copy.count; i++)
			free(copy.bytes[i]);
	}
}

static void test_torch_launch_takes_any_bytes(void **state)
{
	(void)state;
	for_each(ON_GPU, check_any_bytes);
	for_each(ON_HOST, check_any_bytes);
}

static void test_torch_launch_needs_what_it_reads(void **state)
{
	struct kp_torch_launch launch;
	struct torch_case unit;
	const struct torch_record *record = find(ON_GPU, "softmax smem n16384", 0, &unit);
	const void *params[TORCH_DUMP_PARAMS];
	struct kp_torch_kind kind, none = {.kernel = NULL};

	(void)state;
	for (size_t i = 0; i < record->count; i++)
		params[i] = record->bytes[i];
	assert_true(kp_torch_launch_classify(record->name, record->sizes, record->count, &kind));
	assert_true(kp_torch_launch_decode(&kind, params, record->grid, &launch));
	/* Its rows are the grid's. */
	assert_false(kp_torch_launch_decode(&kind, params, NULL, &launch));
	assert_false(kp_torch_launch_decode(&none, params, record->grid, &launch));
	assert_false(kp_torch_launch_decode(&kind, NULL, record->grid, &launch));
	params[1] = NULL;
	assert_false(kp_torch_launch_decode(&kind, params, record->grid, &launch));
	torch_dump_free(&unit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_launch_reads_what_was_recorded),
		cmocka_unit_test(test_torch_launch_of_gpu_is_seen_there),
		cmocka_unit_test(test_torch_launch_reads_broadcast),
		cmocka_unit_test(test_torch_launch_reads_cast_and_mean),
		cmocka_unit_test(test_torch_launch_reads_exponents),
		cmocka_unit_test(test_torch_launch_needs_its_sizes),
		cmocka_unit_test(test_torch_launch_needs_its_name),
		cmocka_unit_test(test_torch_launch_reads_no_nonsense),
		cmocka_unit_test(test_torch_launch_checks_divisors),
		cmocka_unit_test(test_torch_launch_leaves_split_reductions),
		cmocka_unit_test(test_torch_launch_takes_any_bytes),
		cmocka_unit_test(test_torch_launch_needs_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
