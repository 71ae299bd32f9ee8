/*
 * The keys of Chrome traces that kprof import reads, and an event of such a trace: of PyTorch's
 * profiler (Kineto), of Proton with data="trace", or of kprof export.
 */
#ifndef KP_PROFILER_IMPORT_CHROME_H
#define KP_PROFILER_IMPORT_CHROME_H

#include "profiler/import.h"
#include "trace/codec.h"

/* Where in the document something stands. */
enum kp_chrome_place {
	KP_CHROME_TOP,    /* outside of all */
	KP_CHROME_ROOT,   /* the map with traceEvents */
	KP_CHROME_EVENTS, /* a list of events */
	KP_CHROME_EVENT,  /* one of them */
	KP_CHROME_ARGS,   /* its arguments */
	KP_CHROME_GRID,   /* of these: lists of three numbers */
	KP_CHROME_BLOCK,
	KP_CHROME_DEVICES,     /* a list of devices */
	KP_CHROME_DEVICE,      /* one of them */
	KP_CHROME_DISTRIBUTED, /* the job that the process is a part of */
	KP_CHROME_OTHER,       /* what wrote the file */
	KP_CHROME_OWN,         /* what kprof export adds */
	KP_CHROME_SUMS,        /* of these: a list of sums */
	KP_CHROME_SUM,         /* one of them */
	KP_CHROME_SKIP         /* what nobody reads */
};

/* X(NAME, place, key): numbers. */
#define KP_CHROME_NUMBERS(X)                                                                       \
	X(PID, EVENT, "pid")                                                                       \
	X(TID, EVENT, "tid")                                                                       \
	X(ARG_DEVICE, ARGS, "device")                                                              \
	X(CONTEXT, ARGS, "context")                                                                \
	X(STREAM, ARGS, "stream")                                                                  \
	X(CORRELATION, ARGS, "correlation")                                                        \
	X(GRAPH, ARGS, "graph id")                                                                 \
	X(GRAPH_NODE, ARGS, "graph node id")                                                       \
	X(REGISTERS, ARGS, "registers per thread")                                                 \
	X(SHARED, ARGS, "shared memory")                                                           \
	X(BYTES, ARGS, "bytes")                                                                    \
	X(OWN_GRAPH, ARGS, "graph")                                                                \
	X(OWN_GRAPH_NODE, ARGS, "graph_node")                                                      \
	X(OWN_REGISTERS, ARGS, "registers")                                                        \
	X(OWN_STATIC_SHARED, ARGS, "static_shared_bytes")                                          \
	X(OWN_DYNAMIC_SHARED, ARGS, "dynamic_shared_bytes")                                        \
	X(OWN_GRID_X, ARGS, "grid_x")                                                              \
	X(OWN_GRID_Y, ARGS, "grid_y")                                                              \
	X(OWN_GRID_Z, ARGS, "grid_z")                                                              \
	X(OWN_BLOCK_X, ARGS, "block_x")                                                            \
	X(OWN_BLOCK_Y, ARGS, "block_y")                                                            \
	X(OWN_BLOCK_Z, ARGS, "block_z")                                                            \
	X(OWN_THREAD, ARGS, "thread")                                                              \
	X(OWN_DEPTH, ARGS, "depth")                                                                \
	X(OWN_KERNELS, ARGS, "kernels")                                                            \
	X(BASE_NS, ROOT, "baseTimeNanoseconds")                                                    \
	X(DRIVER_VERSION, ROOT, "cuda_driver_version")                                             \
	X(LEFT_OUT, OWN, "left_out")                                                               \
	X(LOST, OWN, "lost_launches")                                                              \
	X(SUM_PID, SUM, "pid")                                                                     \
	X(SUM_EVENTS, SUM, "events")                                                               \
	X(RANK, DISTRIBUTED, "rank")                                                               \
	X(DEVICE_ID, DEVICE, "id")                                                                 \
	X(DEVICE_MEMORY, DEVICE, "totalGlobalMem")                                                 \
	X(DEVICE_MAJOR, DEVICE, "computeMajor")                                                    \
	X(DEVICE_MINOR, DEVICE, "computeMinor")                                                    \
	X(DEVICE_THREADS, DEVICE, "maxThreadsPerMultiprocessor")                                   \
	X(DEVICE_REGISTERS, DEVICE, "regsPerMultiprocessor")                                       \
	X(DEVICE_SHARED, DEVICE, "sharedMemPerMultiprocessor")                                     \
	X(DEVICE_SMS, DEVICE, "numSms")

/* X(NAME, place, key): texts. */
#define KP_CHROME_TEXTS(X)                                                                         \
	X(PH, EVENT, "ph")                                                                         \
	X(CAT, EVENT, "cat")                                                                       \
	X(NAME, EVENT, "name")                                                                     \
	X(DOMAIN, ARGS, "domain")                                                                  \
	X(COMMAND, ARGS, "command")                                                                \
	X(PROCESS_HOST, ARGS, "host")                                                              \
	X(PROCESS_RANK, ARGS, "rank")                                                              \
	X(ARG_NAME, ARGS, "name")                                                                  \
	X(MANGLED, ARGS, "mangled_name")                                                           \
	X(HOST, ROOT, "host_name")                                                                 \
	X(PRODUCER, OTHER, "producer")                                                             \
	X(SUM_KIND, SUM, "kind")                                                                   \
	X(DEVICE_NAME, DEVICE, "name")

/* The times of an event, in microseconds. */
#define KP_CHROME_TIMES(X)                                                                         \
	X(TS, EVENT, "ts")                                                                         \
	X(DUR, EVENT, "dur")

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
