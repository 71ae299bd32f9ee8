/* What operands touch, and relations between them; see torch_tensor.h. */
#include "analyzers/torch_tensor.h"

#include <string.h>

uint32_t kp_torch_type_bytes(uint8_t type)
{
	switch (type) {
#define BYTES(NAME, code, bytes, mangled)                                                          \
	case KP_TORCH_##NAME:                                                                      \
		return bytes;
		KP_TORCH_TYPES(BYTES)
#undef BYTES
	default:
		return type > KP_TORCH_OPAQUE ? type - KP_TORCH_OPAQUE : 0;
	}
}

uint64_t kp_torch_tensor_elements(const struct kp_torch_tensor *tensor)
{
	uint64_t elements = 1;

	for (uint8_t i = 0; i < tensor->dims; i++)
		if (__builtin_mul_overflow(elements, tensor->sizes[i], &elements))
			return 0;
	return elements;
}

bool kp_torch_tensor_range(const struct kp_torch_tensor *tensor, uint64_t *begin, uint64_t *end)
{
	*begin = tensor->address;
	if (!tensor->address || kp_torch_tensor_elements(tensor) == 0 ||
	    __builtin_add_overflow(tensor->address, kp_torch_type_bytes(tensor->type), end))
		return false;
	for (uint8_t i = 0; i < tensor->dims; i++) {
		uint64_t step;

		if (__builtin_mul_overflow(tensor->sizes[i] - 1, tensor->strides[i], &step) ||
		    __builtin_add_overflow(*end, step, end))
			return false;
	}
	return true;
}

bool kp_torch_tensor_overlaps(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b)
{
	uint64_t begin[2], end[2];

	return kp_torch_tensor_range(a, &begin[0], &end[0]) &&
	       kp_torch_tensor_range(b, &begin[1], &end[1]) && begin[0] < end[1] &&
	       begin[1] < end[0];
}

/* A dimension of several tensors of the same sizes. */
struct dimension {
	uint64_t size, strides[KP_TORCH_TENSORS];
};

struct relation {
	struct dimension dimensions[KP_TORCH_DIMS];
	size_t count;
};

/* Sorted by the first tensor's stride. */
static void insert(struct relation *relation, const struct dimension *dimension)
{
	size_t at = relation->count++;

	for (; at > 0 && relation->dimensions[at - 1].strides[0] > dimension->strides[0]; at--)
		relation->dimensions[at] = relation->dimensions[at - 1];
	relation->dimensions[at] = *dimension;
}

static bool continues(const struct dimension *a, const struct dimension *next, size_t tensors)
{
	for (size_t i = 0; i < tensors; i++) {
		uint64_t stride;

		if (__builtin_mul_overflow(a->strides[i], a->size, &stride) ||
		    next->strides[i] != stride)
			return false;
	}
	return true;
}

static void join(struct relation *relation, size_t tensors)
{
	size_t kept = 0;

	for (size_t i = 1; i < relation->count; i++) {
		struct dimension *last = &relation->dimensions[kept];
		const struct dimension *next = &relation->dimensions[i];

		if (continues(last, next, tensors))
			last->size *= next->size;
		else
			relation->dimensions[++kept] = *next;
	}
	if (relation->count)
		relation->count = kept + 1;
}

/* Whether no element of the first tensor has two indices, of `bytes` bytes each. */
static bool is_single(const struct relation *relation, uint64_t bytes)
{
	uint64_t extent = bytes;

	for (size_t i = 0; i < relation->count; i++) {
		const struct dimension *dimension = &relation->dimensions[i];
		uint64_t step;

		if (dimension->strides[0] < extent ||
		    __builtin_mul_overflow(dimension->size - 1, dimension->strides[0], &step) ||
		    __builtin_add_overflow(extent, step, &extent))
			return false;
	}
	return true;
}

/* False: sizes differ, there are no elements, or the first tensor has one at two indices. */
static bool relate(const struct kp_torch_tensor *tensors, size_t count, struct relation *out)
{
	out->count = 0;
	for (size_t t = 0; t < count; t++)
		if (kp_torch_tensor_elements(&tensors[t]) == 0 ||
		    tensors[t].dims != tensors[0].dims ||
		    memcmp(tensors[t].sizes, tensors[0].sizes,
			   tensors[0].dims * sizeof(tensors[0].sizes[0])) != 0)
			return false;
	for (uint8_t i = 0; i < tensors[0].dims; i++) {
		struct dimension dimension = {.size = tensors[0].sizes[i]};

		for (size_t t = 0; t < count; t++)
			dimension.strides[t] = tensors[t].strides[i];
		if (dimension.size > 1)
			insert(out, &dimension);
	}
	join(out, count);
	return is_single(out, kp_torch_type_bytes(tensors[0].type));
}

