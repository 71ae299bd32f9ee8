/* The roofline: the roof and the kernels beneath, above the table of these; see pages.h. */
#include <math.h>
#include <string.h>

#include "profiler/roofline.h"
#include "tui/state.h"
#include "tui/table.h"

#define MARGIN 9         /* columns of the axis */
#define LEAST_PICTURE 10 /* rows of all, from which on there is one */

static bool roof_of(const struct kp_tui *tui, struct kp_roof *roof)
{
	return tui->report && kp_roof_of(tui->report, roof);
}

/* The point of a row; of an empty kernel without one. */
static struct kp_roof_point point_of(const struct kp_tui *tui, const struct kp_item *item)
{
	static const struct kp_kernel_row none = {.shortened = ""};
	struct kp_roof roof;

	if (!roof_of(tui, &roof) || item->index >= roof.count || !roof.points[item->index].kernel)
		return (struct kp_roof_point){.kernel = &none};
	return roof.points[item->index];
}

static const struct kp_row_traffic *traffic_of(const struct kp_tui *tui, const struct kp_item *item)
{
	return &point_of(tui, item).kernel->traffic;
}

static double near_number(const struct kp_tui *tui, const struct kp_item *item)
{
	const struct kp_row_traffic *traffic = traffic_of(tui, item);

	return fmax(isfinite(traffic->peak_pct) ? traffic->peak_pct : 0,
		    isfinite(traffic->tensor_pct) ? traffic->tensor_pct : 0);
}

static double share_number(const struct kp_tui *tui, const struct kp_item *item)
{
	return point_of(tui, item).kernel->shares.kernel_pct;
}

static double rate_number(const struct kp_tui *tui, const struct kp_item *item)
{
	return traffic_of(tui, item)->gbps;
}

static double intensity_number(const struct kp_tui *tui, const struct kp_item *item)
{
	return traffic_of(tui, item)->flop_per_byte;
}

#define TEXT(name, format)                                                                         \
	static void name##_text(const struct kp_tui *tui, const struct kp_item *item,              \
				struct kp_value *out)                                              \
	{                                                                                          \
		double value = name##_number(tui, item);                                           \
                                                                                                   \
		snprintf(out->text, sizeof out->text, isfinite(value) ? format : "-", value);      \
	}
TEXT(share, "%.1f%%")
TEXT(intensity, "%.1f")
TEXT(near, "%.1f%%")

static void rate_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%.0f %c", rate_number(tui, item),
		 kp_traffic_source_letter(traffic_of(tui, item)->source));
}

static void letter_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	out->text[0] = point_of(tui, item).letter;
	out->text[1] = '\0';
}

static void bound_text(const struct kp_tui *tui, const struct kp_item *item, struct kp_value *out)
{
	snprintf(out->text, sizeof out->text, "%s", kp_bound_name(traffic_of(tui, item)->bound));
}

// clang-format off
const struct kp_column kp_page_roofline_columns[KP_ROOFLINE_COLUMNS] = {
	{" ", NULL, "letter in the picture", 1, true, false, 0, letter_text, NULL, NULL},
	{"Share", NULL, "of kernel time", 6, false, false, 3, share_text, share_number, NULL},
	{"GB/s", NULL, "device memory: " KP_TRAFFIC_LETTERS, 6, false, false, 0,
	 rate_text, rate_number, NULL},
	{"FLOP/B", NULL, "operations for each byte, modelled", 6, false, false, 2,
	 intensity_text, intensity_number, NULL},
	{"Roof", NULL, "of the nearer roof", 6, false, false, 0, near_text, near_number, NULL},
	{"Bar", NULL, "the same as a bar", 12, true, true, 1, NULL, near_number, NULL},
	{"Bound", NULL, "what limits it", 7, true, false, 4, bound_text, NULL, NULL},
};
// clang-format on

const char *kp_page_roofline_name(const struct kp_tui *tui, const struct kp_item *item)
{
	return point_of(tui, item).kernel->shortened;
}

enum kp_status kp_page_roofline_fill(struct kp_tui *tui)
{
	struct kp_roof roof;

	tui->item_count = 0;
	return roof_of(tui, &roof) ? kp_table_fill(tui, roof.count, 0) : KP_OK;
}

/* The cell of a value between two edges, on a logarithmic axis. */
static size_t place(double value, double low, double high, size_t cells)
{
	double part = log(value / low) / log(high / low);

	if (!(part > 0))
		return 0;
	return part >= 1 ? cells - 1 : (size_t)(part * (double)cells);
}

/*
 * The roof in dots of a quarter of a cell's height and half its width (braille), so that its slope
 * is smooth.
 */
static void draw_roof(struct kp_canvas *canvas, struct kp_area area, const struct kp_roof *roof)
{
	static const uint8_t dots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

	for (size_t x = 0; x < 2 * area.columns; x++) {
		double part = ((double)x + 0.5) / (2 * (double)area.columns);
		double at = roof->low * pow(roof->high / roof->low, part);
		double most = kp_roof_at(roof, at);
		if (most < roof->bottom)
			continue;
		size_t y = 4 * area.rows - 1 - place(most, roof->bottom, roof->top, 4 * area.rows);
		struct kp_cell *cell = kp_canvas_at(canvas, area.row + y / 4, area.column + x / 2);
		if (!cell)
			continue;
		uint32_t before = cell->base >= 0x2800 && cell->base < 0x2900 ? cell->base : 0x2800;
		*cell = (struct kp_cell){.base = before | dots[y % 4][x % 2], .role = KP_ROLE_ROOF};
	}
}

