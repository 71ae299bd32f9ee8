/*
 * Labels by the order of launches: attention that is written out is found, and what only looks like
 * it is not. A launch is a letter: see the kernels below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static const struct {
	char letter;
	const char *name;
} kernels[] = {
	{'Q', "nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT"}, /* queries by keys */
	{'P', "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT"}, /* weights by values */
	{'L', "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"}, /* a linear layer */
	{'R', "splitKreduce_kernel"},                    /* helper of a product */
	{'m', "add_kernel"},                             /* mask */
	{'S', "softmax_kernel"},
	{'c', "copy_kernel"},
	{'N', "rms_norm_kernel"},
	{'T', "topk_kernel"},
};

#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))
#define STEP_NS 100

static size_t number_of(char letter)
{
	size_t i = 0;

	while (i < KERNELS && kernels[i].letter != letter)
		i++;
	if (i == KERNELS)
		abort();
	return i;
}

/* Launches the letters `times` times over on a stream; each begins `overlap_ns` early. */
static void play(struct trace_file *file, const uint32_t *configs, const char *letters, int times,
		 uint64_t *now_ns, uint64_t overlap_ns, uint32_t graph)
{
	for (int k = 0; k < times; k++) {
		for (const char *at = letters; *at; at++) {
			struct kp_launch launched = {
				.start_ns = BASE_NS + *now_ns,
				.end_ns = BASE_NS + *now_ns + STEP_NS + overlap_ns,
				.graph = graph,
				.config = configs[number_of(*at)],
			};

			if (kp_writer_launch(file->writer, &launched) != KP_OK)
				abort();
			*now_ns += STEP_NS;
		}
	}
}

static void make_configs(struct trace_file *file, uint32_t stream, uint32_t *configs)
{
	for (size_t i = 0; i < KERNELS; i++)
		configs[i] = trace_file_config(file, kernels[i].name, 0, stream);
}

/* How many calls of a kernel the report gives to an operator. */
static uint64_t calls_of(const struct kp_report *report, char letter, const char *operator)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *row = &report->kernels[i];

		if (strcmp(row->mangled, kernels[number_of(letter)].name) == 0 &&
		    strcmp(report->operators[row->operator_index].name, operator) == 0)
			calls += row->calls;
	}
	return calls;
}

/* The letters on one stream, `times` times. */
static struct ranked rank_letters(const char *letters, int times, uint64_t overlap_ns,
				  uint32_t graph)
{
	struct trace_file file;
	uint32_t configs[KERNELS];
	uint64_t now_ns = 0;

	trace_file_begin(&file, 1);
	make_configs(&file, 7, configs);
	play(&file, configs, letters, times, &now_ns, overlap_ns, graph);
	return rank_files(&file, 1, true);
}

static uint64_t attention_calls(const struct kp_report *report)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < report->operator_count; i++)
		if (strcmp(report->operators[i].name, "attention") == 0)
			calls += report->operators[i].calls;
	return calls;
}

static void test_sequences_find_attention(void **state)
{
	struct ranked ranked = rank_letters("NLLLcQmScPcLm", 20, 0, 0);
	const struct kp_kernel_row *row;

	(void)state;
	assert_int_equal(calls_of(ranked.report, 'Q', "attention"), 20);
	assert_int_equal(calls_of(ranked.report, 'P', "attention"), 20);
	assert_int_equal(calls_of(ranked.report, 'S', "attention"), 20);
	assert_int_equal(calls_of(ranked.report, 'L', "gemm"), 80);
	assert_int_equal(calls_of(ranked.report, 'N', "norm"), 20);
	/* The same launch configuration copies elsewhere, and adds: a doubt costs the label. */
	assert_int_equal(calls_of(ranked.report, 'c', "copy"), 60);
	assert_int_equal(calls_of(ranked.report, 'm', "elementwise"), 40);
	row = find_kernel(ranked.report, kernels[number_of('S')].name);
	assert_int_equal(row->label_source, KP_LABEL_SEQUENCE);
	assert_string_equal(row->variant, "math");
	row = find_kernel(ranked.report, kernels[number_of('L')].name);
	assert_int_equal(row->label_source, KP_LABEL_NAME);
	assert_string_equal(row->variant, "bf16");
	ranked_end(&ranked);
}

