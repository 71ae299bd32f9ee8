/* A reader of a part of a trace: a window, or one batch in so many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/trace_file.h"

#define BATCHES 10
#define LAUNCHES 100

/* Ten chunks of a hundred launches; batch i begins at (i + 1) ms. */
static struct kp_reader *open_trace(struct trace_file *file)
{
	struct kp_reader *reader;
	size_t bad;
	uint32_t config;

	trace_file_begin(file, 7);
	config = trace_file_config(file, "kernel", 0, 1);
	for (uint64_t i = 0; i < BATCHES; i++) {
		for (uint64_t k = 0; k < LAUNCHES; k++) {
			uint64_t start_ns = (i + 1) * 1000000 + k * 1000;
			trace_file_launch(file, config, start_ns, start_ns + 500);
		}
		assert_int_equal(kp_writer_flush(file->writer), KP_OK);
	}
	const char *path = file->path;
	assert_int_equal(kp_reader_open(&path, 1, &reader, &bad), KP_OK);
	return reader;
}

/* Bits of the batches that come; the watermark of each is kept, and the last one's is the end. */
static unsigned read_all(struct kp_reader *reader)
{
	struct kp_event event;
	unsigned batches = 0;
	uint64_t watermark_ns = 0;
	enum kp_status status;

	while ((status = kp_reader_next(reader, &event)) == KP_OK) {
		assert_int_equal(event.count, LAUNCHES);
		assert_true(event.launches[0].start_ns >= watermark_ns);
		watermark_ns = event.watermark_ns;
		batches |= 1U << (event.launches[0].start_ns / 1000000 - 1);
	}
	assert_int_equal(status, KP_END);
	assert_true(batches == 0 || watermark_ns == UINT64_MAX);
	return batches;
}

static unsigned read_part(struct kp_reader *reader, struct kp_reader_part part)
{
	kp_reader_select(reader, &part);
	unsigned batches = read_all(reader);
	kp_reader_rewind(reader);
	assert_int_equal(read_all(reader), batches); /* rewinding keeps the part */
	return batches;
}

static void test_reader_reads_a_part(void **state)
{
	struct trace_file file;
	struct kp_reader *reader = open_trace(&file);
	struct kp_reader_span span = kp_reader_span(reader);

	(void)state;
	assert_int_equal(span.first_ns, 1000000);
	assert_int_equal(span.last_ns, 10000000 + 99 * 1000 + 500);
	assert_int_equal(read_part(reader, (struct kp_reader_part){0}), 0x3FF);
	assert_int_equal(read_part(reader, (struct kp_reader_part){.stride = 1}), 0x3FF);
	assert_int_equal(read_part(reader, (struct kp_reader_part){.stride = 3}), 0x092);
	assert_int_equal(read_part(reader, (struct kp_reader_part){.stride = 100}), 0);
	/* From the end of batch 2 to the start of batch 4; a moment between two; beyond. */
	const struct kp_reader_part window = {.from_ns = 3099500, .to_ns = 5000000};
	assert_int_equal(read_part(reader, window), 0x01C);
	const struct kp_reader_part between = {.from_ns = 3200000, .to_ns = 3300000};
	assert_int_equal(read_part(reader, between), 0);
	const struct kp_reader_part beyond = {.from_ns = 20000000, .to_ns = 30000000};
	assert_int_equal(read_part(reader, beyond), 0);
	assert_int_equal(kp_reader_place(reader).of, BATCHES);
	kp_reader_close(reader);
	trace_file_end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reader_reads_a_part)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
