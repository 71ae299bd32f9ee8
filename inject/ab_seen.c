/* What a launch shows to rules; see ab_seen.h. No state. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_seen.h"

#include <string.h>

#include "inject/parameter_buffer.h"

/* Where each parameter lies: given one by one, or in one buffer. False: neither, or not all. */
static bool find_parameters(const struct kp_ab_launch *launch, const struct kp_ab_layout *layout,
			    const void **out)
{
	struct kp_parameter_buffer buffer = {NULL, 0};

	if (launch->parameters && launch->extra)
		return false; /* the driver refuses it */
	if (!launch->parameters)
		buffer = kp_parameter_buffer(launch->extra);
	for (uint32_t i = 0; i < layout->count; i++) {
		out[i] = launch->parameters
				 ? launch->parameters[i]
				 : kp_parameter_in(&buffer, layout->offsets[i], layout->bytes[i]);
		if (!out[i])
			return false;
	}
	return true;
}

bool kp_ab_see(const struct kp_ab_launch *launch, const struct kp_ab_layout *layout,
	       struct kp_ab_seen *out)
{
	memset(out->symbols, 0, sizeof(out->symbols));
	for (int i = 0; i < 3; i++) {
		out->symbols[KP_AB_SYMBOL_GRID_X + i] = launch->grid[i];
		out->symbols[KP_AB_SYMBOL_BLOCK_X + i] = launch->block[i];
	}
	out->symbols[KP_AB_SYMBOL_SHARED] = launch->shared_bytes;
	out->view =
		(struct kp_ab_view){out->symbols, out->parameters, layout->bytes, layout->count};
	return find_parameters(launch, layout, out->parameters);
}
