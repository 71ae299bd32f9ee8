/* Reports of small traces, for tests: a trace file that is written, read back and ranked. */
#ifndef KP_TESTS_REPORT_TRACE_H
#define KP_TESTS_REPORT_TRACE_H

#include "analyzers/report.h"
#include "tests/unit/trace_file.h"

/* Far from zero, as real clocks are. */
#define BASE_NS 1000000ULL

struct ranked {
	struct kp_reader *reader;
	struct kp_report *report;
};

/* Ranks the files, which must have been flushed; ends them. Aborts on any error. */
static inline struct ranked rank_files(struct trace_file *files, size_t count, bool busy_shares)
{
	const struct kp_report_options options = {.threshold_pct = 30,
						  .busy_shares = busy_shares,
						  .ranges = true,
						  .callers = true,
						  .timeline = true};
	const char *paths[8];
	struct ranked ranked;
	size_t bad;

	for (size_t i = 0; i < count; i++) {
		paths[i] = files[i].path;
		if (kp_writer_flush(files[i].writer) != KP_OK)
			abort();
	}
	if (kp_reader_open(paths, count, &ranked.reader, &bad) != KP_OK ||
	    kp_report_build(ranked.reader, &options, &ranked.report) != KP_OK)
		abort();
	for (size_t i = 0; i < count; i++)
		trace_file_end(&files[i]);
	return ranked;
}

static inline void ranked_end(struct ranked *ranked)
{
	kp_report_destroy(ranked->report);
	kp_reader_close(ranked->reader);
}

/* A launch in ns after BASE_NS. */
static inline void launch(struct trace_file *file, uint32_t config, uint64_t start_ns,
			  uint64_t end_ns)
{
	trace_file_launch(file, config, BASE_NS + start_ns, BASE_NS + end_ns);
}

static inline struct kp_text text(const char *bytes)
{
	return (struct kp_text){bytes, strlen(bytes)};
}

static inline void describe_process(struct trace_file *file, const char *host)
{
	struct kp_process_info info = {0};

	KP_SET(&info, PROCESS, pid, 42);
	KP_SET(&info, PROCESS, host, text(host));
	if (kp_writer_process(file->writer, &info) != KP_OK)
		abort();
}

static inline void describe_device(struct trace_file *file, uint64_t device, const char *uuid)
{
	struct kp_device_info info = {0};

	KP_SET(&info, DEVICE, device, device);
	KP_SET(&info, DEVICE, uuid, text(uuid));
	if (kp_writer_device(file->writer, &info) != KP_OK)
		abort();
}

static inline void describe_clock(struct trace_file *file, uint64_t offset_ns)
{
	struct kp_clock_info info = {0};

	KP_SET(&info, CLOCK, monotonic_ns, BASE_NS);
	KP_SET(&info, CLOCK, realtime_ns, BASE_NS + offset_ns);
	if (kp_writer_clock(file->writer, &info) != KP_OK)
		abort();
}

/* The row of a kernel by its mangled name; NULL if there is none. */
static inline const struct kp_kernel_row *find_kernel(const struct kp_report *report,
						      const char *mangled)
{
	for (size_t i = 0; i < report->kernel_count; i++) {
		if (strcmp(report->kernels[i].mangled, mangled) == 0)
			return &report->kernels[i];
	}
	return NULL;
}

#endif
