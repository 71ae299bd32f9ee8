/* Evaluating a rule for a launch; see ab_job.h. No state, no allocation, no driver. */
#include "inject/ab_job.h"

#include <string.h>

/* What is larger is an error of the rule's. */
#define SIZE_MOST ((int64_t)1 << 31)
#define BYTES_MOST ((uint64_t)1 << 34)
#define ALIGNED 16

static const uint8_t kinds[KP_AB_ARGUMENT_ROW_COUNT] = {
#define BUILTIN(name, what)
#define ARG(builtin, name, kind, needed, otherwise, what) KP_AB_##kind,
#include "trace/ab_builtins.def"
};

static bool value_of(const struct kp_ab_plan *plan, struct kp_ab_span span,
		     const struct kp_ab_view *view, int64_t otherwise, int64_t *out)
{
	*out = otherwise;
	return span.count == 0 || kp_ab_evaluate(plan->ops + span.first, span.count, view, out);
}

enum kp_ab_reason kp_ab_job_fits(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule,
				 const struct kp_ab_view *view)
{
	int64_t holds;

	if (!value_of(plan, rule->when, view, 1, &holds))
		return KP_AB_REASON_UNREADABLE;
	return holds ? KP_AB_REASON_COUNT : KP_AB_REASON_CONDITIONS;
}

static void mix(uint64_t *hash, uint64_t value)
{
	*hash = (*hash ^ value) * 0x9e3779b97f4a7c15ULL;
	*hash ^= *hash >> 29;
}

/* Rows that do not overlap, in order in memory, or columns likewise. */
static bool measure(struct kp_ab_data *data, int64_t rows, int64_t columns, int64_t row_stride,
		    int64_t column_stride)
{
	size_t bytes = data->matrix.dtype == KP_DTYPE_FP32 ? 4 : 2;
	int64_t last;

	if (rows < 1 || columns < 1 || rows > SIZE_MOST || columns > SIZE_MOST || row_stride < 0 ||
	    column_stride < 0 || row_stride > SIZE_MOST || column_stride > SIZE_MOST)
		return false;
	if ((rows > 1 && columns > 1 && row_stride <= (columns - 1) * column_stride &&
	     column_stride <= (rows - 1) * row_stride) ||
	    (rows > 1 && row_stride == 0) || (columns > 1 && column_stride == 0))
		return false;
	last = (rows - 1) * row_stride + (columns - 1) * column_stride;
	if ((uint64_t)last >= BYTES_MOST)
		return false; /* in bytes it may not be a number of 64 bits */
	data->matrix.data = (void *)(uintptr_t)data->address;
	data->matrix.rows = (uint64_t)rows;
	data->matrix.columns = (uint64_t)columns;
	data->matrix.row_stride = row_stride;
	data->matrix.column_stride = column_stride;
	data->bytes = ((uint64_t)last + 1) * bytes;
	return data->bytes <= BYTES_MOST && data->address % bytes == 0;
}

/* False: it cannot be evaluated, or makes no sense. Data at address 0 is left out. */
static bool add_data(const struct kp_ab_plan *plan, uint32_t number, const struct kp_ab_view *view,
		     struct kp_ab_job *out)
{
	const struct kp_ab_tensor *tensor = &plan->tensors[out->rule->first_tensor + number];
	struct kp_ab_data *data = &out->data[out->data_count];
	int64_t address, dtype, rows, columns, row_stride, column_stride;

	if (!value_of(plan, tensor->address, view, 0, &address) ||
	    !value_of(plan, tensor->dtype, view, 0, &dtype) ||
	    !value_of(plan, tensor->rows, view, 0, &rows) ||
	    !value_of(plan, tensor->columns, view, 0, &columns) ||
	    !value_of(plan, tensor->row_stride, view, columns, &row_stride) ||
	    !value_of(plan, tensor->column_stride, view, 1, &column_stride))
		return false;
	if (address == 0)
		return true;
	*data = (struct kp_ab_data){.role = (enum kp_ab_role)tensor->role,
				    .number = number,
				    .address = (uint64_t)address};
	data->matrix.dtype = kp_candidates_dtype(dtype);
	if (data->matrix.dtype == KP_DTYPE_COUNT ||
	    !measure(data, rows, columns, row_stride, column_stride))
		return false;
	mix(&out->shape, (uint64_t)dtype);
	mix(&out->shape, (uint64_t)rows);
	mix(&out->shape, (uint64_t)columns);
	mix(&out->shape, (uint64_t)row_stride);
	mix(&out->shape, (uint64_t)column_stride);
	mix(&out->shape, (uint64_t)address % ALIGNED);
	out->data_count++;
	return true;
}

