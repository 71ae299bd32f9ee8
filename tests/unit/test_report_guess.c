/*
 * A large trace is reported from one reading with a guess from its beginning; see report_guess.h.
 * Where the guess is right, and where it is wrong, the report is the one that is made without.
 *
 * Configurations without launches make a trace one for which nothing is guessed, and change nothing
 * else. A launch is a letter: see the kernels below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/report.h"
#include "profiler/print.h"
#include "tests/unit/trace_file.h"

#define BASE_NS 1000000000ULL
#define STEP_NS 4000
#define LENGTH_NS 700
#define WAIT_NS 30000 /* before the first launch of a step */
#define LAUNCHES 450000
#define TOO_MANY_CONFIGS 3000

static const struct {
	char letter;
	const char *name;
} kernels[] = {
	{'Q', "nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT"}, /* queries by keys */
	{'P', "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT"}, /* weights by values */
	{'L', "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"}, /* a linear layer */
	{'S', "softmax_kernel"},
	{'N', "rms_norm_kernel"},
	{'T', "topk_kernel"},
};

#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static size_t number_of(char letter)
{
	size_t i = 0;

	while (i < KERNELS && kernels[i].letter != letter)
		i++;
	if (i == KERNELS)
		abort();
	return i;
}

/* The call of a launch that it has waited for. */
static void call(struct trace_file *file, uint64_t start_ns, uint32_t correlation)
{
	const struct kp_host_call call = {.start_ns = start_ns,
					  .end_ns = start_ns + 500,
					  .thread = 1000,
					  .context = 1,
					  .stream = 7,
					  .correlation = correlation,
					  .kernels = 1,
					  .grid = {1, 1, 1},
					  .block = {128, 1, 1}};

	assert_int_equal(kp_writer_host(file->writer, &call), KP_OK);
}

static void end(struct trace_file *file, uint64_t launches, bool calls)
{
	struct kp_counts counts = {0};
	struct kp_end end = {0};

	KP_SET(&counts, COUNTS, kernels_recorded, launches);
	KP_SET(&counts, COUNTS, records_dropped, 0);
	if (calls) {
		KP_SET(&counts, COUNTS, host_calls, launches);
		KP_SET(&counts, COUNTS, host_kernels, launches);
		KP_SET(&counts, COUNTS, host_calls_lost, 0);
	}
	KP_SET(&end, END, way, KP_END_EXIT);
	assert_int_equal(kp_writer_counts(file->writer, &counts), KP_OK);
	assert_int_equal(kp_writer_end(file->writer, &end), KP_OK);
}

/* The first steps, of a part of the launches, and then others. */
static void make(struct trace_file *file, const char *first, double part, const char *then,
		 bool calls, size_t idle_configs)
{
	uint32_t configs[KERNELS];
	uint64_t now_ns = BASE_NS, random = 1, launches = 0;

	trace_file_begin(file, 1);
	for (size_t i = 0; i < KERNELS; i++)
		configs[i] = trace_file_config(file, kernels[i].name, 0, 7);
	for (uint32_t i = 0; i < idle_configs; i++)
		trace_file_config(file, kernels[0].name, 0, 100 + i);
	while (launches < LAUNCHES) {
		const char *step = (double)launches < part * LAUNCHES ? first : then;

		now_ns += WAIT_NS;
		for (const char *at = step; *at; at++, launches++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			const struct kp_launch launch = {
				.start_ns = now_ns,
				.end_ns = now_ns + LENGTH_NS - (random >> 58),
				.correlation = (uint32_t)launches + 1,
				.config = configs[number_of(*at)],
			};

			assert_int_equal(kp_writer_launch(file->writer, &launch), KP_OK);
			if (calls)
				call(file, now_ns - 600, (uint32_t)launches + 1);
			now_ns += STEP_NS;
		}
	}
	assert_int_equal(kp_writer_flush(file->writer), KP_OK);
	end(file, launches, calls);
}

static char *report_on(struct trace_file *file)
{
	const struct kp_report_options options = {
		.threshold_pct = 30, .busy_shares = true, .ranges = true, .timeline = true};
	const struct kp_view view = {.width = 80};
	const char *path = file->path;
	struct kp_reader *reader;
	struct kp_report *report;
	size_t bad, length;
	char *document;
	FILE *memory = open_memstream(&document, &length);

	assert_non_null(memory);
	assert_int_equal(kp_reader_open(&path, 1, &reader, &bad), KP_OK);
	assert_int_equal(kp_report_build(reader, &options, &report), KP_OK);
	assert_int_equal(kp_print_report(memory, report, KP_FORMAT_JSON, &view), KP_OK);
	fclose(memory);
	kp_report_destroy(report);
	kp_reader_close(reader);
	trace_file_end(file);
	return document;
}

/* The report with a guess, and the same without. */
static char *compare(const char *first, double part, const char *then, bool calls)
{
	struct trace_file file;
	char *guessed, *read;

	make(&file, first, part, then, calls, 0);
	guessed = report_on(&file);
	make(&file, first, part, then, calls, TOO_MANY_CONFIGS);
	read = report_on(&file);
	assert_string_equal(guessed, read);
	free(read);
	return guessed;
}

static void test_report_guess_right(void **state)
{
	char *report = compare("NLQSPLT", 1, "", false);

	(void)state;
	assert_non_null(strstr(report, "\"sequence\""));
	assert_non_null(strstr(report, "\"iterations\""));
	free(report);
}

/* What the beginning repeats is not what the trace does. */
static void test_report_guess_other_iterations(void **state)
{
	(void)state;
	free(compare("TNLL", 0.2, "NLQSPLLLLLLN", false));
	free(compare("NLQSPLT", 0.2, "LLLLN", false));
}

/* Nothing is a sequence at first, or what was one is none on the whole. */
static void test_report_guess_other_sequences(void **state)
{
	char *report = compare("NQTSTPT", 0.04, "NLQSPL", false);

	(void)state;
	assert_non_null(strstr(report, "\"sequence\""));
	free(report);
	report = compare("NLQSPL", 0.2, "NQTSTPT", false);
	assert_null(strstr(report, "\"sequence\""));
	free(report);
}

/* What calls say of gaps is known only when these are tied: iterations are looked at after that. */
static void test_report_guess_with_calls(void **state)
{
	char *report = compare("NLQSPLT", 1, "", true);

	(void)state;
	assert_non_null(strstr(report, "\"host_calls\""));
	free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_guess_right),
		cmocka_unit_test(test_report_guess_other_iterations),
		cmocka_unit_test(test_report_guess_other_sequences),
		cmocka_unit_test(test_report_guess_with_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
