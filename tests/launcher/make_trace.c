/*
 * Writes a trace with numbers that a test can work out by hand: make_trace NAME… >FILE
 *
 * Kernel k of the n names (an argument «hex:6162» gives bytes) is launched n - k times for 1000 ns
 * each, one launch after the other on one stream; one copy of 4096 bytes for 500 ns comes last. The
 * environment may set END=0 (no end record), DROPPED=N, DROPPED= (unknown), NO_LAUNCHES, UNTIMED
 * (the first kernel has no times), PROCESS=N (its identity), REFUSED (the
 * collector found no CUPTI; its note says why).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/writer.h"

#define START_NS 1000000000ULL
#define LAUNCH_NS 1000ULL
#define COPY_NS 500ULL

static void check(enum kp_status status)
{
	if (status != KP_OK) {
		fprintf(stderr, "make_trace: %s\n", kp_status_message(status));
		exit(1);
	}
}

static struct kp_text text(const char *bytes)
{
	return (struct kp_text){bytes, strlen(bytes)};
}

static void describe(struct kp_writer *writer)
{
	struct kp_process_info info = {0};
	struct kp_device_info device = {0};
	struct kp_clock_info clock = {0};
	const char *command = getenv("COMMAND");

	KP_SET(&info, PROCESS, pid, 4711);
	KP_SET(&info, PROCESS, host, text("testhost"));
	KP_SET(&info, PROCESS, command, text(command ? command : "./made up"));
	KP_SET(&info, PROCESS, driver_version, 13000);
	KP_SET(&info, PROCESS, driver_name, text("580.0"));
	if (!getenv("REFUSED"))
		KP_SET(&info, PROCESS, cupti_version, 130001);
	check(kp_writer_process(writer, &info));
	KP_SET(&device, DEVICE, device, 0);
	KP_SET(&device, DEVICE, name, text("Test GPU"));
	KP_SET(&device, DEVICE, uuid, text("GPU-1"));
	KP_SET(&device, DEVICE, sm_count, 132);
	check(kp_writer_device(writer, &device));
	KP_SET(&clock, CLOCK, monotonic_ns, START_NS);
	KP_SET(&clock, CLOCK, realtime_ns, 1700000000000000000ULL);
	check(kp_writer_clock(writer, &clock));
	check(kp_writer_note(writer, KP_NOTE_WARNING, "a note \033[31m with an escape"));
}

/* The bytes of a name; «hex:» introduces what an argument cannot hold. */
static size_t name_bytes(const char *argument, char *out, size_t size)
{
	size_t length = 0;
	unsigned byte;

	if (strncmp(argument, "hex:", 4) != 0)
		return (size_t)snprintf(out, size, "%s", argument);
	for (const char *at = argument + 4; sscanf(at, "%2x", &byte) == 1; at += 2)
		out[length++] = (char)byte;
	return length;
}

static uint64_t write_launches(struct kp_writer *writer, int count, char **names)
{
	struct kp_launch_config config = {.grid = {7, 1, 1}, .block = {128, 2, 1}, .registers = 32};
	uint64_t now_ns = START_NS;

	for (int k = 0; k < count; k++) {
		char name[4096];
		size_t length = name_bytes(names[k], name, sizeof name);
		struct kp_launch launch = {0};
		bool untimed = k == 0 && getenv("UNTIMED");
		check(kp_writer_intern(writer, name, length, &config.name));
		check(kp_writer_config(writer, &config, &launch.config));
		for (int i = 0; i < count - k; i++, now_ns += LAUNCH_NS) {
			launch.start_ns = untimed ? 0 : now_ns;
			launch.end_ns = untimed ? 0 : now_ns + LAUNCH_NS;
			launch.correlation++;
			check(kp_writer_launch(writer, &launch));
		}
	}
	return now_ns;
}

static void finish(struct kp_writer *writer, uint64_t launches, uint64_t now_ns)
{
	const char *dropped = getenv("DROPPED"), *end_wanted = getenv("END");
	struct kp_counts counts = {0};
	struct kp_end end = {0};

	KP_SET(&counts, COUNTS, kernels_issued, launches);
	KP_SET(&counts, COUNTS, kernels_recorded, launches);
	if (!dropped || *dropped)
		KP_SET(&counts, COUNTS, records_dropped, dropped ? strtoull(dropped, NULL, 10) : 0);
	check(kp_writer_counts(writer, &counts));
	KP_SET(&end, END, end_ns, now_ns);
	if (!end_wanted || strcmp(end_wanted, "0") != 0)
		check(kp_writer_end(writer, &end));
}

int main(int argc, char **argv)
{
	struct kp_writer *writer;
	uint64_t launches = 0, now_ns = START_NS;

	const char *process = getenv("PROCESS");
	check(kp_writer_create(STDOUT_FILENO, process ? strtoull(process, NULL, 10) : 1, &writer));
	describe(writer);
	if (!getenv("NO_LAUNCHES")) {
		now_ns = write_launches(writer, argc - 1, argv + 1);
		launches = (uint64_t)argc * (uint64_t)(argc - 1) / 2;
		struct kp_memop copy = {.start_ns = now_ns,
					.end_ns = now_ns + COPY_NS,
					.bytes = 4096,
					.kind = KP_MEMOP_HOST_TO_DEVICE};
		check(kp_writer_memop(writer, &copy));
	}
	finish(writer, launches, now_ns + COPY_NS);
	check(kp_writer_flush(writer));
	kp_writer_destroy(writer);
	return 0;
}
