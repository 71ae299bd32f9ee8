/* What is lost in damaged traces: a copy makes up for it, and it is counted once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"
#include "trace/scatter.h"

#define PARTS 5
#define LAUNCHES 20 /* a part */
#define ISSUED (PARTS * LAUNCHES + 5)
#define BYTES_MOST (1 << 16)

struct bytes {
	char at[BYTES_MOST];
	size_t length;
};

static void read_bytes(const char *path, struct bytes *out)
{
	FILE *stream = fopen(path, "rb");

	assert_non_null(stream);
	out->length = fread(out->at, 1, sizeof(out->at), stream);
	assert_in_range(out->length, 1, sizeof(out->at) - 1);
	fclose(stream);
}

static void write_bytes(const char *path, const char *bytes, size_t length)
{
	FILE *stream = fopen(path, "wb");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, length, stream), length);
	fclose(stream);
}

/* A process that ended well, in several chunks of names and launches; three launches of all were
 * dropped, two not recorded at all. */
static void write_process(struct trace_file *file)
{
	struct kp_counts counts = {0};
	struct kp_end end = {0};

	trace_file_begin(file, 7);
	describe_process(file, "host");
	for (unsigned part = 0; part < PARTS; part++) {
		char name[16];
		uint32_t config;

		snprintf(name, sizeof(name), "kernel%u", part);
		config = trace_file_config(file, name, 0, 7);
		for (unsigned i = 0; i < LAUNCHES; i++)
			launch(file, config, 100 * (LAUNCHES * part + i),
			       100 * (LAUNCHES * part + i) + 40);
		assert_int_equal(kp_writer_flush(file->writer), KP_OK);
	}
	KP_SET(&counts, COUNTS, kernels_issued, ISSUED);
	KP_SET(&counts, COUNTS, kernels_recorded, PARTS * LAUNCHES);
	KP_SET(&counts, COUNTS, records_dropped, 3);
	KP_SET(&counts, COUNTS, kernels_unwritten, 0);
	assert_int_equal(kp_writer_counts(file->writer, &counts), KP_OK);
	KP_SET(&end, END, way, KP_END_EXIT);
	assert_int_equal(kp_writer_end(file->writer, &end), KP_OK);
}

/* Whether all launches are there, each of its kernel. */
static void check_whole(const char *const *paths, size_t count)
{
	struct kp_reader *reader;
	struct kp_event event;
	unsigned seen[PARTS] = {0};
	size_t bad;

	assert_int_equal(kp_reader_open(paths, count, &reader, &bad), KP_OK);
	while (kp_reader_next(reader, &event) == KP_OK) {
		for (size_t i = 0; event.kind == KP_EVENT_LAUNCHES && i < event.count; i++) {
			uint32_t config = event.launches[i].config;
			struct kp_text name = kp_process_string(
				event.process, event.process->configs[config].name);

			assert_int_equal(name.length, strlen("kernel0"));
			assert_memory_equal(name.bytes, "kernel", strlen("kernel"));
			assert_in_range(name.bytes[6], '0', '0' + PARTS - 1);
			seen[name.bytes[6] - '0']++;
		}
	}
	for (unsigned part = 0; part < PARTS; part++)
		assert_int_equal(seen[part], LAUNCHES);
	assert_int_equal(kp_reader_damage(reader).lost_launches, 0);
	assert_int_equal(kp_reader_damage(reader).damaged_chunks, 0);
	assert_int_equal(kp_reader_process(reader, 0)->missing_chunks, 0);
	kp_reader_close(reader);
}

static void check_both_orders(const char *whole, const char *damaged)
{
	const char *const orders[2][2] = {{whole, damaged}, {damaged, whole}};
	struct kp_reader *reader;
	size_t bad;

	if (kp_reader_open(&damaged, 1, &reader, &bad) != KP_OK)
		return; /* not a trace any more */
	kp_reader_close(reader);
	check_whole(orders[0], 2);
	check_whole(orders[1], 2);
}

/* Whatever byte of a copy is wrong, and wherever it ends: the other copy has it. */
static void test_losses_copy_makes_up(void **state)
{
	struct trace_file file, copy;
	struct bytes *bytes = malloc(sizeof(*bytes));

	(void)state;
	assert_non_null(bytes);
	write_process(&file);
	read_bytes(file.path, bytes);
	trace_file_begin(&copy, 9);
	for (size_t at = 0; at < bytes->length; at += 7) {
		bytes->at[at] ^= 0x20;
		write_bytes(copy.path, bytes->at, bytes->length);
		bytes->at[at] ^= 0x20;
		check_both_orders(file.path, copy.path);
	}
	for (size_t length = 1; length < bytes->length; length += 19) {
		write_bytes(copy.path, bytes->at, length);
		check_both_orders(file.path, copy.path);
	}
	free(bytes);
	trace_file_end(&copy);
	trace_file_end(&file);
}

/* Of what was issued every launch is somewhere, once; see report_losses.h. */
static void check_sum(const char *path, size_t *known, uint64_t *lost)
{
	const struct kp_report_options options = {.threshold_pct = 30};
	struct kp_reader *reader;
	struct kp_report *report;
	size_t bad;

	if (kp_reader_open(&path, 1, &reader, &bad) != KP_OK)
		return;
	assert_int_equal(kp_report_build(reader, &options, &report), KP_OK);
	for (size_t i = 0; i < report->process_count; i++) {
		const struct kp_process_row *row = &report->processes[i];

		assert_int_equal(row->lost, report->counts.lost);
		if (!row->missing_known)
			continue;
		assert_int_equal(row->kernels + row->lost + row->missing +
					 row->process->counts.records_dropped,
				 ISSUED);
		assert_int_equal(row->absent, ISSUED - row->kernels);
		if (row->process->end.has) { /* all else is known to have been written */
			assert_int_equal(row->missing, 2);
			*lost += row->lost;
		}
		++*known;
	}
	kp_report_destroy(report);
	kp_reader_close(reader);
}

/* Bytes that are wrong, that are gone, and that were never written, by chance. */
static void test_losses_are_counted_once(void **state)
{
	struct trace_file file;
	struct bytes *bytes = malloc(sizeof(*bytes)), *bad = malloc(sizeof(*bad));
	uint64_t chance = 1, lost = 0;
	size_t known = 0;

	(void)state;
	assert_non_null(bytes);
	assert_non_null(bad);
	write_process(&file);
	read_bytes(file.path, bytes);
	for (unsigned i = 0; i < 2000; i++) {
		size_t at = kp_scatter_next(&chance) % bytes->length;
		size_t count = 1 + kp_scatter_next(&chance) % 100;

		*bad = *bytes;
		if (count > bytes->length - at)
			count = bytes->length - at;
		if (i % 2)
			for (size_t k = 0; k < count; k++)
				bad->at[at + k] ^= 0x5a;
		else
			memmove(bad->at + at, bad->at + at + count, bad->length - at - count);
		bad->length -= i % 2 ? 0 : count;
		if (i % 5 == 0)
			bad->length -= kp_scatter_next(&chance) % (bad->length / 2);
		write_bytes(file.path, bad->at, bad->length);
		check_sum(file.path, &known, &lost);
	}
	assert_true(known > 1000 && lost > 1000);
	free(bytes);
	free(bad);
	trace_file_end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses_copy_makes_up),
		cmocka_unit_test(test_losses_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
