/*
 * Times that the GPU tells, by events; see ab_state.h.
 *
 * A sample is a launch between two events. A phase is what lies between an event before its first
 * launch and one before the first launch behind it, in the streams of these launches: programs may
 * be far ahead of the GPU, so that the host's clock says nothing of either. Both are in rings, in
 * order, and are written when the GPU has come by; nothing waits for that.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_state.h"

#include <unistd.h>

enum { FREE, OPEN, ENDED, LOST };

/* ---- samples ---- */

static void write_sample(const struct kp_ab_sample *sample, double us)
{
	kp_ab_write("{\"%s\":{\"pid\":%ld,\"rule\":%u,\"shape\":\"%016llx\",\"number\":%u,"
		    "\"candidate\":%s,\"host_bound\":%s,\"us\":%s",
		    sample->replay ? "replay" : "sample", (long)getpid(), sample->rule,
		    (unsigned long long)sample->shape, sample->number,
		    sample->candidate ? "true" : "false", sample->host_bound ? "true" : "false",
		    kp_ab_number(us).text);
	if (sample->replay)
		kp_ab_write(",\"replaced\":%u,\"launches\":%u", sample->replaced, sample->launches);
	kp_ab_write("}}\n");
}

static void harvest_samples(struct kp_ab_context *context)
{
	while (context->sample_count) {
		struct kp_ab_sample *sample = &context->samples[context->sample_first];
		uint32_t state = atomic_load(&sample->state);
		float ms;

		if (state == OPEN ||
		    (state == ENDED && kp_ab.driver.query(sample->end) != CUDA_SUCCESS))
			return;
		if (state == ENDED &&
		    kp_ab.driver.elapsed(&ms, sample->begin, sample->end) == CUDA_SUCCESS)
			write_sample(sample, (double)ms * 1e3);
		atomic_store(&sample->state, FREE);
		context->sample_first = (context->sample_first + 1) % KP_AB_SAMPLES;
		context->sample_count--;
	}
}

static bool has_events(struct kp_ab_sample *sample)
{
	if (sample->end)
		return true;
	return kp_ab.driver.event(&sample->begin, 0) == CUDA_SUCCESS &&
	       kp_ab.driver.event(&sample->end, 0) == CUDA_SUCCESS;
}

struct kp_ab_sample *kp_ab_times_begin(struct kp_ab_context *context,
				       const struct kp_ab_sample *what, CUstream stream)
{
	struct kp_ab_sample *sample;

	kp_ab_times_harvest(context);
	if (context->sample_count == KP_AB_SAMPLES)
		return NULL;
	sample = &context->samples[(context->sample_first + context->sample_count) % KP_AB_SAMPLES];
	if (!has_events(sample))
		return NULL;
	sample->candidate = what->candidate;
	sample->replay = what->replay;
	sample->rule = what->rule;
	sample->number = what->number;
	sample->shape = what->shape;
	sample->replaced = what->replaced;
	sample->launches = what->launches;
	if (kp_ab.driver.record(sample->begin, stream) != CUDA_SUCCESS)
		return NULL;
	atomic_store(&sample->state, OPEN);
	context->sample_count++;
	return sample;
}

/*
 * Where the GPU came to the beginning before the end was there for it, it may have waited for the
 * host between the two: then this is no time of a kernel's. Of a whole graph it is but the start.
 */
void kp_ab_times_end(struct kp_ab_sample *sample, CUstream stream)
{
	bool good = kp_ab.driver.record(sample->end, stream) == CUDA_SUCCESS;
	CUstreamCaptureMode mode;

	sample->host_bound = false;
	if (good && !sample->replay) {
		kp_ab_driver_relax(&kp_ab.driver, &mode);
		sample->host_bound = kp_ab.driver.query(sample->begin) == CUDA_SUCCESS;
		kp_ab_driver_restore(&kp_ab.driver, &mode);
	}
	atomic_store(&sample->state, good ? ENDED : LOST);
}

/* ---- phases ---- */

static struct kp_ab_boundary *boundary_at(struct kp_ab_context *context, uint32_t i)
{
	return &context->boundaries[(context->boundary_first + i) % KP_AB_BOUNDARIES];
}

/* The phase between the first two that are left, if no other context has begun one in between. */
static void write_phase(const struct kp_ab_boundary *begin, const struct kp_ab_boundary *end)
{
	float ms;

	if (!begin->is_phase || end->sequence != begin->sequence + 1 ||
	    kp_ab.driver.elapsed(&ms, begin->event, end->event) != CUDA_SUCCESS)
		return;
	kp_ab_write("{\"phase\":{\"pid\":%ld,\"number\":%llu,\"candidate\":%s,\"us\":%s,"
		    "\"eligible\":%llu,\"units\":%llu}}\n",
		    (long)getpid(), (unsigned long long)begin->number,
		    begin->candidate ? "true" : "false", kp_ab_number((double)ms * 1e3).text,
		    (unsigned long long)(end->eligible - begin->eligible),
		    (unsigned long long)(end->units - begin->units));
}

static void harvest_phases(struct kp_ab_context *context)
{
	while (context->boundary_count >= 2 &&
	       kp_ab.driver.query(boundary_at(context, 1)->event) == CUDA_SUCCESS) {
		write_phase(boundary_at(context, 0), boundary_at(context, 1));
		context->boundary_first = (context->boundary_first + 1) % KP_AB_BOUNDARIES;
		context->boundary_count--;
	}
}

void kp_ab_times_boundary(struct kp_ab_context *context, const struct kp_ab_boundary *what,
			  CUstream stream)
{
	struct kp_ab_boundary *boundary;
	CUevent event;

	kp_ab_times_harvest(context);
	if (context->boundary_count == KP_AB_BOUNDARIES)
		return;
	boundary = boundary_at(context, context->boundary_count);
	if (!boundary->event && kp_ab.driver.event(&boundary->event, 0) != CUDA_SUCCESS)
		return;
	event = boundary->event;
	*boundary = *what;
	boundary->event = event;
	if (kp_ab.driver.record(event, stream) == CUDA_SUCCESS)
		context->boundary_count++;
}

void kp_ab_times_harvest(struct kp_ab_context *context)
{
	harvest_samples(context);
	harvest_phases(context);
}
