/* Idle time by cause, on timelines done by hand and against a brute-force one; exclusive time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

static struct trace_file file;

static void put(uint32_t config, uint64_t start_ns, uint64_t end_ns, uint32_t correlation,
		uint64_t node)
{
	struct kp_launch launch = {.start_ns = BASE_NS + start_ns,
				   .end_ns = BASE_NS + end_ns,
				   .config = config,
				   .correlation = correlation,
				   .graph_node = node,
				   .graph = node != 0};

	if (kp_writer_launch(file.writer, &launch) != KP_OK)
		abort();
}

static void put_memop(uint32_t kind, uint64_t start_ns, uint64_t end_ns, bool async)
{
	struct kp_memop memop = {.start_ns = BASE_NS + start_ns,
				 .end_ns = BASE_NS + end_ns,
				 .bytes = 64,
				 .kind = kind,
				 .context = 1,
				 .flags = async};

	if (kp_writer_memop(file.writer, &memop) != KP_OK)
		abort();
}

static uint32_t begin(const char *name)
{
	trace_file_begin(&file, 1);
	return trace_file_config(&file, name, 0, 7);
}

static const struct kp_gap_part *part(const struct ranked *ranked, enum kp_gap_cause cause)
{
	return &ranked->report->timeline->idle[0].parts[cause];
}

/* The causes add up to the span less busy time, to the nanosecond. */
static void check_sum(const struct kp_report *report)
{
	for (size_t i = 0; i < report->gpu_count; i++) {
		const struct kp_idle_row *row = &report->timeline->idle[i];
		uint64_t sum_ns = 0, lengths_ns = 0;

		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++) {
			sum_ns += row->parts[k].total_ns;
			assert_true(row->parts[k].inferred_ns <= row->parts[k].total_ns);
		}
		for (unsigned k = 0; k < KP_GAP_BIN_COUNT; k++)
			lengths_ns += row->bins[k].total_ns;
		assert_int_equal(sum_ns, report->gpus[i].span_ns - report->gpus[i].busy_ns);
		assert_int_equal(sum_ns, row->idle_ns);
		if (!report->windows.any)
			assert_int_equal(lengths_ns, sum_ns);
	}
}

static struct ranked finish(void)
{
	struct ranked ranked = rank_files(&file, 1, true);

	check_sum(ranked.report);
	return ranked;
}

/* Copies split a gap; those beside kernels do not count; those at the ends are the span's. */
static void test_report_gaps_memory_operations(void **state)
{
	uint32_t k = begin("k");
	struct ranked ranked;

	(void)state;
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 0, 1000, true);
	put(k, 4000, 5000, 1, 0);
	put_memop(KP_MEMOP_SET, 4500, 5300, true);              /* 300 in the gap */
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 5200, 5600, true);   /* 300 more */
	put_memop(KP_MEMOP_DEVICE_TO_DEVICE, 5900, 6200, true); /* 100, then beside a kernel */
	put(k, 6000, 7000, 2, 0);
	put(k, 6100, 6500, 3, 0); /* within the other */
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 8000, 9000, true);
	ranked = finish();
	assert_int_equal(part(&ranked, KP_GAP_MEMORY)->total_ns, 1000 + 700 + 1000);
	assert_int_equal(part(&ranked, KP_GAP_EDGE)->total_ns, 3000 + 1000);
	assert_int_equal(part(&ranked, KP_GAP_OWN)->total_ns, 300);
	assert_int_equal(part(&ranked, KP_GAP_OWN)->gaps, 1);
	assert_int_equal(part(&ranked, KP_GAP_OWN)->inferred_ns, 300);
	assert_int_equal(ranked.report->timeline->idle[0].gaps, 3);
	ranked_end(&ranked);
}

/* Copies that calls wait for are told from others, between kernels only. */
static void test_report_gaps_synchronous_copies(void **state)
{
	uint32_t k = begin("k");
	struct ranked ranked;

	(void)state;
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 0, 1000, false); /* what a program loads at first */
	put(k, 4000, 5000, 1, 0);
	put_memop(KP_MEMOP_DEVICE_TO_HOST, 4800, 5300, false); /* 300 in the gap */
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 5400, 5900, true);
	put(k, 6000, 7000, 2, 0);
	put_memop(KP_MEMOP_DEVICE_TO_HOST, 6100, 6500, false); /* beside a kernel */
	put_memop(KP_MEMOP_DEVICE_TO_HOST, 6900, 7200, true);
	put(k, 8000, 9000, 3, 0);
	put_memop(KP_MEMOP_DEVICE_TO_HOST, 9500, 9900, false); /* behind all */
	ranked = finish();
	assert_int_equal(part(&ranked, KP_GAP_MEMORY)->total_ns, 1000 + 800 + 200 + 400);
	assert_int_equal(ranked.report->timeline->idle[0].synchronous_ns, 300);
	ranked_end(&ranked);
}

