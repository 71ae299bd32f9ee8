/* The choice of a version by length, alignment and number of rows; see rows.h. */
#include "kernels/rows.h"

#include "kernels/launch.h"

#define WARP 32U

/* Threads that hold a row. */
static uint32_t holders(const struct kp_row_version *version, uint32_t columns)
{
	return (uint32_t)kp_divide_up(columns / KP_VECTOR_ELEMENTS, version->vectors);
}

bool kp_row_version_takes(const struct kp_row_version *version, uint32_t columns, bool aligned)
{
	if (version->vectors == 0)
		return true;
	if (!aligned || columns % KP_VECTOR_ELEMENTS)
		return false;
	if (version->kind == KP_ROW_LOOP)
		return true;
	return holders(version, columns) <=
	       (version->kind == KP_ROW_TEAM ? WARP : version->threads);
}

static void size(const struct kp_row_version *version, uint64_t rows, uint32_t columns,
		 struct kp_kernel_plan *out)
{
	*out = (struct kp_kernel_plan){
		.kernel = version->kernel,
		.vectors = version->vectors,
		.threads = version->threads,
		.grid_x = (uint32_t)rows,
		.grid_y = 1,
	};
	if (version->kind == KP_ROW_BLOCK)
		out->threads = (uint32_t)kp_divide_up(holders(version, columns), WARP) * WARP;
	if (version->kind == KP_ROW_TEAM) {
		out->team = 1;
		while (out->team < holders(version, columns))
			out->team *= 2;
		out->grid_x = (uint32_t)kp_divide_up(rows * out->team, version->threads);
	}
}

void kp_rows_plan(const struct kp_row_version *table, size_t count, uint64_t rows, uint32_t columns,
		  bool aligned, const struct kp_kernel_device *device, struct kp_kernel_plan *out)
{
	size_t i = 0;

	while (i < count - 1 &&
	       (!kp_row_version_takes(&table[i], columns, aligned) ||
		(table[i].rows_per_sm && rows > (uint64_t)table[i].rows_per_sm * device->sm_count)))
		i++;
	size(&table[i], columns ? rows : 0, columns ? columns : KP_VECTOR_ELEMENTS, out);
}
