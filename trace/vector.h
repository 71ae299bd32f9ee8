/* Growing arrays: one way to make room for the next element. */
#ifndef KP_TRACE_VECTOR_H
#define KP_TRACE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes room in *vector (of elements of `element_bytes`) for one more than `count`; *capacity
 * doubles. False without memory; then everything is as before.
 */
bool kp_vector_grow(void **vector, size_t count, size_t *capacity, size_t element_bytes);

#endif
