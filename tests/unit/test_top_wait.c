/* Waiting for something new in kprof top: where rates are steady to the launch, time is news. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/tally.h"
#include "tui/live.h"

#define BEGIN_NS 100000000000ULL
#define SECOND KP_BOARD_SECOND_NS
#define TENTH (SECOND / 10)
/* Then the program ends, so that a wait that never returns fails instead. */
#define LOOKS_MOST 1000U

/* A program that launches so many kernels in each tenth of a second, and is looked at once in it.
 */
struct steady {
	struct kp_tally *tally;
	struct kp_top_process process;
	struct kp_top_view view;
	struct kp_top_source source;
	unsigned each, looks, waits;
};

static const struct kp_top_view *refresh(void *context)
{
	struct steady *steady = context;
	uint64_t now_ns = BEGIN_NS + steady->looks * TENTH;
	struct kp_board_image *image;

	kp_tally_set_now(steady->tally, now_ns + TENTH);
	for (unsigned i = 0; i < steady->each; i++)
		kp_tally_kernel(steady->tally, "a", 0, now_ns + i * 1000, now_ns + i * 1000 + 500);
	image = kp_tally_image(steady->tally);
	image->head.process = 1000;
	image->head.pid = 10;
	image->head.state = KP_BOARD_RUNNING;
	image->head.settled_ns = now_ns + TENTH;
	steady->process = (struct kp_top_process){.image = image, .alive = true, .pid = 10};
	steady->looks++;
	steady->view = (struct kp_top_view){.processes = &steady->process,
					    .process_count = 1,
					    .ended = steady->looks >= LOOKS_MOST};
	return &steady->view;
}

static void wait_a_moment(void *context, unsigned most_ms)
{
	(void)most_ms;
	((struct steady *)context)->waits++;
}

static unsigned waits_of(struct kp_tui *tui, struct steady *steady)
{
	steady->waits = 0;
	kp_live_wait(tui);
	return steady->waits;
}

static void begin(struct steady *steady, struct kp_tui *tui, struct kp_operators **operators,
		  unsigned each)
{
	const struct kp_tui_settings settings = {.rows = 24, .columns = 80};
	const struct kp_tui_source source = {.live = &steady->source};

	*steady = (struct steady){.tally = kp_tally_create(BEGIN_NS), .each = each};
	assert_non_null(steady->tally);
	assert_int_equal(kp_operators_builtin(operators), KP_OK);
	steady->source = (struct kp_top_source){.context = steady,
						.refresh = refresh,
						.wait = wait_a_moment,
						.units = 1,
						.operators = *operators};
	assert_int_equal(kp_tui_init(tui, &source, &settings), KP_OK);
}

static void end(struct steady *steady, struct kp_tui *tui, struct kp_operators *operators)
{
	kp_tui_fini(tui);
	kp_tally_destroy(steady->tally);
	kp_operators_destroy(operators);
}

/* After twenty seconds the last ten have as many launches at every look. */
static void test_top_wait_ends_at_a_steady_rate(void **state)
{
	struct kp_operators *operators;
	struct steady steady;
	struct kp_tui tui;

	(void)state;
	begin(&steady, &tui, &operators, 7);
	while (steady.looks < 200)
		kp_live_work(&tui);
	for (unsigned i = 0; i < 5; i++) {
		unsigned waits = waits_of(&tui, &steady);

		assert_int_equal(tui.top->calls, 700);
		assert_true(waits >= 1 && waits <= 10);
	}
	assert_false(tui.top->view.ended);
	end(&steady, &tui, operators);
}

/* Before the first kernel there is nothing to be seen: it waits for that. */
static void test_top_wait_is_for_a_kernel_at_first(void **state)
{
	struct kp_operators *operators;
	struct steady steady;
	struct kp_tui tui;

	(void)state;
	begin(&steady, &tui, &operators, 0);
	assert_int_equal(waits_of(&tui, &steady), LOOKS_MOST);
	end(&steady, &tui, operators);
	begin(&steady, &tui, &operators, 1);
	assert_int_equal(waits_of(&tui, &steady), 1);
	assert_int_equal(tui.top->calls, 1);
	end(&steady, &tui, operators);
}

/* One that has stopped launching shows less in each second, and then nothing: that is news still.
 */
static void test_top_wait_ends_when_the_program_idles(void **state)
{
	struct kp_operators *operators;
	struct steady steady;
	struct kp_tui tui;

	(void)state;
	begin(&steady, &tui, &operators, 3);
	while (steady.looks < 20)
		kp_live_work(&tui);
	steady.each = 0;
	for (unsigned i = 0; i < 30; i++)
		assert_true(waits_of(&tui, &steady) <= 10);
	assert_int_equal(tui.top->calls, 0);
	assert_false(tui.top->view.ended);
	end(&steady, &tui, operators);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_wait_ends_at_a_steady_rate),
		cmocka_unit_test(test_top_wait_is_for_a_kernel_at_first),
		cmocka_unit_test(test_top_wait_ends_when_the_program_idles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
