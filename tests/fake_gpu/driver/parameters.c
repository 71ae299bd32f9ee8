/* Sizes of what the operators' kernels take; see parameters.h. */
#include "tests/fake_gpu/driver/parameters.h"

#include <stddef.h>
#include <string.h>

#include "kernels/activation.h"
#include "kernels/linear_skinny.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/softmax.h"

/* By the beginning of their names; others are never asked for: they are in no graph. */
static const struct {
	const char *name;
	uint32_t bytes;
} rows[] = {
	{"kp_rmsnorm_", sizeof(struct kp_norm_args)},
	{"kp_layernorm_", sizeof(struct kp_norm_args)},
	{"kp_activation_", sizeof(struct kp_activation_args)},
	{"kp_rope_", sizeof(struct kp_rope_args)},
	{"kp_softmax_", sizeof(struct kp_softmax_args)},
	{"kp_linear_", sizeof(struct kp_linear_skinny_args)},
};

uint32_t kp_fake_struct_bytes(const char *kernel)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(kernel, rows[i].name, strlen(rows[i].name)) == 0)
			return rows[i].bytes;
	return 0;
}
