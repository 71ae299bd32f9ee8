/* Every key in every view on every recorded trace, at several sizes: nothing but printable cells.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/text.h"
#include "tui/keys.h"
#include "tui/state.h"

static const struct {
	size_t columns, rows;
} sizes[] = {{80, 24}, {20, 5}, {40, 12}, {300, 60}, {19, 4}, {1, 1}};

static bool is_fine(const struct kp_canvas *canvas, size_t at)
{
	const struct kp_cell *cell = &canvas->cells[at];

	if (cell->role >= KP_ROLE_COUNT)
		return false;
	if (cell->base == 0) /* the second half of something */
		return at % canvas->columns > 0 && cell[-1].base > 0x7F;
	return !kp_text_is_control(cell->base);
}

static void check_cells(const struct kp_canvas *canvas)
{
	size_t count = canvas->rows * canvas->columns, at = 0;

	while (at < count && is_fine(canvas, at))
		at++;
	assert_int_equal(at, count);
}

static void settle(struct kp_tui *tui)
{
	do {
		assert_int_equal(kp_tui_finish(tui), KP_OK);
		assert_int_equal(kp_tui_draw(tui), KP_OK);
	} while (tui->scanning);
	check_cells(&tui->canvas);
}

/* Goes to a page as a user would; false: the trace has nothing to open it with. */
static bool go_to(struct kp_tui *tui, enum kp_page_id page)
{
	const uint32_t ways[KP_PAGE_COUNT][3] = {
		[KP_PAGE_KERNEL] = {KP_KEY_DOWN, KP_KEY_ENTER},
		[KP_PAGE_COLUMNS] = {'f'},
		[KP_PAGE_INFO] = {'i'},
		[KP_PAGE_HELP] = {'?'},
		[KP_PAGE_EVIDENCE] = {KP_KEY_ENTER},
		[KP_PAGE_AB_RULE] = {KP_KEY_ENTER},
	};
	static const enum kp_page_id beneath[KP_PAGE_COUNT] = {
		[KP_PAGE_EVIDENCE] = KP_PAGE_FINDINGS,
		[KP_PAGE_AB_RULE] = KP_PAGE_AB,
	};

	tui->prompt.open = false;
	tui->closed = false;
	if (kp_page_tab(page) == KP_TAB_TRACE) {
		kp_tui_show(tui, page);
	} else {
		kp_tui_show(tui, beneath[page]); /* or KP_PAGE_OPERATORS */
		if (page == KP_PAGE_KERNEL) {
			kp_tui_list(tui)->selected = 0;
			kp_tui_key(tui, 'E');
		}
		settle(tui);
		for (size_t i = 0; i < 3 && ways[page][i]; i++)
			kp_tui_key(tui, ways[page][i]);
	}
	settle(tui);
	return tui->page == page;
}

static void press(struct kp_tui *tui, uint32_t code)
{
	kp_tui_key(tui, code);
	settle(tui);
	if (tui->prompt.open) {
		kp_tui_key(tui, '3');
		settle(tui);
		/* What is typed at P is a file's name: not in a test of all keys. */
		kp_tui_key(tui, code == 'P' ? KP_KEY_ESCAPE : KP_KEY_ENTER);
		settle(tui);
	}
}

static void press_all(struct kp_tui *tui, enum kp_page_id page)
{
	for (size_t i = 0; i < kp_key_count; i++) {
		for (const char *name = kp_keys[i].names; *name;) {
			size_t length = strcspn(name, " ");
			uint32_t code = kp_key_code(name, length);
			assert_int_not_equal(code, 0);
			if (tui->page != page && !go_to(tui, page))
				return;
			press(tui, code);
			assert_true(!tui->closed || code == 'q' || code == 'Q' || code == 3);
			tui->closed = false;
			name += length + strspn(name + length, " ");
		}
	}
}

static void read_ab(struct kp_ab_saved *out)
{
	FILE *file = fopen(AB_REPORT, "re");
	struct kp_rules_error error = {0};
	static char text[1 << 16];
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, sizeof text, file);
	fclose(file);
	assert_int_equal(kp_ab_saved_read(text, length, out, &error), KP_OK);
}

/* No kernel has more launches in a range than it has. */
static void check_callers(const struct kp_report *report)
{
	for (size_t i = 0; report->ranges && i < report->ranges->caller_count; i++) {
		const struct kp_range_caller *caller = &report->ranges->callers[i];
		const struct kp_kernel_row *kernel = &report->kernels[caller->kernel];
		assert_in_range(caller->calls, 1, kernel->calls);
		assert_in_range(caller->total_ns, 0, kernel->durations.total_ns);
	}
}

