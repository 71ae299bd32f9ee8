/*
 * Writes the seeds of the fuzzer into a folder: small traces that together use every kind of chunk,
 * field and column, and the odd values that real collectors have delivered.
 *
 *   fuzz_seeds FOLDER
 *
 * One row of `seeds` a trace; the same bytes on every run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/writer.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "fuzz_seeds: %s failed (%s)\n", #condition,                \
				strerror(errno));                                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* One process that is being written. */
struct seed {
	int fd;
	struct kp_writer *writer;
	uint64_t now_ns;
	uint32_t correlation;
};

static struct kp_text text(const char *bytes)
{
	return (struct kp_text){bytes, strlen(bytes)};
}

static void begin(struct seed *seed, uint64_t process)
{
	CHECK(kp_writer_create(seed->fd, process, &seed->writer) == KP_OK);
	seed->now_ns = 1000000;
}

static void finish(struct seed *seed)
{
	CHECK(kp_writer_flush(seed->writer) == KP_OK);
	kp_writer_destroy(seed->writer);
}

static uint32_t config(struct seed *seed, const char *name, size_t length, uint32_t stream)
{
	struct kp_launch_config config = {
		.context = 1,
		.stream = stream,
		.grid = {128, 1, 1},
		.block = {256, 1, 1},
		.registers = 32,
		.dynamic_shared_bytes = 4096,
	};
	uint32_t number;

	CHECK(kp_writer_intern(seed->writer, name, length, &config.name) == KP_OK);
	CHECK(kp_writer_config(seed->writer, &config, &number) == KP_OK);
	return number;
}

static void launch(struct seed *seed, uint32_t config, uint64_t start_ns, uint64_t end_ns)
{
	struct kp_launch launch = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.config = config,
		.correlation = ++seed->correlation,
	};

	CHECK(kp_writer_launch(seed->writer, &launch) == KP_OK);
}

/* Every field of every descriptive record, with values that tell them apart. */
#define FILL_U64(record, RECORD, key, name) KP_SET(record, RECORD, name, 1000ULL + (key));
#define FILL_TEXT(record, RECORD, key, name) KP_SET(record, RECORD, name, text(#name));
#define FILL_PROCESS(key, type, name) FILL_##type(&process, PROCESS, key, name)
#define FILL_DEVICE(key, type, name) FILL_##type(&device, DEVICE, key, name)
#define FILL_CLOCK(key, type, name) FILL_##type(&clock, CLOCK, key, name)
#define FILL_COUNTS(key, type, name) FILL_##type(&counts, COUNTS, key, name)
#define FILL_WINDOW(key, type, name) FILL_##type(&window, WINDOW, key, name)
#define FILL_COUNTERS(key, type, name) FILL_##type(&counters, COUNTERS, key, name)
#define FILL_END(key, type, name) FILL_##type(&end, END, key, name)

static void describe(struct seed *seed, uint64_t pid)
{
	struct kp_process_info process = {0};
	struct kp_device_info device = {0};
	struct kp_clock_info clock = {0};
	struct kp_counts counts = {0};
	struct kp_window_info window = {0};
	struct kp_counters_info counters = {0};
	struct kp_end end = {0};

	KP_PROCESS_FIELDS(FILL_PROCESS)
	KP_SET(&process, PROCESS, pid, pid);
	KP_DEVICE_FIELDS(FILL_DEVICE)
	KP_CLOCK_FIELDS(FILL_CLOCK)
	KP_COUNTS_FIELDS(FILL_COUNTS)
	KP_WINDOW_FIELDS(FILL_WINDOW)
	KP_COUNTERS_FIELDS(FILL_COUNTERS)
	KP_END_FIELDS(FILL_END)
	CHECK(kp_writer_process(seed->writer, &process) == KP_OK);
	CHECK(kp_writer_device(seed->writer, &device) == KP_OK);
	CHECK(kp_writer_clock(seed->writer, &clock) == KP_OK);
	CHECK(kp_writer_counts(seed->writer, &counts) == KP_OK);
	CHECK(kp_writer_note(seed->writer, KP_NOTE_WARNING, "one sentence") == KP_OK);
	CHECK(kp_writer_window(seed->writer, &window) == KP_OK);
	CHECK(kp_writer_counters(seed->writer, &counters) == KP_OK);
	CHECK(kp_writer_end(seed->writer, &end) == KP_OK);
}

static void write_described(struct seed *seed)
{
	begin(seed, 1);
	describe(seed, 1001);
	finish(seed);
}

