/*
 * Sampling the hardware counters of one GPU: from CUPTI's configuration to samples.
 *
 * One thread at a time uses a session. What CUPTI keeps hold of (the configuration, the image that
 * it decodes into) lives from open to close.
 */
#ifndef KP_INJECT_PM_SESSION_H
#define KP_INJECT_PM_SESSION_H

#include <stdbool.h>

#include "inject/pm.h"
#include "inject/pm_chips.h"
#include "inject/pm_image.h"
#include "trace/records.h"

#define KP_PM_REASON_BYTES 320

/* What is to be sampled. */
struct kp_pm_request {
	uint32_t device; /* CUDA ordinal */
	size_t metrics;  /* of trace/metrics.h, from the first on, as far as the chip has them */
	uint64_t interval_ns;
	unsigned drain_ms; /* how often it is drained, which costs CUPTI a millisecond or two */
};

struct kp_pm_session {
	const struct kp_pm *pm;
	uint32_t device; /* CUDA ordinal */
	const struct kp_pm_chip *chip;
	uint64_t interval;                  /* ns, or cycles where the chip has no other trigger */
	const char *names[KP_METRIC_COUNT]; /* of what is sampled */
	size_t metrics;
	char text[KP_PM_METRICS_BYTES]; /* the same, for the trace */
	void *host, *object;
	uint8_t *config;
	size_t config_bytes;
	struct kp_pm_image image; /* decoded into */
	uint32_t room;            /* samples that the image can hold */
	size_t taken;             /* samples of the image that were delivered */
	bool started, first, gap;
	bool timed_only; /* the caller's wish: samples need no values, which spares a third */
	uint64_t last_end_ns;
	/* Counts since it was opened. */
	uint64_t samples, left_out, invalid, gaps, overflows;
	uint64_t begin_ns, last_ns; /* of the samples that were delivered */
};

/* What a drain does with each sample, in order of time. `session` of it is the caller's to fill. */
typedef void (*kp_pm_take)(void *context, struct kp_counter_sample *sample);

/*
 * Configures the counters of a device. False: it cannot be done, and `reason` is one
 * sentence with the remedy. Needs cuInit, and no context; takes some 200 ms.
 */
bool kp_pm_session_open(struct kp_pm_session *session, const struct kp_pm *pm,
			const struct kp_pm_request *request, char reason[KP_PM_REASON_BYTES]);
/* Starts the hardware, also once more after a stop. False: likewise. */
bool kp_pm_session_start(struct kp_pm_session *session, char reason[KP_PM_REASON_BYTES]);
/*
 * Delivers what the hardware has. The first sample after a start, which spans everything up to the
 * first trigger, is left out. False: CUPTI gave up on the session, and it has been stopped.
 */
bool kp_pm_session_drain(struct kp_pm_session *session, kp_pm_take take, void *context);
/* Stops the hardware and delivers the rest. Does nothing where it is not running. */
void kp_pm_session_stop(struct kp_pm_session *session, kp_pm_take take, void *context);
/*
 * Gives the hardware back. Last of all: some releases of CUPTI end its other uses in the process
 * with that (records of kernels, too).
 */
void kp_pm_session_close(struct kp_pm_session *session);

#endif
