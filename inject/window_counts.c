/* Launches and records at windows; see window_counts.h. */
#include "inject/window_counts.h"

#include "inject/windows.h"
#include "trace/times.h"

_Atomic unsigned kp_windows_recording;

static _Atomic uint64_t from_ns, until_ns = KP_WINDOW_NEVER_NS;
static _Atomic bool sampling, foreign_clock;
static _Atomic uint64_t unnumbered;

uint64_t kp_windows_unnumbered(void)
{
	return atomic_load_explicit(&unnumbered, memory_order_relaxed);
}

void kp_window_counts_begin(uint64_t from)
{
	atomic_store(&from_ns, from);
	atomic_store(&until_ns, KP_WINDOW_NEVER_NS);
}

void kp_window_counts_end(uint64_t until)
{
	atomic_store(&until_ns, until);
}

bool kp_window_counts_keeps(uint64_t start_ns, uint64_t end_ns)
{
	/* On another clock nothing can be told apart. What was still running has a start, mostly.
	 */
	if (atomic_load(&foreign_clock) ||
	    kp_time_quality(start_ns, end_ns ? end_ns : start_ns) != KP_TIME_VALID)
		return true;
	return start_ns >= atomic_load(&from_ns) && start_ns < atomic_load(&until_ns);
}

void kp_window_counts_clock(bool own)
{
	atomic_store(&foreign_clock, !own);
}

void kp_window_counts_sample(bool is)
{
	atomic_store(&sampling, is);
}

/* Launches out of window. */
static void count_out(struct kp_live_slot *slot, uint64_t kernels)
{
	atomic_fetch_add_explicit(&slot->kernels_out_of_window, kernels, memory_order_relaxed);
	if (atomic_load_explicit(&sampling, memory_order_relaxed))
		atomic_fetch_add_explicit(&slot->kernels_unsampled, kernels, memory_order_relaxed);
}

void kp_window_counts_discard(struct kp_live_slot *slot)
{
	count_out(slot, 1);
}

void kp_windows_count_outside(struct kp_live_slot *slot, uint64_t kernels, unsigned before,
			      unsigned now)
{
	if (before != now || (now & KP_RECORDING_MASK) == KP_RECORDING_SWITCHING) {
		atomic_fetch_add_explicit(&slot->kernels_at_edges, kernels, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&unnumbered, kernels, memory_order_relaxed);
	count_out(slot, kernels);
}

void kp_window_counts_cut(struct kp_live_slot *slot, uint64_t delivered)
{
	unsigned recording = atomic_load(&kp_windows_recording);
	uint64_t outside =
		atomic_load(&slot->kernels_out_of_window) + atomic_load(&slot->kernels_at_edges);
	uint64_t issued = atomic_load(&slot->kernels_issued);

	if ((recording & KP_RECORDING_MASK) != KP_RECORDING_OFF ||
	    !atomic_load(&slot->issued_known) || issued <= outside + delivered)
		return;
	atomic_fetch_add(&slot->kernels_at_edges, issued - outside - delivered);
}

bool kp_window_counts_surpass(const struct kp_live_slot *slot, uint64_t delivered,
			      uint64_t uncounted)
{
	return delivered + atomic_load(&slot->kernels_out_of_window) >
	       atomic_load(&slot->kernels_issued) + uncounted + KP_UNCOUNTED_THREADS;
}

void kp_window_counts_forget(void)
{
	kp_window_counts_begin(0);
	atomic_store(&sampling, false);
	atomic_store(&unnumbered, 0);
}
