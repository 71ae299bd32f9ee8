/* Rules of A/B in kprof top: what launching was like before a switch and since, over processes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/tally.h"
#include "trace/board_history.h"
#include "tui/top_rules.h"

#define BEGIN_S 1000U
#define SECOND KP_BOARD_SECOND_NS

struct world {
	struct kp_tally *tallies[2];
	struct kp_top_process processes[2];
	struct kp_operators *operators;
	struct kp_top top;
	size_t count; /* processes */
};

static struct kp_board_rule *rule_of(struct world *world, size_t process, const char *name)
{
	struct kp_board_image *image = kp_tally_image(world->tallies[process]);
	uint32_t i = 0;

	while (i < image->head.rule_count && strcmp(image->rules[i].name, name) != 0)
		i++;
	if (i == image->head.rule_count) {
		image->head.rule_count++;
		strcpy(image->rules[i].name, name);
		image->rules[i].begun_ns = BEGIN_S * SECOND;
	}
	return &image->rules[i];
}

/* So many launches a second, each a kernel of `ns`, from one second to before another. */
static void run(struct world *world, size_t process, const char *name, uint64_t from,
		uint64_t until, unsigned launches, uint64_t ns)
{
	struct kp_board_rule *rule = rule_of(world, process, name);

	kp_tally_set_now(world->tallies[process], until * SECOND);
	for (uint64_t second = from; second < until; second++) {
		uint64_t at_ns = second * SECOND;

		for (unsigned i = 0; i < launches; i++, at_ns += ns)
			kp_tally_kernel(world->tallies[process], "a", 0, at_ns, at_ns + ns);
		kp_tally_range(world->tallies[process], "token", 5, second * SECOND, at_ns);
		kp_board_rule_add(rule, second, launches, rule->off ? 0 : launches);
		rule->fitted += launches;
		rule->seen += launches;
		rule->replaced += rule->off ? 0 : launches;
	}
}

static void switch_it(struct world *world, size_t process, const char *name, uint64_t second)
{
	struct kp_board_rule *rule = rule_of(world, process, name);

	rule->off = !rule->off;
	rule->switched_ns = second * SECOND + SECOND / 2;
}

static const struct kp_top_rule *look(struct world *world, uint64_t second, const char *name)
{
	for (size_t i = 0; i < world->count; i++) {
		struct kp_board_image *image = kp_tally_image(world->tallies[i]);

		image->head.process = 1000 + i;
		image->head.pid = (uint32_t)(10 + i);
		image->head.state = KP_BOARD_RUNNING;
		image->head.settled_ns = second * SECOND;
		world->processes[i] = (struct kp_top_process){
			.image = image, .alive = true, .pid = image->head.pid};
	}
	world->top.view =
		(struct kp_top_view){.processes = world->processes, .process_count = world->count};
	assert_int_equal(kp_top_update(&world->top), KP_OK);
	for (size_t i = 0; i < world->top.rule_count; i++)
		if (strcmp(world->top.rules[i].name, name) == 0)
			return &world->top.rules[i];
	return NULL;
}

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof *world);
	struct kp_top_source source = {.units = 8};

	world->count = 1;
	for (size_t i = 0; i < 2; i++)
		world->tallies[i] = kp_tally_create(BEGIN_S * SECOND);
	if (kp_operators_builtin(&world->operators) != KP_OK)
		return -1;
	source.operators = world->operators;
	*state = world;
	kp_top_init(&world->top, &source);
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;

	kp_top_fini(&world->top);
	for (size_t i = 0; i < 2; i++)
		kp_tally_destroy(world->tallies[i]);
	kp_operators_destroy(world->operators);
	free(world);
	return 0;
}

/* Off at 1020.5: 100 a second of 1 ms before, 80 of 2 ms after; 1020 itself counts for neither. */
static void test_top_rules_show_what_a_switch_brought(void **state)
{
	struct world *world = *state;
	const struct kp_top_rule *rule;

	world->top.source.unit_range = "token";
	run(world, 0, "r", BEGIN_S, 1020, 100, 1000000);
	run(world, 0, "r", 1020, 1021, 7, 1000000);
	switch_it(world, 0, "r", 1020);
	rule = look(world, 1021, "r");
	assert_float_equal(rule->before.seconds, 10, 0);
	assert_float_equal(rule->since.seconds, 0, 0); /* no second is complete since */
	assert_true(isnan(kp_top_each_ns(&rule->since)));
	run(world, 0, "r", 1021, 1024, 80, 2000000);
	rule = look(world, 1024, "r");
	assert_int_equal(rule->off, 1);
	assert_float_equal(rule->before.fitted_per_s, 100, 1e-9);
	assert_float_equal(rule->before.replaced_per_s, 100, 1e-9);
	assert_float_equal(rule->since.seconds, 3, 0);
	assert_float_equal(rule->since.fitted_per_s, 80, 1e-9);
	assert_float_equal(rule->since.replaced_per_s, 0, 0);
	assert_float_equal(rule->since.kernels_per_s, 80, 1e-9);
	assert_float_equal(rule->since.units_per_s, 8, 1e-9);
	assert_float_equal(kp_top_change_pct(rule->before.fitted_per_s, rule->since.fitted_per_s),
			   -20, 1e-9);
	assert_float_equal(kp_top_each_ns(&rule->before), 1e6, 1e-3);
	assert_float_equal(kp_top_each_ns(&rule->since), 2e6, 1e-3);
	assert_float_equal(rule->history[KP_TOP_HISTORY - 1], 80, 0);
	assert_float_equal(rule->history[KP_TOP_HISTORY - 4], 7, 0);
	assert_float_equal(rule->history[KP_TOP_HISTORY - 5], 100, 0);
	assert_int_equal(rule->fitted, 2000 + 7 + 240);
}

