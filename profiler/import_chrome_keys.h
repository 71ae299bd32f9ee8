/* The keys of Chrome traces that kprof import reads: where each stands, and what it is called. */
#ifndef KP_PROFILER_IMPORT_CHROME_KEYS_H
#define KP_PROFILER_IMPORT_CHROME_KEYS_H

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

#endif
