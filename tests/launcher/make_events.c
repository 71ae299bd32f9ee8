/*
 * Writes a trace that holds every kind of event, for exports: make_events NAME… >FILE
 *
 * Each NAME («hex:6162» gives bytes) is a kernel, and a range in a domain of the same name. For the
 * rest see the functions below; all times are in microseconds after the first second of the clock.
 * The environment may set LAUNCHES=N (of one more kernel, «filler», one after the other, 1 µs each
 * with 1 µs between) and DROPPED (each process dropped 3 records). Two processes have the same pid.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/writer.h"

#define US(us) (1000000000ULL + 1000ULL * (us))
#define LONG_BYTES 60000 /* of a name that takes several pages of a database */

static void check(enum kp_status status)
{
	if (status != KP_OK) {
		fprintf(stderr, "make_events: %s\n", kp_status_message(status));
		exit(1);
	}
}

static struct kp_text text(const char *bytes)
{
	return (struct kp_text){bytes, strlen(bytes)};
}

static uint32_t intern(struct kp_writer *writer, const char *argument)
{
	char bytes[4096];
	size_t length = 0;
	unsigned byte;
	uint32_t number;

	if (strncmp(argument, "hex:", 4) == 0)
		for (const char *at = argument + 4; sscanf(at, "%2x", &byte) == 1; at += 2)
			bytes[length++] = (char)byte;
	else
		length = (size_t)snprintf(bytes, sizeof bytes, "%s", argument);
	check(kp_writer_intern(writer, bytes, length, &number));
	return number;
}

static void describe(struct kp_writer *writer, const char *rank)
{
	struct kp_process_info info = {0};
	struct kp_device_info device = {0};
	struct kp_clock_info clock = {0};
	struct kp_counts counts = {0};

	KP_SET(&info, PROCESS, pid, 4711);
	KP_SET(&info, PROCESS, rank, text(rank));
	KP_SET(&info, PROCESS, host, text("host\"\\\n;"));
	KP_SET(&info, PROCESS, command, text("./made \"up\";\n\xff"));
	check(kp_writer_process(writer, &info));
	KP_SET(&device, DEVICE, device, 0);
	KP_SET(&device, DEVICE, name, text("Test GPU"));
	KP_SET(&device, DEVICE, uuid, text("GPU-1"));
	KP_SET(&device, DEVICE, sm_count, 132);
	check(kp_writer_device(writer, &device));
	KP_SET(&clock, CLOCK, monotonic_ns, US(0));
	KP_SET(&clock, CLOCK, realtime_ns, 1700000000000000000ULL);
	check(kp_writer_clock(writer, &clock));
	KP_SET(&counts, COUNTS, kernels_issued, 100);
	KP_SET(&counts, COUNTS, records_dropped, getenv("DROPPED") ? 3 : 0);
	check(kp_writer_counts(writer, &counts));
}

static void launch(struct kp_writer *writer, uint32_t name, uint32_t stream, uint64_t start_ns,
		   uint64_t end_ns, uint64_t graph_node)
{
	struct kp_launch_config config = {.name = name,
					  .context = 1,
					  .stream = stream,
					  .grid = {7, 2, 1},
					  .block = {128, 1, 1},
					  .registers = 32,
					  .dynamic_shared_bytes = 4096};
	struct kp_launch record = {
		.start_ns = start_ns, .end_ns = end_ns, .correlation = 5, .graph_node = graph_node};

	record.graph = graph_node ? 9 : 0;
	check(kp_writer_config(writer, &config, &record.config));
	check(kp_writer_launch(writer, &record));
}

/* Stream 7: every name for 10 µs. Stream 8: three that overlap. No times, and wrong ones. */
static void write_launches(struct kp_writer *writer, int count, char **names)
{
	const char *fillers = getenv("LAUNCHES");
	uint64_t filler_count = fillers ? strtoull(fillers, NULL, 10) : 0;
	uint32_t branch = intern(writer, "branch"), filler = intern(writer, "filler");

	for (int i = 0; i < count; i++)
		launch(writer, intern(writer, names[i]), 7, US(10 * (uint64_t)i),
		       US(10 * (uint64_t)i + 10), 0);
	launch(writer, branch, 8, US(0), US(30), 1);
	launch(writer, branch, 8, US(10), US(20), 2);
	launch(writer, branch, 8, US(15), US(40), UINT64_MAX);
	launch(writer, branch, 8, 0, 0, 0);
	launch(writer, branch, 8, US(50), US(40), 0);
	for (uint64_t i = 0; i < filler_count; i++)
		launch(writer, filler, 9, US(2 * i), US(2 * i + 1), 0);
}

