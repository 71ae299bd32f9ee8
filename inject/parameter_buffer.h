/*
 * All parameters of a launch in one buffer, as the `extra` of cuLaunchKernel and its kin gives
 * them.
 */
#ifndef KP_INJECT_PARAMETER_BUFFER_H
#define KP_INJECT_PARAMETER_BUFFER_H

#include <stddef.h>

#include <cuda.h>

struct kp_parameter_buffer {
	const unsigned char *at; /* NULL: there is none, or it is not said how large it is */
	size_t bytes;
};

static inline struct kp_parameter_buffer kp_parameter_buffer(void *const *extra)
{
	struct kp_parameter_buffer out = {NULL, 0};
	const size_t *bytes = NULL;

	for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			out.at = extra[1];
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = extra[1];
	}
	if (bytes)
		out.bytes = *bytes;
	else
		out.at = NULL;
	return out;
}

/* Where a parameter lies of which so many bytes are looked at; NULL: not in the buffer. */
static inline const unsigned char *kp_parameter_in(const struct kp_parameter_buffer *buffer,
						   size_t offset, size_t bytes)
{
	return buffer->at && offset <= buffer->bytes && bytes <= buffer->bytes - offset
		       ? buffer->at + offset
		       : NULL;
}

#endif
