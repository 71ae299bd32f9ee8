/*
 * The roofline as a picture: SVG 1.1 that needs nothing else and changes with nothing but the
 * report. See roofline.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/roofline.h"
#include "profiler/text.h"

#define WIDTH 900
#define LEFT 70
#define TOP 50
#define PLOT_WIDTH 800
#define PLOT_HEIGHT 420
#define LINE 18
#define BAR 240

/* Text between tags; what is no valid character of XML is spelled out. */
static enum kp_status put_text(FILE *file, const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *visible = malloc(size);

	if (!visible)
		return KP_NO_MEMORY;
	kp_text_visible(visible, size, text, strlen(text));
	kp_text_markup(file, visible, strlen(visible));
	free(visible);
	return KP_OK;
}

/* The part of a logarithmic axis up to a value; what lies outside is at its end. */
static double part_of(double value, double low, double high)
{
	return fmin(fmax(log(value / low) / log(high / low), 0), 1);
}

static double x_of(const struct kp_roof *roof, double flop_per_byte)
{
	return LEFT + PLOT_WIDTH * part_of(flop_per_byte, roof->low, roof->high);
}

static double y_of(const struct kp_roof *roof, double tflops)
{
	return TOP + PLOT_HEIGHT - PLOT_HEIGHT * part_of(tflops, roof->bottom, roof->top);
}

/* Lines at whole decades, with their numbers. */
static void put_axes(FILE *file, const struct kp_roof *roof)
{
	int columns = (int)lround(log10(roof->high / roof->low));
	int lines = (int)lround(log10(roof->top / roof->bottom));

	for (int i = 0; i <= columns; i++) {
		double at = roof->low * pow(10, i), x = x_of(roof, at);
		fprintf(file,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" class=\"g\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			x, TOP, x, TOP + PLOT_HEIGHT, x, TOP + PLOT_HEIGHT + LINE, at);
	}
	for (int i = 0; i <= lines; i++) {
		double at = roof->bottom * pow(10, i), y = y_of(roof, at);
		fprintf(file,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" class=\"g\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, y, LEFT + PLOT_WIDTH, y, LEFT - 6, y + 4, at);
	}
	fprintf(file,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">FLOP/byte</text>\n"
		"<text x=\"%d\" y=\"%d\">TFLOP/s</text>\n",
		LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT + 2 * LINE, LEFT - 50, TOP - 10);
}

static void put_roof(FILE *file, const struct kp_roof *roof)
{
	double from = fmax(roof->low, roof->bottom * 1e3 / roof->memory.value);

	fprintf(file, "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" class=\"r\"/>\n",
		x_of(roof, from), y_of(roof, kp_roof_at(roof, from)), x_of(roof, roof->ridge),
		y_of(roof, roof->tensor.value), x_of(roof, roof->high),
		y_of(roof, roof->tensor.value));
	for (size_t i = 0; i < roof->count; i++) {
		const struct kp_roof_point *point = &roof->points[i];

		if (point->tflops > 0)
			fprintf(file,
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"p\"/>"
				"<text x=\"%.1f\" y=\"%.1f\">%c</text>\n",
				x_of(roof, point->flop_per_byte), y_of(roof, point->tflops),
				x_of(roof, point->flop_per_byte) + 7, y_of(roof, point->tflops) + 4,
				point->letter);
	}
}

/* The list: a bar of how near each kernel is to the nearer roof. */
static enum kp_status put_list(FILE *file, const struct kp_roof *roof, int y)
{
	enum kp_status status = KP_OK;

	for (size_t i = 0; i < roof->count && status == KP_OK; i++, y += LINE) {
		const struct kp_roof_point *point = &roof->points[i];
		const struct kp_row_traffic *traffic = &point->kernel->traffic;
		double near = fmax(isfinite(traffic->peak_pct) ? traffic->peak_pct : 0,
				   isfinite(traffic->tensor_pct) ? traffic->tensor_pct : 0);

		fprintf(file,
			"<text x=\"%d\" y=\"%d\">%c</text>"
			"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"12\" class=\"b\"/>"
			"<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"12\" class=\"f\"/>"
			"<text x=\"%d\" y=\"%d\">%.0f %%, %.0f GB/s ± %.0f (%s), %s: ",
			LEFT - 20, y, point->letter, LEFT, y - 11, BAR, LEFT, y - 11,
			near / 100 * BAR, LEFT + BAR + 10, y, near, traffic->gbps,
			traffic->gbps_ci95, kp_traffic_source_name(traffic->source),
			kp_bound_name(traffic->bound));
		status = put_text(file, point->kernel->shortened);
		fputs("</text>\n", file);
	}
	return status;
}

enum kp_status kp_print_svg(FILE *file, const struct kp_report *report)
{
	struct kp_roof roof;
	bool known = kp_roof_of(report, &roof);
	int top = known && roof.placed ? TOP + PLOT_HEIGHT + 4 * LINE : TOP + LINE;

	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<style>.g{stroke:#ddd}.r{stroke:#c33;stroke-width:2;fill:none}.p{fill:#26a}"
		".b{fill:#eee}.f{fill:#26a}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, top + ((int)roof.count + 1) * LINE);
	if (!known) {
		fprintf(file,
			"<text x=\"%d\" y=\"%d\">No roofline: no hardware counters were sampled, "
			"or nothing is known of what this GPU can do.</text>\n</svg>\n",
			20, TOP);
		return KP_OK;
	}
	fprintf(file, "<text x=\"%d\" y=\"24\" font-size=\"15\">Memory %.0f GB/s (%s)", LEFT,
		roof.memory.value, kp_ceiling_source_name(roof.memory.source));
	if (roof.tensor.value > 0)
		fprintf(file, ", 16-bit tensor %.0f TFLOP/s (%s)", roof.tensor.value,
			kp_ceiling_source_name(roof.tensor.source));
	fprintf(file, "%s</text>\n", roof.others ? ". " KP_ROOF_OTHERS : "");
	if (roof.placed) {
		put_axes(file, &roof);
		put_roof(file, &roof);
	}
	if (!roof.count)
		fprintf(file, "<text x=\"%d\" y=\"%d\">" KP_ROOF_EMPTY "</text>\n", LEFT, TOP);
	enum kp_status status = put_list(file, &roof, top);
	fputs("</svg>\n", file);
	return status;
}
