/*
 * Operands of launches as sets of addresses: what they touch, and whether two launches' views are
 * one relation between elements. Pure, bounded, no allocation.
 */
#ifndef KP_ANALYZERS_TORCH_TENSOR_H
#define KP_ANALYZERS_TORCH_TENSOR_H

#include "analyzers/torch_launch.h"

/* Bytes of an element; 0: not a type. */
uint32_t kp_torch_type_bytes(uint8_t type);

/* Elements that are told apart by an index, broadcast ones counted every time. 0: none. */
uint64_t kp_torch_tensor_elements(const struct kp_torch_tensor *tensor);
/* The bytes from the first to behind the last that is touched. False: there are none. */
bool kp_torch_tensor_range(const struct kp_torch_tensor *tensor, uint64_t *begin, uint64_t *end);
bool kp_torch_tensor_overlaps(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b);

/*
 * Without dimensions of one element or of stride 0, sorted by stride, and joined where one
 * continues the other: two tensors without broadcasting touch the same elements if these are the
 * same. False: dimensions overlap, so that an element has more than one index.
 */
bool kp_torch_tensor_normal(const struct kp_torch_tensor *tensor, struct kp_torch_tensor *out);
/* Every element once, without gaps. */
bool kp_torch_tensor_is_dense(const struct kp_torch_tensor *tensor);
/* The same elements of the same type; what is only moved has any type of its size. */
bool kp_torch_tensor_is_same(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b);

/*
 * `count` tensors of the same sizes are a relation: at every index, one element of each. Whether
 * the relation of `a` is that of `b`, however the indices are cut. The first tensor of each must
 * have every element at one index.
 */
bool kp_torch_relation_is_same(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b,
			       size_t count);

/*
 * The view of `other` at the indices of `view`, a view of `known`'s elements: in a launch, `known`
 * and `other` have the same sizes. False: not to be told. The answer is to be checked as a
 * relation.
 */
bool kp_torch_tensor_follow(const struct kp_torch_tensor *known,
			    const struct kp_torch_tensor *other, const struct kp_torch_tensor *view,
			    struct kp_torch_tensor *out);

#endif
