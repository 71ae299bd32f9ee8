/* rmsnorm and layernorm on the CPU against float64: every version, odd shapes, all that is
 * optional. */
#include <math.h>
#include <stdlib.h>

#include "kernels/norm.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

struct norm_case {
	bool layer, residual, sum, weight, bias, offset, eager, e4m3, moments, in_place;
	enum kp_dtype dtype;
	enum kp_fill fill;
	uint32_t outer, inner, columns, gap, shift, sm_count;
};

struct norm_data {
	struct kp_tensor x, residual, sum, weight, bias, y, scale, mean, rstd;
};

static struct norm_case draw(uint32_t columns, unsigned number)
{
	uint32_t bits = kp_random_below(1U << 10);
	struct norm_case out = {0};

	out.layer = number % 2;
	out.dtype = (enum kp_dtype)(number / 2 % 2);
	out.residual = bits & 1;
	out.sum = bits & 2;
	out.weight = bits & 4;
	out.bias = bits & 8;
	out.offset = out.weight && bits & 16;
	out.eager = bits & 32;
	out.e4m3 = bits & 64;
	out.moments = bits & 128;
	out.in_place = bits & 256 && !out.e4m3;
	out.fill = (enum kp_fill)(number / 4 % KP_FILLS);
	out.columns = columns;
	out.outer = 1 + kp_random_below(3);
	out.inner = 1 + kp_random_below(columns > 2000 ? 1 : 3);
	/* Aligned rows with or without room between them, and rows that are not. */
	out.gap = number % 3 == 0 ? 0 : number % 3 == 1 ? 8 : 5;
	out.shift = number % 5 == 4;
	out.sm_count = number / 2 % 3 ? 0 : 1000;
	return out;
}

static struct kp_tensor rows_of(const struct norm_case *c, enum kp_dtype dtype)
{
	return kp_tensor_make(dtype, c->outer, c->inner, c->columns, c->gap, c->shift);
}

static struct kp_tensor list_of(enum kp_dtype dtype, uint32_t count, uint32_t shift)
{
	return kp_tensor_make(dtype, 1, 1, count, 0, shift);
}

static void make(const struct norm_case *c, struct norm_data *data)
{
	data->x = rows_of(c, c->dtype);
	data->residual = rows_of(c, c->dtype);
	data->sum = rows_of(c, c->dtype);
	data->weight = list_of(c->dtype, c->columns, c->shift);
	data->bias = list_of(c->dtype, c->columns, c->shift);
	data->y = rows_of(c, c->e4m3 ? KP_DTYPE_E4M3 : c->dtype);
	data->scale = list_of(KP_DTYPE_FP32, c->outer * c->inner, 0);
	data->mean = list_of(KP_DTYPE_FP32, c->outer * c->inner, 0);
	data->rstd = list_of(KP_DTYPE_FP32, c->outer * c->inner, 0);
	kp_tensor_fill(&data->x, c->fill, 1);
	kp_tensor_fill(&data->residual, c->fill == KP_FILL_SPECIAL ? KP_FILL_NORMAL : c->fill, 1);
	kp_tensor_fill(&data->weight, KP_FILL_NORMAL, 1);
	kp_tensor_fill(&data->bias, KP_FILL_NORMAL, 0.5);
}

static void release(struct norm_data *data)
{
	struct kp_tensor *tensors = &data->x;

	for (size_t i = 0; i < sizeof(*data) / sizeof(*tensors); i++)
		kp_tensor_free(&tensors[i]);
}

static struct kp_norm_args args_of(const struct norm_case *c, const struct norm_data *data)
{
	struct kp_norm_args args = {0};

	args.x = data->x.data;
	args.residual = c->residual ? data->residual.data : NULL;
	args.sum = c->sum ? data->sum.data : NULL;
	args.weight = c->weight ? data->weight.data : NULL;
	args.bias = c->bias ? data->bias.data : NULL;
	args.y = c->in_place ? data->x.data : data->y.data;
	args.y_scale = (float *)data->scale.data;
	args.mean = c->moments && c->layer ? (float *)data->mean.data : NULL;
	args.rstd = c->moments ? (float *)data->rstd.data : NULL;
	args.outer = c->outer;
	args.inner = c->inner;
	args.columns = c->columns;
	args.x_outer = args.residual_outer = args.sum_outer = data->x.plane;
	args.x_inner = args.residual_inner = args.sum_inner = data->x.row;
	args.y_outer = data->y.plane;
	args.y_inner = data->y.row;
	args.eps = 1e-5F;
	args.weight_offset = c->offset;
	args.dtype = c->dtype;
	args.y_dtype = data->y.dtype;
	args.round_like_eager = c->eager;
	return args;
}

/* What rounding may do before the last: of n, of the product with the weight, of x + residual. */
static double units(const struct norm_case *c)
{
	return (c->eager ? 1 + c->bias : 0) + (c->residual ? 0.25 : 0);
}

static void compare(const struct norm_case *c, const struct norm_data *data,
		    const struct kp_tensor *y, const double *expected,
		    const struct norm_data *reference)
{
	for (uint32_t outer = 0; outer < c->outer; outer++)
		for (uint32_t inner = 0; inner < c->inner; inner++)
			for (uint32_t i = 0; i < c->columns; i++) {
				uint32_t row = outer * c->inner + inner;
				double want = expected[(size_t)row * c->columns + i];
				double got = kp_tensor_get(y, outer, inner, i);
				double scale = c->e4m3 ? kp_tensor_get(&data->scale, 0, 0, row) : 1;
				double weight =
					c->weight ? fabs(kp_tensor_get(&data->weight, 0, 0, i)) +
							    c->offset
						  : 1;
				/* n is rounded before it is multiplied: it may be as large as the
				 * root of the columns. */
				double slack = 0x1p-20 * (sqrt(c->columns) * weight + 4);

				if (c->eager)
					slack += 4 * kp_number_ulp(c->dtype, sqrt(c->columns)) *
						 fmax(weight, 1) * (1 + c->bias);
				kp_expect(kp_is_close(got, want / scale, y->dtype, units(c),
						      slack / scale),
					  "row %u column %u: %g, not %g", row, i, got * scale,
					  want);
				if (c->sum)
					kp_expect(kp_is_close(kp_tensor_get(&data->sum, outer,
									    inner, i),
							      kp_tensor_get(&reference->sum, outer,
									    inner, i),
							      c->dtype, 0.5, 0),
						  "sum, row %u column %u", row, i);
			}
}