bool kp_torch_tensor_normal(const struct kp_torch_tensor *tensor, struct kp_torch_tensor *out)
{
	struct kp_torch_tensor kept = {.address = tensor->address, .type = tensor->type};
	struct relation relation;

	if (kp_torch_tensor_elements(tensor) == 0)
		return false;
	for (uint8_t i = 0; i < tensor->dims; i++) {
		if (tensor->strides[i] == 0)
			continue;
		kept.sizes[kept.dims] = tensor->sizes[i];
		kept.strides[kept.dims++] = tensor->strides[i];
	}
	if (!relate(&kept, 1, &relation))
		return false;
	memset(out, 0, sizeof(*out));
	out->address = tensor->address;
	out->type = tensor->type;
	out->dims = (uint8_t)relation.count;
	for (size_t i = 0; i < relation.count; i++) {
		if (relation.dimensions[i].size > UINT32_MAX)
			return false;
		out->sizes[i] = (uint32_t)relation.dimensions[i].size;
		out->strides[i] = relation.dimensions[i].strides[0];
	}
	return true;
}

bool kp_torch_tensor_is_dense(const struct kp_torch_tensor *tensor)
{
	struct kp_torch_tensor normal;

	return kp_torch_tensor_normal(tensor, &normal) &&
	       (normal.dims == 0 ||
		(normal.dims == 1 && normal.strides[0] == kp_torch_type_bytes(normal.type)));
}

static bool types_agree(uint8_t a, uint8_t b)
{
	return a == b || ((a > KP_TORCH_OPAQUE || b > KP_TORCH_OPAQUE) &&
			  kp_torch_type_bytes(a) == kp_torch_type_bytes(b));
}

bool kp_torch_tensor_is_same(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b)
{
	struct kp_torch_tensor one, other;

	return a->address == b->address && types_agree(a->type, b->type) &&
	       kp_torch_tensor_normal(a, &one) && kp_torch_tensor_normal(b, &other) &&
	       one.dims == other.dims && memcmp(one.sizes, other.sizes, sizeof(one.sizes)) == 0 &&
	       memcmp(one.strides, other.strides, sizeof(one.strides)) == 0;
}

bool kp_torch_relation_is_same(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b,
			       size_t count)
{
	struct relation one, other;

	if (count == 0 || count > KP_TORCH_TENSORS || !relate(a, count, &one) ||
	    !relate(b, count, &other) || one.count != other.count)
		return false;
	for (size_t t = 0; t < count; t++)
		if (a[t].address != b[t].address || !types_agree(a[t].type, b[t].type))
			return false;
	for (size_t i = 0; i < one.count; i++)
		if (one.dimensions[i].size != other.dimensions[i].size ||
		    memcmp(one.dimensions[i].strides, other.dimensions[i].strides,
			   count * sizeof(uint64_t)) != 0)
			return false;
	return true;
}

/* The dimension of `known` that a step of `stride` bytes goes along; dims: there is none. */
static uint8_t find_along(const struct kp_torch_tensor *known, uint64_t stride)
{
	uint8_t found = known->dims;

	for (uint8_t i = 0; i < known->dims; i++) {
		uint64_t own = known->strides[i];

		if (own == 0 || known->sizes[i] < 2 || stride % own != 0 ||
		    stride / own >= known->sizes[i])
			continue;
		if (found == known->dims || own > known->strides[found])
			found = i;
	}
	return found;
}

bool kp_torch_tensor_follow(const struct kp_torch_tensor *known,
			    const struct kp_torch_tensor *other, const struct kp_torch_tensor *view,
			    struct kp_torch_tensor *out)
{
	const struct kp_torch_tensor from = *other;

	if (known->address != view->address)
		return false;
	*out = *view;
	out->address = from.address;
	out->type = from.type;
	for (uint8_t i = 0; i < view->dims; i++) {
		uint8_t along;

		out->strides[i] = 0;
		if (view->sizes[i] < 2)
			continue;
		along = find_along(known, view->strides[i]);
		if (along == known->dims)
			return false;
		out->strides[i] = view->strides[i] / known->strides[along] * from.strides[along];
	}
	return true;
}