static void write_one_launch(struct seed *seed)
{
	begin(seed, 2);
	launch(seed, config(seed, "_Z6kernelPf", 11, 7), 5000, 6000);
	finish(seed);
}

/* Two streams that overlap, long enough to be compressed. */
static void write_streams(struct seed *seed)
{
	uint32_t configs[2];

	begin(seed, 3);
	configs[0] = config(seed, "_Z4gemmPKfS0_Pf", 15, 7);
	configs[1] = config(seed, "void softmax<float, 4>(float*)", 30, 13);
	for (uint64_t i = 0; i < 300; i++)
		launch(seed, configs[i % 2], 10000 + 700 * i, 10000 + 700 * i + 900 + i % 7);
	describe(seed, 1001);
	finish(seed);
}

static void write_graph(struct seed *seed)
{
	uint32_t number;

	begin(seed, 4);
	number = config(seed, "_Z4nodev", 8, 7);
	for (uint64_t i = 0; i < 48; i++) {
		struct kp_launch node = {
			.start_ns = 20000 + 1000 * i,
			.end_ns = 20500 + 1000 * i,
			.config = number,
			.correlation = 9 + (uint32_t)(i / 24),
			.graph = 3,
			.graph_node = 0x300000001ULL + i % 24,
		};

		CHECK(kp_writer_launch(seed->writer, &node) == KP_OK);
	}
	finish(seed);
}

/* Times as faulty collectors deliver them. */
static void write_sentinels(struct seed *seed)
{
	static const uint64_t times[][2] = {
		{0, 0},
		{5000, 0},
		{5000, 4999},
		{0x8000000000000000ULL, 0x8000000000000001ULL},
		{UINT64_MAX, UINT64_MAX},
		{1, UINT64_MAX},
		{KP_TIME_MAX_NS, KP_TIME_MAX_NS},
		{5000, 5000},
	};
	uint32_t number;

	begin(seed, 5);
	number = config(seed, "odd", 3, 0);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		launch(seed, number, times[i][0], times[i][1]);
	finish(seed);
}

/* Names that break printers: quotes, control bytes, invalid UTF-8, a NUL, nothing at all. */
static void write_names(struct seed *seed)
{
	static const char long_name[2000] = {'_', 'Z'};
	static const struct kp_text names[] = {
		{"", 0},
		{"operator\"\" _x\\\n\x1b[31m", 20},
		{"\xff\xfe\xc0\x80", 4},
		{"a\0b", 3},
		{"_ZN3fooIXadL_Z3barvEEE3bazEv", 28},
		{"f<g<(h)1>, decltype(i<2>())>::operator()(", 41},
		{long_name, sizeof(long_name)},
	};

	begin(seed, 6);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		launch(seed, config(seed, names[i].bytes, names[i].length, (uint32_t)i),
		       1000 * (i + 1), 1000 * (i + 1) + 500);
	finish(seed);
}

static void write_memops(struct seed *seed)
{
	begin(seed, 7);
	for (uint32_t kind = 0; kind <= KP_MEMOP_KIND_COUNT; kind++) {
		struct kp_memop memop = {
			.start_ns = 3000 + 100ULL * kind,
			.end_ns = 3050 + 100ULL * kind,
			.bytes = 1ULL << (4 * kind),
			.graph_node = kind,
			.kind = kind,
			.context = 1,
			.stream = 7 * kind,
			.correlation = kind,
			.flags = kind & 1,
		};

		CHECK(kp_writer_memop(seed->writer, &memop) == KP_OK);
	}
	finish(seed);
}

static void write_ranges(struct seed *seed)
{
	struct kp_range range = {.start_ns = 100, .end_ns = 900, .thread = 42};

	begin(seed, 8);
	CHECK(kp_writer_intern(seed->writer, "", 0, &range.domain) == KP_OK);
	CHECK(kp_writer_intern(seed->writer, "decode", 6, &range.name) == KP_OK);
	CHECK(kp_writer_range(seed->writer, &range) == KP_OK);
	range.depth = UINT32_MAX;
	range.end_ns = 0;
	CHECK(kp_writer_range(seed->writer, &range) == KP_OK);
	launch(seed, config(seed, "in_range", 8, 7), 200, 300);
	finish(seed);
}

