/* Stable names of the rows of a report; see ids.h. */
#include "analyzers/ids.h"

#include <inttypes.h>
#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct kp_id kp_id_of_kernel(const struct kp_kernel_row *kernel)
{
	uint64_t hash = XXH3_64bits(kernel->mangled, kernel->mangled_length);
	struct kp_id id;

	snprintf(id.text, sizeof(id.text), "k-%016" PRIx64, hash);
	return id;
}

const char *kp_id_of_operator(const struct kp_operator_row *operator)
{
	return operator->name;
}
