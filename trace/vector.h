/* Growing arrays: one way to make room. */
#ifndef KP_TRACE_VECTOR_H
#define KP_TRACE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room in *vector for `count` elements of `element_bytes`; *capacity doubles until it holds
 * them. Elements that are new are zero. False without memory; then everything is as before.
 */
static inline bool kp_vector_reserve(void **vector, size_t count, size_t *capacity,
				     size_t element_bytes);
/* The same for one more than `count`. */
static inline bool kp_vector_grow(void **vector, size_t count, size_t *capacity,
				  size_t element_bytes);

/* The same where there is not room enough. */
bool kp_vector_enlarge(void **vector, size_t count, size_t *capacity, size_t element_bytes);

static inline bool kp_vector_reserve(void **vector, size_t count, size_t *capacity,
				     size_t element_bytes)
{
	return count <= *capacity || kp_vector_enlarge(vector, count, capacity, element_bytes);
}

static inline bool kp_vector_grow(void **vector, size_t count, size_t *capacity,
				  size_t element_bytes)
{
	return kp_vector_reserve(vector, count + 1, capacity, element_bytes);
}

#endif
