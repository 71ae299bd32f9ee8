/*
 * The counters of the fake GPU: what a sample holds, for the parts of the fake libcupti and for
 * tests.
 *
 * The counters run on their own: sample k of a session counts what kp_fake_pm_value says, whatever
 * runs on the GPU. Time is the client's clock, or what a test lets pass.
 */
#ifndef KP_FAKE_GPU_PM_H
#define KP_FAKE_GPU_PM_H

#include <stdint.h>

#define KP_FAKE_PM_METRICS 8
/* Of the hardware's buffer that one sample takes. */
#define KP_FAKE_PM_RECORD_BYTES 1600U
/* Every byte of a sample's place once CUPTI has emptied the image. */
#define KP_FAKE_PM_BLANK 0xa5
#define KP_FAKE_PM_IMAGE_MAGIC 0x4d49504b4641ULL

/* What a counter data image holds: this, then a kp_fake_pm_sample for each of `room`. */
struct kp_fake_pm_image {
	uint64_t magic;
	uint64_t room, populated, completed;
};
struct kp_fake_pm_sample {
	uint64_t begin_ns, end_ns;
	uint64_t number;   /* of the sample in its session; 0: the first, to the first trigger */
	uint64_t rest[61]; /* about as large as that of a real GPU */
};

/* What a metric counts in sample `number`, by the number of its name in the table of pm_host.c. */
static inline double kp_fake_pm_value(uint64_t number, unsigned metric)
{
	return (double)(32 * (metric + 1) * (1 + number % (97 - metric)));
}

/* From the first call on the counters' time stands still but for this. */
void kp_fake_pm_let_pass(uint64_t ns);

/* The number of a metric's name on a chip; -1: none. */
int kp_fake_pm_metric(const char *name);

#endif
