/* The roofline as text, and the notes below the ranking; see roofline.h. */
#include <math.h>
#include <string.h>

#include "profiler/roofline.h"
#include "profiler/text.h"

#define GRID_COLUMNS 64
#define GRID_LINES 15
#define BAR 24
#define LIST_MAX 15
#define NAME_AT (1 + 7 + 2 + 8 + 8 + BAR + 9) /* where names begin in the list */

/* The place of a value between two edges, on a logarithmic axis of so many cells. */
static int place(double value, double low, double high, int cells)
{
	double part = log(value / low) / log(high / low);

	return part <= 0 ? 0 : part >= 1 ? cells - 1 : (int)(part * cells);
}

static void draw_grid(char grid[GRID_LINES][GRID_COLUMNS + 1], const struct kp_roof *roof)
{
	for (int y = 0; y < GRID_LINES; y++) {
		memset(grid[y], ' ', GRID_COLUMNS);
		grid[y][GRID_COLUMNS] = '\0';
	}
	for (int x = 0; x < GRID_COLUMNS; x++) {
		double at = roof->low * pow(roof->high / roof->low, (x + 0.5) / GRID_COLUMNS);
		double most = kp_roof_at(roof, at);
		if (most < roof->bottom)
			continue;
		int y = GRID_LINES - 1 - place(most, roof->bottom, roof->top, GRID_LINES);
		grid[y][x] = at < roof->ridge ? '/' : '-';
	}
	for (size_t i = roof->count; i-- > 0;) {
		const struct kp_roof_point *point = &roof->points[i];
		if (!(point->tflops > 0))
			continue;
		int y = GRID_LINES - 1 - place(point->tflops, roof->bottom, roof->top, GRID_LINES);
		grid[y][place(point->flop_per_byte, roof->low, roof->high, GRID_COLUMNS)] =
			point->letter;
	}
}

static void print_grid(FILE *file, const struct kp_roof *roof)
{
	char grid[GRID_LINES][GRID_COLUMNS + 1];

	draw_grid(grid, roof);
	fputs(" TFLOP/s\n", file);
	for (int y = 0; y < GRID_LINES; y++) {
		char label[16] = "";
		size_t length = GRID_COLUMNS;

		if (y == 0)
			snprintf(label, sizeof label, "%.3g", roof->top);
		else if (y == GRID_LINES - 1)
			snprintf(label, sizeof label, "%.3g", roof->bottom);
		while (length > 0 && grid[y][length - 1] == ' ')
			length--;
		fprintf(file, "%8s |%.*s\n", label, (int)length, grid[y]);
	}
	fprintf(file, "%8s +", "");
	for (int x = 0; x < GRID_COLUMNS; x++)
		fputc('-', file);
	fprintf(file, "\n%9s%-*.3g%.3g FLOP/byte\n\n", "", GRID_COLUMNS - 4, roof->low, roof->high);
}

/* A bar of how near a kernel is to the nearer roof. */
static void print_point(FILE *file, const struct kp_roof_point *point, size_t width)
{
	const struct kp_row_traffic *traffic = &point->kernel->traffic;
	double near = fmax(isfinite(traffic->peak_pct) ? traffic->peak_pct : 0,
			   isfinite(traffic->tensor_pct) ? traffic->tensor_pct : 0);
	int full = (int)(near / 100 * BAR + 0.5);
	char intensity[24] = "-";

	if (isfinite(traffic->flop_per_byte))
		snprintf(intensity, sizeof intensity, "%.1f", traffic->flop_per_byte);
	fprintf(file, "%c %6.0f %c %7s %5.1f%% ", point->letter, traffic->gbps,
		kp_traffic_source_letter(traffic->source), intensity, near);
	for (int i = 0; i < BAR; i++)
		fputc(i < full ? '#' : '.', file);
	fprintf(file, " %-7s ", kp_bound_name(traffic->bound));
	kp_text_fit(file, point->kernel->shortened, width > NAME_AT + 12 ? width - NAME_AT : 12);
	fputc('\n', file);
}

enum kp_status kp_print_roofline(FILE *file, const struct kp_report *report,
				 const struct kp_view *view)
{
	struct kp_roof roof;
	char tensor[128] = "", title[256];

	fputc('\n', file);
	if (!kp_roof_of(report, &roof)) {
		kp_text_wrap(file,
			     "There is no roofline: no hardware counters were sampled, or nothing "
			     "is known of what this GPU's memory can do (kprof bench ceilings).",
			     0, 0, view->width);
		return KP_OK;
	}
	if (roof.tensor.value > 0)
		snprintf(tensor, sizeof tensor,
			 ", 16-bit tensor %.0f TFLOP/s (%s), ridge at %.0f "
			 "FLOP/byte",
			 roof.tensor.value, kp_ceiling_source_name(roof.tensor.source), roof.ridge);
	snprintf(title, sizeof title, "Roofline: memory %.0f GB/s (%s)%s", roof.memory.value,
		 kp_ceiling_source_name(roof.memory.source), tensor);
	kp_text_wrap(file, title, 0, 0, view->width);
	if (roof.others)
		kp_text_wrap(file, KP_ROOF_OTHERS, 0, 0, view->width);
	if (roof.placed)
		print_grid(file, &roof);
	if (!roof.count) {
		kp_text_wrap(file, KP_ROOF_EMPTY, 0, 0, view->width);
		return KP_OK;
	}
	fprintf(file, "%8s   %7s %6s %-*s %-7s Kernel\n", "GB/s", "FLOP/B", "Roof", BAR, "",
		"Bound");
	for (size_t i = 0; i < roof.count && i < LIST_MAX; i++)
		print_point(file, &roof.points[i], view->width);
	fputs("GB/s: " KP_TRAFFIC_LETTERS "; FLOP/B and TFLOP/s: modelled.\n", file);
	return KP_OK;
}

void kp_print_traffic_notes(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	enum kp_ceiling_source source = KP_CEILING_ABSENT;
	char text[400];

	for (size_t i = 0; i < report->kernel_count && source == KP_CEILING_ABSENT; i++)
		source = report->kernels[report->kernels_by_time[i]].traffic.peak_source;
	snprintf(text, sizeof text,
		 "GB/s: device memory, " KP_TRAFFIC_LETTERS
		 " (± 95 %% confidence), - too little evidence; so are Bytes, of a call, Bound and "
		 "Room; FLOP/B: modelled%s%s%s.",
		 source == KP_CEILING_ABSENT ? "" : "; Peak: of what memory can do (",
		 source == KP_CEILING_ABSENT ? "" : kp_ceiling_source_name(source),
		 source == KP_CEILING_ABSENT ? "" : "); Room: time now ÷ time at the nearer limit");
	kp_text_wrap(file, text, 0, 0, view->width);
}
