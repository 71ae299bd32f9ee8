/* Softmax on the CPU against float64: every version, masks, causal rows, rows of nothing. */
#include <math.h>
#include <stdlib.h>

#include "kernels/softmax.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

struct softmax_data {
	struct kp_tensor x, mask, y;
};

static void compare(const struct kp_softmax_args *args, const struct kp_tensor *x,
		    const struct kp_tensor *y, const double *expected)
{
	for (uint32_t outer = 0; outer < args->outer; outer++)
		for (uint32_t query = 0; query < args->queries; query++)
			for (uint32_t i = 0; i < args->columns; i++) {
				double want = *expected++, got = kp_tensor_get(y, outer, query, i);
				double size = fabs(args->scale * kp_tensor_get(x, outer, query, i));
				double slack = 0x1p-20 * (1 + fmin(size, 1e6)) * want;

				kp_expect(kp_is_close(got, want, args->dtype, 0.01, slack),
					  "row %u,%u column %u: %g, not %g", outer, query, i, got,
					  want);
			}
}

static void run(const struct kp_softmax_args *args, uint32_t sm_count, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_softmax_args passed = *args;
	struct kp_kernel_plan plan = KP_TEST_POISON;

	kp_expect(kp_softmax_plan(args, &device, &plan) == KP_OK, "no plan");
	passed.team = plan.team;
	kp_test_launch(&plan, &passed, order);
}

/* Zeros and -infinities, and numbers; whole rows of -infinity now and then. */
static void fill_mask(struct kp_tensor *mask)
{
	for (uint32_t plane = 0; plane < mask->planes; plane++)
		for (uint32_t row = 0; row < mask->rows; row++) {
			bool nothing = kp_random_below(5) == 0;

			for (uint32_t i = 0; i < mask->columns; i++) {
				uint32_t kind = kp_random_below(3);

				kp_number_store(mask->data, mask->dtype,
						plane * mask->plane + row * mask->row + i,
						nothing || kind == 0 ? -INFINITY
						: kind == 1          ? 0
								     : kp_random_normal());
			}
		}
}

static void check(uint32_t columns, unsigned number)
{
	enum kp_dtype dtype = (enum kp_dtype)(number % 2);
	enum kp_fill fill = (enum kp_fill)(number / 2 % KP_FILLS);
	bool is_long = columns > 2000, in_place = kp_random_below(4) == 0;
	uint32_t outer = 1 + kp_random_below(is_long ? 1 : 3), group = 1 + kp_random_below(2);
	uint32_t queries = 1 + kp_random_below(is_long ? 2 : 4);
	uint32_t gap = number % 3 == 0 ? 0 : number % 3 == 1 ? 8 : 5, shift = number % 7 == 6;
	struct softmax_data data = {
		kp_tensor_make(dtype, outer, queries, columns, gap, shift),
		kp_tensor_make(dtype, (outer + group - 1) / group, queries, columns, gap, shift),
		kp_tensor_make(dtype, outer, queries, columns, gap, shift)};
	double *expected = malloc((size_t)outer * queries * columns * 8);
	struct kp_tensor input;
	struct kp_softmax_args args = {0};

	kp_tensor_fill(&data.x, fill, 3);
	fill_mask(&data.mask);
	args.x = data.x.data;
	args.mask = kp_random_below(2) ? data.mask.data : NULL;
	args.y = in_place ? data.x.data : data.y.data;
	args.outer = outer;
	args.queries = queries;
	args.columns = columns;
	args.mask_outer_group = group;
	args.x_outer = data.x.plane;
	args.x_query = data.x.row;
	args.mask_outer = data.mask.plane;
	args.mask_query = kp_random_below(3) ? data.mask.row : 0;
	args.y_outer = data.y.plane;
	args.y_query = data.y.row;
	args.scale = kp_random_below(2) ? 1 : 0.125F;
	args.dtype = dtype;
	args.causal = kp_random_below(2);
	kp_case("softmax %s %u×%u×%u gap %u shift %u mask %d causal %d in place %d fill %d",
		kp_dtype_name(dtype), outer, queries, columns, gap, shift, args.mask != NULL,
		args.causal, in_place, fill);
	kp_softmax_reference(&args, expected);
	input = kp_tensor_copy(&data.x);
	run(&args, number / 2 % 3 ? 0 : 1000, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
	compare(&args, &input, in_place ? &data.x : &data.y, expected);
	kp_expect_gaps(&data.x, "x");
	kp_expect_gaps(&data.y, "y");
	kp_tensor_free(&input);
	kp_tensor_free(&data.x);
	kp_tensor_free(&data.mask);
	kp_tensor_free(&data.y);
	free(expected);
}

int main(void)
{
	static const struct {
		uint32_t columns;
		unsigned cases;
	} grid[] = {{1, 12},   {2, 8},     {7, 12},    {8, 24},    {64, 32},   {97, 16},
		    {256, 16}, {512, 16},  {1000, 12}, {1024, 12}, {1288, 12}, {4096, 6},
		    {8200, 4}, {16384, 4}, {20000, 2}, {32776, 2}, {65544, 1}};

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++)
			check(grid[i].columns, number);
	kp_test_expect_all("softmax");
	return kp_checks_end();
}
