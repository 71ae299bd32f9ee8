/* Batches through several analyses, on one thread and on several; see analyzers/relay.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyzers/relay.h"
#include "tests/unit/trace_file.h"

#define BATCHES 40
#define TAKERS 3

/* What the analyses of a test saw. Plain members belong to one stage. */
struct seen {
	uint64_t taken[TAKERS], last_ns[TAKERS], launches[TAKERS];
	uint64_t prepared;           /* batches */
	uint64_t known;              /* by prepare alone: what takers may read */
	atomic_uint at_once[TAKERS]; /* calls of one taker at this moment */
	atomic_uint taking;          /* calls of all */
	atomic_bool overlapped;
	atomic_uint_fast64_t left_by_1; /* batches: taker 2 stays behind it */
	uint64_t fails_at;              /* the first taker, at this batch; 0: never */
	uint64_t progress, stops_at;
};

static struct kp_reader *make_trace(struct trace_file *file)
{
	const char *paths[1];
	struct kp_reader *reader;
	uint32_t config;
	size_t bad;

	trace_file_begin(file, 1);
	config = trace_file_config(file, "kernel", 0, 7);
	for (uint64_t batch = 0; batch < BATCHES; batch++) {
		for (uint64_t i = 0; i < 50; i++) {
			uint64_t start_ns = 1000 + batch * 10000 + i * 100;

			trace_file_launch(file, config, start_ns, start_ns + 60);
		}
		assert_int_equal(kp_writer_flush(file->writer), KP_OK);
	}
	paths[0] = file->path;
	assert_int_equal(kp_reader_open(paths, 1, &reader, &bad), KP_OK);
	return reader;
}

static enum kp_status take(struct seen *seen, unsigned number, const struct kp_event *event)
{
	if (atomic_fetch_add(&seen->at_once[number], 1))
		atomic_store(&seen->overlapped, true);
	atomic_fetch_add(&seen->taking, 1);
	assert_true(event->launches[0].start_ns > seen->last_ns[number]);
	assert_true(seen->known > seen->taken[number] / 8);
	seen->last_ns[number] = event->launches[event->count - 1].start_ns;
	seen->launches[number] += event->count;
	seen->taken[number]++;
	atomic_fetch_sub(&seen->taking, 1);
	atomic_fetch_sub(&seen->at_once[number], 1);
	return number == 0 && seen->taken[0] == seen->fails_at ? KP_NO_MEMORY : KP_OK;
}

static enum kp_status take_0(void *context, const struct kp_event *event)
{
	return take(context, 0, event);
}

static enum kp_status take_1(void *context, const struct kp_event *event)
{
	struct seen *seen = context;
	enum kp_status status = take(seen, 1, event);

	atomic_fetch_add(&seen->left_by_1, 1);
	return status;
}

static enum kp_status take_2(void *context, const struct kp_event *event)
{
	struct seen *seen = context;

	assert_true(atomic_load(&seen->left_by_1) > seen->taken[2]);
	/* What was kept for this batch is not yet that of another one. */
	assert_true(atomic_load(&seen->left_by_1) <= seen->taken[2] + KP_RELAY_PLACES);
	return take(seen, 2, event);
}

/* Every eighth batch needs something. */
static bool is_prepared(void *context, const struct kp_event *event)
{
	struct seen *seen = context;

	(void)event;
	if (seen->prepared % 8 == 0 && seen->known == seen->prepared / 8)
		return false;
	seen->prepared++;
	return true;
}

static enum kp_status prepare(void *context, const struct kp_event *event)
{
	struct seen *seen = context;

	(void)event;
	if (atomic_load(&seen->taking))
		atomic_store(&seen->overlapped, true);
	for (unsigned i = 0; i < TAKERS; i++)
		assert_int_equal(seen->taken[i], seen->prepared);
	seen->known++;
	seen->prepared++;
	return KP_OK;
}

static enum kp_status progress(void *context, struct kp_reader_place place)
{
	struct seen *seen = context;

	assert_true(place.done <= place.of && place.of == BATCHES);
	return ++seen->progress == seen->stops_at ? KP_CANCELLED : KP_OK;
}

static enum kp_status run(struct seen *seen, unsigned threads)
{
	struct trace_file file;
	struct kp_reader *reader = make_trace(&file);
	const struct kp_relay relay = {.reader = reader,
				       .context = seen,
				       .takers = {take_0, take_1, take_2},
				       .taker_count = TAKERS,
				       .behind = {0, 0, 2},
				       .is_prepared = is_prepared,
				       .prepare = prepare,
				       .progress = progress,
				       .progress_context = seen};
	enum kp_status status = kp_relay_run(&relay, threads);

	kp_reader_close(reader);
	trace_file_end(&file);
	return status;
}

static void test_relay_order(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 5; threads++) {
		struct seen seen = {0};

		assert_int_equal(run(&seen, threads), KP_OK);
		assert_false(atomic_load(&seen.overlapped));
		assert_int_equal(seen.prepared, BATCHES);
		assert_int_equal(seen.known, BATCHES / 8);
		for (unsigned i = 0; i < TAKERS; i++) {
			assert_int_equal(seen.taken[i], BATCHES);
			assert_int_equal(seen.launches[i], BATCHES * 50);
		}
		if (threads == 1)
			assert_int_equal(seen.progress, 1 + BATCHES * (2 + TAKERS) + BATCHES / 8);
	}
}

static void test_relay_failure(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct seen seen = {.fails_at = 17};

		assert_int_equal(run(&seen, threads), KP_NO_MEMORY);
		assert_int_equal(seen.taken[0], 17);
		assert_true(seen.taken[1] < BATCHES && seen.taken[2] < BATCHES);
	}
}

static void test_relay_cancelled(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct seen seen = {.stops_at = 1};
		enum kp_status status = run(&seen, threads);

		/* Others may have done all before the caller's thread came to it. */
		assert_true(status == KP_CANCELLED || (threads > 1 && !seen.progress));
		assert_true(threads > 1 || seen.taken[0] == 0);
	}
}

/* A second thread is for large traces. */
static void test_relay_threads(void **state)
{
	struct trace_file file;
	struct kp_reader *reader = make_trace(&file);

	(void)state;
	assert_int_equal(kp_relay_threads(reader), 1);
	kp_reader_close(reader);
	trace_file_end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relay_order),
		cmocka_unit_test(test_relay_failure),
		cmocka_unit_test(test_relay_cancelled),
		cmocka_unit_test(test_relay_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
