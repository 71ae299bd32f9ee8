/*
 * Batches of records to columns and back: the payloads of LAUNCHES, MEMOPS, RANGES, SAMPLES,
 * CLOCKS, HOST, LIBRARY_LAUNCHES and RUNS chunks.
 *
 * A payload is a sequence of (varint column number, u32 length, bytes). A column that holds nothing
 * but zeros is left out; unknown columns are skipped. All arithmetic is modulo 2^64, so that every
 * value comes back exactly, sentinels included.
 */
#ifndef KP_TRACE_COLUMNS_H
#define KP_TRACE_COLUMNS_H

#include "trace/codec.h"
#include "trace/host_call.h"
#include "trace/lanes.h"
#include "trace/launch_run.h"
#include "trace/library_call.h"
#include "trace/library_launch.h"
#include "trace/records.h"
#include "trace/status.h"

/*
 * X(NAME, number, coding): the columns of launches. A lane is a (device, context, stream).
 */
#define KP_LAUNCH_COLUMNS(X)                                                                       \
	X(CONFIG, 1, "number of the launch configuration, varint")                                 \
	X(START, 2, "varint base; then start - end of the lane's previous timed launch, zigzag")   \
	X(DURATION, 3, "duration - the same configuration's previous duration, zigzag")            \
	X(CORRELATION, 4, "correlation id - the lane's previous one, zigzag")                      \
	X(GRAPH_NODE, 5, "graph node id - the lane's previous one, zigzag")                        \
	X(GRAPH, 6, "graph id - the lane's previous one, zigzag")

/* X(number, member): the columns of all others: difference from the record before, zigzag; `end_ns`
 * is coded as the difference from the record's own start. */
#define KP_MEMOP_COLUMNS(X)                                                                        \
	X(1, start_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, bytes)                                                                                \
	X(4, graph_node)                                                                           \
	X(5, kind)                                                                                 \
	X(6, device)                                                                               \
	X(7, context)                                                                              \
	X(8, stream)                                                                               \
	X(9, correlation)                                                                          \
	X(10, flags)
#define KP_RANGE_COLUMNS(X)                                                                        \
	X(1, start_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, thread)                                                                               \
	X(4, domain)                                                                               \
	X(5, name)                                                                                 \
	X(6, depth)
#define KP_SAMPLE_COLUMNS(X)                                                                       \
	X(1, begin_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, session)                                                                              \
	X(4, flags)                                                                                \
	X(16, values[0])                                                                           \
	X(17, values[1])                                                                           \
	X(18, values[2])                                                                           \
	X(19, values[3])                                                                           \
	X(20, values[4])                                                                           \
	X(21, values[5])                                                                           \
	X(22, values[6])                                                                           \
	X(23, values[7])
#define KP_CLOCKS_COLUMNS(X)                                                                       \
	X(1, start_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, device)                                                                               \
	X(4, has)                                                                                  \
	X(5, sm_mhz)                                                                               \
	X(6, memory_mhz)                                                                           \
	X(7, power_mw)                                                                             \
	X(8, temperature_c)                                                                        \
	X(9, throttle_reasons)

#define KP_HOST_COLUMNS(X)                                                                         \
	X(1, start_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, thread)                                                                               \
	X(4, kind)                                                                                 \
	X(5, context)                                                                              \
	X(6, stream)                                                                               \
	X(7, correlation)                                                                          \
	X(8, kernels)                                                                              \
	X(9, grid[0])                                                                              \
	X(10, grid[1])                                                                             \
	X(11, grid[2])                                                                             \
	X(12, block[0])                                                                            \
	X(13, block[1])                                                                            \
	X(14, block[2])
#define KP_RUN_COLUMNS(X)                                                                          \
	X(1, start_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, shapes)                                                                               \
	X(4, thread)                                                                               \
	X(5, kind)                                                                                 \
	X(6, context)                                                                              \
	X(7, stream)                                                                               \
	X(8, launches)                                                                             \
	X(9, kernels)

#define KP_LIBRARY_COLUMNS(X)                                                                      \
	X(1, start_ns)                                                                             \
	X(2, end_ns)                                                                               \
	X(3, ordinal)                                                                              \
	X(4, before)                                                                               \
	X(5, call)                                                                                 \
	X(6, part)                                                                                 \
	X(7, context)                                                                              \
	X(8, stream)                                                                               \
	X(9, grid[0])                                                                              \
	X(10, grid[1])                                                                             \
	X(11, grid[2])                                                                             \
	X(12, block[0])                                                                            \
	X(13, block[1])                                                                            \
	X(14, block[2])                                                                            \
	X(15, graph)                                                                               \
	X(16, others)

/* Appends `count` launches, which are in order of start; configurations are known to `lanes`. */
void kp_columns_put_launches(const struct kp_launch *launches, size_t count, struct kp_lanes *lanes,
			     struct kp_buffer *out);
void kp_columns_put_memops(const struct kp_memop *memops, size_t count, struct kp_buffer *out);
void kp_columns_put_ranges(const struct kp_range *ranges, size_t count, struct kp_buffer *out);
void kp_columns_put_samples(const struct kp_counter_sample *samples, size_t count,
			    struct kp_buffer *out);
void kp_columns_put_clocks(const struct kp_clocks *clocks, size_t count, struct kp_buffer *out);
void kp_columns_put_host(const struct kp_host_call *calls, size_t count, struct kp_buffer *out);
void kp_columns_put_runs(const struct kp_launch_run *runs, size_t count, struct kp_buffer *out);
void kp_columns_put_library(const struct kp_library_launch *launches, size_t count,
			    struct kp_buffer *out);

/* Decodes exactly `count` records into `out`. Errors: KP_CORRUPT (a configuration that `lanes` does
 * not know included). */
enum kp_status kp_columns_get_launches(struct kp_cursor *cursor, size_t count,
				       struct kp_lanes *lanes, struct kp_launch *out);
enum kp_status kp_columns_get_memops(struct kp_cursor *cursor, size_t count, struct kp_memop *out);
enum kp_status kp_columns_get_ranges(struct kp_cursor *cursor, size_t count, struct kp_range *out);
enum kp_status kp_columns_get_samples(struct kp_cursor *cursor, size_t count,
				      struct kp_counter_sample *out);
enum kp_status kp_columns_get_clocks(struct kp_cursor *cursor, size_t count, struct kp_clocks *out);
enum kp_status kp_columns_get_runs(struct kp_cursor *cursor, size_t count,
				   struct kp_launch_run *out);
enum kp_status kp_columns_get_host(struct kp_cursor *cursor, size_t count,
				   struct kp_host_call *out);
enum kp_status kp_columns_get_library(struct kp_cursor *cursor, size_t count,
				      struct kp_library_launch *out);

#endif
