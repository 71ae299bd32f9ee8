/* Reading a part of a trace; see kp_reader_select. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/trace_file.h"

#define BATCHES 10
#define BATCH_NS 10000

/* Ten launches a batch, one batch every 10 µs from 100 µs on; a range over the fourth and fifth. */
static void write_trace(struct trace_file *file, uint64_t process)
{
	struct kp_range range = {.start_ns = 129000, .end_ns = 150000, .thread = 1};
	struct kp_counts counts = {0};
	uint32_t config;

	trace_file_begin(file, process);
	config = trace_file_config(file, "kernel", 0, 7);
	assert_int_equal(kp_writer_intern(file->writer, "step", 4, &range.name), KP_OK);
	assert_int_equal(kp_writer_intern(file->writer, "", 0, &range.domain), KP_OK);
	for (uint64_t batch = 0; batch < BATCHES; batch++) {
		for (uint64_t i = 0; i < 10; i++) {
			uint64_t start_ns = 100000 + batch * BATCH_NS + i * 1000;

			trace_file_launch(file, config, start_ns, start_ns + 600);
		}
		if (batch == 4)
			assert_int_equal(kp_writer_range(file->writer, &range), KP_OK);
		assert_int_equal(kp_writer_flush(file->writer), KP_OK);
	}
	KP_SET(&counts, COUNTS, kernels_issued, BATCHES * 10);
	KP_SET(&counts, COUNTS, records_dropped, 3);
	assert_int_equal(kp_writer_counts(file->writer, &counts), KP_OK);
}

static struct kp_reader *open_trace(const struct trace_file *files, size_t count)
{
	const char *paths[4];
	struct kp_reader *reader;
	size_t bad;

	for (size_t i = 0; i < count; i++)
		paths[i] = files[i].path;
	assert_int_equal(kp_reader_open(paths, count, &reader, &bad), KP_OK);
	return reader;
}

struct sums {
	uint64_t launches, ranges, batches, first_ns, last_ns, watermark_ns;
};

static struct sums walk(struct kp_reader *reader)
{
	struct sums sums = {0};
	struct kp_event event;
	enum kp_status status;

	while ((status = kp_reader_next(reader, &event)) == KP_OK) {
		sums.batches++;
		sums.watermark_ns = event.watermark_ns;
		if (event.kind == KP_EVENT_RANGES)
			sums.ranges += event.count;
		if (event.kind != KP_EVENT_LAUNCHES)
			continue;
		sums.launches += event.count;
		for (size_t i = 0; i < event.count; i++) {
			if (!sums.first_ns || event.launches[i].start_ns < sums.first_ns)
				sums.first_ns = event.launches[i].start_ns;
			if (event.launches[i].start_ns > sums.last_ns)
				sums.last_ns = event.launches[i].start_ns;
		}
	}
	assert_int_equal(status, KP_END);
	return sums;
}

static void test_reader_windows_windows(void **state)
{
	const struct kp_reader_window windows[] = {{123000, 125001}, {171000, 172000}};
	const struct kp_reader_part part = {.windows = windows, .window_count = 2}, all = {0};
	struct trace_file file;
	struct kp_reader *reader;
	const struct kp_process *process;
	struct sums sums;

	(void)state;
	write_trace(&file, 1);
	reader = open_trace(&file, 1);
	process = kp_reader_process(reader, 0);
	assert_int_equal(kp_reader_span(reader).first_ns, 100000);
	assert_int_equal(kp_reader_span(reader).last_ns, 199600);
	assert_int_equal(kp_reader_select(reader, &part), KP_OK);
	sums = walk(reader);
	assert_int_equal(sums.launches, 4);
	assert_int_equal(sums.first_ns, 123000);
	assert_int_equal(sums.last_ns, 171000);
	assert_int_equal(sums.batches, 2);
	assert_int_equal(sums.ranges, 0);
	assert_int_equal(sums.watermark_ns, UINT64_MAX);
	assert_int_equal(process->window_count, 2);
	assert_int_equal(process->windows[1].begin_ns, 171000);
	assert_int_equal(process->windows[1].begin_reason, KP_WINDOW_BY_PART);
	/* What was issued says nothing of a part; what was lost is lost. */
	assert_false(KP_HAS(&process->counts, COUNTS, kernels_issued));
	assert_int_equal(process->counts.records_dropped, 3);
	assert_int_equal(kp_reader_select(reader, &all), KP_OK);
	sums = walk(reader);
	assert_int_equal(sums.launches, BATCHES * 10);
	assert_int_equal(process->window_count, 0);
	assert_int_equal(process->counts.kernels_issued, BATCHES * 10);
	kp_reader_close(reader);
	trace_file_end(&file);
}

