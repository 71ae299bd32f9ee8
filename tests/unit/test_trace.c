/* The trace format: what is written comes back; what is broken is skipped and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/trace_file.h"
#include "trace/chunk.h"

#define BASE_NS 1000000ULL

/* Opens one path; the test fails if that fails. */
static struct kp_reader *open_trace(const char *path)
{
	struct kp_reader *reader;
	size_t bad;

	assert_int_equal(kp_reader_open(&path, 1, &reader, &bad), KP_OK);
	return reader;
}

static enum kp_status open_status(const char *path)
{
	struct kp_reader *reader;
	size_t bad;
	enum kp_status status = kp_reader_open(&path, 1, &reader, &bad);

	kp_reader_close(reader);
	return status;
}

/* Reads everything; returns the number of launches. */
static size_t count_launches(struct kp_reader *reader)
{
	struct kp_event event;
	size_t launches = 0;

	while (kp_reader_next(reader, &event) == KP_OK)
		if (event.kind == KP_EVENT_LAUNCHES)
			launches += event.count;
	return launches;
}

static void write_sample(struct trace_file *file, uint64_t process, unsigned launches)
{
	struct kp_process_info info = {0};
	uint32_t config;

	trace_file_begin(file, process);
	KP_SET(&info, PROCESS, pid, 42);
	KP_SET(&info, PROCESS, command, ((struct kp_text){"a\0b", 3}));
	assert_int_equal(kp_writer_process(file->writer, &info), KP_OK);
	config = trace_file_config(file, "kernel", 0, 7);
	for (unsigned i = 0; i < launches; i++)
		trace_file_launch(file, config, BASE_NS + 100 * i, BASE_NS + 100 * i + 40);
	assert_int_equal(kp_writer_flush(file->writer), KP_OK);
}

static char *slurp(const char *path, size_t *length)
{
	FILE *stream = fopen(path, "rb");
	char *bytes = malloc(1 << 20);

	assert_non_null(stream);
	assert_non_null(bytes);
	*length = fread(bytes, 1, 1 << 20, stream);
	fclose(stream);
	return bytes;
}

static void spit(const char *path, const char *bytes, size_t length)
{
	FILE *stream = fopen(path, "wb");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, length, stream), length);
	fclose(stream);
}

static void test_launches_come_back_exactly(void **state)
{
	static const uint64_t times[][2] = {
		{0, 0},           {BASE_NS, BASE_NS + 1},     {BASE_NS + 5, BASE_NS + 3},
		{BASE_NS + 6, 0}, {0x8000000000000000ULL, 1}, {UINT64_MAX, UINT64_MAX},
		{UINT64_MAX, 0},
	};
	const size_t count = sizeof(times) / sizeof(times[0]);
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_event event;
	uint32_t configs[2];

	(void)state;
	trace_file_begin(&file, 1);
	configs[0] = trace_file_config(&file, "a", 0, 7);
	configs[1] = trace_file_config(&file, "b", 1, 9);
	for (size_t i = 0; i < count; i++) {
		struct kp_launch launch = {times[i][0],
					   times[i][1],
					   i * 1000 % 77,
					   configs[i % 2],
					   (uint32_t)(UINT32_MAX - i * i),
					   (uint32_t)(i % 3)};

		assert_int_equal(kp_writer_launch(file.writer, &launch), KP_OK);
	}
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	reader = open_trace(file.path);
	assert_int_equal(kp_reader_next(reader, &event), KP_OK);
	assert_int_equal(event.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct kp_launch *launch = &event.launches[i];
		size_t from = 0;

		while (from < count && launch->correlation != (uint32_t)(UINT32_MAX - from * from))
			from++;
		assert_true(from < count);
		assert_true(launch->start_ns == times[from][0] && launch->end_ns == times[from][1]);
		assert_int_equal(launch->graph_node, from * 1000 % 77);
		assert_int_equal(launch->config, configs[from % 2]);
		assert_int_equal(launch->graph, from % 3);
	}
	assert_int_equal(kp_reader_next(reader, &event), KP_END);
	kp_reader_close(reader);
	trace_file_end(&file);
}

