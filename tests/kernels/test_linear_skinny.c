/* linear_skinny against float64: every version, weights of every type, tails, splits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/linear_skinny.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

#define RINGS_ON 90 /* compute capability */

struct linear_case {
	uint32_t tokens, outputs, inputs, gap, shift, sm_count;
	enum kp_dtype dtype, weight_dtype;
	enum kp_linear_activation activation;
	enum kp_fill fill;
	bool scale, bias, residual, in_place;
};

struct linear_data {
	struct kp_tensor x, weight, scale, bias, residual, y;
};

static struct linear_case draw(uint32_t tokens, uint32_t outputs, uint32_t inputs, unsigned number)
{
	static const enum kp_dtype weights[] = {KP_DTYPE_COUNT, KP_DTYPE_E4M3, KP_DTYPE_INT8};
	static const uint32_t sm_counts[] = {1, 1, 1, 2, 1, 16, 500};
	uint32_t bits = kp_random_below(16);
	struct linear_case out = {0};

	out.tokens = tokens;
	out.outputs = outputs;
	out.inputs = inputs;
	out.dtype = (enum kp_dtype)(number % 2);
	out.weight_dtype = weights[number / 2 % 3];
	if (out.weight_dtype == KP_DTYPE_COUNT)
		out.weight_dtype = out.dtype;
	/* Rows with and without room between them; and some that are not aligned. */
	out.gap = number / 6 % 4 == 1 ? 16 : number / 6 % 4 == 2 ? 3 : 0;
	out.shift = number / 6 % 4 == 3;
	out.sm_count = sm_counts[number % 7];
	out.activation = (enum kp_linear_activation)kp_random_below(KP_LINEAR_ACTIVATION_COUNT);
	out.fill = number % 4 == 3 ? KP_FILL_SPECIAL : KP_FILL_NORMAL;
	out.scale = bits & 1 || out.weight_dtype == KP_DTYPE_INT8;
	out.bias = bits & 2;
	out.residual = bits & 4;
	out.in_place = bits & 8 && out.residual;
	return out;
}

static void make(const struct linear_case *c, struct linear_data *data)
{
	bool is_int8 = c->weight_dtype == KP_DTYPE_INT8;

	data->x = kp_tensor_make(c->dtype, 1, c->tokens, c->inputs, c->gap, c->shift);
	data->weight = kp_tensor_make(c->weight_dtype, 1, c->outputs, c->inputs, c->gap, c->shift);
	data->scale = kp_tensor_make(KP_DTYPE_FP32, 1, 1, c->outputs, 0, 0);
	data->bias = kp_tensor_make(c->dtype, 1, 1, c->outputs, 0, c->shift);
	data->residual = kp_tensor_make(c->dtype, 1, c->tokens, c->outputs, c->gap, c->shift);
	data->y = kp_tensor_make(c->dtype, 1, c->tokens, c->outputs, c->gap, c->shift);
	kp_tensor_fill(&data->x, c->fill, 1);
	/* NaN of e4m3 too, where specials are asked for. */
	kp_tensor_fill(&data->weight, is_int8 ? KP_FILL_NORMAL : c->fill, is_int8 ? 60 : 1);
	kp_tensor_fill(&data->scale, KP_FILL_NORMAL, is_int8 ? 0.01 : 1);
	kp_tensor_fill(&data->bias, KP_FILL_NORMAL, 1);
	kp_tensor_fill(&data->residual, KP_FILL_NORMAL, 1);
}

static void release(struct linear_data *data)
{
	struct kp_tensor *tensors = &data->x;

	for (size_t i = 0; i < sizeof(*data) / sizeof(*tensors); i++)
		kp_tensor_free(&tensors[i]);
}

static struct kp_linear_skinny_args args_of(const struct linear_case *c,
					    const struct linear_data *data)
{
	struct kp_linear_skinny_args args = {0};

	args.x = data->x.data;
	args.weight = data->weight.data;
	args.weight_scale = c->scale ? (const float *)data->scale.data : NULL;
	args.bias = c->bias ? data->bias.data : NULL;
	args.residual = c->residual ? data->residual.data : NULL;
	args.y = c->in_place ? data->residual.data : data->y.data;
	args.tokens = c->tokens;
	args.outputs = c->outputs;
	args.inputs = c->inputs;
	args.x_token = data->x.row;
	args.weight_row = data->weight.row;
	args.residual_token = data->residual.row;
	args.y_token = data->y.row;
	args.activation = c->activation;
	args.dtype = c->dtype;
	args.weight_dtype = c->weight_dtype;
	return args;
}

