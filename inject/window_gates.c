/* When the user wants records; see window_gates.h. */
#include "inject/window_gates.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "inject/window_settings.h"

static struct {
	_Atomic int manual;
	_Atomic int ranges_open;
	_Atomic uint64_t range_count;
	_Atomic bool capturing, over;
	uint64_t begin_ns;
	_Atomic uint64_t until_ns;
	pthread_mutex_t lock; /* over the account */
	uint64_t accounted_ns, held_ns;
	_Atomic bool held;
} gates = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool hold(uint64_t now_ns)
{
	const struct kp_window_settings *asked = kp_window_settings();
	int manual = atomic_load(&gates.manual);

	if (manual != KP_WINDOW_BY_GATES)
		return manual == KP_WINDOW_ALWAYS;
	return now_ns >= gates.begin_ns && !atomic_load(&gates.over) &&
	       (!asked->range[0] || atomic_load(&gates.ranges_open) > 0) &&
	       (!asked->capture || atomic_load(&gates.capturing));
}

bool kp_window_gates_hold(uint64_t now_ns)
{
	uint64_t duration_ns = kp_window_settings()->duration_ns;
	bool held;

	pthread_mutex_lock(&gates.lock);
	if (gates.held && now_ns > gates.accounted_ns)
		gates.held_ns += now_ns - gates.accounted_ns;
	gates.accounted_ns = now_ns;
	held = hold(now_ns);
	atomic_store(&gates.held, held);
	if (held && !atomic_load(&gates.until_ns) && duration_ns)
		atomic_store(&gates.until_ns, now_ns + duration_ns);
	pthread_mutex_unlock(&gates.lock);
	return held;
}

bool kp_window_gates_held(void)
{
	return atomic_load_explicit(&gates.held, memory_order_relaxed);
}

uint64_t kp_window_gates_held_ns(uint64_t now_ns)
{
	uint64_t held_ns;

	kp_window_gates_hold(now_ns);
	pthread_mutex_lock(&gates.lock);
	held_ns = gates.held_ns;
	pthread_mutex_unlock(&gates.lock);
	return held_ns;
}

bool kp_window_gates_hold_at_start(void)
{
	return !kp_window_settings()->delay_ns && hold(0);
}

bool kp_window_gates_asked(void)
{
	const struct kp_window_settings *asked = kp_window_settings();

	return asked->delay_ns || asked->duration_ns || asked->range[0] || asked->capture;
}

void kp_window_gates_start(uint64_t now_ns)
{
	uint64_t delay_ns = kp_window_settings()->delay_ns;

	gates.begin_ns = delay_ns ? now_ns + delay_ns : 0;
	gates.accounted_ns = now_ns;
	kp_window_gates_hold(now_ns);
}

bool kp_window_gates_range_begin(bool *counted)
{
	const struct kp_window_settings *asked = kp_window_settings();
	uint64_t number = atomic_fetch_add(&gates.range_count, 1) + 1;

	*counted = number >= asked->range_first && number <= asked->range_last;
	return *counted && atomic_fetch_add(&gates.ranges_open, 1) == 0;
}

bool kp_window_gates_range_end(bool counted)
{
	return counted && atomic_fetch_sub(&gates.ranges_open, 1) == 1;
}

void kp_window_gates_capture(bool on)
{
	atomic_store(&gates.capturing, on);
}

void kp_window_gates_control(enum kp_window_manual manual)
{
	atomic_store(&gates.manual, manual);
}

uint64_t kp_window_gates_begin_ns(void)
{
	return gates.begin_ns;
}

uint64_t kp_window_gates_until_ns(void)
{
	return atomic_load(&gates.until_ns);
}

bool kp_window_gates_expire(void)
{
	return !atomic_exchange(&gates.over, true);
}

void kp_window_gates_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&gates, 0, sizeof(gates));
	gates.lock = fresh;
}
