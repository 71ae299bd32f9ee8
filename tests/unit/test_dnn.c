/*
 * Descriptors of cuDNN's backend, as programs tell them: what becomes of a graph's sizes on the way
 * to its plan, and what does not harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/dnn_descriptors.h"
#include "inject/dnn_graph.h"
#include "inject/library_texts.h"

enum { OF_TYPE = 1, OF_BOOL = 2, OF_INT64 = 3, OF_MODE = 14, OF_DESCRIPTOR = 15 };
enum { F32 = 1, BF16 = 15 }; /* cudaDataType + 1 */

/* Descriptors are but addresses here. */
static void *handle(uintptr_t number)
{
	return (void *)(0x1000 + 16 * number);
}

static void make(uintptr_t number, int type)
{
	kp_dnn_created(handle(number), type);
}

static void refer(uintptr_t from, int name, uintptr_t to)
{
	void *const target = handle(to);

	kp_dnn_set(handle(from), name, OF_DESCRIPTOR, 1, &target);
}

static void make_tensor(uintptr_t number, int type, int rank, const int64_t *extents)
{
	int64_t strides[16];

	make(number, KP_DNN_TENSOR);
	kp_dnn_set(handle(number), 901, OF_TYPE, 1, &type);
	kp_dnn_set(handle(number), 902, OF_INT64, rank, extents);
	for (int i = rank - 1, stride = 1; i >= 0; i--) {
		strides[i] = stride;
		stride *= (int)(extents[i] > 0 ? extents[i] : 1);
	}
	kp_dnn_set(handle(number), 903, OF_INT64, rank, strides);
}

/* 1 to 3 tensors, 4 the operation: a convolution or a gradient of one. */
static void make_convolution(int type, int first_attribute, const int64_t *x, const int64_t *w,
			     const int64_t *y, int rank)
{
	const int64_t ones[3] = {1, 1, 1}, padding[3] = {1, 2, 1};

	make_tensor(1, 9, rank, x);
	make_tensor(2, 9, rank, w);
	make_tensor(3, 0, rank, y);
	make(5, KP_DNN_CONVOLUTION);
	kp_dnn_set(handle(5), 102, OF_INT64, rank - 2, ones);
	kp_dnn_set(handle(5), 103, OF_INT64, rank - 2, ones);
	kp_dnn_set(handle(5), 105, OF_INT64, rank - 2, padding);
	make(4, type);
	refer(4, type == KP_DNN_CONVOLVE ? 704 : type == KP_DNN_CONVOLVE_DATA ? 710 : 716, 1);
	refer(4, type == KP_DNN_CONVOLVE ? 703 : type == KP_DNN_CONVOLVE_DATA ? 709 : 715, 2);
	refer(4, type == KP_DNN_CONVOLVE ? 705 : type == KP_DNN_CONVOLVE_DATA ? 711 : 717, 3);
	refer(4, first_attribute, 5);
	for (uintptr_t i = 1; i <= 5; i++)
		if (i != 4)
			kp_dnn_destroyed(handle(i));
}

/* A plan of the graph of operation 4, which goes; by heuristics, as programs do it. */
static void make_plan(uintptr_t plan)
{
	void *const configs[3] = {handle(21), handle(22), handle(23)};
	void *const engine = handle(24);

	make(10, KP_DNN_GRAPH);
	refer(10, 801, 4);
	kp_dnn_destroyed(handle(4));
	make(11, KP_DNN_HEURISTICS);
	refer(11, 201, 10);
	for (uintptr_t i = 21; i <= 23; i++)
		make(i, KP_DNN_ENGINE_CONFIG);
	make(24, KP_DNN_ENGINE);
	kp_dnn_got(handle(11), 202, OF_DESCRIPTOR, 3, configs);
	kp_dnn_got(handle(22), 300, OF_DESCRIPTOR, 1, &engine);
	make(25, KP_DNN_ENGINE_CONFIG);
	refer(25, 300, 24);
	make(plan, KP_DNN_PLAN);
	refer(plan, 401, 25);
	for (uintptr_t i = 10; i <= 25; i++)
		kp_dnn_destroyed(handle(i));
}

static struct kp_library_call call_of(uintptr_t plan)
{
	struct kp_library_call call;

	assert_true(kp_dnn_call(handle(plan), handle(99), &call));
	return call;
}

static void expect_sizes(const struct kp_library_call *call, const uint64_t *sizes, size_t count)
{
	for (size_t i = 0; i < KP_LIBRARY_SIZES; i++)
		assert_int_equal(kp_library_sizes(call)[i], i < count ? sizes[i] : 0);
}

