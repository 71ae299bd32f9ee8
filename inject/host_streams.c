/* Streams and contexts by handle; see host_streams.h. */
#include "inject/host_streams.h"

#include <stdatomic.h>
#include <stddef.h>

#include "inject/cupti.h"
#include "inject/hooks.h"
#include "inject/host.h"
#include "inject/windows.h"
#include "trace/records.h"

typedef CUresult(CUDAAPI *current_function)(CUcontext *);
typedef CUresult(CUDAAPI *context_of_function)(CUstream, CUcontext *);

static struct {
	const struct kp_cupti *cupti;
	current_function current;
	context_of_function context_of;
	_Atomic uint32_t generation; /* never 0 once started */
} streams_state;

struct kp_gate kp_host_streams_gate = {.passage = KP_PASSAGE_STREAM};

void kp_host_streams_start(const struct kp_cupti *cupti)
{
	streams_state.cupti = cupti;
	streams_state.current = (current_function)kp_hooks_driver_symbol("cuCtxGetCurrent");
	streams_state.context_of = (context_of_function)kp_hooks_driver_symbol("cuStreamGetCtx");
	kp_host_streams_expire();
}

void kp_host_streams_forget(void)
{
	kp_gate_forget(&kp_host_streams_gate);
}

void kp_host_streams_expire(void)
{
	if (atomic_fetch_add(&streams_state.generation, 1) == UINT32_MAX)
		atomic_fetch_add(&streams_state.generation, 1);
}

/* Whether a handle means another stream in each context. */
static bool is_special(CUstream handle)
{
	return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

static CUcontext current_context(void)
{
	CUcontext context = NULL;

	if (!streams_state.current || streams_state.current(&context) != CUDA_SUCCESS)
		return NULL;
	return context;
}

/*
 * Whether CUPTI may be asked, until ask_ends. What a launch knows of windows was read before: CUPTI
 * may have gone since. Where --host keeps each call it stays (detach.c).
 */
static bool ask_begins(void)
{
	unsigned recording;

	if (!kp_gate_try_enter(&kp_host_streams_gate))
		return false;
	recording = atomic_load(&kp_windows_recording) & KP_RECORDING_MASK;
	if (recording == KP_RECORDING_ON || kp_host_asked())
		return true;
	kp_gate_leave(&kp_host_streams_gate);
	return false;
}

static void ask_ends(void)
{
	kp_gate_leave(&kp_host_streams_gate);
}

/* Asks the driver and CUPTI. False: not now. */
static bool ask(struct kp_host_known *known)
{
	const struct kp_cupti *cupti = streams_state.cupti;
	CUcontext context = known->context;

	known->context_id = known->stream_id = KP_HOST_UNKNOWN;
	if (!is_special(known->stream.handle) &&
	    (!streams_state.context_of ||
	     streams_state.context_of(known->stream.handle, &context) != CUDA_SUCCESS))
		context = current_context();
	if (!context)
		return true;
	if (!ask_begins())
		return false;
	if (cupti->GetContextId(context, &known->context_id) != CUPTI_SUCCESS)
		known->context_id = KP_HOST_UNKNOWN;
	else if (cupti->GetStreamIdEx(context, known->stream.handle, known->stream.per_thread,
				      &known->stream_id) != CUPTI_SUCCESS)
		known->stream_id = KP_HOST_UNKNOWN;
	ask_ends();
	return true;
}

void kp_host_streams_find(struct kp_host_streams *streams, struct kp_host_stream stream,
			  uint32_t *context_id, uint32_t *stream_id)
{
	uint32_t generation = atomic_load_explicit(&streams_state.generation, memory_order_relaxed);
	CUcontext context = is_special(stream.handle) ? current_context() : NULL;
	uintptr_t hash = (uintptr_t)stream.handle ^ (uintptr_t)context;
	struct kp_host_known *known =
		&streams->known[(hash ^ hash >> 4 ^ hash >> 9) % KP_HOST_STREAMS];

	if (known->generation != generation || known->stream.handle != stream.handle ||
	    known->stream.per_thread != stream.per_thread || known->context != context) {
		*known = (struct kp_host_known){stream, context, generation, 0, 0};
		if (!ask(known))
			known->generation = 0; /* the next time, perhaps */
	}
	*context_id = known->context_id;
	*stream_id = known->stream_id;
}
