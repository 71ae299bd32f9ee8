/* The table of libkprof_candidates.so; see candidates.h. */
#include "kernels/candidates.h"

#include "kernels/activation.h"
#include "kernels/attention_prefill.h"
#include "kernels/linear_skinny.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"

union args {
	struct kp_linear_skinny_args linear_skinny;
	struct kp_norm_args rmsnorm, layernorm;
	struct kp_activation_args activation;
	struct kp_softmax_args softmax;
	struct kp_attention_prefill_args attention_prefill;
};

/* ---- from values to arguments ---- */

static bool set_pointer(void *member, int64_t value)
{
	*(void **)member = (void *)(uintptr_t)value;
	return true;
}

#define IS_COUNT(value) ((value) >= 0 && (value) <= UINT32_MAX)
#define SET_POINTER(member, value) set_pointer((void *)&(member), value)
#define SET_COUNT(member, value) (IS_COUNT(value) && ((member) = (uint32_t)(value), true))
#define SET_STRIDE(member, value) ((member) = (value), true)
#define SET_REAL(member, value) ((member) = (float)kp_ab_double(value), true)
#define SET_DTYPE(member, value) (((member) = kp_candidates_dtype(value)) != KP_DTYPE_COUNT)
#define SET_CHOICE(member, value) ((value) >= 0 && (value) < 16 && ((member) = (value), true))
#define SET_FLAG(member, value) ((member) = (value) != 0, true)

/* One function for each argument would be as much code: this is a table in the form of a switch. */
static bool set(uint32_t row, union args *args, int64_t value)
{
	switch ((enum kp_ab_argument_row)row) {
#define BUILTIN(name, what)
#define ARG(builtin, name, kind, needed, otherwise, what)                                          \
	case KP_AB_ARG_##builtin##_##name:                                                         \
		return SET_##kind(args->builtin.name, value);
#include "trace/ab_builtins.def"
	case KP_AB_ARGUMENT_ROW_COUNT:
		break;
	}
	return false;
}

static const struct {
	uint32_t builtin;
	int64_t otherwise;
} rows[KP_AB_ARGUMENT_ROW_COUNT] = {
#define BUILTIN(name, what)
#define ARG(builtin, name, kind, needed, otherwise, what) {KP_AB_BUILTIN_##builtin, otherwise},
#include "trace/ab_builtins.def"
};

static void defaults(uint32_t builtin, int64_t *values)
{
	for (uint32_t i = 0; i < KP_AB_ARGUMENT_ROW_COUNT; i++)
		if (rows[i].builtin == builtin)
			values[i] = rows[i].otherwise;
}

static bool fill(uint32_t builtin, const int64_t *values, union args *args)
{
	bool good = true;

	*args = (union args){0};
	for (uint32_t i = 0; i < KP_AB_ARGUMENT_ROW_COUNT; i++)
		if (rows[i].builtin == builtin)
			good &= set(i, args, values[i]);
	/* What is written is of the type of what is read. */
	if (builtin == KP_AB_BUILTIN_linear_skinny)
		args->linear_skinny.weight_dtype = args->linear_skinny.dtype;
	if (builtin == KP_AB_BUILTIN_rmsnorm)
		args->rmsnorm.y_dtype = args->rmsnorm.dtype;
	if (builtin == KP_AB_BUILTIN_layernorm)
		args->layernorm.y_dtype = args->layernorm.dtype;
	return good;
}

/* ---- the table ---- */

static bool supports(uint32_t builtin, const int64_t *values, const char **reason)
{
	union args args;

	*reason = "an argument is out of range";
	if (!fill(builtin, values, &args))
		return false;
	switch ((enum kp_ab_builtin)builtin) {
#define BUILTIN(name, what)                                                                        \
	case KP_AB_BUILTIN_##name:                                                                 \
		return kp_##name##_supports(&args.name, reason);
#define ARG(builtin, name, kind, needed, otherwise, what)
#include "trace/ab_builtins.def"
	case KP_AB_BUILTIN_COUNT:
		break;
	}
	return false;
}

static size_t workspace(const struct kp_candidates_set *set, uint32_t builtin,
			const int64_t *values)
{
	union args args;

	if (builtin != KP_AB_BUILTIN_linear_skinny || !fill(builtin, values, &args))
		return 0;
	return kp_linear_skinny_workspace(&args.linear_skinny, kp_kernels_device(set->kernels));
}

static enum kp_status launch(const struct kp_candidates_set *set, uint32_t builtin,
			     const int64_t *values, void *memory, size_t memory_bytes, void *stream)
{
	union args args;

	if (!fill(builtin, values, &args))
		return KP_INVALID;
	if (builtin == KP_AB_BUILTIN_linear_skinny) {
		args.linear_skinny.workspace = memory;
		args.linear_skinny.workspace_bytes = memory_bytes;
	}
	switch ((enum kp_ab_builtin)builtin) {
#define BUILTIN(name, what)                                                                        \
	case KP_AB_BUILTIN_##name:                                                                 \
		args.name.stream = stream;                                                         \
		return kp_##name(set->kernels, &args.name);
#define ARG(builtin, name, kind, needed, otherwise, what)
#include "trace/ab_builtins.def"
	case KP_AB_BUILTIN_COUNT:
		break;
	}
	return KP_INVALID;
}

static bool piece(uint32_t builtin, const int64_t *values, uint64_t draw, struct kp_piece *out)
{
	union args args;

	return fill(builtin, values, &args) && kp_piece_find(builtin, &args, draw, out);
}

static enum kp_status create(const struct kp_kernels_driver *driver, struct kp_candidates_set *out,
			     int *driver_error)
{
	enum kp_status status = kp_kernels_create(driver, &out->kernels, driver_error);

	if (status == KP_OK)
		status = kp_compare_create(driver, &out->compare, driver_error);
	if (status == KP_OK)
		return KP_OK;
	kp_kernels_destroy(out->kernels);
	out->kernels = NULL;
	return status;
}

extern const struct kp_candidates kp_candidates;
__attribute__((visibility("default"))) const struct kp_candidates kp_candidates = {
	.version = KP_CANDIDATES_VERSION,
	.part_bytes = sizeof(struct kp_compare_part),
	.create = create,
	.defaults = defaults,
	.supports = supports,
	.workspace = workspace,
	.launch = launch,
	.pass = kp_compare_pass,
	.copy = kp_compare_copy,
	.checksum = kp_compare_checksum,
	.guard = kp_compare_guard,
	.piece = piece,
	.compare_piece = kp_piece_compare,
};