/* Nodes of one launch belong together, those of two do not, and 0 is no launch (case 44). */
static void test_report_gaps_inside_graphs(void **state)
{
	uint32_t k = begin("k");
	struct ranked ranked;

	(void)state;
	put(k, 0, 100, 5, 1);
	put(k, 600, 700, 5, 2);
	put_memop(KP_MEMOP_SET, 900, 1000, true);
	put(k, 1200, 1300, 5, 3);
	put(k, 9300, 9400, 6, 1); /* the next launch */
	put(k, 20000, 20100, 0, 1);
	put(k, 30100, 30200, 0, 2);
	ranked = finish();
	assert_int_equal(part(&ranked, KP_GAP_GRAPH)->total_ns, 500 + 400);
	assert_int_equal(part(&ranked, KP_GAP_GRAPH)->inferred_ns, 0);
	assert_int_equal(part(&ranked, KP_GAP_MEMORY)->total_ns, 100);
	assert_int_equal(part(&ranked, KP_GAP_UNKNOWN)->gaps, 3);
	assert_int_equal(part(&ranked, KP_GAP_UNKNOWN)->total_ns, 8000 + 10600 + 10000);
	assert_int_equal(ranked.report->timeline->idle[0].node_gaps, 1); /* without the memset */
	assert_true(ranked.report->timeline->idle[0].node_gap_median_ns == 500);
	ranked_end(&ranked);
}

/* A rhythm of small waits is launch-bound; single ones, and those behind long kernels, are not. */
static void test_report_gaps_launch_bound(void **state)
{
	uint32_t k = begin("k");
	uint64_t now = 0;
	struct ranked ranked;

	(void)state;
	for (uint32_t i = 0; i < 100; i++, now += 6000) /* 99 gaps of 5 µs */
		put(k, now, now + 1000, i + 1, 0);
	put(k, now, now + 1000000, 200, 0);
	now += 1000000 + 5000; /* there was a millisecond to launch it */
	put(k, now, now + 1000, 201, 0);
	ranked = finish();
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->gaps, 100 - KP_GAP_REGULAR);
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->total_ns, (100 - KP_GAP_REGULAR) * 5000);
	assert_int_equal(part(&ranked, KP_GAP_LAUNCH)->inferred_ns,
			 part(&ranked, KP_GAP_LAUNCH)->total_ns);
	assert_int_equal(part(&ranked, KP_GAP_UNKNOWN)->gaps, KP_GAP_REGULAR + 1);
	ranked_end(&ranked);
}

/* Behind a copy to the host, or one that was waited for, unless the host did more than wait. */
static void test_report_gaps_synchronisation(void **state)
{
	uint32_t k = begin("k");
	struct ranked ranked;

	(void)state;
	put(k, 0, 100, 1, 0);
	put_memop(KP_MEMOP_DEVICE_TO_HOST, 1100, 2100, true);
	put(k, 50100, 50200, 2, 0);
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 50300, 50400, false);
	put(k, 60400, 60500, 3, 0);
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 60600, 60700, true); /* nobody waits for it */
	put(k, 70700, 70800, 4, 0);
	put_memop(KP_MEMOP_DEVICE_TO_HOST, 70900, 71000, true);
	put(k, 2071000, 2071100, 5, 0);
	ranked = finish();
	assert_int_equal(part(&ranked, KP_GAP_SYNC)->gaps, 2);
	assert_int_equal(part(&ranked, KP_GAP_SYNC)->total_ns, 1000 + 48000 + 100 + 10000);
	assert_int_equal(part(&ranked, KP_GAP_SYNC)->inferred_ns,
			 part(&ranked, KP_GAP_SYNC)->total_ns);
	assert_int_equal(part(&ranked, KP_GAP_UNKNOWN)->total_ns, 10100 + 2000100);
	ranked_end(&ranked);
}