static void compare_moments(const struct norm_case *c, const struct norm_data *data,
			    const struct norm_data *reference)
{
	for (uint32_t row = 0; row < c->outer * c->inner; row++) {
		double scale = kp_tensor_get(&reference->scale, 0, 0, row);
		double rstd = kp_tensor_get(&reference->rstd, 0, 0, row);

		if (c->e4m3)
			kp_expect(kp_is_close(kp_tensor_get(&data->scale, 0, 0, row), scale,
					      KP_DTYPE_FP32, 0, scale * (c->eager ? 0.02 : 1e-5)),
				  "scale of row %u", row);
		if (!c->moments)
			continue;
		kp_expect(kp_is_close(kp_tensor_get(&data->rstd, 0, 0, row), rstd, KP_DTYPE_FP32, 0,
				      fabs(rstd) * 1e-5),
			  "rstd of row %u", row);
		if (c->layer)
			kp_expect(kp_is_close(kp_tensor_get(&data->mean, 0, 0, row),
					      kp_tensor_get(&reference->mean, 0, 0, row),
					      KP_DTYPE_FP32, 0, 1e-5 / rstd),
				  "mean of row %u", row);
	}
}

static void run(const struct kp_norm_args *args, bool layer, uint32_t sm_count,
		enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_norm_args passed = *args;
	struct kp_kernel_plan plan = KP_TEST_POISON;
	enum kp_status status = layer ? kp_layernorm_plan(args, &device, &plan)
				      : kp_rmsnorm_plan(args, &device, &plan);

	kp_expect(status == KP_OK, "no plan");
	passed.team = plan.team;
	kp_test_launch(&plan, &passed, order);
}

/* The same once more in another order: the same bits. */
static void run_again(const struct norm_case *c, const struct norm_data *first,
		      const struct kp_tensor *x, enum kp_fiber_order order)
{
	struct norm_data data = *first;
	struct kp_norm_args args;

	data.x = kp_tensor_copy(x);
	data.y = rows_of(c, first->y.dtype);
	data.sum = rows_of(c, c->dtype);
	args = args_of(c, &data);
	run(&args, c->layer, c->sm_count, order);
	kp_expect_same(&data.x, &first->x, "x in another order");
	kp_expect_same(&data.y, &first->y, "y in another order");
	kp_expect_same(&data.sum, &first->sum, "sum in another order");
	kp_tensor_free(&data.x);
	kp_tensor_free(&data.y);
	kp_tensor_free(&data.sum);
}

static void check(const struct norm_case *c, enum kp_fiber_order order)
{
	double *expected = malloc((size_t)c->outer * c->inner * c->columns * 8);
	struct norm_data data, reference;
	struct kp_norm_args args;
	struct kp_tensor x;

	kp_case("%s %s %u×%u×%u gap %u shift %u residual %d sum %d weight %d bias %d eager %d e4m3 "
		"%d in place %d fill %d",
		c->layer ? "layernorm" : "rmsnorm", kp_dtype_name(c->dtype), c->outer, c->inner,
		c->columns, c->gap, c->shift, c->residual, c->sum, c->weight, c->bias, c->eager,
		c->e4m3, c->in_place, c->fill);
	make(c, &data);
	reference = data;
	reference.sum = rows_of(c, c->dtype);
	reference.scale = kp_tensor_copy(&data.scale);
	reference.mean = kp_tensor_copy(&data.mean);
	reference.rstd = kp_tensor_copy(&data.rstd);
	args = args_of(c, &reference);
	(c->layer ? kp_layernorm_reference : kp_rmsnorm_reference)(&args, expected);
	x = kp_tensor_copy(&data.x);
	args = args_of(c, &data);
	run(&args, c->layer, c->sm_count, order);
	compare(c, &data, c->in_place ? &data.x : &data.y, expected, &reference);
	compare_moments(c, &data, &reference);
	kp_expect_gaps(&data.x, "x");
	kp_expect_gaps(&data.y, "y");
	kp_expect_gaps(&data.sum, "sum");
	run_again(c, &data, &x, (enum kp_fiber_order)((order + 1) % KP_FIBER_ORDERS));
	kp_tensor_free(&x);
	kp_tensor_free(&reference.sum);
	kp_tensor_free(&reference.scale);
	kp_tensor_free(&reference.mean);
	kp_tensor_free(&reference.rstd);
	release(&data);
	free(expected);
}

int main(void)
{
	static const struct {
		uint32_t columns;
		unsigned cases;
	} grid[] = {{1, 8},     {7, 12},   {8, 16},    {64, 24},   {97, 12},   {128, 24},
		    {256, 16},  {264, 16}, {512, 16},  {1000, 12}, {1024, 16}, {1288, 8},
		    {4096, 11}, {8200, 4}, {16384, 4}, {20000, 2}, {32776, 2}};

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++) {
			struct norm_case c = draw(grid[i].columns, number);

			check(&c, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
		}
	kp_test_expect_all("rmsnorm");
	kp_test_expect_all("layernorm");
	return kp_checks_end();
}
