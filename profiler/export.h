/*
 * The formats that a trace can be exported to: one table for the option, the file extensions, the
 * help and the writers. Each writer has a file of its own, export_NAME.c.
 */
#ifndef KP_PROFILER_EXPORT_H
#define KP_PROFILER_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "profiler/export_events.h"
#include "profiler/export_out.h"

/*
 * X(name, extensions, shape, largest, what opens it). Extensions are separated by one space; of
 * those that fit, the longest decides. `largest` is how many slices a timeline holds unless --limit
 * says otherwise; 0: all, NONE: there is no timeline, or none that leaves slices out.
 */
#define KP_EXPORT_NONE UINT64_MAX
#define KP_EXPORT_FORMATS(X)                                                                       \
	X(chrome, ".json", TEXT, 0, "Perfetto UI, chrome://tracing")                               \
	X(perfetto, ".pftrace .perfetto-trace", BINARY, 0, "Perfetto UI, trace_processor")         \
	X(speedscope, ".speedscope.json", TEXT, 500000, "speedscope.app")                          \
	X(collapsed, ".folded .collapsed", TEXT, KP_EXPORT_NONE,                                   \
	  "flamegraph.pl, inferno, speedscope.app")                                                \
	X(pprof, ".pb.gz .pprof", BINARY, KP_EXPORT_NONE,                                          \
	  "go tool pprof, Parca, Pyroscope, Grafana")                                              \
	X(csv, ".csv", TEXT, KP_EXPORT_NONE, "spreadsheets, pandas")                               \
	X(jsonl, ".jsonl .ndjson", TEXT, KP_EXPORT_NONE, "jq, DuckDB, log pipelines")              \
	X(sqlite, ".sqlite .sqlite3 .db", PATCHED, KP_EXPORT_NONE,                                 \
	  "sqlite3 and queries written for nsys")                                                  \
	X(parquet, ".parquet", BINARY, KP_EXPORT_NONE, "DuckDB, Spark, pandas, Polars")            \
	X(openmetrics, ".prom .openmetrics", TEXT, KP_EXPORT_NONE,                                 \
	  "Prometheus, node_exporter's textfiles")

enum kp_export_format {
#define KP_EXPORT_ROW(name, extensions, shape, largest, opens) KP_EXPORT_AS_##name,
	KP_EXPORT_FORMATS(KP_EXPORT_ROW)
#undef KP_EXPORT_ROW
		KP_EXPORT_FORMAT_COUNT
};

/* One export while it is written. */
struct kp_export {
	struct kp_export_events *events;
	struct kp_out out;
	uint64_t limit;    /* slices of a timeline; 0: all */
	uint64_t slices;   /* of it so far */
	uint64_t left_out; /* for the limit */
};

/* The names in the order of the enum, ended by NULL. */
extern const char *const kp_export_names[KP_EXPORT_FORMAT_COUNT + 1];

/* The format that a file name's ending stands for; -1: none. */
int kp_export_of_path(const char *path);

/* Whether a timeline has room for one more slice; counts it either way. */
static inline bool kp_export_admits(struct kp_export *job)
{
	if (job->limit && job->slices >= job->limit) {
		job->left_out++;
		return false;
	}
	job->slices++;
	return true;
}

/* What ends a sink early: the output takes no more. */
static inline enum kp_status kp_export_status(const struct kp_export *job)
{
	return job->out.error ? KP_IO : KP_OK;
}

/* A process in one line: its command, pid, rank and host, as far as they are known. */
void kp_export_process_name(const struct kp_process *process, char *out, size_t size);
/*
 * The frames of sums between a GPU and a kernel, from the root: operator, or «memory», and where
 * the order of launches gave the kernel to it «OPERATOR, written out». Borrowed; the second stands
 * in `out`. Returns how many.
 */
#define KP_EXPORT_OPERATOR_FRAMES 2
size_t kp_export_operator_frames(const struct kp_export *job,
				 const struct kp_export_template *template, char *out, size_t size,
				 const char *frames[KP_EXPORT_OPERATOR_FRAMES]);
/* The description of a device; NULL: there is none. */
const struct kp_device_info *kp_export_device(const struct kp_process *process, uint64_t device);

/*
 * The writers: each writes all of its format to job->out. Errors: KP_NO_MEMORY, KP_IO (what could
 * not be written is in job->out.error; else the trace could not be read).
 */
#define KP_EXPORT_ROW(name, extensions, shape, largest, opens)                                     \
	enum kp_status kp_export_##name(struct kp_export *job);
KP_EXPORT_FORMATS(KP_EXPORT_ROW)
#undef KP_EXPORT_ROW

#endif
