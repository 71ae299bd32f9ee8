/* Relations between operands (analyzers/torch_tensor.h), against what a list of all elements says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/torch_tensor.h"

#define ELEMENTS_MOST 512

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*state >> 33);
}

/* At every index, the addresses of two tensors' elements. */
struct pair {
	uint64_t of[2];
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct pair));
}

static size_t list(const struct kp_torch_tensor tensors[2], struct pair pairs[ELEMENTS_MOST])
{
	size_t count = kp_torch_tensor_elements(tensors);

	assert_true(count <= ELEMENTS_MOST);
	for (size_t i = 0; i < count; i++) {
		for (int t = 0; t < 2; t++) {
			size_t rest = i;

			pairs[i].of[t] = tensors[t].address;
			for (uint8_t d = 0; d < tensors[t].dims; d++) {
				pairs[i].of[t] +=
					rest % tensors[t].sizes[d] * tensors[t].strides[d];
				rest /= tensors[t].sizes[d];
			}
		}
	}
	qsort(pairs, count, sizeof(pairs[0]), compare);
	return count;
}

static bool is_same_list(const struct kp_torch_tensor a[2], const struct kp_torch_tensor b[2])
{
	static struct pair lists[2][ELEMENTS_MOST];
	size_t count = list(a, lists[0]);

	return list(b, lists[1]) == count &&
	       memcmp(lists[0], lists[1], count * sizeof(lists[0][0])) == 0;
}

/* Few sizes and strides, so that many are the same. */
static void make(uint64_t *random, struct kp_torch_tensor tensors[2])
{
	uint64_t stride = 4;

	memset(tensors, 0, 2 * sizeof(tensors[0]));
	for (int t = 0; t < 2; t++) {
		tensors[t].type = KP_TORCH_F32;
		tensors[t].address = 4096;
	}
	tensors[0].dims = tensors[1].dims = (uint8_t)(next_random(random) % 4);
	for (uint8_t d = 0; d < tensors[0].dims; d++) {
		uint32_t size = 1 + next_random(random) % 4;

		tensors[0].sizes[d] = tensors[1].sizes[d] = size;
		tensors[0].strides[d] = stride;
		tensors[1].strides[d] = 4 * (next_random(random) % 5);
		stride *= size * (1 + (next_random(random) % 4 == 0));
	}
}

static void swap_dimensions(struct kp_torch_tensor *tensor, uint8_t a, uint8_t b)
{
	uint32_t size = tensor->sizes[a];
	uint64_t stride = tensor->strides[a];

	tensor->sizes[a] = tensor->sizes[b];
	tensor->strides[a] = tensor->strides[b];
	tensor->sizes[b] = size;
	tensor->strides[b] = stride;
}

static void test_torch_tensor_relations_are_what_elements_say(void **state)
{
	uint64_t random = 3;
	size_t same = 0, different = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct kp_torch_tensor a[2], b[2];
		bool is_same;

		make(&random, a);
		make(&random, b);
		is_same = kp_torch_relation_is_same(a, b, 2);
		assert_int_equal(is_same, is_same_list(a, b));
		same += is_same;
		different += !is_same;
	}
	assert_true(same > 100 && different > 100);
}

static void test_torch_tensor_relations_do_not_depend_on_cuts(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct kp_torch_tensor a[2], b[2];

		make(&random, a);
		memcpy(b, a, sizeof(a));
		/* A dimension is cut in two, or two change places. */
		for (uint8_t d = 0; d < a[0].dims; d++) {
			uint8_t other = (uint8_t)(next_random(&random) % a[0].dims);
			uint32_t size = b[0].sizes[d];

			for (int t = 0; t < 2; t++) {
				if (size == 4) {
					b[t].sizes[d] = 2;
					b[t].sizes[b[t].dims] = 2;
					b[t].strides[b[t].dims++] = 2 * b[t].strides[d];
				}
				swap_dimensions(&b[t], d, other);
			}
		}
		assert_true(kp_torch_relation_is_same(a, b, 2));
		b[1].address += 4;
		assert_false(kp_torch_relation_is_same(a, b, 2));
	}
}

/* What follows is a view of the same relation, wherever it is told at all. */
static void test_torch_tensor_follow_keeps_the_relation(void **state)
{
	uint64_t random = 9;
	size_t told = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct kp_torch_tensor a[2], b[2], follows[2];

		make(&random, a);
		make(&random, b);
		follows[0] = b[0];
		if (!kp_torch_tensor_follow(&a[0], &a[1], &b[0], &follows[1]))
			continue;
		if (!kp_torch_relation_is_same(a, follows, 2))
			continue;
		assert_true(is_same_list(a, follows));
		told++;
	}
	assert_true(told > 100);
}

static void test_torch_tensor_range_ends_behind_the_last(void **state)
{
	const struct kp_torch_tensor tensor = {.address = 1024,
					       .type = KP_TORCH_BF16,
					       .dims = 2,
					       .sizes = {8, 3},
					       .strides = {2, 100}};
	struct kp_torch_tensor changed = tensor;
	uint64_t begin, end;

	(void)state;
	assert_true(kp_torch_tensor_range(&tensor, &begin, &end));
	assert_int_equal(begin, 1024);
	assert_int_equal(end, 1024 + 200 + 14 + 2);
	changed.address = 1024 + 216;
	assert_false(kp_torch_tensor_overlaps(&tensor, &changed));
	changed.address--;
	assert_true(kp_torch_tensor_overlaps(&tensor, &changed));
	changed.address = 0;
	assert_false(kp_torch_tensor_range(&changed, &begin, &end));
	changed.address = UINT64_MAX - 100;
	assert_false(kp_torch_tensor_range(&changed, &begin, &end));
	changed = tensor;
	changed.strides[1] = UINT64_MAX / 2;
	assert_false(kp_torch_tensor_range(&changed, &begin, &end));
	changed = tensor;
	changed.sizes[1] = 0;
	assert_false(kp_torch_tensor_range(&changed, &begin, &end));
}

static void test_torch_tensor_dense_is_without_gaps(void **state)
{
	struct kp_torch_tensor tensor = {.address = 1024,
					 .type = KP_TORCH_F32,
					 .dims = 3,
					 .sizes = {8, 1, 3},
					 .strides = {4, 999, 32}};

	(void)state;
	assert_true(kp_torch_tensor_is_dense(&tensor));
	tensor.strides[2] = 36;
	assert_false(kp_torch_tensor_is_dense(&tensor));
	tensor.strides[2] = 28;
	assert_false(kp_torch_tensor_is_dense(&tensor));
	tensor.strides[0] = 12;
	tensor.strides[2] = 4;
	assert_true(kp_torch_tensor_is_dense(&tensor));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_tensor_relations_are_what_elements_say),
		cmocka_unit_test(test_torch_tensor_relations_do_not_depend_on_cuts),
		cmocka_unit_test(test_torch_tensor_follow_keeps_the_relation),
		cmocka_unit_test(test_torch_tensor_range_ends_behind_the_last),
		cmocka_unit_test(test_torch_tensor_dense_is_without_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
