/* Which processes share a clock; see boots.h. */
#include "analyzers/boots.h"

#include <string.h>

/* Clock offsets of one start of a host agree to much less than this; those of two do not. */
#define BOOT_TOLERANCE_NS (60ULL * 1000000000ULL)

static bool same_text(struct kp_text a, struct kp_text b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

bool kp_clock_offset(const struct kp_process *process, uint64_t *offset_ns)
{
	const struct kp_clock_info *clock = &process->first_clock;

	*offset_ns = clock->realtime_ns - clock->monotonic_ns;
	return KP_HAS(clock, CLOCK, realtime_ns) && KP_HAS(clock, CLOCK, monotonic_ns);
}

bool kp_same_boot(const struct kp_process *a, const struct kp_process *b)
{
	uint64_t a_ns, b_ns;

	if (!same_text(a->info.host, b->info.host))
		return false;
	if (!kp_clock_offset(a, &a_ns) || !kp_clock_offset(b, &b_ns))
		return true;
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < BOOT_TOLERANCE_NS;
}
