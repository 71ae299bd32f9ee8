/*
 * An event of a Chrome trace that kprof import reads: of PyTorch's profiler (Kineto), of Proton
 * with data="trace", or of kprof export.
 */
#ifndef KP_PROFILER_IMPORT_CHROME_H
#define KP_PROFILER_IMPORT_CHROME_H

#include "profiler/import.h"
#include "profiler/import_chrome_keys.h"
#include "trace/codec.h"

#define KP_CHROME_ENUM(NAME, place, key) KP_CHROME_##NAME,
enum kp_chrome_number { KP_CHROME_NUMBERS(KP_CHROME_ENUM) KP_CHROME_NUMBER_COUNT };
enum kp_chrome_text { KP_CHROME_TEXTS(KP_CHROME_ENUM) KP_CHROME_TEXT_COUNT };
enum kp_chrome_time { KP_CHROME_TIMES(KP_CHROME_ENUM) KP_CHROME_TIME_COUNT };
#undef KP_CHROME_ENUM

/* What has been read of one thing: an event, a device, or the document. */
struct kp_chrome_values {
	uint64_t has; /* bit of each number; of each text and time: */
	uint32_t has_text, has_time;
	uint64_t numbers[KP_CHROME_NUMBER_COUNT];
	struct kp_buffer texts[KP_CHROME_TEXT_COUNT];
	int64_t times_ns[KP_CHROME_TIME_COUNT];
	uint32_t triples[2][3]; /* grid, block */
	unsigned triple_counts[2];
};

static inline bool kp_chrome_has(const struct kp_chrome_values *values,
				 enum kp_chrome_number number)
{
	return values->has >> number & 1U;
}

/* 0 where it is not known. */
static inline uint64_t kp_chrome_number(const struct kp_chrome_values *values,
					enum kp_chrome_number number)
{
	return kp_chrome_has(values, number) ? values->numbers[number] : 0;
}

/* Empty where it is not known. */
static inline struct kp_text kp_chrome_text(const struct kp_chrome_values *values,
					    enum kp_chrome_text text)
{
	const struct kp_buffer *buffer = &values->texts[text];
	bool known = values->has_text >> text & 1U && buffer->length > 0;

	return known ? (struct kp_text){(const char *)buffer->bytes, buffer->length}
		     : (struct kp_text){"", 0};
}

/* What stays from one event to the next. */
struct kp_chrome_events {
	struct kp_import *import;
	bool own;               /* kprof wrote the file: a pid is a process's */
	bool listed;            /* traceEvents were there */
	bool any, any_kernel;   /* an event was there, one of a kernel */
	bool any_fraction;      /* a time had a fraction of a microsecond */
	struct kp_intern names; /* of kernels, as kprof shows them */
	struct kp_text *mangled;
	size_t mangled_capacity;
};

/* import_chrome_events.c: one event, or one device, of the file. */
enum kp_status kp_chrome_event(struct kp_chrome_events *events,
			       const struct kp_chrome_values *values);
enum kp_status kp_chrome_device(struct kp_chrome_events *events,
				const struct kp_chrome_values *values);
void kp_chrome_events_fini(struct kp_chrome_events *events);

#endif
