/* Records that are taken and not kept; see standby.h. */
#include "inject/standby.h"

#include <stdlib.h>
#include <string.h>

#include "inject/state.h"
#include "inject/window_counts.h"
#include "inject/window_list.h"
#include "trace/times.h"

static struct {
	bool on, keeping;
	uint64_t from_ns, until_ns;
} standby;

bool kp_standby_asked(void)
{
	const char *value = getenv("KPROF_STANDBY");

	return value && strcmp(value, "1") == 0;
}

void kp_standby_start(void)
{
	standby.on = true;
	standby.keeping = false;
	standby.from_ns = KP_WINDOW_NEVER_NS;
	standby.until_ns = KP_WINDOW_NEVER_NS;
	kp_window_counts_begin(KP_WINDOW_NEVER_NS);
}

bool kp_standby_is_on(void)
{
	return standby.on;
}

static struct kp_window_moment moment(void)
{
	return (struct kp_window_moment){
		kp_clock_now(), atomic_load(&kp_inject.slot->kernels_issued), KP_WINDOW_BY_CTL};
}

void kp_standby_keep(bool keep)
{
	struct kp_window_moment now = moment();

	if (keep == standby.keeping)
		return;
	standby.keeping = keep;
	if (keep) {
		standby.from_ns = now.time_ns;
		standby.until_ns = KP_WINDOW_NEVER_NS;
		kp_window_counts_begin(now.time_ns);
		kp_window_list_open(&now, 0);
		return;
	}
	standby.until_ns = now.time_ns;
	kp_window_counts_end(now.time_ns);
	kp_window_list_end(&now, false); /* at its edges launches were in flight */
	kp_window_list_put(0, false);
}

bool kp_standby_keeps(uint64_t start_ns, uint64_t end_ns)
{
	if (!standby.on)
		return true;
	if (kp_time_quality(start_ns, end_ns ? end_ns : start_ns) != KP_TIME_VALID)
		return standby.keeping;
	return (!end_ns || end_ns >= standby.from_ns) && start_ns < standby.until_ns;
}

bool kp_standby_is_keeping(void)
{
	return !standby.on || standby.keeping;
}

bool kp_standby_leave(void)
{
	if (!standby.on || standby.keeping)
		return false;
	standby.on = false;
	return true;
}

void kp_standby_forget(void)
{
	memset(&standby, 0, sizeof(standby));
}
