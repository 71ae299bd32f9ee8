/* The canvas of cells: whatever text is put on it, only printable characters come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tui/canvas.h"

/* What a canvas of one row shows; freed with the next call. */
static const char *shown(const struct kp_canvas *canvas, bool ascii)
{
	static char *text;
	size_t size;
	const struct kp_canvas_style style = {.ascii = ascii};

	free(text);
	FILE *file = open_memstream(&text, &size);
	kp_canvas_print(file, canvas, &style);
	fclose(file);
	if (size > 0)
		text[size - 1] = '\0'; /* the end of the line */
	return text;
}

static struct kp_canvas line_of(size_t columns)
{
	struct kp_canvas canvas = {0};

	assert_int_equal(kp_canvas_resize(&canvas, 1, columns), KP_OK);
	return canvas;
}

static void test_canvas_shows_hostile_bytes(void **state)
{
	struct kp_canvas canvas = line_of(60);

	(void)state;
	kp_canvas_put(&canvas, 0, 0, 60, KP_ROLE_PLAIN, "a\033[31mb\xff\xc3z\x7f\u202e\xc2\x85.");
	assert_string_equal(shown(&canvas, false),
			    "a\\x1b[31mb\\xff\\xc3z\\x7f\\xe2\\x80\\xae\\xc2\\x85.");
	kp_canvas_fini(&canvas);
}

static void test_canvas_keeps_widths(void **state)
{
	struct kp_canvas canvas = line_of(8);

	(void)state;
	assert_int_equal(kp_canvas_width("e\u0301\u6f22x"), 4);
	assert_int_equal(kp_canvas_put(&canvas, 0, 1, 7, KP_ROLE_PLAIN, "e\u0301\u6f22x"), 4);
	assert_int_equal(kp_canvas_at(&canvas, 0, 1)->marks[0], 0x301);
	assert_int_equal(kp_canvas_at(&canvas, 0, 2)->base, 0x6f22);
	assert_int_equal(kp_canvas_at(&canvas, 0, 3)->base, 0);
	assert_int_equal(kp_canvas_at(&canvas, 0, 4)->base, 'x');
	assert_string_equal(shown(&canvas, false), " e\u0301\u6f22x");
	assert_string_equal(shown(&canvas, true), " e? x");
	/* Half of a wide character that is written over leaves no other half. */
	kp_canvas_fill(&canvas, 0, 3, 1, '!', KP_ROLE_PLAIN);
	assert_string_equal(shown(&canvas, false), " e\u0301 !x");
	kp_canvas_fini(&canvas);
}

static void test_canvas_cuts(void **state)
{
	static const char *const names[] = {
		"elementwise_kernel<4, BinaryFunctor<float, float, MulFunctor<float>>>",
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
		"\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57",
		"plain<>",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		for (size_t columns = 0; columns < 80; columns++) {
			struct kp_canvas canvas = line_of(80);
			size_t taken =
				kp_canvas_put_name(&canvas, 0, 0, columns, KP_ROLE_PLAIN, names[i]);
			assert_true(taken <= columns);
			assert_int_equal(kp_canvas_at(&canvas, 0, columns)->base, ' ');
			assert_true(kp_canvas_width(shown(&canvas, false)) <= columns);
			kp_canvas_fini(&canvas);
		}
	}
}

static void test_canvas_keeps_within(void **state)
{
	struct kp_canvas canvas = line_of(4);

	(void)state;
	kp_canvas_put(&canvas, 0, 2, 99, KP_ROLE_PLAIN, "\u6f22\u6f22\u6f22");
	kp_canvas_put(&canvas, 0, 99, 99, KP_ROLE_PLAIN, "out");
	kp_canvas_put(&canvas, 7, 0, 99, KP_ROLE_PLAIN, "out");
	kp_canvas_fill(&canvas, 0, 3, 99, '#', KP_ROLE_PLAIN);
	assert_string_equal(shown(&canvas, false), "   #");
	assert_int_equal(kp_canvas_bar(&canvas, 0, 0, 4, 1e300, KP_ROLE_BAR), 4);
	assert_int_equal(kp_canvas_bar(&canvas, 0, 0, 4, 0.0 / 0.0, KP_ROLE_BAR), 0);
	kp_canvas_fini(&canvas);
}

/* Roles that say something differ from plain text without colours, or their views add marks. */
static void test_roles_need_no_colors(void **state)
{
	(void)state;
	for (int i = 0; i < KP_ROLE_COUNT; i++) {
		struct kp_look look = kp_role_look((enum kp_role)i, KP_THEME_MONO);
		assert_int_equal(look.foreground, -1);
		assert_int_equal(look.background, -1);
		for (int theme = 0; theme < KP_THEME_COUNT; theme++) {
			struct kp_look other = kp_role_look((enum kp_role)i, (enum kp_theme)theme);
			assert_in_range(kp_look_of_eight(other.foreground) + 1, 0, 8);
			assert_in_range(kp_look_of_eight(other.background) + 1, 0, 8);
		}
	}
	assert_int_not_equal(kp_role_look(KP_ROLE_SELECTED, KP_THEME_MONO).attributes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canvas_shows_hostile_bytes),
		cmocka_unit_test(test_canvas_keeps_widths),
		cmocka_unit_test(test_canvas_cuts),
		cmocka_unit_test(test_canvas_keeps_within),
		cmocka_unit_test(test_roles_need_no_colors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
