/* Sessions of counters, samples and clocks in a trace: what is written comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>

#include <cmocka.h>

#include "tests/unit/trace_file.h"

#define METRICS                                                                                    \
	"dram_write_bytes dram__bytes_write.sum byte\n"                                            \
	"something_new x__y.sum cycle\n"                                                           \
	"dram_read_bytes dram__bytes_read.sum byte\n"

static struct kp_text text(const char *bytes)
{
	return (struct kp_text){bytes, strlen(bytes)};
}

static void write_session(struct trace_file *file, uint64_t number)
{
	struct kp_counters_info counters = {0};

	KP_SET(&counters, COUNTERS, number, number);
	KP_SET(&counters, COUNTERS, device, 3);
	KP_SET(&counters, COUNTERS, metrics, text(METRICS));
	assert_int_equal(kp_writer_counters(file->writer, &counters), KP_OK);
}

static struct kp_reader *open_trace(const struct trace_file *file)
{
	const char *path = file->path;
	struct kp_reader *reader;
	size_t bad;

	assert_int_equal(kp_reader_open(&path, 1, &reader, &bad), KP_OK);
	return reader;
}

/* More than a chunk takes, with values that differ in every column. */
static void test_counters_samples_come_back(void **state)
{
	enum { COUNT = 40000 };
	struct kp_counter_sample *samples = calloc(COUNT, sizeof(*samples));
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_event event;
	size_t seen = 0;

	(void)state;
	assert_non_null(samples);
	for (size_t i = 0; i < COUNT; i++) {
		samples[i] = (struct kp_counter_sample){1000 + 10000 * i, 11000 + 10000 * i, 7,
							i % 3 == 0,
							.values = {i * i, 0, UINT64_MAX - i, 1}};
		samples[i].values[7] = i << 40;
	}
	trace_file_begin(&file, 1);
	write_session(&file, 7);
	assert_int_equal(kp_writer_samples(file.writer, samples, COUNT), KP_OK);
	reader = open_trace(&file);
	while (kp_reader_next(reader, &event) == KP_OK) {
		assert_int_equal(event.kind, KP_EVENT_SAMPLES);
		assert_memory_equal(event.samples, samples + seen, event.count * sizeof(*samples));
		seen += event.count;
	}
	assert_int_equal(seen, COUNT);
	kp_reader_close(reader);
	trace_file_end(&file);
	free(samples);
}

static void test_counters_later_records_add(void **state)
{
	struct kp_counters_info more = {0};
	const struct kp_counters_info *counters;
	struct trace_file file;
	struct kp_reader *reader;

	(void)state;
	trace_file_begin(&file, 1);
	write_session(&file, 2);
	write_session(&file, 0);
	KP_SET(&more, COUNTERS, number, 2);
	KP_SET(&more, COUNTERS, overflows, 5);
	assert_int_equal(kp_writer_counters(file.writer, &more), KP_OK);
	reader = open_trace(&file);
	assert_int_equal(kp_reader_process(reader, 0)->counters_count, 2);
	counters = kp_process_counters(kp_reader_process(reader, 0), 2);
	assert_non_null(counters);
	assert_int_equal(counters->device, 3);
	assert_true(KP_HAS(counters, COUNTERS, overflows));
	assert_int_equal(counters->overflows, 5);
	counters = kp_process_counters(kp_reader_process(reader, 0), 0);
	assert_non_null(counters);
	assert_false(KP_HAS(counters, COUNTERS, overflows));
	assert_null(kp_process_counters(kp_reader_process(reader, 0), 1));
	kp_reader_close(reader);
	trace_file_end(&file);
}

/* Samples of a session that nothing describes mean nothing: they are damage. */
static void test_counters_samples_need_their_session(void **state)
{
	const struct kp_counter_sample sample = {5, 9, 1, 0, {1}};
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_event event;

	(void)state;
	trace_file_begin(&file, 1);
	write_session(&file, 0);
	assert_int_equal(kp_writer_samples(file.writer, &sample, 1), KP_OK);
	reader = open_trace(&file);
	assert_int_equal(kp_reader_next(reader, &event), KP_END);
	assert_int_equal(kp_reader_damage(reader).damaged_chunks, 1);
	kp_reader_close(reader);
	trace_file_end(&file);
}

static void test_counters_lost_samples_are_counted(void **state)
{
	const struct kp_counter_sample samples[2] = {{5, 9, 0, 0, {1}}, {9, 12, 0, 0, {1}}};
	struct trace_file file;

	(void)state;
	trace_file_begin(&file, 1);
	write_session(&file, 0);
	close(file.fd);
	assert_int_equal(kp_writer_samples(file.writer, samples, 2), KP_IO);
	assert_int_equal(kp_writer_loss(file.writer).samples, 2);
	assert_int_equal(kp_writer_loss(file.writer).first_errno, EBADF);
	file.fd = open("/dev/null", O_RDONLY);
	trace_file_end(&file);
}

static void test_counters_clocks_come_back(void **state)
{
	const struct kp_clocks clocks[2] = {
		{5, 9, 1, 31, 1980, 3201, 700000, 45, 1ULL << 40},
		{15, 16, 1, KP_CLOCKS_SM, 345, 0, 0, 0, 0},
	};
	struct trace_file file;
	struct kp_reader *reader;
	struct kp_event event;

	(void)state;
	trace_file_begin(&file, 1);
	assert_int_equal(kp_writer_clocks(file.writer, &clocks[1]), KP_OK);
	assert_int_equal(kp_writer_clocks(file.writer, &clocks[0]), KP_OK);
	assert_int_equal(kp_writer_flush(file.writer), KP_OK);
	reader = open_trace(&file);
	assert_int_equal(kp_reader_next(reader, &event), KP_OK);
	assert_int_equal(event.kind, KP_EVENT_CLOCKS);
	assert_int_equal(event.count, 2);
	assert_memory_equal(event.clocks, clocks, sizeof(clocks));
	kp_reader_close(reader);
	trace_file_end(&file);
}

static void test_counters_metrics_have_places(void **state)
{
	const struct kp_text metrics = text(METRICS);
	struct kp_metric_line lines[KP_SAMPLE_VALUES];
	size_t place;

	(void)state;
	assert_int_equal(kp_metrics_parse(&metrics, lines), 3);
	assert_int_equal(lines[1].metric, KP_METRIC_COUNT);
	assert_int_equal(lines[1].source_length, strlen("x__y.sum"));
	assert_memory_equal(lines[1].unit, "cycle", lines[1].unit_length);
	assert_true(kp_metrics_place(&metrics, KP_METRIC_DRAM_READ, &place));
	assert_int_equal(place, 2);
	assert_false(kp_metrics_place(&metrics, KP_METRIC_L2_SECTORS, &place));
}

static void test_counters_malformed_metrics_are_none(void **state)
{
	static const char *const malformed[] = {
		"",           "\n",
		"a b c",      "a b\n",
		"a b \n",     " b c\n",
		"a  c\n",     "a b c d\n",
		"a b c\nd\n", "a b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\na b c\n",
	};
	struct kp_metric_line lines[KP_SAMPLE_VALUES];

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		const struct kp_text metrics = text(malformed[i]);

		assert_int_equal(kp_metrics_parse(&metrics, lines), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_samples_come_back),
		cmocka_unit_test(test_counters_later_records_add),
		cmocka_unit_test(test_counters_samples_need_their_session),
		cmocka_unit_test(test_counters_lost_samples_are_counted),
		cmocka_unit_test(test_counters_clocks_come_back),
		cmocka_unit_test(test_counters_metrics_have_places),
		cmocka_unit_test(test_counters_malformed_metrics_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
