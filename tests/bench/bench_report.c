/*
 * How fast a trace is read and reported, and in how much memory.
 *
 *	bench_report FILE [THREADS [TIMES]]
 *
 * One row for a plain decode of all batches, for a report that only ranks, and for the whole report
 * on one thread and on THREADS (0, the default: as many as it is worth): launches a second by the
 * clock and by processor time, best of TIMES, each against the decode of the same run; and the
 * largest resident set so far. On a machine that others use, processor time is the one to compare.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "analyzers/report.h"

#define TIMES 3

struct cost {
	double wall_s, cpu_s;
};

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what, enum kp_status status)
{
	fprintf(stderr, "bench_report: %s: %s\n", what, kp_status_message(status));
	exit(1);
}

/* Reads everything; returns how many launches there are. */
static uint64_t decode(struct kp_reader *reader)
{
	struct kp_event event;
	uint64_t launches = 0;
	enum kp_status status;

	kp_reader_rewind(reader);
	while ((status = kp_reader_next(reader, &event)) == KP_OK)
		launches += event.kind == KP_EVENT_LAUNCHES ? event.count : 0;
	if (status != KP_END)
		fail("decode", status);
	return launches;
}

static void report(struct kp_reader *reader, const struct kp_report_options *options)
{
	struct kp_report *made;
	enum kp_status status = kp_report_build(reader, options, &made);

	if (status != KP_OK)
		fail("report", status);
	kp_report_destroy(made);
}

/* NULL: decode alone. The best of `times`. */
static struct cost measure(struct kp_reader *reader, const struct kp_report_options *options,
			   unsigned times)
{
	struct cost best = {0};

	for (unsigned i = 0; i < times; i++) {
		double wall_s = seconds(CLOCK_MONOTONIC), cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);

		if (options)
			report(reader, options);
		else
			decode(reader);
		wall_s = seconds(CLOCK_MONOTONIC) - wall_s;
		cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
		if (!i || wall_s < best.wall_s)
			best.wall_s = wall_s;
		if (!i || cpu_s < best.cpu_s)
			best.cpu_s = cpu_s;
	}
	return best;
}

static void print(const char *what, struct cost cost, struct cost decoded, uint64_t launches)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-28s %7.2f %9.1f %9.1f %8.2f %8.1f\n", what, (double)launches / cost.wall_s / 1e6,
	       1e9 * cost.wall_s / (double)launches, 1e9 * cost.cpu_s / (double)launches,
	       cost.cpu_s / decoded.cpu_s, (double)usage.ru_maxrss / 1024);
}

int main(int argc, char **argv)
{
	struct kp_report_options options = {.threshold_pct = 30, .busy_shares = true, .threads = 1};
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	unsigned times = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : TIMES;
	struct kp_reader *reader;
	struct cost decoded;
	uint64_t launches;
	size_t bad;

	if (argc < 2 || times == 0) {
		fputs("Usage: bench_report FILE [THREADS [TIMES]]\n", stderr);
		return 2;
	}
	enum kp_status status = kp_reader_open((const char *const *)&argv[1], 1, &reader, &bad);
	if (status != KP_OK)
		fail(argv[1], status);
	launches = decode(reader);
	printf("%" PRIu64 " launches, %.2f bytes each\n", launches,
	       (double)kp_reader_bytes(reader) / (double)launches);
	printf("%-28s %7s %9s %9s %8s %8s\n", "", "M/s", "ns", "CPU ns", "x decode", "MB peak");
	decoded = measure(reader, NULL, times);
	print("decode", decoded, decoded, launches);
	print("ranking, 1 thread", measure(reader, &options, times), decoded, launches);
	options.ranges = options.timeline = true;
	print("whole report, 1 thread", measure(reader, &options, times), decoded, launches);
	options.threads = threads;
	print(threads ? "whole report, threads" : "whole report, automatic",
	      measure(reader, &options, times), decoded, launches);
	kp_reader_close(reader);
	return 0;
}