static void test_configs_and_strings_come_back(void **state)
{
	struct trace_file file;
	struct kp_reader *reader;
	const struct kp_process *process;
	struct kp_launch_config config = {0};
	uint32_t number;

	(void)state;
	write_sample(&file, 9, 3);
	for (size_t i = 0; i < sizeof(config) / 4; i++)
		((uint32_t *)&config)[i] = (uint32_t)(i * 0x01234567);
	config.name = 0;
	assert_int_equal(kp_writer_config(file.writer, &config, &number), KP_OK);
	trace_file_launch(&file, number, BASE_NS, BASE_NS + 1);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	reader = open_trace(file.path);
	process = kp_reader_process(reader, 0);
	assert_int_equal(process->config_count, 2);
	assert_memory_equal(&process->configs[number], &config, sizeof(config));
	assert_string_equal(kp_process_string(process, 0).bytes, "kernel");
	assert_int_equal(process->info.pid, 42);
	assert_false(KP_HAS(&process->info, PROCESS, parent_pid));
	assert_int_equal(process->info.command.length, 3);
	assert_memory_equal(process->info.command.bytes, "a\0b", 4);
	kp_reader_close(reader);
	trace_file_end(&file);
}

static void test_memops_and_ranges_come_back(void **state)
{
	const struct kp_memop memop = {5, 9, 1ULL << 40, 3, KP_MEMOP_SET, 1, 2, 3, 4, 1};
	struct kp_range range = {7, 8, 99, 0, 0, UINT32_MAX};
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_event event;

	(void)state;
	trace_file_begin(&file, 1);
	assert_int_equal(kp_writer_range(file.writer, &range), KP_INVALID);
	assert_int_equal(kp_writer_intern(file.writer, "", 0, &range.domain), KP_OK);
	assert_int_equal(kp_writer_intern(file.writer, "decode", 6, &range.name), KP_OK);
	assert_int_equal(kp_writer_range(file.writer, &range), KP_OK);
	assert_int_equal(kp_writer_memop(file.writer, &memop), KP_OK);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	reader = open_trace(file.path);
	assert_int_equal(kp_reader_next(reader, &event), KP_OK);
	assert_int_equal(event.kind, KP_EVENT_MEMOPS);
	assert_memory_equal(event.memops, &memop, sizeof(memop));
	assert_int_equal(event.watermark_ns, 7);
	assert_int_equal(kp_reader_next(reader, &event), KP_OK);
	assert_int_equal(event.kind, KP_EVENT_RANGES);
	assert_memory_equal(event.ranges, &range, sizeof(range));
	assert_true(event.watermark_ns == UINT64_MAX);
	kp_reader_close(reader);
	trace_file_end(&file);
}

