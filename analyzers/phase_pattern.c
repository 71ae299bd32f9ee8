/* Prefill and decode by pattern; see phase_pattern.h. */
#include "analyzers/phase_pattern.h"

/* Ends what lies between two kernels that tell. */
static void settle(struct kp_phase_pattern *pattern, unsigned phase, uint64_t start_ns)
{
	struct kp_pattern_sum *sum = &pattern->phases[phase];

	if (pattern->current_plus_one == phase + 1) {
		sum->kernels += pattern->pending.kernels;
		sum->kernel_ns += pattern->pending.kernel_ns;
		if (start_ns > pattern->last_end_ns)
			sum->wall_ns += start_ns - pattern->last_end_ns;
	} else {
		pattern->neither_ns += pattern->pending.kernel_ns;
		sum->stretches++;
		pattern->last_end_ns = 0;
	}
	pattern->pending = (struct kp_pattern_sum){0};
	pattern->current_plus_one = phase + 1;
}

void kp_phase_pattern_add(struct kp_phase_pattern *pattern, enum kp_pattern_kernel says,
			  uint64_t start_ns, uint64_t end_ns)
{
	struct kp_pattern_sum *sum = &pattern->pending;

	if (says == KP_PATTERN_UNCLEAR)
		pattern->unclear_ns += end_ns - start_ns;
	if (says < KP_PATTERN_OTHER) {
		settle(pattern, says, start_ns);
		sum = &pattern->phases[says];
		sum->attention++;
		if (end_ns > pattern->last_end_ns) {
			sum->wall_ns +=
				end_ns -
				(start_ns > pattern->last_end_ns ? start_ns : pattern->last_end_ns);
			pattern->last_end_ns = end_ns;
		}
	}
	sum->kernels++;
	sum->kernel_ns += end_ns - start_ns;
}

bool kp_phase_pattern_result(const struct kp_phase_pattern *pattern,
			     struct kp_pattern_sum out[KP_PHASE_COUNT])
{
	double doubt_ns = (double)pattern->neither_ns + (double)pattern->pending.kernel_ns +
			  (double)pattern->unclear_ns;
	double told_ns = 0;

	for (unsigned i = 0; i < KP_PHASE_COUNT; i++) {
		const struct kp_pattern_sum *sum = &pattern->phases[i];

		out[i] = *sum;
		told_ns += (double)sum->kernel_ns;
		if (sum->attention && (sum->attention < KP_PATTERN_LEAST ||
				       sum->attention < KP_PATTERN_STRETCH * sum->stretches))
			return false;
	}
	return told_ns > 0 && doubt_ns <= KP_PATTERN_DOUBT * (told_ns + doubt_ns);
}
