/* What is lost in damaged traces: a copy makes up for it, and it is counted once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/report_trace.h"

#define PARTS 5
#define LAUNCHES 20 /* a part */
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
	KP_SET(&counts, COUNTS, kernels_issued, PARTS * LAUNCHES + 5);
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
	for (size_t at = 0; at < bytes->length; at += 3) {
		bytes->at[at] ^= 0x20;
		write_bytes(copy.path, bytes->at, bytes->length);
		bytes->at[at] ^= 0x20;
		check_both_orders(file.path, copy.path);
	}
	for (size_t length = 1; length < bytes->length; length += 7) {
		write_bytes(copy.path, bytes->at, length);
		check_both_orders(file.path, copy.path);
	}
	free(bytes);
	trace_file_end(&copy);
	trace_file_end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses_copy_makes_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
