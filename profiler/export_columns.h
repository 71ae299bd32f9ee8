/* The columns of the events of an export, for every format: see export_events.h. */
#ifndef KP_PROFILER_EXPORT_COLUMNS_H
#define KP_PROFILER_EXPORT_COLUMNS_H

/*
 * The columns of an event, in their order: X(NAME, name, TYPE). Those of HEAD and TAIL are the
 * template's (TEXT or COUNT), those of BODY the event's own (COUNT). docs/exports.md describes
 * them.
 */
#define KP_EXPORT_HEAD(X)                                                                          \
	X(KIND, kind, TEXT)                                                                        \
	X(NAME, name, TEXT)                                                                        \
	X(OPERATOR, operator, TEXT)
#define KP_EXPORT_BODY(X)                                                                          \
	X(START, start_ns, COUNT)                                                                  \
	X(END, end_ns, COUNT)                                                                      \
	X(DURATION, duration_ns, COUNT)                                                            \
	X(CORRELATION, correlation, COUNT)                                                         \
	X(GRAPH, graph, COUNT)                                                                     \
	X(GRAPH_NODE, graph_node, COUNT)                                                           \
	X(THREAD, thread, COUNT)                                                                   \
	X(DEPTH, depth, COUNT)                                                                     \
	X(KERNELS, kernels, COUNT)                                                                 \
	X(BYTES, bytes, COUNT)                                                                     \
	X(VALUE, value, COUNT)
#define KP_EXPORT_TAIL(X)                                                                          \
	X(UNIT, unit, TEXT)                                                                        \
	X(TIMING, timing, TEXT)                                                                    \
	X(DOMAIN, domain, TEXT)                                                                    \
	X(PROCESS, process, TEXT)                                                                  \
	X(HOST, host, TEXT)                                                                        \
	X(PID, pid, COUNT)                                                                         \
	X(RANK, rank, TEXT)                                                                        \
	X(DEVICE, device, COUNT)                                                                   \
	X(CONTEXT, context, COUNT)                                                                 \
	X(STREAM, stream, COUNT)                                                                   \
	X(GRID_X, grid_x, COUNT)                                                                   \
	X(GRID_Y, grid_y, COUNT)                                                                   \
	X(GRID_Z, grid_z, COUNT)                                                                   \
	X(BLOCK_X, block_x, COUNT)                                                                 \
	X(BLOCK_Y, block_y, COUNT)                                                                 \
	X(BLOCK_Z, block_z, COUNT)                                                                 \
	X(CLUSTER_X, cluster_x, COUNT)                                                             \
	X(CLUSTER_Y, cluster_y, COUNT)                                                             \
	X(CLUSTER_Z, cluster_z, COUNT)                                                             \
	X(REGISTERS, registers, COUNT)                                                             \
	X(STATIC_SHARED, static_shared_bytes, COUNT)                                               \
	X(DYNAMIC_SHARED, dynamic_shared_bytes, COUNT)                                             \
	X(LOCAL, local_bytes, COUNT)                                                               \
	X(VARIANT, variant, TEXT)                                                                  \
	X(LABEL_SOURCE, label_source, TEXT)                                                        \
	X(FULL_NAME, full_name, TEXT)                                                              \
	X(MANGLED_NAME, mangled_name, TEXT)

#endif
