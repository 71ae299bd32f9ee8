/* Which records are another client's; see share_window.h. */
#include "inject/share_window.h"

static struct kp_window *newest(struct kp_windows *windows)
{
	return windows->opened ? &windows->ring[(windows->opened - 1) % KP_WINDOWS] : NULL;
}

void kp_windows_open(struct kp_windows *windows, uint64_t now_ns)
{
	struct kp_window *last = newest(windows);

	if (last && !last->end_ns)
		return;
	windows->opened++;
	*newest(windows) = (struct kp_window){.begin_ns = now_ns};
}

void kp_windows_close(struct kp_windows *windows, uint64_t now_ns)
{
	struct kp_window *last = newest(windows);

	if (last && !last->end_ns)
		last->end_ns = now_ns;
}

/* Ids wrap, so that «before» is a matter of the shorter way round. */
static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static bool contains(const struct kp_window *window, uint64_t time_ns, uint64_t slack_ns)
{
	return window->begin_ns && time_ns + slack_ns >= window->begin_ns &&
	       (!window->end_ns || time_ns < window->end_ns + slack_ns);
}

void kp_windows_trace(struct kp_windows *windows, struct kp_share_key call)
{
	for (unsigned i = 0; i < KP_WINDOWS; i++) {
		struct kp_window *window = &windows->ring[i];

		if (!call.correlation || !contains(window, call.start_ns, 0))
			continue;
		if (!window->traced || before(call.correlation, window->first))
			window->first = call.correlation;
		if (!window->traced || before(window->last, call.correlation))
			window->last = call.correlation;
		window->traced = true;
	}
}

static bool holds(const struct kp_window *window, struct kp_share_key work)
{
	if (!window->begin_ns)
		return false;
	if (window->traced && work.correlation) {
		if (before(work.correlation, window->first))
			return false;
		if (!window->end_ns || !before(window->last, work.correlation))
			return true;
	}
	if (!work.start_ns)
		return !window->end_ns;
	return contains(window, work.start_ns, KP_WINDOW_SLACK_NS);
}

bool kp_windows_hold(const struct kp_windows *windows, struct kp_share_key work)
{
	for (unsigned i = 0; i < KP_WINDOWS; i++)
		if (holds(&windows->ring[i], work))
			return true;
	return false;
}