/* Calls in any order of writing, sentinels included, come back in order of their begin. */
static void test_host_calls_come_back(void **state)
{
	const struct kp_host_call calls[] = {
		{70, 90, 12, KP_HOST_GRAPH, 1, 7, 0, KP_HOST_UNKNOWN, {0, 0, 0}, {0, 0, 0}},
		{50, 60, 11, KP_HOST_LAUNCH, 1, 7, 9, 1, {4, 2, 1}, {128, 1, 1}},
		{UINT64_MAX,
		 1,
		 UINT32_MAX,
		 99,
		 KP_HOST_UNKNOWN,
		 KP_HOST_UNKNOWN,
		 UINT32_MAX,
		 0,
		 {UINT32_MAX, 0, 1},
		 {1, UINT32_MAX, 0}},
	};
	static const size_t place[] = {1, 0, 2};
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_event event;

	(void)state;
	trace_file_begin(&file, 1);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(kp_writer_host(file.writer, &calls[i]), KP_OK);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	assert_int_equal(kp_writer_loss(file.writer).host_calls, 0);
	reader = open_trace(file.path);
	assert_int_equal(kp_reader_process(reader, 0)->promised_host_calls, 3);
	assert_int_equal(kp_reader_next(reader, &event), KP_OK);
	assert_int_equal(event.kind, KP_EVENT_HOST);
	assert_int_equal(event.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_memory_equal(&event.calls[i], &calls[place[i]], sizeof(calls[0]));
	kp_reader_close(reader);
	trace_file_end(&file);
}

/* Case 7: whatever is cut off, the complete chunks before it survive, and the cut is reported. */
static void test_torn_tail_keeps_what_is_whole(void **state)
{
	struct trace_file file;
	struct kp_reader *reader;
	size_t whole, length;
	char *bytes;

	(void)state;
	write_sample(&file, 1, 20);
	bytes = slurp(file.path, &whole);
	free(bytes);
	trace_file_launch(&file, 0, BASE_NS + 9000, BASE_NS + 9001);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	bytes = slurp(file.path, &length);
	for (size_t cut = whole + 1; cut < length; cut++) {
		spit(file.path, bytes, cut);
		reader = open_trace(file.path);
		assert_int_equal(count_launches(reader), 20);
		assert_true(kp_reader_damage(reader).torn_tail);
		assert_int_equal(kp_reader_damage(reader).damaged_bytes, cut - whole);
		kp_reader_close(reader);
	}
	free(bytes);
	trace_file_end(&file);
}

/* One flipped byte anywhere costs at most the chunk that it is in, and never goes unnoticed. */
static void test_flipped_byte_is_noticed(void **state)
{
	struct trace_file file;
	struct kp_reader *reader;
	const char *path = file.path;
	size_t length, bad;
	char *bytes;

	(void)state;
	write_sample(&file, 1, 20);
	trace_file_launch(&file, 0, BASE_NS + 9000, BASE_NS + 9001);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	bytes = slurp(file.path, &length);
	for (size_t at = 0; at < length; at++) {
		struct kp_damage damage;

		bytes[at] ^= 0x20;
		spit(file.path, bytes, length);
		bytes[at] ^= 0x20;
		if (kp_reader_open(&path, 1, &reader, &bad) != KP_OK)
			continue;
		count_launches(reader);
		damage = kp_reader_damage(reader);
		assert_true(damage.damaged_bytes > 0);
		kp_reader_close(reader);
	}
	free(bytes);
	trace_file_end(&file);
}

/* A write that broke off in the middle of a shared file costs only itself. */
static void test_torn_chunk_between_others(void **state)
{
	struct trace_file first, second;
	struct kp_reader *reader;
	size_t first_length, second_length;
	char *first_bytes, *second_bytes, *both;

	(void)state;
	write_sample(&first, 1, 20);
	write_sample(&second, 2, 30);
	first_bytes = slurp(first.path, &first_length);
	second_bytes = slurp(second.path, &second_length);
	both = malloc(first_length + second_length);
	assert_non_null(both);
	memcpy(both, first_bytes, first_length - 5);
	memcpy(both + first_length - 5, second_bytes, second_length);
	spit(first.path, both, first_length - 5 + second_length);
	reader = open_trace(first.path);
	assert_int_equal(count_launches(reader), 30);
	assert_int_equal(kp_reader_damage(reader).lost_launches, 20);
	assert_false(kp_reader_damage(reader).torn_tail);
	kp_reader_close(reader);
	free(first_bytes);
	free(second_bytes);
	free(both);
	trace_file_end(&first);
	trace_file_end(&second);
}

static void test_concatenation_is_merging(void **state)
{
	struct trace_file first, second;
	const char *paths[2] = {first.path, second.path};
	struct kp_reader *reader;
	size_t bad;

	(void)state;
	write_sample(&first, 1, 20);
	write_sample(&second, 2, 30);
	assert_int_equal(kp_reader_open(paths, 2, &reader, &bad), KP_OK);
	assert_int_equal(kp_reader_process_count(reader), 2);
	assert_int_equal(count_launches(reader), 50);
	kp_reader_rewind(reader);
	assert_int_equal(count_launches(reader), 50);
	assert_int_equal(kp_reader_damage(reader).damaged_chunks, 0);
	kp_reader_close(reader);
	trace_file_end(&first);
	trace_file_end(&second);
}

/* The same trace twice is one trace. */
static void test_repeated_chunks_count_once(void **state)
{
	struct trace_file file;
	const char *paths[2] = {file.path, file.path};
	struct kp_reader *reader;
	size_t bad;

	(void)state;
	write_sample(&file, 1, 20);
	assert_int_equal(kp_reader_open(paths, 2, &reader, &bad), KP_OK);
	assert_int_equal(count_launches(reader), 20);
	assert_true(kp_reader_damage(reader).repeated_chunks > 0);
	assert_int_equal(kp_reader_damage(reader).damaged_chunks, 0);
	kp_reader_close(reader);
	trace_file_end(&file);
}

/* Kernels whose names were lost stay different kernels. */
static void test_lost_names_stay_different(void **state)
{
	static const char strings_kind = KP_CHUNK_STRINGS;
	struct trace_file file;
	struct kp_reader *reader;
	size_t length, hit = 0;
	char *bytes;

	(void)state;
	trace_file_begin(&file, 1);
	trace_file_launch(&file, trace_file_config(&file, "first", 0, 7), BASE_NS, BASE_NS + 1);
	trace_file_launch(&file, trace_file_config(&file, "second", 0, 7), BASE_NS + 2,
			  BASE_NS + 3);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	bytes = slurp(file.path, &length);
	for (size_t at = 0; at + KP_CHUNK_HEADER_BYTES < length && !hit; at++)
		if (memcmp(bytes + at, KP_CHUNK_MAGIC, 4) == 0 && bytes[at + 4] == strings_kind)
			hit = at + KP_CHUNK_HEADER_BYTES;
	assert_true(hit > 0);
	bytes[hit] ^= 1;
	spit(file.path, bytes, length);
	reader = open_trace(file.path);
	assert_int_equal(count_launches(reader), 2);
	assert_string_equal(kp_process_string(kp_reader_process(reader, 0), 0).bytes,
			    "(lost name 0)");
	assert_string_equal(kp_process_string(kp_reader_process(reader, 0), 1).bytes,
			    "(lost name 1)");
	kp_reader_close(reader);
	free(bytes);
	trace_file_end(&file);
}

/* A chunk that never reached the file shows as a gap in the numbering. */
static void test_missing_chunk_is_counted(void **state)
{
	struct trace_file file;
	struct kp_reader *reader;
	size_t before, after, length;
	char *bytes;

	(void)state;
	write_sample(&file, 1, 20);
	free(slurp(file.path, &before));
	trace_file_launch(&file, 0, BASE_NS + 9000, BASE_NS + 9001);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	free(slurp(file.path, &after));
	trace_file_launch(&file, 0, BASE_NS + 9100, BASE_NS + 9101);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	bytes = slurp(file.path, &length);
	memmove(bytes + before, bytes + after, length - after);
	spit(file.path, bytes, length - (after - before));
	reader = open_trace(file.path);
	assert_int_equal(count_launches(reader), 21);
	assert_int_equal(kp_reader_damage(reader).missing_chunks, 1);
	kp_reader_close(reader);
	free(bytes);
	trace_file_end(&file);
}

static void test_full_disk_is_counted(void **state)
{
	struct kp_writer *writer;
	struct kp_launch_config config = {0};
	struct kp_launch launch = {BASE_NS, BASE_NS + 1, 0, 0, 0, 0};
	int fd = open("/dev/full", O_WRONLY | O_APPEND);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(kp_writer_create(fd, 1, &writer), KP_OK);
	assert_int_equal(kp_writer_intern(writer, "k", 1, &config.name), KP_OK);
	assert_int_equal(kp_writer_config(writer, &config, &launch.config), KP_OK);
	for (int i = 0; i < 5; i++)
		assert_int_equal(kp_writer_launch(writer, &launch), KP_OK);
	assert_int_equal(kp_writer_flush(writer), KP_IO);
	assert_int_equal(kp_writer_loss(writer).launches, 5);
	assert_int_equal(kp_writer_loss(writer).first_errno, 28 /* ENOSPC */);
	kp_writer_destroy(writer);
	close(fd);
}

static void test_later_counts_complete_earlier_ones(void **state)
{
	struct trace_file file;
	struct kp_writer *launcher;
	struct kp_reader *reader;
	struct kp_counts counts = {0};

	(void)state;
	write_sample(&file, 77, 2);
	KP_SET(&counts, COUNTS, kernels_recorded, 2);
	assert_int_equal(kp_writer_counts(file.writer, &counts), KP_OK);
	assert_int_equal(kp_writer_create(file.fd, 77, &launcher), KP_OK);
	counts = (struct kp_counts){0};
	KP_SET(&counts, COUNTS, records_dropped, 5);
	assert_int_equal(kp_writer_counts(launcher, &counts), KP_OK);
	kp_writer_destroy(launcher);
	reader = open_trace(file.path);
	assert_int_equal(kp_reader_process_count(reader), 1);
	assert_int_equal(kp_reader_process(reader, 0)->counts.kernels_recorded, 2);
	assert_int_equal(kp_reader_process(reader, 0)->counts.records_dropped, 5);
	assert_int_equal(kp_reader_damage(reader).missing_chunks, 0);
	kp_reader_close(reader);
	trace_file_end(&file);
}

static void test_bad_files_are_told_apart(void **state)
{
	static const char foreign[] = "SQLite format 3, or anything else that is no trace at all, "
				      "long enough to hold a header";
	struct trace_file file;

	(void)state;
	trace_file_begin(&file, 1);
	assert_int_equal(open_status(file.path), KP_EMPTY);
	spit(file.path, foreign, sizeof(foreign));
	assert_int_equal(open_status(file.path), KP_NOT_A_TRACE);
	spit(file.path, "KPRF and nothing good", 21);
	assert_int_equal(open_status(file.path), KP_CORRUPT);
	assert_int_equal(open_status("/tmp"), KP_NOT_SEEKABLE);
	assert_int_equal(open_status("/nonexistent/kprof"), KP_NOT_FOUND);
	trace_file_end(&file);
}

/* Chunks of other kinds and major versions are passed over and counted. */
static void test_unknown_chunks_are_skipped(void **state)
{
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_chunk_header header = {
		.kind = 200, .sequence = KP_CHUNK_UNNUMBERED, .process = 1};
	struct kp_buffer payload = {0}, sealed = {0};

	(void)state;
	write_sample(&file, 1, 20);
	kp_buffer_put(&payload, "from the future", 15);
	assert_int_equal(kp_chunk_seal(&header, &payload, NULL, &sealed), KP_OK);
	assert_int_equal(write(file.fd, sealed.bytes, sealed.length), sealed.length);
	reader = open_trace(file.path);
	assert_int_equal(count_launches(reader), 20);
	assert_int_equal(kp_reader_damage(reader).unknown_chunks, 1);
	assert_int_equal(kp_reader_damage(reader).damaged_chunks, 0);
	kp_reader_close(reader);
	kp_buffer_fini(&payload);
	kp_buffer_fini(&sealed);
	trace_file_end(&file);
}

/* ≤ 4 bytes a launch for a decode-like pattern: 40 kernels in turn, times that jitter. */
static void test_decode_pattern_is_compact(void **state)
{
	const unsigned launches = 100000;
	struct trace_file file;
	struct stat about;
	uint32_t configs[40];
	uint64_t now_ns = BASE_NS, random = 1;

	(void)state;
	trace_file_begin(&file, 1);
	for (unsigned i = 0; i < 40; i++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel_%u", i);
		configs[i] = trace_file_config(&file, name, 0, 7);
	}
	for (unsigned i = 0; i < launches; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		struct kp_launch launch = {.start_ns = now_ns + 500 + (random >> 40) % 16 * 32,
					   .config = configs[i % 40],
					   .correlation = 10 + 2 * i};

		launch.end_ns = launch.start_ns + 2000 + i % 40 * 100 + (random >> 50) % 8 * 32;
		now_ns = launch.end_ns;
		assert_int_equal(kp_writer_launch(file.writer, &launch), KP_OK);
	}
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	assert_int_equal(stat(file.path, &about), 0);
	print_message("%.2f bytes a launch\n", (double)about.st_size / launches);
	assert_true(about.st_size <= 4 * (off_t)launches);
	trace_file_end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launches_come_back_exactly),
		cmocka_unit_test(test_configs_and_strings_come_back),
		cmocka_unit_test(test_memops_and_ranges_come_back),
		cmocka_unit_test(test_host_calls_come_back),
		cmocka_unit_test(test_torn_tail_keeps_what_is_whole),
		cmocka_unit_test(test_flipped_byte_is_noticed),
		cmocka_unit_test(test_torn_chunk_between_others),
		cmocka_unit_test(test_concatenation_is_merging),
		cmocka_unit_test(test_repeated_chunks_count_once),
		cmocka_unit_test(test_lost_names_stay_different),
		cmocka_unit_test(test_missing_chunk_is_counted),
		cmocka_unit_test(test_full_disk_is_counted),
		cmocka_unit_test(test_later_counts_complete_earlier_ones),
		cmocka_unit_test(test_bad_files_are_told_apart),
		cmocka_unit_test(test_unknown_chunks_are_skipped),
		cmocka_unit_test(test_decode_pattern_is_compact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