bool kp_ab_job_is_pointer(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule, uint32_t i,
			  uint32_t *at)
{
	const struct kp_ab_argument *argument = &plan->arguments[rule->first_argument + i];

	*at = rule->replace == KP_AB_REPLACE_BUILTIN ? argument->row : i;
	if (rule->replace == KP_AB_REPLACE_BUILTIN)
		return kinds[argument->row] == KP_AB_POINTER;
	return argument->type == KP_AB_LOAD_PTR;
}

static bool add_arguments(const struct kp_ab_plan *plan, const struct kp_ab_view *view,
			  struct kp_ab_job *out)
{
	for (uint32_t i = 0; i < out->rule->argument_count; i++) {
		const struct kp_ab_argument *argument =
			&plan->arguments[out->rule->first_argument + i];
		uint32_t at;
		bool is_pointer = kp_ab_job_is_pointer(plan, out->rule, i, &at);
		int64_t *value = &out->values[at];

		if (!value_of(plan, argument->value, view, 0, value))
			return false;
		mix(&out->shape, is_pointer ? (uint64_t)(*value % ALIGNED + (*value == 0) * ALIGNED)
					    : (uint64_t)*value);
	}
	return true;
}

static bool add_size(const struct kp_ab_plan *plan, struct kp_ab_span span,
		     const struct kp_ab_view *view, int64_t most, uint32_t *out)
{
	int64_t value;

	if (!value_of(plan, span, view, 1, &value) || value < 1 || value > most)
		return false;
	*out = (uint32_t)value;
	return true;
}

static bool add_sizes(const struct kp_ab_plan *plan, const struct kp_ab_view *view,
		      struct kp_ab_job *out)
{
	const struct kp_ab_rule *rule = out->rule;
	int64_t shared;

	if (rule->replace != KP_AB_REPLACE_MODULE)
		return true;
	for (int i = 0; i < 3; i++) {
		if (!add_size(plan, rule->grid[i], view, INT32_MAX, &out->grid[i]) ||
		    !add_size(plan, rule->block[i], view, 1024, &out->block[i]))
			return false;
		mix(&out->shape, out->grid[i] | (uint64_t)out->block[i] << 32);
	}
	if (!value_of(plan, rule->shared, view, 0, &shared) || shared < 0 || shared > 49152)
		return false;
	out->shared_bytes = (uint32_t)shared;
	mix(&out->shape, out->shared_bytes);
	return true;
}

enum kp_ab_reason kp_ab_job_make(const struct kp_ab_plan *plan,
				 const struct kp_candidates *candidates, uint32_t number,
				 const struct kp_ab_view *view, struct kp_ab_job *out)
{
	const struct kp_ab_rule *rule = &plan->rules[number];
	const char *reason;
	bool writes = false;

	out->rule = rule;
	out->number = number;
	out->data_count = 0;
	out->workspace = 0;
	out->workspace_bytes = 0;
	out->shape = number + 1;
	if (rule->replace == KP_AB_REPLACE_BUILTIN)
		candidates->defaults(rule->builtin, out->values);
	if (!add_arguments(plan, view, out) || !add_sizes(plan, view, out))
		return KP_AB_REASON_UNREADABLE;
	for (uint32_t i = 0; i < rule->tensor_count; i++)
		if (!add_data(plan, i, view, out))
			return KP_AB_REASON_UNREADABLE;
	for (uint32_t i = 0; i < out->data_count; i++)
		writes |= out->data[i].role != KP_AB_INPUT;
	if (!writes)
		return KP_AB_REASON_UNREADABLE;
	if (rule->replace == KP_AB_REPLACE_BUILTIN &&
	    !candidates->supports(rule->builtin, out->values, &reason))
		return KP_AB_REASON_UNSUPPORTED;
	return KP_AB_REASON_COUNT;
}
