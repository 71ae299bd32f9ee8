/*
 * A large trace, for benchmarks and tests of scale: like that of a decode loop, for as long as
 * wanted.
 *
 *	generate_trace FILE LAUNCHES [eager|graph [SEED [SLOWER_PERCENT]]]
 *
 * 400 kernels in 40 shapes each at most, on 8 streams that overlap; steps of 470 launches repeat,
 * with the jitter of a real GPU, a copy to the host and a pause after each, and an NVTX range
 * around. SLOWER_PERCENT: so much longer are the launches of the first kernel. Equal arguments give
 * equal bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/writer.h"

#define KERNELS 400
#define SHAPES 40
#define STREAMS 8
#define STEP 470
#define MEAN_GAP_NS 900
#define PAUSE_NS 60000
#define STREAM_LAG_NS 700

struct generator {
	struct kp_writer *writer;
	uint64_t random;
	uint32_t configs[STEP];
	uint64_t duration_ns[STEP];
	uint64_t clock_ns[STREAMS];
	uint32_t range, domain, correlation;
	bool graph;
};

static void check(enum kp_status status)
{
	if (status == KP_OK)
		return;
	fprintf(stderr, "generate_trace: %s\n", kp_status_message(status));
	exit(1);
}

/* xorshift64* */
static uint64_t draw(struct generator *generator, uint64_t below)
{
	generator->random ^= generator->random >> 12;
	generator->random ^= generator->random << 25;
	generator->random ^= generator->random >> 27;
	return (generator->random * 2685821657736338717ULL >> 33) % below;
}

static const char *const operators[] = {
	"gemm_bf16_128x128", "flash_fwd_splitkv_kernel",      "rms_norm_kernel", "silu_mul_kernel",
	"rotary_kernel",     "vectorized_elementwise_kernel", "softmax_warp",    "reduce_kernel"};

static uint32_t config_of(struct generator *generator, unsigned place)
{
	struct kp_launch_config config = {.context = 1,
					  .stream = 7 + place % STREAMS,
					  .block = {128 << place % 3, 1, 1},
					  .registers = 32 + place % 8 * 16,
					  .dynamic_shared_bytes = place % 5 * 8192};
	unsigned kernel = place * 7 % KERNELS;
	char name[96];
	uint32_t number;
	int length =
		snprintf(name, sizeof(name), "%s_%03u",
			 operators[kernel % (sizeof(operators) / sizeof(operators[0]))], kernel);

	config.grid[0] = (uint32_t)(1 + draw(generator, SHAPES)) * 16;
	config.grid[1] = config.grid[2] = 1;
	check(kp_writer_intern(generator->writer, name, (size_t)length, &config.name));
	check(kp_writer_config(generator->writer, &config, &number));
	return number;
}

static void describe(struct generator *generator)
{
	struct kp_process_info process = {0};
	struct kp_device_info device = {0};

	KP_SET(&process, PROCESS, pid, 1000);
	KP_SET(&process, PROCESS, command, ((struct kp_text){"generate_trace", 14}));
	check(kp_writer_process(generator->writer, &process));
	KP_SET(&device, DEVICE, device, 0);
	KP_SET(&device, DEVICE, sm_count, 132);
	check(kp_writer_device(generator->writer, &device));
	check(kp_writer_intern(generator->writer, "", 0, &generator->domain));
	check(kp_writer_intern(generator->writer, "step", 4, &generator->range));
}

static void launch(struct generator *generator, unsigned place)
{
	uint64_t *clock_ns = &generator->clock_ns[place % STREAMS];
	uint64_t length_ns = generator->duration_ns[place];
	struct kp_launch record = {.config = generator->configs[place]};

	*clock_ns += MEAN_GAP_NS / 2 + draw(generator, MEAN_GAP_NS);
	record.start_ns = *clock_ns & ~31ULL;
	record.end_ns =
		(record.start_ns + length_ns + draw(generator, length_ns / 16 + 1)) & ~31ULL;
	record.correlation = generator->graph ? generator->correlation : ++generator->correlation;
	record.graph = generator->graph ? 1 : 0;
	record.graph_node = generator->graph ? place + 1 : 0;
	*clock_ns = record.end_ns;
	check(kp_writer_launch(generator->writer, &record));
}

/* Streams meet at the end of a step. */
static void step(struct generator *generator, uint64_t launches)
{
	struct kp_range range = {.start_ns = generator->clock_ns[0],
				 .thread = 1000,
				 .domain = generator->domain,
				 .name = generator->range};
	struct kp_memop copy = {
		.kind = KP_MEMOP_DEVICE_TO_HOST, .context = 1, .stream = 7, .bytes = 4};
	uint64_t last_ns = 0;

	generator->correlation++;
	for (unsigned place = 0; place < launches; place++)
		launch(generator, place);
	for (unsigned i = 0; i < STREAMS; i++)
		if (generator->clock_ns[i] > last_ns)
			last_ns = generator->clock_ns[i];
	copy.start_ns = last_ns + 1000;
	copy.end_ns = copy.start_ns + 1600;
	copy.correlation = ++generator->correlation;
	check(kp_writer_memop(generator->writer, &copy));
	range.end_ns = copy.end_ns + 1000;
	check(kp_writer_range(generator->writer, &range));
	for (unsigned i = 0; i < STREAMS; i++)
		generator->clock_ns[i] =
			copy.end_ns + PAUSE_NS + draw(generator, PAUSE_NS / 8) + i * STREAM_LAG_NS;
}

static void finish(struct generator *generator, uint64_t launches)
{
	struct kp_counts counts = {0};
	struct kp_end end = {0};

	KP_SET(&counts, COUNTS, kernels_issued, launches);
	KP_SET(&counts, COUNTS, kernels_recorded, launches);
	check(kp_writer_flush(generator->writer));
	check(kp_writer_counts(generator->writer, &counts));
	KP_SET(&end, END, way, KP_END_EXIT);
	check(kp_writer_end(generator->writer, &end));
}

int main(int argc, char **argv)
{
	struct generator generator = {.random = 88172645463325252ULL};
	uint64_t launches = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned slower_percent = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 0;
	int fd;

	if (launches == 0) {
		fputs("Usage: generate_trace FILE LAUNCHES [eager|graph [SEED [SLOWER_PERCENT]]]\n",
		      stderr);
		return 2;
	}
	generator.graph = argc > 3 && strcmp(argv[3], "graph") == 0;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	check(kp_writer_create(fd, 1, &generator.writer));
	describe(&generator);
	for (unsigned i = 0; i < STEP; i++) {
		generator.configs[i] = config_of(&generator, i);
		generator.duration_ns[i] = 1200 + draw(&generator, 9000);
	}
	generator.duration_ns[0] += generator.duration_ns[0] * slower_percent / 100;
	/* The program is the same whatever the seed; only its times differ. */
	generator.random += argc > 4 ? strtoull(argv[4], NULL, 10) * 2654435761ULL : 0;
	for (unsigned i = 0; i < STREAMS; i++)
		generator.clock_ns[i] = 1000000000000ULL + i * STREAM_LAG_NS;
	for (uint64_t left = launches; left > 0; left -= left < STEP ? left : STEP)
		step(&generator, left < STEP ? left : STEP);
	finish(&generator, launches);
	kp_writer_destroy(generator.writer);
	close(fd);
	return 0;
}
