/* The part of the time that rows of «kprof top» are of; see top.h. Pure. */
#include "trace/board_history.h"
#include "tui/top.h"

bool kp_top_takes(const struct kp_top *top, size_t process)
{
	const struct kp_top_process *watched = &top->view.processes[process];

	return watched->image && (!top->choice.pid || top->choice.pid == watched->pid);
}

const struct kp_top_base *kp_top_base_of(const struct kp_top *top, size_t process)
{
	const struct kp_board_image *image = top->view.processes[process].image;

	for (size_t i = 0; i < top->base_count; i++)
		if (image && top->bases[i].process == image->head.process)
			return &top->bases[i];
	return NULL;
}

/* From when on sums of a process are counted. */
static uint64_t begin_ns(const struct kp_top *top, size_t process)
{
	const struct kp_top_base *base = kp_top_base_of(top, process);

	return base ? base->at_ns : top->view.processes[process].image->head.begun_ns;
}

/* Until when all is known: of those that run, the one that is furthest behind counts. */
static uint64_t settled_ns(const struct kp_top *top)
{
	uint64_t running_ns = UINT64_MAX, ended_ns = 0;

	for (size_t i = 0; i < top->view.process_count; i++) {
		const struct kp_top_process *process = &top->view.processes[i];
		if (!process->image)
			continue;
		uint64_t ns = process->image->head.settled_ns;
		if (process->alive && process->image->head.state == KP_BOARD_RUNNING)
			running_ns = ns < running_ns ? ns : running_ns;
		else
			ended_ns = ns > ended_ns ? ns : ended_ns;
	}
	return running_ns < UINT64_MAX ? running_ns : ended_ns;
}

struct kp_top_span kp_top_span_of(const struct kp_top *top)
{
	uint64_t settled = settled_ns(top), begun_ns = UINT64_MAX, until = settled;
	struct kp_top_span span = {.all = true};

	for (size_t i = 0; i < top->view.process_count; i++) {
		if (!kp_top_takes(top, i))
			continue;
		uint64_t own = top->view.processes[i].image->head.settled_ns;
		uint64_t begin = begin_ns(top, i);
		begun_ns = begin < begun_ns ? begin : begun_ns;
		until = own > until ? own : until;
	}
	if (begun_ns == UINT64_MAX || until <= begun_ns)
		return span;
	span.last_history = settled / KP_BOARD_SECOND_NS;
	span.seconds = (double)(until - begun_ns) / 1e9;
	uint64_t first = begun_ns / KP_BOARD_SECOND_NS + (begun_ns % KP_BOARD_SECOND_NS != 0);
	uint64_t end = settled / KP_BOARD_SECOND_NS;
	if (!top->choice.seconds || end <= first)
		return span;
	if (end - first > top->choice.seconds)
		first = end - top->choice.seconds;
	span.all = false;
	span.first = first;
	span.last = end - 1;
	span.seconds = (double)(end - first);
	return span;
}

void kp_top_span_sum(const struct kp_top *top, const struct kp_top_span *span, size_t process,
		     uint32_t row, uint64_t *calls, double *total_ns)
{
	const struct kp_board_row *board = &top->view.processes[process].image->rows[row];
	const struct kp_top_base *base = kp_top_base_of(top, process);

	*calls = 0;
	*total_ns = 0;
	if (span->all) {
		bool has_base = base && row < base->row_count;
		*calls = board->calls - (has_base ? base->calls[row] : 0);
		*total_ns = (double)(board->total_ns - (has_base ? base->total_ns[row] : 0));
		return;
	}
	for (uint64_t second = span->first; second <= span->last; second++) {
		if (!kp_board_knows(board->second, second))
			continue;
		*calls += board->seconds[second % KP_BOARD_SECONDS].calls;
		*total_ns += (double)board->seconds[second % KP_BOARD_SECONDS].total_ns;
	}
}

double kp_top_span_busy(const struct kp_top *top, const struct kp_top_span *span, size_t process,
			uint32_t gpu)
{
	const struct kp_board_gpu *board = &top->view.processes[process].image->head.gpus[gpu];
	const struct kp_top_base *base = kp_top_base_of(top, process);
	double busy_ns = 0;

	if (span->all)
		return (double)(board->busy_ns -
				(base && gpu < base->gpu_count ? base->busy_ns[gpu] : 0));
	for (uint64_t second = span->first; second <= span->last; second++)
		if (kp_board_knows(board->second, second))
			busy_ns += (double)board->seconds[second % KP_BOARD_SECONDS];
	return busy_ns;
}