/* Both launches, with a workspace of just the size and full of NaN. */
static void run(struct kp_linear_skinny_args args, uint32_t sm_count, enum kp_fiber_order order)
{
	const uint32_t found = kp_test_compute_capability();
	const struct kp_kernel_device device = {sm_count, found ? found : RINGS_ON};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	size_t bytes = kp_linear_skinny_workspace(&args, &device);

	args.workspace_bytes = bytes;
	args.workspace = kp_test_alloc(bytes);
	memset(args.workspace, KP_POISON_BYTE, bytes);
	kp_expect(kp_linear_skinny_plan(&args, &device, plans) == KP_OK, "no plan");
	for (int i = 0; i < 2; i++) {
		if (plans[i].grid_x == 0)
			continue;
		args.team = plans[i].team;
		kp_test_launch(&plans[i], &args, order);
	}
	kp_test_free(args.workspace);
}

static void compare(const struct linear_case *c, const struct kp_tensor *y, const double *expected,
		    const double *magnitudes)
{
	for (uint32_t token = 0; token < c->tokens; token++)
		for (uint32_t i = 0; i < c->outputs; i++) {
			double want = expected[token * c->outputs + i];
			double got = kp_tensor_get(y, 0, token, i);
			double size = magnitudes[token * c->outputs + i];
			double slack = 0x1p-20 * (isfinite(size) ? 2 * size + 4 : 0);

			/* An infinite sum has slopes of its own: silu(-∞) is NaN by its formula,
			 * and near it. */
			kp_expect(kp_is_close(got, want, c->dtype, 0, slack),
				  "token %u output %u: %g, not %g", token, i, got, want);
		}
}

static void check(const struct linear_case *c, bool twice, enum kp_fiber_order order)
{
	size_t count = (size_t)c->tokens * c->outputs;
	double *expected = malloc(2 * count * sizeof(double));
	struct kp_linear_skinny_args args;
	struct linear_data data, again;

	kp_case("linear %s by %s, %u×%u×%u gap %u shift %u sms %u activation %d scale %d bias %d "
		"residual %d in place %d fill %d",
		kp_dtype_name(c->dtype), kp_dtype_name(c->weight_dtype), c->tokens, c->outputs,
		c->inputs, c->gap, c->shift, c->sm_count, c->activation, c->scale, c->bias,
		c->residual, c->in_place, c->fill);
	make(c, &data);
	again = data;
	again.residual = kp_tensor_copy(&data.residual);
	again.y = kp_tensor_copy(&data.y);
	args = args_of(c, &data);
	kp_linear_skinny_reference(&args, expected, expected + count);
	run(args, c->sm_count, order);
	compare(c, c->in_place ? &data.residual : &data.y, expected, expected + count);
	kp_expect_gaps(&data.y, "y");
	kp_expect_gaps(&data.residual, "residual");
	args = args_of(c, &again);
	if (twice) {
		run(args, c->sm_count, (enum kp_fiber_order)((order + 1) % KP_FIBER_ORDERS));
		kp_expect_same(&again.y, &data.y, "y in another order");
		kp_expect_same(&again.residual, &data.residual, "residual in another order");
	}
	kp_tensor_free(&again.y);
	kp_tensor_free(&again.residual);
	release(&data);
	free(expected);
}

int main(void)
{
	static const char *const versions[] = {"linear_row_", "linear_tile_", "linear_any_",
					       "linear_finish_"};
	static const struct {
		uint32_t tokens, outputs, inputs;
		unsigned cases;
	} grid[] = {{1, 1, 16, 12},
		    {1, 7, 64, 12},
		    {1, 33, 528, 24},
		    {1, 5, 2064, 12},
		    {1, 3, 0, 2},
		    {1, 9, 131, 6},
		    {2, 17, 64, 24},
		    {3, 40, 272, 14},
		    {8, 16, 1040, 12},
		    {5, 70, 96, 24},
		    {8, 3, 1024, 6},
		    {9, 33, 80, 24},
		    {16, 64, 256, 12},
		    {13, 5, 1056, 12},
		    {16, 31, 37, 6},
		    /* Rings: shares of blocks and turns that end in the midst. */
		    {1, 35, 8208, 6},
		    {1, 9, 16368, 1},
		    {1, 3, 16400, 3},
		    {8, 40, 1040, 14},
		    {5, 33, 4112, 6},
		    {7, 33, 8208, 6},
		    {16, 40, 1040, 14},
		    {13, 35, 4080, 6},
		    {16, 18, 4112, 3}};

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++) {
			struct linear_case c =
				draw(grid[i].tokens, grid[i].outputs, grid[i].inputs, number);

			check(&c, number % 4 == 0, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
		}
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		kp_test_expect_all(versions[i]);
	if (kp_test_compute_capability() == 0 || kp_test_compute_capability() == RINGS_ON)
		kp_test_expect_all("linear_ring_");
	return kp_checks_end();
}
