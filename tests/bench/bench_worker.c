/*
 * What a kernel record costs the collector's worker: reading it from CUPTI's buffer, interning,
 * sorting, coding in columns, compressing and writing.
 *
 *	bench_worker [RECORDS]
 *
 * The records look like those of a decode loop: 160 configurations of 46 kernels on two streams,
 * durations and gaps with the jitter of a real GPU, eager or as nodes of a graph. All costs are CPU
 * time of this thread, the best of several rounds, and are given beside that of copying the same
 * bytes with memcpy: the ratio, not the nanoseconds, can be compared between machines. A number to
 * read, not a test.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>
#if CUPTI_API_VERSION >= 21
#include <cupti_activity_deprecated.h>
#endif

#include "inject/ab.h"
#include "inject/buffers.h"
#include "inject/clocks.h"
#include "inject/share.h"
#include "inject/translate.h"

/* No other client of CUPTI is here. */
bool kp_share_claims(CUpti_ActivityKind kind)
{
	(void)kind;
	return false;
}

/* There are no rules. */
void kp_ab_watch(struct kp_board_image *image, uint64_t now_ns)
{
	(void)image;
	(void)now_ns;
}

/* Nobody reads clocks here. */
void kp_clocks_watch(const struct kp_device_info *info)
{
	(void)info;
}

#define CONFIGS 160
#define NAMES 46
#define ROUNDS 5
#define RECORDS_A_BUFFER (KP_BUFFER_BYTES / sizeof(CUpti_ActivityKernel8))

static char names[NAMES][96];

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Repeats on every machine. */
static uint32_t next_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20);
}

/* In place of CUPTI's: the records are Kernel8, one behind the other. */
static CUptiResult CUPTIAPI next_record(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityKernel8) : bytes;

	if (next + sizeof(CUpti_ActivityKernel8) > bytes + valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (void *)next;
	return CUPTI_SUCCESS;
}

/* One record after the other in time; a graph has 470 nodes. */
static void make_record(CUpti_ActivityKernel8 *record, uint64_t number, bool in_graph)
{
	static uint64_t now_ns = 1000000000000ULL;
	uint32_t node = (uint32_t)(number % 470);
	uint32_t config = node % CONFIGS;

	*record = (CUpti_ActivityKernel8){
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.registersPerThread = (uint16_t)(32 + config % 64),
		.start = now_ns + 900 + next_random() % 300,
		.contextId = 1,
		.streamId = config % 16 == 0 ? 13 : 7,
		.gridX = (int32_t)(config * 4 + 1),
		.gridY = 1,
		.gridZ = 1,
		.blockX = 128,
		.blockY = 1,
		.blockZ = 1,
		.correlationId = (uint32_t)(in_graph ? number / 470 : number),
		.name = names[config % NAMES],
		.graphNodeId = in_graph ? 5000 + node : 0,
		.graphId = in_graph ? 3 : 0,
	};
	record->end = record->start + 1500 + config * 40 + next_random() % 96;
	now_ns = record->end;
}

static uint8_t *make_records(size_t count, bool in_graph)
{
	CUpti_ActivityKernel8 *records = malloc(count * sizeof(*records));

	if (!records)
		exit(1);
	for (size_t i = 0; i < count; i++)
		make_record(&records[i], i, in_graph);
	return (uint8_t *)records;
}

/* CPU time of copying all buffers into one that is as warm as the worker's would be. */
static uint64_t copy_ns(const uint8_t *records, size_t count)
{
	uint8_t *buffer = malloc(KP_BUFFER_BYTES);
	uint64_t begin_ns;

	if (!buffer)
		exit(1);
	memset(buffer, 1, KP_BUFFER_BYTES);
	begin_ns = cpu_ns();
	for (size_t at = 0; at < count; at += RECORDS_A_BUFFER) {
		size_t some = count - at < RECORDS_A_BUFFER ? count - at : RECORDS_A_BUFFER;

		memcpy(buffer, records + at * sizeof(CUpti_ActivityKernel8),
		       some * sizeof(CUpti_ActivityKernel8));
		__asm__ volatile("" : : "r"(buffer) : "memory");
	}
	begin_ns = cpu_ns() - begin_ns;
	free(buffer);
	return begin_ns;
}

/* CPU time of the worker for all buffers; *bytes of trace. */
static uint64_t translate_ns(const struct kp_cupti *cupti, uint8_t *records, size_t count,
			     off_t *bytes)
{
	char path[] = "/tmp/kprof-bench-XXXXXX";
	int fd = mkstemp(path);
	struct kp_translator *translator;
	struct kp_writer *writer;
	struct kp_counts counts = {0};
	uint64_t begin_ns;

	if (fd < 0 || kp_writer_create(fd, 1, &writer) != KP_OK)
		exit(1);
	unlink(path);
	translator = kp_translator_create(cupti, writer);
	if (!translator)
		exit(1);
	begin_ns = cpu_ns();
	for (size_t at = 0; at < count; at += RECORDS_A_BUFFER) {
		size_t some = count - at < RECORDS_A_BUFFER ? count - at : RECORDS_A_BUFFER;

		kp_translate(translator, records + at * sizeof(CUpti_ActivityKernel8),
			     some * sizeof(CUpti_ActivityKernel8), 0, &counts);
	}
	kp_writer_flush(writer);
	begin_ns = cpu_ns() - begin_ns;
	if (counts.kernels_recorded != count || kp_writer_loss(writer).launches) {
		fputs("bench_worker: records were lost\n", stderr);
		exit(1);
	}
	*bytes = lseek(fd, 0, SEEK_END);
	kp_writer_destroy(writer);
	close(fd);
	return begin_ns;
}

static void measure(const struct kp_cupti *cupti, const char *what, size_t count, bool in_graph)
{
	uint8_t *records = make_records(count, in_graph);
	uint64_t copied_ns = UINT64_MAX, translated_ns = UINT64_MAX;
	off_t bytes = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t ns = copy_ns(records, count);

		if (ns < copied_ns)
			copied_ns = ns;
		ns = translate_ns(cupti, records, count, &bytes);
		if (ns < translated_ns)
			translated_ns = ns;
	}
	printf("%s: %.1f ns a record, %.1f x memcpy of it (%.2f ns), %.2f bytes of trace\n", what,
	       (double)translated_ns / (double)count, (double)translated_ns / (double)copied_ns,
	       (double)copied_ns / (double)count, (double)bytes / (double)count);
	free(records);
}

int main(int argc, char **argv)
{
	const struct kp_cupti cupti = {.ActivityGetNextRecord = next_record};
	long count = argc > 1 ? atol(argv[1]) : 1000000;

	if (count <= 0) {
		fputs("usage: bench_worker [RECORDS]\n", stderr);
		return 2;
	}
	for (int i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "_ZN7example%02d12some_kernelIfEEvPKT_PS1_i",
			 i);
	measure(&cupti, "eager", (size_t)count, false);
	measure(&cupti, "graph", (size_t)count, true);
	return 0;
}
