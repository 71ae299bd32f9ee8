/* What cannot be on one stream; see stream_order.h. */
#include "analyzers/stream_order.h"

/* Correlation ids start anew behind the last. */
static bool is_older(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Broken files have kernels out of order of time. */
static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void remember(struct kp_stream_order *stream, const struct kp_activity *kernel)
{
	stream->newest = kernel->correlation;
	stream->last_past_ns = kernel->start_ns;
	stream->past[stream->past_count % KP_STREAM_PAST] = kernel->correlation;
	stream->past_ns[stream->past_count % KP_STREAM_PAST] = kernel->start_ns;
	stream->past_count++;
	if (stream->past_count == 2 * KP_STREAM_PAST)
		stream->past_count = KP_STREAM_PAST;
}

/* The first launch of those remembered that is newer than a kernel, but started long before. */
static void find_step(struct kp_stream_order *stream, const struct kp_activity *kernel)
{
	uint32_t count = stream->past_count < KP_STREAM_PAST ? stream->past_count : KP_STREAM_PAST;
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_older(kernel->correlation, stream->past[i]) ||
		    stream->past_ns[i] >= first_ns)
			continue;
		first_ns = stream->past_ns[i];
		if (since(first_ns, kernel->start_ns) >= KP_CLOCK_STEP_NS) {
			stream->step_id = stream->past[i];
			stream->step_ns = first_ns;
		}
	}
}

void kp_stream_order_look(struct kp_stream_order *stream, const struct kp_activity *kernel,
			  struct kp_stream_faults *faults)
{
	if (!stream->past_count || !is_older(kernel->correlation, stream->newest)) {
		remember(stream, kernel);
		return;
	}
	if (!stream->step_id || !is_older(kernel->correlation, stream->step_id))
		find_step(stream, kernel);
	if (!stream->step_id || !is_older(kernel->correlation, stream->step_id) ||
	    since(stream->step_ns, kernel->start_ns) < KP_CLOCK_STEP_NS)
		return;
	faults->out_of_order++;
	if (kernel->start_ns - stream->step_ns > faults->step_ns)
		faults->step_ns = kernel->start_ns - stream->step_ns;
}