static void test_dnn_convolutions(void **state)
{
	static const int64_t x1[] = {2, 80, 3000}, w1[] = {384, 80, 3}, y1[] = {2, 384, 2998};
	static const int64_t x3[] = {1, 16, 8, 28, 26}, w3[] = {32, 8, 3, 2, 1},
			     y3[] = {1, 32, 6, 27, 26};
	static const uint64_t sizes1[] = {2, 80, 3000, 384, 3, 2998};
	static const uint64_t sizes3[] = {1, 16, 8, 28, 26, 32, 3, 2, 1, 6, 27, 26};
	static const struct {
		int type, how;
		const char *words;
	} kinds[] = {{KP_DNN_CONVOLVE, 702, "forward"},
		     {KP_DNN_CONVOLVE_DATA, 708, "gradient of data"},
		     {KP_DNN_CONVOLVE_WEIGHTS, 714, "gradient of weights"}};
	struct kp_library_call call;

	(void)state;
	for (uintptr_t i = 0; i < 3; i++) {
		const char *text;

		make_convolution(kinds[i].type, kinds[i].how, x1, w1, y1, 3);
		make_plan(40 + i);
		call = call_of(40 + i);
		assert_int_equal(call.kind, KP_LIBRARY_CONVOLUTION);
		expect_sizes(&call, sizes1, 6);
		text = kp_library_texts_get(call.detail);
		assert_memory_equal(text, kinds[i].words, strlen(kinds[i].words));
		assert_string_equal(text + strlen(kinds[i].words), ", channels first, padding 1");
		assert_string_equal(kp_library_texts_get(call.names), "n,c,w,k,s,q");
	}
	make_convolution(KP_DNN_CONVOLVE, 702, x3, w3, y3, 5);
	make_plan(43);
	call = call_of(43);
	expect_sizes(&call, sizes3, 12);
	assert_int_equal(call.groups, 2);
	assert_int_equal(call.a_type, BF16);
	assert_int_equal(call.d_type, F32);
	assert_string_equal(kp_library_texts_get(call.detail),
			    "forward, channels first, padding 1x2x1");
	assert_string_equal(kp_library_texts_get(call.names), "n,c,d,h,w,k,t,r,s,o,p,q");
}

/* The address of a plan that has gone is another's, or nobody's. */
static void test_dnn_addresses_are_used_again(void **state)
{
	static const int64_t x[] = {2, 4, 8, 8}, other[] = {5, 4, 8, 8}, w[] = {4, 4, 1, 1};
	struct kp_library_call call;

	(void)state;
	make_convolution(KP_DNN_CONVOLVE, 702, x, w, x, 4);
	make_plan(50);
	assert_int_equal(call_of(50).size1, 2);
	kp_dnn_destroyed(handle(50));
	assert_false(kp_dnn_call(handle(50), NULL, &call));
	make_convolution(KP_DNN_CONVOLVE, 702, other, w, other, 4);
	make_plan(50);
	assert_int_equal(call_of(50).size1, 5);
	make(50, KP_DNN_PLAN); /* its end was not seen */
	assert_false(kp_dnn_call(handle(50), NULL, &call));
	make(50, KP_DNN_TENSOR);
	assert_false(kp_dnn_call(handle(50), NULL, &call));
	kp_dnn_destroyed(handle(50));
	kp_dnn_destroyed(handle(50));
	kp_dnn_destroyed(NULL);
}

/* Where shapes are given at execution, the plan's are not those. */
static void test_dnn_overridden_shapes(void **state)
{
	static const int64_t x[] = {2, 4, 8, 8}, w[] = {4, 4, 1, 1};
	struct kp_library_call call;

	(void)state;
	make_convolution(KP_DNN_CONVOLVE, 702, x, w, x, 4);
	make_plan(51);
	kp_dnn_set(handle(60), 1001, 6, 1, &x);
	assert_true(kp_dnn_call(handle(51), handle(60), &call));
	kp_dnn_set(handle(60), 1011, OF_INT64, 4, x);
	assert_false(kp_dnn_call(handle(51), handle(60), &call));
	kp_dnn_destroyed(handle(60));
	assert_true(kp_dnn_call(handle(51), handle(60), &call));
}