static void test_sequences_take_masks_and_helpers(void **state)
{
	struct ranked ranked = rank_letters("NLQRmmSSPRLc", 20, 0, 0);

	(void)state;
	assert_int_equal(calls_of(ranked.report, 'm', "attention"), 40);
	assert_int_equal(calls_of(ranked.report, 'S', "attention"), 40);
	assert_int_equal(calls_of(ranked.report, 'R', "attention"), 40);
	assert_int_equal(calls_of(ranked.report, 'c', "copy"), 20);
	ranked_end(&ranked);
}

/* A kernel that also does something else elsewhere has a row for each. */
static void test_sequences_split_kernels_by_configuration(void **state)
{
	struct trace_file file;
	struct kp_launch_config other = {.stream = 7, .grid = {9, 9, 9}, .block = {32, 1, 1}};
	uint32_t configs[KERNELS], alone[KERNELS];
	uint64_t now_ns = 0;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	make_configs(&file, 7, configs);
	memcpy(alone, configs, sizeof(alone));
	if (kp_writer_intern(file.writer, kernels[number_of('Q')].name,
			     strlen(kernels[number_of('Q')].name), &other.name) != KP_OK ||
	    kp_writer_config(file.writer, &other, &alone[number_of('Q')]) != KP_OK)
		abort();
	play(&file, configs, "NQSPL", 20, &now_ns, 0, 0);
	play(&file, alone, "NQc", 5, &now_ns, 0, 0);
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'Q', "attention"), 20);
	assert_int_equal(calls_of(ranked.report, 'Q', "gemm"), 5);
	ranked_end(&ranked);
}

/* What is between, what is missing, and what does not follow. */
static void test_sequences_refuse_what_is_no_attention(void **state)
{
	static const char *const others[] = {
		"NLST",   /* a router: softmax of a product, then top-k */
		"LNSL",   /* something else between */
		"QSTPL",  /* top-k between softmax and product */
		"QmScN",  /* no second product */
		"QSPN",   /* nothing is made of the result */
		"NmScPL", /* no first product */
		"QTSPL",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct ranked ranked = rank_letters(others[i], 20, 0, 0);

		if (attention_calls(ranked.report))
			fail_msg("%s: %d calls of attention", others[i],
				 (int)attention_calls(ranked.report));
		ranked_end(&ranked);
	}
}

/* Streams are followed on their own, however their launches mix in time. */
static void test_sequences_are_of_one_stream(void **state)
{
	struct trace_file file;
	uint32_t left[KERNELS], right[KERNELS];
	uint64_t left_ns = 0, right_ns = 50;
	struct ranked ranked;

	(void)state;
	trace_file_begin(&file, 1);
	make_configs(&file, 1, left);
	make_configs(&file, 2, right);
	for (int i = 0; i < 20; i++) {
		/* On the left attention, on the right its pieces without the order. */
		play(&file, left, "QSPL", 1, &left_ns, 0, 0);
		play(&file, right, "SNQP", 1, &right_ns, 0, 0);
	}
	ranked = rank_files(&file, 1, true);
	assert_int_equal(calls_of(ranked.report, 'Q', "attention"), 20);
	assert_int_equal(calls_of(ranked.report, 'Q', "gemm"), 20);
	assert_int_equal(calls_of(ranked.report, 'S', "softmax"), 20);
	ranked_end(&ranked);
}