/* Two processes that share a file, their chunks in turns. */
static void write_two_processes(struct seed *seed)
{
	struct seed other = {.fd = seed->fd};

	begin(seed, 9);
	begin(&other, 10);
	for (uint64_t i = 0; i < 4; i++) {
		launch(seed, config(seed, "mine", 4, (uint32_t)i), 1000 * i + 1, 1000 * i + 500);
		CHECK(kp_writer_flush(seed->writer) == KP_OK);
		launch(&other, config(&other, "yours", 5, 1), 1000 * i + 2, 1000 * i + 600);
		CHECK(kp_writer_flush(other.writer) == KP_OK);
	}
	describe(seed, 1001);
	describe(&other, 1002);
	finish(seed);
	finish(&other);
}

/* Launches in three windows, the last of which is open; one launch is before all of them. */
static void write_windows(struct seed *seed)
{
	struct kp_counts counts = {0};
	uint32_t number;

	begin(seed, 11);
	number = config(seed, "in_window", 9, 7);
	launch(seed, number, 500, 600);
	for (uint64_t i = 0; i < 3; i++) {
		struct kp_window_info window = {0};

		KP_SET(&window, WINDOW, number, i);
		KP_SET(&window, WINDOW, begin_ns, 10000 * (i + 1));
		KP_SET(&window, WINDOW, begin_reason, KP_WINDOW_BY_DUTY);
		CHECK(kp_writer_window(seed->writer, &window) == KP_OK);
		for (uint64_t k = 0; k < 4 + i; k++)
			launch(seed, number, 10000 * (i + 1) + 100 * k, 10050 * (i + 1) + 100 * k);
		if (i == 2)
			break;
		KP_SET(&window, WINDOW, end_ns, 10000 * (i + 1) + 400);
		KP_SET(&window, WINDOW, end_reason, KP_WINDOW_BY_DUTY);
		KP_SET(&window, WINDOW, kernels_issued, 4 + i);
		CHECK(kp_writer_window(seed->writer, &window) == KP_OK);
	}
	KP_SET(&counts, COUNTS, kernels_issued, 1000);
	KP_SET(&counts, COUNTS, kernels_out_of_window, 985);
	KP_SET(&counts, COUNTS, kernels_unsampled, 900);
	KP_SET(&counts, COUNTS, unsampled_ns, 50000);
	CHECK(kp_writer_counts(seed->writer, &counts) == KP_OK);
	finish(seed);
}

/* Calls that launched kernels, one of them a graph's; with the first, the record of one is lost. */
static void write_host(struct seed *seed)
{
	struct kp_host_call call = {.start_ns = 1000,
				    .end_ns = 1400,
				    .thread = 42,
				    .context = 1,
				    .stream = 7,
				    .kernels = 1,
				    .grid = {2, 1, 1},
				    .block = {128, 1, 1}};
	struct kp_counts counts = {0};
	uint32_t number;

	begin(seed, 12);
	number = config(seed, "called", 6, 7);
	for (uint32_t i = 0; i < 8; i++) {
		call.start_ns += 1000;
		call.end_ns += 1000 + 10 * i;
		call.thread = 42 + i % 2;
		call.correlation = i == 5 ? i : 0;
		CHECK(kp_writer_host(seed->writer, &call) == KP_OK);
		if (i > 0)
			launch(seed, number, call.end_ns + 100, call.end_ns + 400);
	}
	call.kind = KP_HOST_GRAPH;
	call.kernels = KP_HOST_UNKNOWN;
	call.start_ns = call.end_ns = UINT64_MAX;
	CHECK(kp_writer_host(seed->writer, &call) == KP_OK);
	KP_SET(&counts, COUNTS, host_calls, 9);
	KP_SET(&counts, COUNTS, host_calls_lost, 0);
	CHECK(kp_writer_counts(seed->writer, &counts) == KP_OK);
	finish(seed);
}