/* What makes no sense is passed over. */
static void test_dnn_nonsense(void **state)
{
	static const int64_t many[16] = {-1, INT64_MIN, INT64_MAX, 0, 3, 3, 3, 3, 3, 3, 3, 3};
	static const int64_t x[] = {2, 4, 8, 8};
	static const int types[] = {-1, 0, 3, 42, 1000, INT32_MAX, INT32_MIN};
	const unsigned char yes = 1;
	void *targets[80];
	struct kp_library_call call;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		make(70 + i, types[i]);
		for (int name = 0; name < 3000; name += 7) {
			kp_dnn_set(handle(70 + i), name, OF_INT64, 12, many);
			refer(70 + i, name, 70 + i);
			refer(70 + i, name, 71 + i);
		}
		kp_dnn_set(handle(70 + i), 0, OF_INT64, -5, many);
		kp_dnn_set(handle(70 + i), 0, OF_INT64, 0, many);
	}
	make_tensor(80, INT32_MAX, 12, many);
	make(81, 13);
	for (int name = 700; name < 800; name++)
		refer(81, name, 80); /* more tensors than an operation has */
	for (int i = 0; i < 80; i++)
		targets[i] = handle(81);
	make(82, KP_DNN_GRAPH);
	kp_dnn_set(handle(82), 801, OF_DESCRIPTOR, 80, targets); /* more than a graph has */
	make(83, KP_DNN_PLAN);
	refer(83, 401, 82);
	assert_false(kp_dnn_call(handle(83), NULL, &call));
	kp_dnn_set(handle(82), 801, OF_DESCRIPTOR, KP_DNN_OPERATIONS, targets);
	refer(83, 401, 82);
	call = call_of(83);
	assert_int_equal(call.kind, KP_LIBRARY_OTHER);
	assert_non_null(kp_library_texts_get(call.detail)); /* cut, and whole */
	assert_true(strlen(kp_library_texts_get(call.detail)) < KP_LIBRARY_TEXT_BYTES);
	/* A convolution without its weights is none. */
	make_tensor(84, 0, 4, x);
	kp_dnn_set(handle(84), 907, OF_BOOL, 1, &yes);
	make(4, KP_DNN_CONVOLVE);
	refer(4, 704, 84);
	make_plan(85);
	assert_int_equal(call_of(85).kind, KP_LIBRARY_OTHER);
	/* An operation that is not known has no graph. */
	make(10, KP_DNN_GRAPH);
	refer(10, 801, 1234);
	make(86, KP_DNN_PLAN);
	refer(86, 401, 10);
	assert_false(kp_dnn_call(handle(86), NULL, &call));
}

/* A program that never destroys anything does not fill the memory. */
static void test_dnn_memory_is_bounded(void **state)
{
	static const int64_t x[] = {2, 4, 8, 8};
	struct kp_library_call call;

	(void)state;
	for (uintptr_t i = 0; i < 2 * KP_DNN_DESCRIPTORS_MOST; i++)
		make(1000 + i, i % 2 ? KP_DNN_PLAN : KP_DNN_APPLY);
	make_tensor(7, 0, 4, x);
	make(8, KP_DNN_APPLY);
	make(9, KP_DNN_PLAN);
	assert_false(kp_dnn_call(handle(9), NULL, &call));
	for (uintptr_t i = 0; i < 2 * KP_DNN_DESCRIPTORS_MOST; i++)
		kp_dnn_destroyed(handle(1000 + i));
	make(4, KP_DNN_APPLY);
	make_tensor(7, 0, 4, x);
	refer(4, 751, 7);
	make_plan(9);
	assert_int_equal(call_of(9).kind, KP_LIBRARY_OTHER);
}

static void test_dnn_types(void **state)
{
	(void)state;
	assert_string_equal(kp_data_type(kp_dnn_type_code(0))->name, "f32");
	assert_string_equal(kp_data_type(kp_dnn_type_code(2))->name, "f16");
	assert_string_equal(kp_data_type(kp_dnn_type_code(4))->name, "s32");
	assert_string_equal(kp_data_type(kp_dnn_type_code(6))->name, "u8");
	assert_string_equal(kp_data_type(kp_dnn_type_code(9))->name, "bf16");
	assert_string_equal(kp_data_type(kp_dnn_type_code(10))->name, "s64");
	assert_int_equal(kp_dnn_type_code(11), 0);
	assert_string_equal(kp_data_type(kp_dnn_type_code(12))->name, "e4m3");
	assert_string_equal(kp_data_type(kp_dnn_type_code(16))->name, "e2m1");
	assert_string_equal(kp_data_type(kp_dnn_type_code(17))->name, "s4");
	assert_string_equal(kp_data_type(kp_dnn_type_code(19))->name, "u32");
	assert_string_equal(kp_data_type(kp_dnn_type_code(21))->name, "c64");
	assert_int_equal(kp_dnn_type_code(-1), 0);
	assert_int_equal(kp_dnn_type_code(22), 0);
	assert_int_equal(kp_dnn_type_code(INT64_MAX), 0);
}

static int destroy_all(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i < 2000; i++)
		kp_dnn_destroyed(handle(i));
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, destroy_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_dnn_convolutions),      TEST(test_dnn_addresses_are_used_again),
		TEST(test_dnn_overridden_shapes), TEST(test_dnn_nonsense),
		TEST(test_dnn_memory_is_bounded), TEST(test_dnn_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