/* A second process shares the GPU: its first kernel is an edge, then the change is the cause. */
static void test_report_gaps_other_process(void **state)
{
	struct trace_file files[2];
	struct ranked ranked;
	uint32_t config;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		trace_file_begin(&files[i], i + 1);
		describe_process(&files[i], "host");
		describe_device(&files[i], 0, "GPU-1");
		config = trace_file_config(&files[i], "k", 0, 7);
		for (uint64_t k = 0; k < 5; k++)
			launch(&files[i], config, 100000 * k + 50000 * i,
			       100000 * k + 50000 * i + 40000);
	}
	ranked = rank_files(files, 2, true);
	check_sum(ranked.report);
	assert_int_equal(ranked.report->gpu_count, 1);
	assert_int_equal(part(&ranked, KP_GAP_EDGE)->total_ns, 10000);
	assert_int_equal(part(&ranked, KP_GAP_PROCESS)->gaps, 8);
	assert_int_equal(part(&ranked, KP_GAP_PROCESS)->total_ns, 80000);
	assert_int_equal(ranked.report->processes[0].others_ns, 4 * 40000);
	assert_int_equal(ranked.report->processes[1].others_ns, 4 * 40000);
	ranked_end(&ranked);
}

/* What lies between windows was not looked at; the causes still add up. */
static void test_report_gaps_windows(void **state)
{
	struct kp_window_info window = {0};
	uint32_t k = begin("k");
	struct ranked ranked;

	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		KP_SET(&window, WINDOW, number, i);
		KP_SET(&window, WINDOW, begin_ns, BASE_NS + 1000000 * i);
		KP_SET(&window, WINDOW, end_ns, BASE_NS + 1000000 * i + 10000);
		KP_SET(&window, WINDOW, begin_reason, KP_WINDOW_BY_RANGE);
		if (kp_writer_window(file.writer, &window) != KP_OK)
			abort();
		put(k, 1000000 * i + 1000, 1000000 * i + 2000, (uint32_t)(2 * i + 1), 0);
		put(k, 1000000 * i + 3000, 1000000 * i + 4000, (uint32_t)(2 * i + 2), 0);
	}
	ranked = finish();
	assert_int_equal(ranked.report->span_ns, 20000);
	assert_int_equal(part(&ranked, KP_GAP_OWN)->total_ns, 2000);
	assert_int_equal(part(&ranked, KP_GAP_EDGE)->total_ns, 20000 - 4000 - 2000);
	ranked_end(&ranked);
}

/* Case 18: a kernel that runs past the next of its stream is told, raw and clipped. */
static void test_report_gaps_overlap_in_stream(void **state)
{
	uint32_t k = begin("k"), other = trace_file_config(&file, "other", 0, 9);
	struct ranked ranked;

	(void)state;
	put(k, 0, 1500, 1, 0);
	put(other, 100, 1400, 2, 0); /* another stream may */
	put(k, 1000, 2000, 3, 0);
	put(k, 3000, 4000, 4, 0);
	put(k, 4500, 5000, 9, 1); /* branches of a graph may */
	put(k, 4600, 5000, 9, 2);
	ranked = finish();
	assert_int_equal(ranked.report->timeline->idle[0].faults.overlapping, 1);
	assert_int_equal(ranked.report->timeline->idle[0].faults.overlap_ns, 500);
	assert_int_equal(ranked.report->kernel_ns, 1500 + 1300 + 1000 + 1000 + 500 + 400);
	ranked_end(&ranked);
}

/* Case 21: the clock goes back 2 s in mid-trace. No gap is negative, and the step is told. */
static void test_report_gaps_clock_step(void **state)
{
	uint32_t k = begin("k");
	struct ranked ranked;

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) { /* 6 s before, and 6 s from then on */
		uint64_t now = i * 3000000ULL - (i >= 2000 ? 2000000000ULL : 0);

		put(k, now, now + 1000, i + 1, 0);
	}
	ranked = finish();
	assert_true(ranked.report->timeline->idle[0].faults.out_of_order > 0);
	assert_true(ranked.report->timeline->idle[0].faults.step_ns > 1900000000ULL);
	assert_true(ranked.report->timeline->idle[0].faults.step_ns <= 2000000000ULL);
	ranked_end(&ranked);
	/* Threads that launch on one stream at once are no step. */
	k = begin("k");
	for (uint32_t i = 0; i < 1000; i++)
		put(k, i * 5000ULL, i * 5000ULL + 1000, (i ^ 1) + 1, 0);
	ranked = finish();
	assert_int_equal(ranked.report->timeline->idle[0].faults.out_of_order, 0);
	ranked_end(&ranked);
}