/* Launches in calls of libraries, the last of no known one; a graph whose nodes are. */
static void write_library(struct seed *seed)
{
	struct kp_library_call call = {.kind = KP_LIBRARY_GEMM, .m = 64, .batch = 1};
	struct kp_library_node node = {.kernels = 2, .grid = {6, 1, 1}, .block = {32, 1, 1}};
	struct kp_library_launch record = {.start_ns = 500, .end_ns = 500};
	struct kp_counts counts = {0};
	uint32_t number = 0, calls[2] = {0};

	begin(seed, 14);
	for (uint32_t i = 0; i < 2; i++) {
		call.n = 32 + i;
		call.stride_a = UINT64_MAX - i;
		CHECK(kp_writer_library_call(seed->writer, &call, &calls[i]) == KP_OK);
		node.index = i;
		node.call = calls[i];
		CHECK(kp_writer_library_node(seed->writer, &node) == KP_OK);
	}
	for (uint32_t i = 0; i < 8; i++) {
		number = config(seed, "of_a_call", 6, 7);
		record.ordinal = i == 7 ? UINT64_MAX : i;
		record.others = i % 3;
		record.before = i % 2;
		record.call = calls[i % 2];
		record.stream = record.context = i < 4 ? UINT32_MAX : 7;
		record.graph = i == 6;
		CHECK(kp_writer_library(seed->writer, &record) == KP_OK);
		launch(seed, number, 1000 * (i + 1), 1000 * (i + 1) + 400);
	}
	KP_SET(&counts, COUNTS, kernels_issued, 8);
	KP_SET(&counts, COUNTS, library_calls, 8);
	CHECK(kp_writer_counts(seed->writer, &counts) == KP_OK);
	finish(seed);
}

static void begin_session(struct seed *seed, uint64_t number)
{
	struct kp_counters_info counters = {0};

	KP_SET(&counters, COUNTERS, number, number);
	KP_SET(&counters, COUNTERS, device, number);
	KP_SET(&counters, COUNTERS, chip, text("GH100"));
	KP_SET(&counters, COUNTERS, interval_ns, 10000);
	KP_SET(&counters, COUNTERS, metrics,
	       text("dram_read_bytes dram__bytes_read.sum byte\n"
		    "new_metric some__name.sum cycle\n"));
	CHECK(kp_writer_counters(seed->writer, &counters) == KP_OK);
}

/* Samples of two GPUs, one of which ends; clocks of a third, which has no counters. */
static void write_samples(struct seed *seed)
{
	struct kp_counter_sample samples[40] = {{0}};
	struct kp_counters_info more = {0};
	struct kp_clocks clocks = {.start_ns = 900, .end_ns = 950, .device = 2};

	begin(seed, 13);
	begin_session(seed, 0);
	begin_session(seed, 1);
	for (uint32_t i = 0; i < 40; i++) {
		samples[i] = (struct kp_counter_sample){.begin_ns = 10000 * (i + 1),
							.end_ns = 10000 * (i + 2),
							.session = i / 20,
							.values = {4096 * (i % 7), UINT64_MAX - i}};
		samples[i].flags = i == 5 ? KP_SAMPLE_AFTER_GAP : 0;
	}
	CHECK(kp_writer_samples(seed->writer, samples, 20) == KP_OK);
	CHECK(kp_writer_samples(seed->writer, samples + 20, 20) == KP_OK);
	for (uint32_t has = 0; has < 32; has += 3) {
		clocks.has = has;
		clocks.sm_mhz = 1980;
		clocks.throttle_reasons = 1ULL << has;
		CHECK(kp_writer_clocks(seed->writer, &clocks) == KP_OK);
		clocks.start_ns = clocks.end_ns += 1000;
	}
	KP_SET(&more, COUNTERS, number, 0);
	KP_SET(&more, COUNTERS, samples, 20);
	KP_SET(&more, COUNTERS, gaps, 1);
	CHECK(kp_writer_counters(seed->writer, &more) == KP_OK);
	launch(seed, config(seed, "sampled", 7, 1), 15000, 45000);
	finish(seed);
}

/* A process that was killed: the file ends within a chunk. */
static void write_torn(struct seed *seed)
{
	struct stat info;

	write_streams(seed);
	CHECK(fstat(seed->fd, &info) == 0);
	CHECK(ftruncate(seed->fd, info.st_size - 21) == 0);
}

static const struct {
	const char *name;
	void (*write)(struct seed *seed);
} seeds[] = {
	{"described", write_described},
	{"one-launch", write_one_launch},
	{"streams", write_streams},
	{"graph", write_graph},
	{"sentinels", write_sentinels},
	{"names", write_names},
	{"memops", write_memops},
	{"ranges", write_ranges},
	{"two-processes", write_two_processes},
	{"windows", write_windows},
	{"samples", write_samples},
	{"host", write_host},
	{"library", write_library},
	{"torn", write_torn},
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
		return 2;
	}
	CHECK(mkdir(argv[1], 0777) == 0 || errno == EEXIST);
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct seed seed = {0};
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s.kprof", argv[1], seeds[i].name);
		seed.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
		CHECK(seed.fd >= 0);
		seeds[i].write(&seed);
		close(seed.fd);
	}
	return 0;
}
