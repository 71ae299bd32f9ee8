/* argmax against the reference: every version and type, ties, NaN, infinities, splits, strides. */
#include "kernels/argmax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

enum { FILL_TIES = KP_FILLS, FILL_ZEROS, FILL_NOTHING, FILLS };

struct argmax_case {
	uint32_t rows, columns, gap, shift, sm_count, x_column;
	enum kp_dtype dtype;
	int fill;
	bool is_64, has_value;
};

struct argmax_data {
	struct kp_tensor x, index, value;
};

static struct argmax_case draw(uint32_t rows, uint32_t columns, unsigned number)
{
	struct argmax_case out = {0};

	out.rows = rows;
	out.columns = columns;
	out.dtype = (enum kp_dtype)(number % 3);
	out.fill = (int)(number / 3 % FILLS);
	out.gap = number % 4 == 1 ? 8 : number % 4 == 2 ? 3 : 0;
	out.shift = number % 5;
	out.x_column = number % 7 == 6 ? 2 + kp_random_below(2) : 1;
	out.sm_count = number % 5 == 4 ? 0 : number % 5 == 3 ? 132 : 1 + number % 5;
	out.is_64 = kp_random_below(2);
	out.has_value = kp_random_below(3) > 0;
	return out;
}

/* An element of a row, in memory of rows × columns · x_column. */
static void store(const struct argmax_case *c, struct kp_tensor *x, uint32_t row, uint32_t i,
		  double value)
{
	kp_number_store(x->data, c->dtype, row * x->row + (int64_t)i * c->x_column, value);
}

/* Two of each value; both zeros alone; -infinity alone, which is the first column's. */
static void fill(const struct argmax_case *c, struct kp_tensor *x)
{
	kp_tensor_fill(x, c->fill < KP_FILLS ? (enum kp_fill)c->fill : KP_FILL_NORMAL, 3);
	for (uint32_t row = 0; c->fill >= KP_FILLS && row < c->rows; row++)
		for (uint32_t i = 0; i < c->columns; i++)
			store(c, x, row, i,
			      c->fill == FILL_TIES    ? (double)kp_random_below(4)
			      : c->fill == FILL_ZEROS ? kp_random_below(2) ? 0.0 : -0.0
						      : -INFINITY);
}

static void make(const struct argmax_case *c, struct argmax_data *data)
{
	data->x = kp_tensor_make(c->dtype, 1, c->rows, (c->columns - 1) * c->x_column + 1, c->gap,
				 c->shift);
	data->index = kp_tensor_make_indices(c->rows, c->is_64);
	data->value = kp_tensor_make(c->dtype, 1, c->rows, 1, 2, c->shift);
	fill(c, &data->x);
}

static struct kp_argmax_args args_of(const struct argmax_case *c, const struct argmax_data *data)
{
	return (struct kp_argmax_args){
		.x = data->x.data,
		.index = data->index.data,
		.value = c->has_value ? data->value.data : NULL,
		.rows = c->rows,
		.columns = c->columns,
		.x_row = data->x.row,
		.x_column = c->x_column,
		.index_row = data->index.row / data->index.columns,
		.value_row = data->value.row,
		.dtype = c->dtype,
		.index_is_64 = c->is_64,
	};
}

/* Both launches, with a workspace of just the size and full of NaN. */
static void run(struct kp_argmax_args args, uint32_t sm_count, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_kernel_plan plans[2] = {KP_TEST_POISON, KP_TEST_POISON};
	size_t bytes = kp_argmax_workspace(&args);

	args.workspace_bytes = bytes;
	args.workspace = kp_test_alloc(bytes);
	memset(args.workspace, KP_POISON_BYTE, bytes);
	kp_expect(kp_argmax_plan(&args, &device, plans, &args.chunk) == KP_OK, "no plan");
	args.splits = plans[0].grid_y;
	for (int i = 0; i < 2; i++)
		if (plans[i].grid_x)
			kp_test_launch(&plans[i], &args, order);
	kp_test_free(args.workspace);
}

static void compare(const struct argmax_case *c, const struct argmax_data *data,
		    const int64_t *expected, const double *values)
{
	for (uint32_t row = 0; row < c->rows; row++) {
		double got = kp_tensor_get(&data->value, 0, row, 0);
		int64_t index = kp_tensor_index(&data->index, row);

		kp_expect(index == expected[row], "row %u: column %lld, not %lld", row,
			  (long long)index, (long long)expected[row]);
		kp_expect(!c->has_value || got == values[row] || (isnan(got) && isnan(values[row])),
			  "row %u: value %g, not %g", row, got, values[row]);
	}
}

static void check(const struct argmax_case *c, enum kp_fiber_order order)
{
	int64_t *expected = calloc(c->rows, sizeof(*expected));
	double *values = calloc(c->rows, sizeof(*values));
	struct argmax_data data;
	struct kp_argmax_args args;

	kp_case("argmax %s %u×%u gap %u shift %u column %u fill %d sms %u", kp_dtype_name(c->dtype),
		c->rows, c->columns, c->gap, c->shift, c->x_column, c->fill, c->sm_count);
	make(c, &data);
	args = args_of(c, &data);
	kp_argmax_reference(&args, expected, values);
	run(args, c->sm_count, order);
	compare(c, &data, expected, values);
	kp_expect_gaps(&data.index, "index");
	kp_expect_gaps(&data.value, "value");
	kp_tensor_free(&data.x);
	kp_tensor_free(&data.index);
	kp_tensor_free(&data.value);
	free(expected);
	free(values);
}

int main(void)
{
	static const struct {
		uint32_t rows, columns;
		unsigned cases;
	} grid[] = {{1, 1, 21},    {5, 2, 21},    {3, 7, 21},     {2, 64, 42},
		    {4, 257, 21},  {1, 2048, 21}, {2, 2049, 21},  {3, 9000, 21},
		    {7, 4099, 14}, {1, 50257, 7}, {1, 128256, 4}, {1, 262144, 3}};

	for (size_t i = 0; i < sizeof(grid) / sizeof(grid[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(grid[i].cases); number++) {
			struct argmax_case c = draw(grid[i].rows, grid[i].columns, number);

			check(&c, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
		}
	kp_test_expect_all("argmax_");
	return kp_checks_end();
}
