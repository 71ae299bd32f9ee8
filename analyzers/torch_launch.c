/* Which of the known kernels a function is; see torch_launch.h. */
#include "analyzers/torch_launch.h"

#include <string.h>

#include "analyzers/torch_kernels.h"
#include "analyzers/torch_name.h"
#include "analyzers/torch_tensor.h"

static const struct kp_torch_functor functors[] = {
#define NONE {KP_TORCH_SCALAR_NONE, 0},
#define AT(offset) {KP_TORCH_SCALAR_AT, offset},
#define OF(offset) {KP_TORCH_SCALAR_OF, offset},
#define IS(value) {KP_TORCH_SCALAR_IS, value},
#define FUNCTOR(op, pattern, tensors, bytes, align, scalars, seen)                                 \
	{KP_TORCH_##op, pattern, tensors, bytes, align, {scalars}, KP_TORCH_SEEN_##seen},
#include "analyzers/torch_functors.def"
#undef FUNCTOR
#undef NONE
#undef AT
#undef OF
#undef IS
};

#define F KP_TORCH_SIZE_F
#define P KP_TORCH_SIZE_P
#define C KP_TORCH_SIZE_C
#define L KP_TORCH_SIZE_L
static const struct kp_torch_kernel kernels[] = {
#define KERNEL(name, suffix, layout, op, seen, most, params, ...)                                  \
	{                                                                                          \
		name,                                                                              \
		suffix,                                                                            \
		KP_TORCH_LAYOUT_##layout,                                                          \
		KP_TORCH_##op,                                                                     \
		KP_TORCH_SEEN_##seen,                                                              \
		most,                                                                              \
		params,                                                                            \
		{__VA_ARGS__}},
#include "analyzers/torch_kernels.def"
#undef KERNEL
};

static uint32_t tensors_of(const struct kp_torch_functor *functor)
{
	return (uint32_t)strlen(functor->tensors);
}

uint32_t kp_torch_functor_bytes(const struct kp_torch_kind *kind)
{
	return kind->functor->bytes ? kind->functor->bytes : kp_torch_type_bytes(kind->types[0]);
}

static uint32_t bytes_of(const struct kp_torch_kind *kind, int16_t size)
{
	uint32_t tensors, bytes;

	if (size >= 0 || !kind->functor)
		return (uint32_t)size;
	tensors = tensors_of(kind->functor);
	bytes = kp_torch_functor_bytes(kind);
	switch (size) {
	case KP_TORCH_SIZE_F:
		return bytes;
	case KP_TORCH_SIZE_P:
		return 8 * tensors;
	case KP_TORCH_SIZE_L:
		return kp_torch_align(tensors - 1, 4) + 4 * (tensors - 1);
	default:
		return kp_torch_closure_of(tensors, bytes, kind->functor->align,
					   kind->kernel->layout == KP_TORCH_LAYOUT_STRIDED_CAST)
			.bytes;
	}
}

/* Without sizes by the name alone. */
static bool fits(const struct kp_torch_kind *kind, const size_t *sizes, size_t count)
{
	if (!sizes)
		return true;
	if (count != kind->kernel->params)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sizes[i] != bytes_of(kind, kind->kernel->sizes[i]))
			return false;
	return true;
}

/* The types of the tensors: as the letters say, of those that the name has. */
static bool set_types(struct kp_torch_kind *kind, const char *letters,
		      const struct kp_torch_name *name)
{
	for (size_t i = 0; letters[i]; i++) {
		uint8_t number = (uint8_t)(letters[i] - '0');

		if (letters[i] == 'B' || letters[i] == 'H')
			kind->types[i] = letters[i] == 'B' ? KP_TORCH_BF16 : KP_TORCH_F16;
		else if (number < name->type_count)
			kind->types[i] = name->types[number];
		else
			return false;
	}
	return true;
}

static bool takes_functor(const struct kp_torch_functor *functor, struct kp_torch_name *rest,
			  struct kp_torch_kind *kind)
{
	struct kp_torch_name name = {.at = rest->at};

	if (!kp_torch_name_take(&name, functor->pattern) ||
	    !set_types(kind, functor->tensors, &name))
		return false;
	rest->at = name.at;
	kind->functor = functor;
	if (functor->seen < kind->seen)
		kind->seen = functor->seen;
	if (tensors_of(functor) > kind->kernel->seen_tensors)
		kind->seen = KP_TORCH_SEEN_HOST;
	return true;
}

static bool set_numbers(struct kp_torch_kind *kind, const struct kp_torch_name *name)
{
	for (uint8_t i = 0; i < name->number_count && i < 4; i++) {
		if (name->numbers[i] > UINT16_MAX)
			return false;
		kind->numbers[i] = (uint16_t)name->numbers[i];
	}
	return true;
}

/* `name` is behind the kernel's. */
static bool is_whole(struct kp_torch_name *name, struct kp_torch_kind *kind)
{
	if (kind->kernel->op == KP_TORCH_NONE)
		return false;
	if (name->type_count) {
		kind->types[0] = name->types[name->type_count - 1];
		kind->types[1] = name->types[0];
	}
	return *name->at == '\0' && set_numbers(kind, name);
}

static bool is_with(const struct kp_torch_functor *functor, const struct kp_torch_name *before,
		    struct kp_torch_kind *kind)
{
	struct kp_torch_name name = *before;

	return takes_functor(functor, &name, kind) &&
	       kp_torch_name_take(&name, kind->kernel->suffix) && *name.at == '\0' &&
	       set_numbers(kind, &name);
}

static bool is_kernel(const struct kp_torch_kernel *kernel, const char *text, const size_t *sizes,
		      size_t count, struct kp_torch_kind *out)
{
	const struct kp_torch_kind fresh = {.kernel = kernel, .seen = kernel->seen};
	struct kp_torch_name name = {.at = text};

	*out = fresh;
	if ((sizes && count != kernel->params) || !kp_torch_name_take(&name, kernel->name))
		return false;
	if (*kernel->suffix == '\0')
		return is_whole(&name, out) && fits(out, sizes, count);
	for (size_t i = 0; i < sizeof(functors) / sizeof(functors[0]); i++) {
		*out = fresh;
		if (is_with(&functors[i], &name, out) && fits(out, sizes, count))
			return true;
	}
	return false;
}

bool kp_torch_launch_classify(const char *name, const size_t *sizes, size_t count,
			      struct kp_torch_kind *out)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (is_kernel(&kernels[i], name, sizes, count, out))
			return true;
	memset(out, 0, sizeof(*out));
	return false;
}

uint8_t kp_torch_name_op(const char *name)
{
	struct kp_torch_kind kind;

	return kp_torch_launch_classify(name, NULL, 0, &kind) ? kp_torch_kind_op(&kind)
							      : KP_TORCH_NONE;
}

uint8_t kp_torch_kind_op(const struct kp_torch_kind *kind)
{
	return kind->functor ? kind->functor->op : kind->kernel ? kind->kernel->op : KP_TORCH_NONE;
}

bool kp_torch_launch_read(const char *name, const void *const *params, const size_t *sizes,
			  size_t count, struct kp_torch_launch *out)
{
	struct kp_torch_kind kind;

	return kp_torch_launch_classify(name, sizes, count, &kind) &&
	       kp_torch_launch_decode(&kind, params, NULL, out);
}