/* Alone: nothing else beside it, another launch of itself aside; of an operator: of its kernels. */
static void test_report_gaps_exclusive(void **state)
{
	uint32_t a = begin("rope_kernel"), b = trace_file_config(&file, "rope_kernel", 0, 9);
	uint32_t c = trace_file_config(&file, "apply_rope_kernel", 0, 11);
	struct ranked ranked;
	const struct kp_kernel_row *row;

	(void)state;
	put(a, 0, 100, 1, 0);
	put(b, 50, 150, 2, 0);  /* the same kernel: 150 alone */
	put(a, 200, 300, 3, 0); /* 60 alone, */
	put(c, 260, 400, 4, 0); /* then 100 alone for the other */
	put(a, 500, 600, 5, 0); /* 70 beside no copy */
	put_memop(KP_MEMOP_HOST_TO_DEVICE, 570, 620, true);
	ranked = finish();
	row = find_kernel(ranked.report, "rope_kernel");
	assert_int_equal(row->alone_ns, 150 + 60 + 70);
	row = find_kernel(ranked.report, "apply_rope_kernel");
	assert_int_equal(row->alone_ns, 100);
	assert_int_equal(ranked.report->operator_count, 1);
	assert_int_equal(ranked.report->operators[0].alone_ns, 150 + 200 + 70);
	ranked_end(&ranked);
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

#define TICKS 20000

/* Random streams and copies: the sum, the memory part and exclusive time against a raster. */
static void test_report_gaps_against_raster(void **state)
{
	static uint8_t kernels[2][TICKS], copies[TICKS];
	uint64_t random = 88172645463325252ULL;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		uint32_t config[2] = {begin("a"), trace_file_config(&file, "b", 0, 9)};
		uint64_t memory_ns = 0, alone_ns[2] = {0}, first = TICKS, last = 0;
		struct ranked ranked;

		memset(kernels, 0, sizeof(kernels));
		memset(copies, 0, sizeof(copies));
		for (uint64_t at = 0, i = 1; at < TICKS - 200; at += draw(&random) % 150, i++) {
			uint64_t end = at + 1 + draw(&random) % 120;
			unsigned what = (unsigned)(draw(&random) % 4);
			uint8_t *raster = what < 2 ? kernels[what] : copies;

			if (what == 3)
				continue;
			if (what < 2)
				put(config[what], at, end, (uint32_t)i, 0);
			else
				put_memop(KP_MEMOP_HOST_TO_DEVICE, at, end, true);
			memset(raster + at, 1, end - at);
			first = at < first ? at : first;
			last = end > last ? end : last;
		}
		for (uint64_t at = first; at < last; at++) {
			memory_ns += copies[at] && !kernels[0][at] && !kernels[1][at];
			for (unsigned k = 0; k < 2; k++)
				alone_ns[k] += kernels[k][at] && !kernels[!k][at] && !copies[at];
		}
		ranked = finish();
		assert_int_equal(part(&ranked, KP_GAP_MEMORY)->total_ns, memory_ns);
		assert_int_equal(find_kernel(ranked.report, "a")->alone_ns, alone_ns[0]);
		assert_int_equal(find_kernel(ranked.report, "b")->alone_ns, alone_ns[1]);
		ranked_end(&ranked);
	}
}

/* However many launches of one kernel run at once, it is alone. */
static void test_report_gaps_crowd(void **state)
{
	struct ranked ranked;
	uint32_t k = begin("k");

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		put(k, i, 100000 + i, i + 1, 0);
	put(k, 300000, 300100, 300, 0);
	ranked = finish();
	assert_int_equal(ranked.report->kernels[0].alone_ns, 100000 + 199 + 100);
	ranked_end(&ranked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report_gaps_memory_operations),
		cmocka_unit_test(test_report_gaps_synchronous_copies),
		cmocka_unit_test(test_report_gaps_inside_graphs),
		cmocka_unit_test(test_report_gaps_launch_bound),
		cmocka_unit_test(test_report_gaps_synchronisation),
		cmocka_unit_test(test_report_gaps_other_process),
		cmocka_unit_test(test_report_gaps_windows),
		cmocka_unit_test(test_report_gaps_overlap_in_stream),
		cmocka_unit_test(test_report_gaps_clock_step),
		cmocka_unit_test(test_report_gaps_exclusive),
		cmocka_unit_test(test_report_gaps_against_raster),
		cmocka_unit_test(test_report_gaps_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
