/* Activations on the CPU against float64: every version, odd shapes, packed and in-place forms. */
#include <math.h>
#include <stdlib.h>

#include "kernels/activation.h"
#include "tests/kernels/launch.h"
#include "tests/kernels/poison.h"
#include "tests/kernels/tensors.h"

enum shape { ALONE, TWO, PACKED, IN_PLACE, SHAPES };

static double slack_of(const struct kp_activation_args *args, const struct kp_tensor *x,
		       const struct kp_tensor *up, uint32_t row, uint32_t i)
{
	double factor = up ? fabs(kp_tensor_get(up, 0, row, i)) : 1,
	       v = kp_tensor_get(x, 0, row, i);

	if (!(fabs(v) < 1e30) || !(factor < 1e30))
		return 0;
	return factor * (0x1p-19 * fabs(v) +
			 (args->round_like_eager && up ? kp_number_ulp(args->dtype, v) : 0));
}

static void compare(const struct kp_activation_args *args, const struct kp_tensor *x,
		    const struct kp_tensor *up, const struct kp_tensor *y, const double *expected)
{
	for (uint32_t row = 0; row < args->rows; row++)
		for (uint32_t i = 0; i < args->columns; i++) {
			double want = expected[(size_t)row * args->columns + i];
			double got = kp_tensor_get(y, 0, row, i);

			kp_expect(kp_is_close(got, want, args->dtype, 0,
					      slack_of(args, x, up, row, i)),
				  "row %u column %u: x %g: %g, not %g", row, i,
				  kp_tensor_get(x, 0, row, i), got, want);
		}
}

static void run(const struct kp_activation_args *args, uint32_t sm_count, enum kp_fiber_order order)
{
	const struct kp_kernel_device device = {sm_count, 90};
	struct kp_kernel_plan plan = KP_TEST_POISON;

	kp_expect(kp_activation_plan(args, &device, &plan) == KP_OK, "no plan");
	kp_test_launch(&plan, args, order);
}

static void check(uint32_t columns, unsigned number)
{
	enum shape shape = (enum shape)(number % SHAPES);
	enum kp_dtype dtype = (enum kp_dtype)(number / SHAPES % 2);
	enum kp_fill fill = (enum kp_fill)kp_random_below(KP_FILLS);
	uint32_t rows = 1 + kp_random_below(5), shift = kp_random_below(4) == 0;
	uint32_t gap = shape == PACKED ? columns + 8 : kp_random_below(2) ? 8 : 3;
	struct kp_tensor x = kp_tensor_make(dtype, 1, rows, columns, gap, shift), input, packed;
	struct kp_tensor up = kp_tensor_make(dtype, 1, rows, columns, gap, shift);
	struct kp_tensor y = kp_tensor_make(dtype, 1, rows, columns, gap, shift);
	double *expected = malloc((size_t)rows * columns * sizeof(*expected));
	struct kp_activation_args args = {0};

	if (shape == PACKED) { /* gate and up in one array, the rest of each row is room */
		kp_tensor_free(&x);
		packed = kp_tensor_make(dtype, 1, rows, 2 * columns, 8, shift);
		kp_tensor_fill(&packed, fill, 2);
		x = packed;
		x.columns = columns;
	}
	kp_tensor_fill(&x, fill, 2);
	kp_tensor_fill(&up, fill == KP_FILL_SPECIAL ? KP_FILL_NORMAL : fill, 1);
	args.x = x.data;
	args.up = shape == ALONE    ? NULL
		  : shape == PACKED ? (char *)x.data + (size_t)columns * kp_dtype_bytes(dtype)
				    : up.data;
	args.y = shape == IN_PLACE ? x.data : y.data;
	args.rows = rows;
	args.columns = columns;
	args.x_row = x.row;
	args.up_row = shape == PACKED ? x.row : up.row;
	args.y_row = shape == IN_PLACE ? x.row : y.row;
	args.activation = (enum kp_activation)kp_random_below(3);
	args.dtype = dtype;
	args.round_like_eager = kp_random_below(2);
	kp_case("activation %d %s %u×%u shape %d gap %u shift %u eager %d fill %d", args.activation,
		kp_dtype_name(dtype), rows, columns, shape, gap, shift, args.round_like_eager,
		fill);
	if (shape == PACKED)
		for (uint32_t row = 0; row < rows; row++)
			for (uint32_t i = 0; i < columns; i++)
				kp_number_store(up.data, dtype, row * up.row + i,
						kp_number_load(args.up, dtype, row * x.row + i));
	kp_activation_reference(&args, expected);
	input = kp_tensor_copy(&x);
	run(&args, number % 3 ? 0 : 1000, (enum kp_fiber_order)(number % KP_FIBER_ORDERS));
	compare(&args, &input, args.up ? &up : NULL, shape == IN_PLACE ? &x : &y, expected);
	if (shape != IN_PLACE)
		kp_expect_same(&x, &input, "x");
	else
		kp_expect_gaps(&x, "x");
	kp_expect_gaps(&y, "y");
	kp_tensor_free(&input);
	kp_tensor_free(&x);
	kp_tensor_free(&up);
	kp_tensor_free(&y);
	free(expected);
}

int main(void)
{
	static const uint32_t columns[] = {1, 2, 7, 8, 16, 97, 128, 1024, 1032, 2048, 2049, 3000};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		for (unsigned number = 0; number < kp_test_cases(48); number++)
			check(columns[i], number);
	kp_test_expect_all("activation");
	return kp_checks_end();
}