static void draw_points(struct kp_tui *tui, struct kp_area area, const struct kp_roof *roof)
{
	const struct kp_item *selected = kp_tui_selected(tui);

	/* Those with most time last, so that they are on top; the selected one above all. */
	for (size_t i = roof->count + 1; i-- > 0;) {
		size_t number = i > 0 ? i - 1 : selected ? selected->index : roof->count;
		if (number >= roof->count || !(roof->points[number].tflops > 0))
			continue;
		const struct kp_roof_point *point = &roof->points[number];
		size_t y = area.rows - 1 - place(point->tflops, roof->bottom, roof->top, area.rows);
		size_t x = place(point->flop_per_byte, roof->low, roof->high, area.columns);
		bool here = selected && selected->index == number;
		kp_canvas_fill(&tui->canvas, area.row + y, area.column + x, 1,
			       (uint32_t)point->letter, here ? KP_ROLE_SELECTED : KP_ROLE_STRONG);
	}
}

static void draw_axes(struct kp_tui *tui, struct kp_area area, const struct kp_roof *roof)
{
	struct kp_canvas *canvas = &tui->canvas;
	size_t foot = area.row + area.rows;
	char text[32];

	for (size_t i = 0; i < area.rows; i++)
		kp_canvas_fill(canvas, area.row + i, area.column - 1, 1, 0x2502, KP_ROLE_AXIS);
	kp_canvas_fill(canvas, foot, area.column - 1, 1, 0x2514, KP_ROLE_AXIS);
	kp_canvas_fill(canvas, foot, area.column, area.columns, 0x2500, KP_ROLE_AXIS);
	snprintf(text, sizeof text, "%.3g", roof->top);
	kp_canvas_put_right(canvas, area.row, 0, MARGIN - 2, KP_ROLE_AXIS, text);
	kp_canvas_put_right(canvas, area.row + 1, 0, MARGIN - 2, KP_ROLE_AXIS, "TFLOP/s");
	snprintf(text, sizeof text, "%.3g", roof->bottom);
	kp_canvas_put_right(canvas, foot - 1, 0, MARGIN - 2, KP_ROLE_AXIS, text);
	snprintf(text, sizeof text, "%.3g", roof->low);
	kp_canvas_put(canvas, foot, area.column, 8, KP_ROLE_AXIS, text);
	snprintf(text, sizeof text, "%.3g FLOP/byte", roof->high);
	kp_canvas_put_right(canvas, foot, area.column, area.columns, KP_ROLE_AXIS, text);
}

/* Returns the rows that it takes. */
static size_t draw_head(struct kp_tui *tui, struct kp_area area, const struct kp_roof *roof)
{
	char text[256];
	size_t used =
		(size_t)snprintf(text, sizeof text, "Memory %.0f GB/s (%s)", roof->memory.value,
				 kp_ceiling_source_name(roof->memory.source));

	if (roof->tensor.value > 0)
		snprintf(text + used, sizeof text - used,
			 ", 16-bit tensor %.0f TFLOP/s (%s), ridge at %.0f FLOP/byte",
			 roof->tensor.value, kp_ceiling_source_name(roof->tensor.source),
			 roof->ridge);
	area.column++;
	area.columns--;
	area.rows = area.rows / 4; /* rows matter more */
	return kp_sheet_draw_words(&tui->canvas, area, KP_ROLE_DIM, text);
}

void kp_page_roofline_draw(struct kp_tui *tui, struct kp_area area)
{
	struct kp_roof roof;
	size_t picture;

	if (!roof_of(tui, &roof)) {
		const struct kp_area words = {area.row, 1, area.rows, area.columns - 1};
		kp_sheet_draw_words(
			&tui->canvas, words, KP_ROLE_DIM,
			tui->part.complete
				? "No roofline: no hardware counters in this trace (kprof "
				  "--counters on), or no ceiling is known."
				: "Reading ...");
		tui->body = (struct kp_area){.row = area.row};
		return;
	}
	picture = draw_head(tui, area, &roof);
	area.row += picture;
	area.rows -= picture;
	if (area.rows > LEAST_PICTURE) {
		kp_canvas_put(&tui->canvas, area.row, 0, area.columns, KP_ROLE_DIM,
			      " GB/s: " KP_TRAFFIC_LETTERS "; FLOP/B and TFLOP/s: modelled");
		area.row++;
		area.rows--;
	}
	picture = area.rows * 3 / 5;
	if (roof.placed && area.rows >= LEAST_PICTURE && area.columns > 2 * MARGIN) {
		const struct kp_area grid = {.row = area.row,
					     .column = MARGIN,
					     .rows = picture - 1,
					     .columns = area.columns - MARGIN - 1};
		draw_roof(&tui->canvas, grid, &roof);
		draw_axes(tui, grid, &roof);
		draw_points(tui, grid, &roof);
		area.row += picture;
		area.rows -= picture;
	}
	kp_table_draw(tui, area);
}

void kp_page_roofline_enter(struct kp_tui *tui)
{
	const struct kp_item *item = kp_tui_selected(tui);

	if (item && tui->part.complete)
		kp_tui_open_kernel(tui,
				   (size_t)(point_of(tui, item).kernel - tui->report->kernels));
}
