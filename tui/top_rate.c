/*
 * How many units a second «kprof top» shows: of an NVTX range that the user named, or of what
 * repeats among the latest launches (analyzers/repetition.h). See top.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/repetition.h"
#include "tui/top.h"

/* ---- a range ---- */

static void rate_range(struct kp_top *top, const struct kp_top_span *span)
{
	const char *wanted = top->source.unit_range;
	uint64_t calls = 0;
	double total_ns = 0;

	for (size_t i = 0; i < top->view.process_count; i++) {
		const struct kp_board_image *image = top->view.processes[i].image;
		for (uint32_t r = 0; kp_top_takes(top, i) && r < image->head.row_count; r++) {
			const struct kp_board_row *row = &image->rows[r];
			uint64_t more;
			double more_ns;
			if (row->kind != KP_BOARD_RANGE || row->name_bytes != strlen(wanted) ||
			    memcmp(image->names + row->name, wanted, row->name_bytes) != 0)
				continue;
			kp_top_span_sum(top, span, i, r, &more, &more_ns);
			calls += more;
			total_ns += more_ns;
		}
	}
	if (span->seconds <= 0)
		return;
	top->rate = (struct kp_top_rate){
		.known = true,
		.of_range = true,
		.per_s = (double)calls * top->source.units / span->seconds,
		.mean_ns = calls ? total_ns / (double)calls : NAN,
	};
}

/* ---- what repeats ---- */

static int by_start(const void *a, const void *b)
{
	const struct kp_board_step *left = a, *right = b;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->row > right->row) - (left->row < right->row);
}

/* The latest launches on the GPU that had most of them, in order; returns how many. */
static size_t take_steps(const struct kp_board_image *image, struct kp_board_step *out)
{
	size_t used = kp_board_steps(&image->head);
	size_t counts[KP_BOARD_GPUS] = {0}, best = 0, count = 0;

	for (size_t g = 0; g < image->head.gpu_count; g++) {
		for (size_t i = 0; i < used; i++)
			counts[g] += image->rows[image->steps[i].row].device ==
				     image->head.gpus[g].device;
		best = counts[g] > counts[best] ? g : best;
	}
	for (size_t i = 0; i < used && image->head.gpu_count; i++)
		if (image->rows[image->steps[i].row].device == image->head.gpus[best].device)
			out[count++] = image->steps[i];
	qsort(out, count, sizeof *out, by_start);
	return count;
}

struct scratch {
	struct kp_board_step steps[KP_BOARD_TRAIL];
	struct kp_symbol symbols[KP_BOARD_ROWS];
	const struct kp_symbol *used[KP_BOARD_ROWS];
	uint32_t rows[KP_BOARD_ROWS]; /* of those that are used */
	size_t places[KP_BOARD_ROWS];
};

/* Finds what repeats in a process; false: nothing does. */
static bool find(struct scratch *scratch, const struct kp_board_image *image, uint32_t *row,
		 uint32_t *period)
{
	size_t count = take_steps(image, scratch->steps), used = 0;
	struct kp_repetition found;
	uint64_t end_ns = 0;

	memset(scratch->symbols, 0, sizeof scratch->symbols);
	for (size_t i = 0; i < count; i++) {
		const struct kp_board_step *step = &scratch->steps[i];
		uint64_t waited_ns =
			step->start_ns > end_ns && end_ns ? step->start_ns - end_ns : 0;
		kp_symbol_add(&scratch->symbols[step->row], i, step->duration_ns, waited_ns);
		end_ns = step->start_ns + step->duration_ns;
	}
	for (uint32_t r = 0; r < image->head.row_count; r++) {
		if (!scratch->symbols[r].count || r == KP_BOARD_OTHER(KP_BOARD_KERNEL))
			continue;
		scratch->rows[used] = r;
		scratch->used[used++] = &scratch->symbols[r];
	}
	if (!kp_repetition_find(scratch->used, used, count, scratch->places, &found))
		return false;
	*row = scratch->rows[found.anchor];
	*period = found.period;
	return true;
}

/* The process that takes most GPU time of those that are shown; KP_TOP_ALL: none. */
static size_t busiest(const struct kp_top *top, const struct kp_top_span *span)
{
	size_t best = KP_TOP_ALL;
	double most_ns = -1;

	for (size_t i = 0; i < top->view.process_count; i++) {
		double busy_ns = 0;
		for (uint32_t g = 0;
		     kp_top_takes(top, i) && g < top->view.processes[i].image->head.gpu_count; g++)
			busy_ns += kp_top_span_busy(top, span, i, g);
		if (kp_top_takes(top, i) && busy_ns > most_ns) {
			best = i;
			most_ns = busy_ns;
		}
	}
	return best;
}

static enum kp_status rate_repetition(struct kp_top *top, const struct kp_top_span *span)
{
	size_t process = busiest(top, span);
	struct scratch *scratch;
	uint32_t row, period;

	if (process == KP_TOP_ALL || span->seconds <= 0)
		return KP_OK;
	scratch = malloc(sizeof *scratch);
	if (!scratch)
		return KP_NO_MEMORY;
	if (find(scratch, top->view.processes[process].image, &row, &period)) {
		uint64_t calls;
		double total_ns;
		kp_top_span_sum(top, span, process, row, &calls, &total_ns);
		top->rate = (struct kp_top_rate){
			.known = calls > 0,
			.per_s = (double)calls * top->source.units / span->seconds,
			.mean_ns = calls ? span->seconds * 1e9 / (double)calls : NAN,
			.period = period,
			.pid = top->view.processes[process].pid,
		};
	}
	free(scratch);
	return KP_OK;
}

enum kp_status kp_top_find_rate(struct kp_top *top, const struct kp_top_span *span)
{
	top->rate = (struct kp_top_rate){0};
	if (!top->source.unit_range)
		return rate_repetition(top, span);
	rate_range(top, span);
	return KP_OK;
}