static void explore(const char *path)
{
	const char *paths[] = {path};
	struct kp_tui_source source = {
		.paths = paths,
		.path_count = 1,
		.options = {.threshold_pct = 30,
			    .busy_shares = true,
			    .ranges = true,
			    .timeline = true},
	};
	const struct kp_tui_settings settings = {.rows = 24, .columns = 80};
	struct kp_ab_saved ab;
	struct kp_tui tui;
	size_t bad;

	read_ab(&ab);
	source.ab = &ab;
	assert_int_equal(kp_reader_open(paths, 1, &source.reader, &bad), KP_OK);
	assert_int_equal(kp_reader_open(paths, 1, &source.base, &bad), KP_OK);
	source.base_path = path;
	assert_int_equal(kp_tui_init(&tui, &source, &settings), KP_OK);
	settle(&tui);
	check_callers(tui.report);
	for (int page = 0; page < KP_PAGE_COUNT; page++) {
		if (!go_to(&tui, (enum kp_page_id)page))
			continue;
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
	kp_reader_close(source.base);
	kp_reader_close(source.reader);
	kp_ab_saved_fini(&ab);
}

static void test_tui_takes_every_key(void **state)
{
	static const char *const patterns[] = {RECORDINGS};
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		glob_t found;
		assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
		for (size_t k = 0; k < found.gl_pathc; k++, count++)
			explore(found.gl_pathv[k]);
		globfree(&found);
	}
	assert_true(count >= 15);
}

/* However the loader's end falls between two looks, its last report is taken before it waits. */
static void test_tui_works_until_all_is_taken(void **state)
{
	const char *paths[] = {SHORT_TRACE};
	struct kp_tui_source source = {
		.paths = paths, .path_count = 1, .options = {.threshold_pct = 30}};
	const struct kp_tui_settings settings = {.rows = 24, .columns = 80};
	struct kp_tui tui;
	size_t bad;

	(void)state;
	assert_int_equal(kp_reader_open(paths, 1, &source.reader, &bad), KP_OK);
	assert_int_equal(kp_tui_init(&tui, &source, &settings), KP_OK);
	kp_loader_wait(tui.loader);
	assert_true(kp_tui_works(&tui));
	assert_true(kp_tui_work(&tui));
	assert_non_null(tui.report);
	assert_false(kp_tui_works(&tui));
	kp_tui_fini(&tui);
	kp_reader_close(source.reader);
}

/* No row of the table is hidden on all its pages by rows before it. */
static void test_keys_are_reachable(void **state)
{
	(void)state;
	for (size_t i = 0; i < kp_key_count; i++) {
		char name[16];
		bool reached = false;
		kp_key_first_name(&kp_keys[i], name, sizeof name);
		for (unsigned page = 0; page < KP_PAGE_COUNT; page++)
			reached |= (kp_keys[i].pages & 1U << page) &&
				   kp_key_on(kp_key_code(name, strlen(name)), page) == &kp_keys[i];
		assert_true(reached);
	}
}

static struct kp_gpu_traffic roof_of_test(void)
{
	struct kp_gpu_traffic traffic = {0};

	traffic.ceilings.of[KP_CEILING_READ] =
		(struct kp_ceiling){KP_CEILING_MEASURED, 4000, 4000, 4000};
	traffic.ceilings.of[KP_CEILING_TENSOR_BF16] =
		(struct kp_ceiling){KP_CEILING_MEASURED, 800, 800, 800};
	return traffic;
}

/* No recording has counters of tensor pipes, so the picture is drawn of rows made here. */
static void test_roofline_draws_points(void **state)
{
	const struct kp_gpu_traffic traffic = roof_of_test();
	const struct kp_gpu_row gpu = {.traffic = &traffic};
	struct kp_kernel_row kernels[2] = {{.shortened = "memory_bound"}, {.shortened = "compute"}};
	const size_t by_time[] = {0, 1};
	struct kp_report report = {
		.gpus = &gpu,
		.gpu_count = 1,
		.kernels = kernels,
		.kernel_count = 2,
		.kernels_by_time = by_time,
	};
	struct kp_tui tui = {.page = KP_PAGE_ROOFLINE, .report = &report};
	size_t dots = 0, letters[2] = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		kernels[i].traffic.source = KP_TRAFFIC_MEASURED;
		kernels[i].traffic.gbps = i ? 1000 : 3500;
		kernels[i].traffic.flop_per_byte = i ? 600 : 2;
	}
	tui.lists[KP_PAGE_ROOFLINE].sort = SIZE_MAX;
	assert_int_equal(kp_canvas_resize(&tui.canvas, 24, 80), KP_OK);
	assert_int_equal(kp_pages[KP_PAGE_ROOFLINE].fill(&tui), KP_OK);
	kp_pages[KP_PAGE_ROOFLINE].draw(&tui, (struct kp_area){.rows = 24, .columns = 80});
	/* The head, then the picture: three fifths of what is left, an axis below. */
	for (size_t i = 80; i < (size_t)13 * 80; i++) {
		uint32_t base = tui.canvas.cells[i].base;
		dots += base > 0x2800 && base <= 0x28FF;
		if (i % 80 >= 9 && (base == 'a' || base == 'b') &&
		    tui.canvas.cells[i].role != KP_ROLE_AXIS)
			letters[base - 'a'] = i;
	}
	assert_true(dots > 30);
	assert_true(letters[0] && letters[1]);
	assert_true(letters[0] % 80 < letters[1] % 80); /* less for each byte is to the left */
	assert_true(letters[0] > letters[1]);           /* and here slower: further down */
	kp_canvas_fini(&tui.canvas);
	free(tui.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_are_reachable),
		cmocka_unit_test(test_tui_works_until_all_is_taken),
		cmocka_unit_test(test_roofline_draws_points),
		cmocka_unit_test(test_tui_takes_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