/* One of every kind on stream 7, 2 µs each; the set moves more than a signed number holds. */
static void write_memops(struct kp_writer *writer)
{
	for (uint32_t kind = 0; kind < KP_MEMOP_KIND_COUNT; kind++) {
		struct kp_memop memop = {.start_ns = US(1000 + 10 * kind),
					 .end_ns = US(1002 + 10 * kind),
					 .bytes = kind == KP_MEMOP_SET ? 1ULL << 63 : 4096,
					 .kind = kind,
					 .context = 1,
					 .stream = 7,
					 .correlation = 6};

		check(kp_writer_memop(writer, &memop));
	}
}

/* In each domain: a range with one within that begins with it; and two started ones that overlap.
 */
static void write_ranges(struct kp_writer *writer, int count, char **names)
{
	static char long_name[LONG_BYTES + 1];
	struct kp_range range = {.thread = 42};

	for (int i = 0; i < count; i++) {
		uint64_t at = 100 * (uint64_t)i;

		range.domain = range.name = intern(writer, names[i]);
		range = (struct kp_range){US(at), US(at + 10), 42, range.domain, range.name, 1};
		check(kp_writer_range(writer, &range));
		range = (struct kp_range){US(at), US(at + 90), 42, range.domain, range.name, 0};
		check(kp_writer_range(writer, &range));
	}
	range.domain = intern(writer, "");
	memset(long_name, 'x', LONG_BYTES);
	check(kp_writer_intern(writer, long_name, LONG_BYTES, &range.name));
	range.depth = UINT32_MAX;
	range.start_ns = US(0), range.end_ns = US(20);
	check(kp_writer_range(writer, &range));
	range.start_ns = US(10), range.end_ns = US(30);
	check(kp_writer_range(writer, &range));
}

/* Two calls, four samples of 1000 bytes a microsecond, and one reading of NVML. */
static void write_others(struct kp_writer *writer)
{
	struct kp_host_call call = {.start_ns = US(0),
				    .end_ns = US(3),
				    .thread = 42,
				    .context = 1,
				    .stream = KP_HOST_UNKNOWN,
				    .correlation = 5,
				    .kernels = 1};
	struct kp_counters_info session = {0};
	struct kp_counter_sample samples[4] = {0};
	struct kp_clocks clocks = {.start_ns = US(5),
				   .end_ns = US(6),
				   .has = KP_CLOCKS_SM | KP_CLOCKS_POWER,
				   .sm_mhz = 1980,
				   .power_mw = 700000};

	check(kp_writer_host(writer, &call));
	call.kind = KP_HOST_GRAPH;
	call.start_ns = US(4), call.end_ns = US(6);
	call.kernels = KP_HOST_UNKNOWN;
	check(kp_writer_host(writer, &call));
	KP_SET(&session, COUNTERS, number, 0);
	KP_SET(&session, COUNTERS, device, 0);
	KP_SET(&session, COUNTERS, metrics,
	       text("dram_read_bytes dram__bytes_read.sum byte\n"
		    "of_the_future some__metric.sum byte\n"));
	check(kp_writer_counters(writer, &session));
	for (uint64_t i = 0; i < 4; i++)
		samples[i] = (struct kp_counter_sample){
			US(10 * i), US(10 * i + 10), 0, 0, {10000 * (i + 1), 77}};
	check(kp_writer_samples(writer, samples, 4));
	check(kp_writer_clocks(writer, &clocks));
}

int main(int argc, char **argv)
{
	for (uint64_t process = 1; process <= 2; process++) {
		struct kp_writer *writer;

		check(kp_writer_create(STDOUT_FILENO, process, &writer));
		describe(writer, process == 1 ? "0" : "1");
		if (process == 1) {
			write_launches(writer, argc - 1, argv + 1);
			write_memops(writer);
			write_ranges(writer, argc - 1, argv + 1);
			write_others(writer);
		} else {
			launch(writer, intern(writer, "second"), 7, US(0), US(7), 0);
		}
		check(kp_writer_flush(writer));
		kp_writer_destroy(writer);
	}
	return 0;
}