/* A switch that was long ago is compared with what was before it all the same, if it was seen. */
static void test_top_rules_remember_what_was_before(void **state)
{
	struct world *world = *state;
	const struct kp_top_rule *rule;

	run(world, 0, "r", BEGIN_S, 1030, 50, 1000000);
	switch_it(world, 0, "r", 1030);
	run(world, 0, "r", 1030, 1040, 60, 1000000);
	look(world, 1040, "r");
	run(world, 0, "r", 1040, 1200, 60, 1000000);
	rule = look(world, 1200, "r");
	assert_float_equal(rule->before.fitted_per_s, 50, 1e-9);
	assert_float_equal(rule->since.fitted_per_s, 60, 1e-9);
	/* One that was not seen is not made up, nor is it what an older one was. */
	switch_it(world, 0, "r", 1210);
	run(world, 0, "r", 1200, 1400, 70, 1000000);
	rule = look(world, 1400, "r");
	assert_float_equal(rule->before.seconds, 0, 0);
	assert_true(isnan(kp_top_change_pct(rule->before.fitted_per_s, rule->since.fitted_per_s)));
}

/* What was before is since the switch of another rule before that: else it were both's. */
static void test_top_rules_tell_two_switches_apart(void **state)
{
	struct world *world = *state;
	const struct kp_top_rule *rule;

	run(world, 0, "r", BEGIN_S, 1020, 100, 1000000);
	rule_of(world, 0, "s");
	switch_it(world, 0, "s", 1016);
	switch_it(world, 0, "r", 1020);
	run(world, 0, "r", 1020, 1030, 100, 1000000);
	rule = look(world, 1030, "r");
	assert_float_equal(rule->before.seconds, 3, 0); /* 1017, 1018 and 1019 */
	rule = look(world, 1030, "s");
	assert_float_equal(rule->before.seconds, 10, 0);
}

/* One rule of two processes is one row; where it is off in one of them, that is said. */
static void test_top_rules_add_processes(void **state)
{
	struct world *world = *state;
	const struct kp_top_rule *rule;

	world->count = 2;
	run(world, 0, "r", BEGIN_S, 1020, 100, 1000000);
	run(world, 1, "r", BEGIN_S, 1020, 30, 1000000);
	switch_it(world, 1, "r", 1020);
	run(world, 0, "r", 1020, 1030, 100, 1000000);
	run(world, 1, "r", 1020, 1030, 20, 1000000);
	rule = look(world, 1030, "r");
	assert_int_equal(world->top.rule_count, 1);
	assert_int_equal(rule->processes, 2);
	assert_int_equal(rule->off, 1);
	assert_float_equal(rule->before.fitted_per_s, 130, 1e-9);
	assert_float_equal(rule->since.fitted_per_s, 120, 1e-9);
	world->top.choice.pid = 11;
	rule = look(world, 1030, "r");
	assert_int_equal(rule->processes, 1);
	assert_float_equal(rule->since.fitted_per_s, 20, 1e-9);
}

/* A process that came after the switch says nothing of it, and the others alone not either. */
static void test_top_rules_do_not_compare_late_processes(void **state)
{
	struct world *world = *state;
	const struct kp_top_rule *rule;

	world->count = 2;
	run(world, 0, "r", BEGIN_S, 1020, 100, 1000000);
	switch_it(world, 0, "r", 1020);
	rule_of(world, 1, "r")->begun_ns = 1022 * SECOND;
	run(world, 0, "r", 1020, 1030, 100, 1000000);
	run(world, 1, "r", 1022, 1030, 100, 1000000);
	rule = look(world, 1030, "r");
	assert_float_equal(rule->before.seconds, 0, 0);
	assert_float_equal(rule->since.fitted_per_s, 200, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_top_rules_show_what_a_switch_brought, begin,
						end),
		cmocka_unit_test_setup_teardown(test_top_rules_remember_what_was_before, begin,
						end),
		cmocka_unit_test_setup_teardown(test_top_rules_tell_two_switches_apart, begin, end),
		cmocka_unit_test_setup_teardown(test_top_rules_add_processes, begin, end),
		cmocka_unit_test_setup_teardown(test_top_rules_do_not_compare_late_processes, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