/* Within a graph launches that overlap may be branches; on a stream they are early starts. */
static void test_sequences_trust_no_order_of_branches(void **state)
{
	struct ranked eager = rank_letters("NQSPL", 20, 10, 0);
	struct ranked graph = rank_letters("NQSPL", 20, 10, 3);
	struct ranked serial = rank_letters("NQSPL", 20, 0, 3);

	(void)state;
	assert_int_equal(attention_calls(eager.report), 60);
	assert_int_equal(attention_calls(graph.report), 0);
	assert_int_equal(attention_calls(serial.report), 60);
	ranked_end(&eager);
	ranked_end(&graph);
	ranked_end(&serial);
}

/* Nearly all launches of a configuration must agree: 95 of 100 do, 94 do not. */
static void test_sequences_need_nearly_all_launches(void **state)
{
	for (int alone = 5; alone <= 6; alone++) {
		struct trace_file file;
		uint32_t configs[KERNELS];
		uint64_t now_ns = 0;
		struct ranked ranked;

		trace_file_begin(&file, 1);
		make_configs(&file, 7, configs);
		play(&file, configs, "NQSPL", 100 - alone, &now_ns, 0, 0);
		play(&file, configs, "NQ", alone, &now_ns, 0, 0);
		ranked = rank_files(&file, 1, true);
		assert_int_equal(calls_of(ranked.report, 'Q', "attention"), alone == 5 ? 100 : 0);
		ranked_end(&ranked);
	}
	(void)state;
}

/* What a trace of attention is with a rule on top. */
static struct kp_report *rank_with(const struct ranked *ranked, const char *yaml)
{
	struct kp_report_options options = {.threshold_pct = 30};
	struct kp_operators *operators;
	struct kp_rules_error error;
	struct kp_report *report;

	assert_int_equal(kp_operators_builtin(&operators), KP_OK);
	assert_int_equal(kp_operators_add(operators, yaml, strlen(yaml), &error), KP_OK);
	options.operators = operators;
	assert_int_equal(kp_report_build(ranked->reader, &options, &report), KP_OK);
	kp_operators_destroy(operators); /* the report does not need them any more */
	return report;
}

/* What the user says of a kernel stays. */
static void test_sequences_leave_user_rules_alone(void **state)
{
	struct ranked ranked = rank_letters("NQSPL", 20, 0, 0);
	struct kp_report *report =
		rank_with(&ranked, "rules:\n- {operator: reduction, function: softmax_kernel}\n");

	(void)state;
	assert_int_equal(calls_of(report, 'S', "reduction"), 20);
	assert_int_equal(find_kernel(report, "softmax_kernel")->label_source, KP_LABEL_USER);
	assert_int_equal(attention_calls(report), 0);
	kp_report_destroy(report);
	ranked_end(&ranked);
}

/* A rule that agrees takes nothing from the kernels around; its own variant stays. */
static void test_sequences_go_on_through_rules_that_agree(void **state)
{
	struct ranked ranked = rank_letters("NQSPL", 20, 0, 0);
	struct kp_report *report = rank_with(
		&ranked,
		"rules:\n- {operator: attention, variant: mine, function: softmax_kernel}\n");
	const struct kp_kernel_row *softmax = find_kernel(report, "softmax_kernel");

	(void)state;
	assert_int_equal(attention_calls(report), 60);
	assert_int_equal(softmax->label_source, KP_LABEL_USER);
	assert_string_equal(softmax->variant, "mine");
	kp_report_destroy(report);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequences_find_attention),
		cmocka_unit_test(test_sequences_take_masks_and_helpers),
		cmocka_unit_test(test_sequences_split_kernels_by_configuration),
		cmocka_unit_test(test_sequences_refuse_what_is_no_attention),
		cmocka_unit_test(test_sequences_are_of_one_stream),
		cmocka_unit_test(test_sequences_trust_no_order_of_branches),
		cmocka_unit_test(test_sequences_need_nearly_all_launches),
		cmocka_unit_test(test_sequences_leave_user_rules_alone),
		cmocka_unit_test(test_sequences_go_on_through_rules_that_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
