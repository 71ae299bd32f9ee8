/*
 * Every key in every view of kprof top, at several sizes, of processes with and without rules of
 * A/B, names that are odd, and none at all: nothing but printable cells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/tally.h"
#include "profiler/text.h"
#include "trace/board_history.h"
#include "tui/keys.h"
#include "tui/live.h"

#define BEGIN_S 1000U
#define SECOND KP_BOARD_SECOND_NS

static const struct {
	size_t columns, rows;
} sizes[] = {{80, 24}, {20, 5}, {40, 12}, {300, 60}, {19, 4}, {1, 1}};

static const char *const names[] = {
	"gemm",     "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEvT1_",
	"",         "\x1b[31mred\n",
	"\xff\xfe", "kernel_\xe6\xbc\xa2\xe5\xad\x97_e\xcc\x81",
};

struct world {
	struct kp_tally *tallies[2];
	struct kp_top_process processes[2];
	struct kp_operators *operators;
	struct kp_top_view view;
	struct kp_top_source source;
	uint64_t second;
	unsigned switched;
};

static void add_rules(struct kp_board_image *image, uint64_t second)
{
	image->head.rule_count = 3;
	for (uint32_t i = 0; i < 3; i++) {
		struct kp_board_rule *rule = &image->rules[i];

		memset(rule->name, 0, sizeof rule->name);
		strncpy(rule->name, names[i + 3], sizeof rule->name - 1);
		rule->begun_ns = BEGIN_S * SECOND;
		rule->switched_ns = i == 1 ? (BEGIN_S + 10) * SECOND : 0;
		rule->off = i == 1;
		rule->wrong = i == 0;
		kp_board_rule_add(rule, second, 1000 * i, 500 * i);
		rule->seen = rule->fitted += 1000 * i;
		rule->replaced += 500 * i;
	}
}

static const struct kp_top_view *refresh(void *context)
{
	struct world *world = context;
	uint64_t second = world->second++;

	for (size_t p = 0; p < world->view.process_count; p++) {
		struct kp_board_image *image = kp_tally_image(world->tallies[p]);
		uint64_t at_ns = second * SECOND;

		kp_tally_set_now(world->tallies[p], at_ns + SECOND);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++, at_ns += 2000)
			kp_tally_kernel(world->tallies[p], names[i], (uint32_t)p, at_ns,
					at_ns + 999);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			kp_tally_range(world->tallies[p], names[i], strlen(names[i]),
				       second * SECOND, at_ns);
		if (p == 0)
			add_rules(image, second);
		image->head.process = 70 + p;
		image->head.pid = (uint32_t)(10 + p);
		image->head.state = KP_BOARD_RUNNING;
		image->head.settled_ns = (second + 1) * SECOND;
		world->processes[p] = (struct kp_top_process){
			.image = image, .alive = true, .pid = image->head.pid};
	}
	return &world->view;
}

static void switch_rule(void *context, const char *name, bool on, char *words, size_t size)
{
	(void)name;
	((struct world *)context)->switched++;
	snprintf(words, size, "%s", on ? "on" : "off");
}

static struct world *create(size_t processes)
{
	struct world *world = calloc(1, sizeof *world);

	assert_non_null(world);
	for (size_t i = 0; i < 2; i++)
		world->tallies[i] = kp_tally_create(BEGIN_S * SECOND);
	assert_int_equal(kp_operators_builtin(&world->operators), KP_OK);
	world->second = BEGIN_S;
	world->view =
		(struct kp_top_view){.processes = world->processes, .process_count = processes};
	world->source = (struct kp_top_source){.context = world,
					       .refresh = refresh,
					       .switch_rule = switch_rule,
					       .units = 1,
					       .operators = world->operators};
	return world;
}

static void destroy(struct world *world)
{
	for (size_t i = 0; i < 2; i++)
		kp_tally_destroy(world->tallies[i]);
	kp_operators_destroy(world->operators);
	free(world);
}

static void settle(struct kp_tui *tui)
{
	const struct kp_canvas *canvas = &tui->canvas;

	kp_live_work(tui);
	assert_int_equal(kp_tui_draw(tui), KP_OK);
	for (size_t i = 0; i < canvas->rows * canvas->columns; i++) {
		uint32_t base = canvas->cells[i].base;

		assert_false(kp_text_is_control(base) && base != 0);
		if (base == 0) /* the second half of something */
			assert_true(i % canvas->columns > 0 && canvas->cells[i - 1].base > 0x7F);
	}
}

