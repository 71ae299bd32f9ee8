/* Reports are the same, to the last bit of what they print, whatever the number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/report.h"
#include "profiler/print.h"
#include "tests/unit/trace_file.h"

struct document {
	char *bytes;
	size_t length;
};

static struct document report_on(struct kp_reader *reader, unsigned threads)
{
	const struct kp_report_options options = {.threshold_pct = 30,
						  .busy_shares = true,
						  .ranges = true,
						  .timeline = true,
						  .process_times = true,
						  .threads = threads};
	const struct kp_view view = {.width = 80};
	struct document document;
	struct kp_report *report;
	FILE *file = open_memstream(&document.bytes, &document.length);

	assert_non_null(file);
	assert_int_equal(kp_report_build(reader, &options, &report), KP_OK);
	assert_int_equal(kp_print_report(file, report, KP_FORMAT_JSON, &view), KP_OK);
	fclose(file);
	kp_report_destroy(report);
	return document;
}

static void compare(const char *const *paths, size_t count, unsigned most)
{
	struct kp_reader *reader;
	struct document alone;
	size_t bad;

	assert_int_equal(kp_reader_open(paths, count, &reader, &bad), KP_OK);
	alone = report_on(reader, 1);
	assert_true(alone.length > 100);
	for (unsigned threads = 2; threads <= most; threads++) {
		struct document shared = report_on(reader, threads);

		assert_int_equal(shared.length, alone.length);
		assert_memory_equal(shared.bytes, alone.bytes, alone.length);
		free(shared.bytes);
	}
	free(alone.bytes);
	kp_reader_close(reader);
}

static void test_report_threads_recorded(void **state)
{
	glob_t found = {0};

	(void)state;
	assert_int_equal(glob(SOURCE "/samples/traces/*.kprof", 0, NULL, &found), 0);
	/* One of each program: not those that it was recorded in again. */
	glob(SOURCE "/tests/recorded/torch_*.kprof", GLOB_APPEND, NULL, &found);
	glob(SOURCE "/tests/recorded/traffic_{alternating,graph,streams}.kprof",
	     GLOB_APPEND | GLOB_BRACE, NULL, &found);
	assert_true(found.gl_pathc >= 9);
	for (size_t i = 0; i < found.gl_pathc; i++)
		compare((const char *const *)&found.gl_pathv[i], 1, 2);
	globfree(&found);
}

/* Configurations, GPUs and processes that appear late, in small batches of several kinds. */
static void test_report_threads_new_things(void **state)
{
	struct trace_file files[2];
	const char *paths[2];

	(void)state;
	for (unsigned f = 0; f < 2; f++) {
		trace_file_begin(&files[f], f + 1);
		for (uint32_t batch = 0; batch < 60; batch++) {
			uint64_t start_ns = 1000000 + batch * 10000ULL + f * 777;
			struct kp_memop copy = {.start_ns = start_ns,
						.end_ns = start_ns + 500,
						.bytes = 4096,
						.kind = KP_MEMOP_HOST_TO_DEVICE,
						.device = batch / 17,
						.context = 1,
						.stream = 7};
			char name[32];
			uint32_t config;

			snprintf(name, sizeof(name), "kernel_%u", batch / 3);
			config = trace_file_config(&files[f], name, batch / 20, 7 + batch % 3);
			for (uint64_t i = 0; i < 20; i++)
				trace_file_launch(&files[f], config, start_ns + i * 400,
						  start_ns + i * 400 + 300 + batch);
			assert_int_equal(kp_writer_memop(files[f].writer, &copy), KP_OK);
			assert_int_equal(kp_writer_flush(files[f].writer), KP_OK);
		}
		paths[f] = files[f].path;
	}
	compare(paths, 2, 4);
	for (unsigned f = 0; f < 2; f++)
		trace_file_end(&files[f]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_threads_recorded),
		cmocka_unit_test(test_report_threads_new_things),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