/* A range that began before the window is open in it. */
static void test_reader_windows_ranges(void **state)
{
	const struct kp_reader_window window = {140000, 141000};
	const struct kp_reader_part part = {.windows = &window, .window_count = 1};
	const struct kp_reader_part ranges = {.ranges_alone = true};
	struct trace_file file;
	struct kp_reader *reader;
	struct sums sums;

	(void)state;
	write_trace(&file, 1);
	reader = open_trace(&file, 1);
	assert_int_equal(kp_reader_select(reader, &part), KP_OK);
	sums = walk(reader);
	assert_int_equal(sums.ranges, 1);
	assert_int_equal(sums.launches, 1);
	assert_int_equal(kp_reader_select(reader, &ranges), KP_OK);
	sums = walk(reader);
	assert_int_equal(sums.ranges, 1);
	assert_int_equal(sums.launches, 0);
	kp_reader_close(reader);
	trace_file_end(&file);
}

static void test_reader_windows_processes(void **state)
{
	const uint8_t second[2] = {0, 1};
	const struct kp_reader_part part = {.processes = second};
	struct trace_file files[2];
	struct kp_reader *reader;

	(void)state;
	write_trace(&files[0], 1);
	write_trace(&files[1], 2);
	reader = open_trace(files, 2);
	assert_int_equal(walk(reader).launches, 2 * BATCHES * 10);
	assert_int_equal(kp_reader_select(reader, &part), KP_OK);
	assert_int_equal(walk(reader).launches, BATCHES * 10);
	assert_true(kp_reader_process(reader, 0)->left_out);
	assert_false(kp_reader_process(reader, 1)->left_out);
	assert_int_equal(kp_reader_process(reader, 1)->counts.kernels_issued, BATCHES * 10);
	kp_reader_close(reader);
	trace_file_end(&files[0]);
	trace_file_end(&files[1]);
}

/* What lies outside is not read: damage there is not even seen. */
static void test_reader_windows_skips(void **state)
{
	const struct kp_reader_window window = {100000, 110000};
	const struct kp_reader_part part = {.windows = &window, .window_count = 1}, all = {0};
	struct trace_file file;
	struct kp_reader *reader;
	long size;
	int fd;

	(void)state;
	write_trace(&file, 1);
	reader = open_trace(&file, 1);
	size = (long)kp_reader_bytes(reader);
	fd = open(file.path, O_WRONLY | O_CLOEXEC);
	for (long at = size / 2; at < size; at++)
		assert_int_equal(pwrite(fd, "", 1, at), 1);
	close(fd);
	assert_int_equal(kp_reader_select(reader, &part), KP_OK);
	assert_int_equal(walk(reader).launches, 10);
	assert_int_equal(kp_reader_damage(reader).damaged_chunks, 0);
	assert_int_equal(kp_reader_select(reader, &all), KP_OK);
	assert_true(walk(reader).launches < BATCHES * 10);
	assert_true(kp_reader_damage(reader).damaged_chunks > 0);
	kp_reader_close(reader);
	trace_file_end(&file);
}

/* Readings go on before the run and behind it, and are no part of it; but where all else lacks. */
static void test_reader_span_is_of_the_run(void **state)
{
	const struct kp_clocks before = {.start_ns = 1000, .end_ns = 1100},
			       behind = {.start_ns = 900000, .end_ns = 900100};
	struct trace_file files[2];
	struct kp_reader *reader;

	(void)state;
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			write_trace(&files[i], 1);
		else
			trace_file_begin(&files[i], 2);
		assert_int_equal(kp_writer_clocks(files[i].writer, &before), KP_OK);
		assert_int_equal(kp_writer_clocks(files[i].writer, &behind), KP_OK);
		assert_int_equal(kp_writer_flush(files[i].writer), KP_OK);
	}
	reader = open_trace(&files[0], 1);
	assert_int_equal(kp_reader_span(reader).first_ns, 100000);
	assert_int_equal(kp_reader_span(reader).last_ns, 199600);
	assert_int_equal(kp_reader_process(reader, 0)->gpu_first_ns, 100000);
	assert_int_equal(kp_reader_process(reader, 0)->gpu_last_ns, 199600);
	kp_reader_close(reader);
	reader = open_trace(&files[1], 1);
	assert_int_equal(kp_reader_span(reader).first_ns, 1000);
	assert_int_equal(kp_reader_process(reader, 0)->gpu_last_ns, 0);
	kp_reader_close(reader);
	trace_file_end(&files[0]);
	trace_file_end(&files[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_span_is_of_the_run),
		cmocka_unit_test(test_reader_windows_windows),
		cmocka_unit_test(test_reader_windows_ranges),
		cmocka_unit_test(test_reader_windows_processes),
		cmocka_unit_test(test_reader_windows_skips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
