/* Which framework a program uses, as far as its kernels say, and what helps there; see
 * findings_remedies.h. */
#include <string.h>

#include "analyzers/findings_search.h"

static const char *const remedies[KP_FINDING_COUNT][KP_FRAMEWORK_COUNT] = {
#define KP_REMEDY(FINDING, FRAMEWORK, remedy)                                                      \
	[KP_FINDING_##FINDING][KP_FRAMEWORK_##FRAMEWORK] = (remedy),
#include "analyzers/findings_remedies.def"
#undef KP_REMEDY
};

/* Libraries whose kernels no other framework launches. */
static const struct {
	const char *library;
	enum kp_framework framework;
} libraries[] = {
	{"PyTorch", KP_FRAMEWORK_PYTORCH},
	{"TorchInductor", KP_FRAMEWORK_PYTORCH},
	{"XLA", KP_FRAMEWORK_XLA},
};

enum kp_framework kp_framework_of(const struct kp_report *report)
{
	double ns[KP_FRAMEWORK_COUNT] = {0};

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[i];

		for (size_t k = 0; kernel->library && k < sizeof(libraries) / sizeof(*libraries);
		     k++)
			if (strcmp(kernel->library, libraries[k].library) == 0)
				ns[libraries[k].framework] += (double)kernel->durations.total_ns;
	}
	if (ns[KP_FRAMEWORK_XLA] > ns[KP_FRAMEWORK_PYTORCH])
		return KP_FRAMEWORK_XLA;
	return ns[KP_FRAMEWORK_PYTORCH] > 0 ? KP_FRAMEWORK_PYTORCH : KP_FRAMEWORK_NONE;
}

const char *kp_finding_remedy(enum kp_finding_id id, enum kp_framework framework)
{
	const char *own = remedies[id][framework];

	return own ? own : kp_finding_usual_remedy(id);
}