/* Goes to a page as a user would; false: nothing leads there. */
static bool go_to(struct kp_tui *tui, enum kp_page_id page)
{
	tui->prompt.open = false;
	if (kp_tui_has_tab(tui, page)) {
		kp_tui_show(tui, page);
		settle(tui);
		return true;
	}
	if (page == KP_PAGE_LIVE_RULE && !kp_tui_has_tab(tui, KP_PAGE_LIVE_RULES))
		return false;
	kp_tui_show(tui, page == KP_PAGE_LIVE_RULE ? KP_PAGE_LIVE_RULES : KP_PAGE_LIVE_KERNELS);
	kp_tui_list(tui)->filter[0] = '\0';
	settle(tui);
	kp_tui_key(tui, page == KP_PAGE_COLUMNS ? 'f' : page == KP_PAGE_HELP ? '?' : KP_KEY_ENTER);
	settle(tui);
	return tui->page == page;
}

static void press_all(struct kp_tui *tui, enum kp_page_id page)
{
	for (size_t i = 0; i < kp_key_count; i++) {
		for (const char *name = kp_keys[i].names; *name;) {
			size_t length = strcspn(name, " ");
			uint32_t code = kp_key_code(name, length);

			if (tui->page != page && !go_to(tui, page))
				return;
			kp_tui_key(tui, code);
			settle(tui);
			for (unsigned k = 0; tui->prompt.open && k < 2; k++) {
				kp_tui_key(tui, k == 0 ? '3' : KP_KEY_ESCAPE);
				settle(tui);
			}
			assert_true(!tui->closed || code == 'q' || code == 'Q' || code == 3);
			tui->closed = false;
			name += length + strspn(name + length, " ");
		}
	}
}

/* Returns how many views there were. */
static unsigned explore(struct world *world)
{
	const struct kp_tui_settings settings = {.rows = 24, .columns = 80};
	const struct kp_tui_source source = {.live = &world->source};
	unsigned views = 0;
	struct kp_tui tui;

	assert_int_equal(kp_tui_init(&tui, &source, &settings), KP_OK);
	settle(&tui);
	for (unsigned page = 0; page < KP_PAGE_COUNT; page++) {
		if (!go_to(&tui, (enum kp_page_id)page))
			continue;
		views++;
		press_all(&tui, (enum kp_page_id)page);
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			assert_int_equal(kp_tui_resize(&tui, sizes[i].rows, sizes[i].columns),
					 KP_OK);
			settle(&tui);
			kp_tui_click(&tui, sizes[i].rows / 2, sizes[i].columns / 2);
			kp_tui_wheel(&tui, 3);
			settle(&tui);
		}
		kp_tui_resize(&tui, 24, 80);
	}
	kp_tui_fini(&tui);
	return views;
}

static void test_top_takes_every_key(void **state)
{
	struct world *world = create(2);

	(void)state;
	/* Five tabs, one row of each kind in full, the columns and the help. */
	assert_int_equal(explore(world), 9);
	assert_true(world->switched > 0);
	destroy(world);
}

static void test_top_takes_every_key_of_nothing(void **state)
{
	struct world *world = create(0);

	(void)state;
	assert_int_equal(explore(world), 6); /* four tabs, the columns and the help */
	destroy(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_takes_every_key),
		cmocka_unit_test(test_top_takes_every_key_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
