/* Rows of «kprof top» from the boards of processes; see top.h. */
#include "tui/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/board_history.h"
#include "trace/vector.h"
#include "tui/top_rules.h"

void kp_top_init(struct kp_top *top, const struct kp_top_source *source)
{
	*top = (struct kp_top){
		.source = *source,
		.choice = {.seconds = 10,
			   .device = KP_BOARD_NO_DEVICE,
			   .operator_index = KP_TOP_ALL},
	};
}

void kp_top_fini(struct kp_top *top)
{
	for (size_t i = 0; i < KP_TOP_GROUPS; i++)
		free(top->rows[i]);
	free(top->gpus);
	free(top->bases);
	kp_top_rules_fini(top);
	kp_top_names_fini(top);
	*top = (struct kp_top){0};
}

/* ---- rows ---- */

static struct kp_top_row *new_row(struct kp_top *top, enum kp_top_group group)
{
	struct kp_top_row *row;

	if (!kp_vector_grow((void **)&top->rows[group], top->row_counts[group],
			    &top->row_capacities[group], sizeof *row))
		return NULL;
	row = &top->rows[group][top->row_counts[group]++];
	*row = (struct kp_top_row){
		.operator_index = KP_TOP_ALL, .least_ns = NAN, .most_ns = NAN, .mean_ns = NAN};
	return row;
}

/* The row of that key, made where there is none. NULL without memory. */
static struct kp_top_row *find_row(struct kp_top *top, enum kp_top_group group, size_t key,
				   const char *name, const char *full)
{
	struct kp_top_row *row;

	for (size_t i = 0; i < top->row_counts[group]; i++)
		if (top->rows[group][i].key == key)
			return &top->rows[group][i];
	row = new_row(top, group);
	if (row) {
		row->key = key;
		row->name = name;
		row->full = full;
	}
	return row;
}

static void add_history(struct kp_top_row *row, const struct kp_board_row *board, uint64_t end)
{
	for (uint64_t i = 0; i < KP_TOP_HISTORY && i < end; i++) {
		uint64_t second = end - 1 - i;
		const struct kp_board_second *of = &board->seconds[second % KP_BOARD_SECONDS];
		if (!kp_board_knows(board->second, second))
			continue;
		row->history[KP_TOP_HISTORY - 1 - i] += (double)of->total_ns;
		row->calls_history[KP_TOP_HISTORY - 1 - i] += (double)of->calls;
	}
}

/* What one row of a board adds to one of these. */
static void add(struct kp_top *top, const struct kp_top_span *span, size_t process, uint32_t number,
		struct kp_top_row *row)
{
	const struct kp_board_row *board = &top->view.processes[process].image->rows[number];
	uint64_t calls;
	double total_ns;

	kp_top_span_sum(top, span, process, number, &calls, &total_ns);
	row->calls += calls;
	row->total_ns += total_ns;
	if (board->timed) {
		row->least_ns = fmin(row->least_ns, (double)board->least_ns);
		row->most_ns = fmax(row->most_ns, (double)board->most_ns);
	}
	row->places++;
	add_history(row, board, span->last_history);
}

/* What a row of a board is called, and the key of that; of what found no row, `name` as it is. */
static enum kp_status name_of(struct kp_top *top, const struct kp_board_image *image,
			      uint32_t number, size_t *key, struct kp_top_name *name)
{
	const struct kp_board_row *board = &image->rows[number];
	enum kp_status status;

	*key = KP_TOP_ALL;
	if (number == KP_BOARD_OTHER(board->kind))
		return KP_OK;
	status = kp_top_name(top, image->names + board->name, board->name_bytes, key);
	if (status == KP_OK)
		*name = top->names[*key];
	return status;
}

static enum kp_status add_kernel(struct kp_top *top, const struct kp_top_span *span, size_t process,
				 uint32_t number)
{
	struct kp_top_name name = {"other kernels", "other kernels", KP_OPERATOR_UNKNOWN};
	struct kp_top_row *kernel, *of;
	size_t key;
	enum kp_status status =
		name_of(top, top->view.processes[process].image, number, &key, &name);

	if (status != KP_OK)
		return status;
	const char *operator_name = kp_operators_name(top->source.operators, name.operator_index);
	kernel = find_row(top, KP_TOP_KERNELS, key, name.brief, name.full);
	if (!kernel)
		return KP_NO_MEMORY;
	kernel->operator_index = name.operator_index;
	add(top, span, process, number, kernel);
	of = find_row(top, KP_TOP_OPERATORS, name.operator_index, operator_name, operator_name);
	if (!of)
		return KP_NO_MEMORY;
	of->operator_index = name.operator_index;
	add(top, span, process, number, of);
	return KP_OK;
}

static enum kp_status add_range(struct kp_top *top, const struct kp_top_span *span, size_t process,
				uint32_t number)
{
	struct kp_top_name name = {.full = "other ranges"};
	struct kp_top_row *row;
	size_t key;
	enum kp_status status =
		name_of(top, top->view.processes[process].image, number, &key, &name);

	if (status != KP_OK)
		return status;
	row = find_row(top, KP_TOP_RANGES, key, name.full, name.full);
	if (!row)
		return KP_NO_MEMORY;
	add(top, span, process, number, row);
	return KP_OK;
}

static enum kp_status add_process(struct kp_top *top, const struct kp_top_span *span,
				  size_t process)
{
	const struct kp_board_image *image = top->view.processes[process].image;
	enum kp_status status = KP_OK;

	for (uint32_t r = 0; r < image->head.row_count && status == KP_OK; r++) {
		const struct kp_board_row *row = &image->rows[r];
		bool kernel = row->kind == KP_BOARD_KERNEL;
		if (!row->calls || (kernel && top->choice.device != KP_BOARD_NO_DEVICE &&
				    row->device != top->choice.device))
			continue;
		status = kernel ? add_kernel(top, span, process, r)
				: add_range(top, span, process, r);
	}
	return status;
}

static void finish_group(struct kp_top *top, enum kp_top_group group, double seconds)
{
	double whole_ns = 0;
	size_t kept = 0;

	/* What has not come in this time is not shown. */
	for (size_t i = 0; i < top->row_counts[group]; i++)
		if (top->rows[group][i].calls || top->rows[group][i].total_ns > 0)
			top->rows[group][kept++] = top->rows[group][i];
	top->row_counts[group] = kept;
	for (size_t i = 0; i < top->row_counts[group]; i++)
		whole_ns += top->rows[group][i].total_ns;
	for (size_t i = 0; i < top->row_counts[group]; i++) {
		struct kp_top_row *row = &top->rows[group][i];
		row->calls_per_s = seconds > 0 ? (double)row->calls / seconds : 0;
		row->ns_per_s = seconds > 0 ? row->total_ns / seconds : 0;
		row->share_pct = whole_ns > 0 ? 100 * row->total_ns / whole_ns : 0;
		if (row->calls && !isnan(row->least_ns))
			row->mean_ns = row->total_ns / (double)row->calls;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct kp_top_row *left = a, *right = b;

	if (left->total_ns != right->total_ns)
		return left->total_ns > right->total_ns ? -1 : 1;
	if (left->calls != right->calls)
		return left->calls > right->calls ? -1 : 1;
	return strcmp(left->full, right->full);
}

/* ---- GPUs ---- */

/* Where the board tells what a GPU is, processes see the same one; else it is theirs alone. */
static bool is_same(const struct kp_top_gpu *row, const struct kp_board_gpu *gpu)
{
	return row->process == KP_TOP_ALL && strcmp(row->uuid, gpu->uuid) == 0 &&
	       (gpu->uuid[0] || row->device == gpu->device);
}

static struct kp_top_gpu *new_gpu(struct kp_top *top, const struct kp_board_gpu *gpu,
				  size_t process)
{
	struct kp_top_gpu *row;

	if (!kp_vector_grow((void **)&top->gpus, top->gpu_count, &top->gpu_capacity, sizeof *row))
		return NULL;
	row = &top->gpus[top->gpu_count++];
	*row = (struct kp_top_gpu){.device = gpu->device, .process = process};
	memcpy(row->name, gpu->name, sizeof row->name);
	memcpy(row->uuid, gpu->uuid, sizeof row->uuid);
	return row;
}

static void add_gpu(const struct kp_top *top, const struct kp_top_span *span, size_t process,
		    uint32_t number, struct kp_top_gpu *row)
{
	const struct kp_board_image *image = top->view.processes[process].image;
	const struct kp_board_gpu *gpu = &image->head.gpus[number];
	double kernel_ns = 0, pct = 0;

	for (uint32_t r = 0; r < image->head.row_count; r++) {
		uint64_t calls;
		double total_ns;
		if (image->rows[r].kind != KP_BOARD_KERNEL || image->rows[r].device != gpu->device)
			continue;
		kp_top_span_sum(top, span, process, r, &calls, &total_ns);
		row->calls += calls;
		kernel_ns += total_ns;
	}
	if (span->seconds > 0) {
		pct = kp_top_span_busy(top, span, process, number) / span->seconds / 1e7;
		row->kernel_ns_per_s += kernel_ns / span->seconds;
		row->calls_per_s = (double)row->calls / span->seconds;
	}
	row->busy_pct = fmin(100, row->busy_pct + pct);
	for (uint64_t i = 0; i < KP_TOP_HISTORY && i < span->last_history; i++) {
		uint64_t second = span->last_history - 1 - i;
		double *at = &row->history[KP_TOP_HISTORY - 1 - i];
		if (kp_board_knows(gpu->second, second))
			*at = fmin(100,
				   *at + (double)gpu->seconds[second % KP_BOARD_SECONDS] / 1e7);
	}
}

/* Each GPU, and beneath it each process on it, in order of appearance. */
static enum kp_status fill_gpus(struct kp_top *top, const struct kp_top_span *span)
{
	struct kp_top_gpu *row;

	top->gpu_count = 0;
	for (size_t i = 0; i < top->view.process_count; i++) {
		const struct kp_board_image *image = top->view.processes[i].image;
		for (uint32_t g = 0; image && g < image->head.gpu_count; g++) {
			size_t at = 0;
			while (at < top->gpu_count &&
			       !is_same(&top->gpus[at], &image->head.gpus[g]))
				at++;
			row = at < top->gpu_count ? &top->gpus[at]
						  : new_gpu(top, &image->head.gpus[g], KP_TOP_ALL);
			if (!row)
				return KP_NO_MEMORY;
			add_gpu(top, span, i, g, row);
		}
	}
	for (size_t i = 0; i < top->view.process_count; i++) {
		const struct kp_board_image *image = top->view.processes[i].image;
		for (uint32_t g = 0; image && g < image->head.gpu_count; g++) {
			row = new_gpu(top, &image->head.gpus[g], i);
			if (!row)
				return KP_NO_MEMORY;
			add_gpu(top, span, i, g, row);
		}
	}
	return KP_OK;
}

/* ---- all ---- */

static bool is_in_view(const struct kp_top *top, uint32_t pid)
{
	for (size_t i = 0; i < top->view.process_count; i++)
		if (top->view.processes[i].pid == pid)
			return true;
	return false;
}

enum kp_status kp_top_update(struct kp_top *top)
{
	struct kp_top_span span;
	enum kp_status status = KP_OK;

	/* A process that was chosen may have made room for another. */
	if (!is_in_view(top, top->choice.pid))
		top->choice.pid = 0;
	span = kp_top_span_of(top);
	top->span_s = span.seconds;
	top->second = span.last_history;
	top->all_time = span.all;
	memset(top->row_counts, 0, sizeof top->row_counts);
	for (size_t i = 0; i < top->view.process_count && status == KP_OK; i++)
		if (kp_top_takes(top, i))
			status = add_process(top, &span, i);
	for (size_t g = 0; g < KP_TOP_GROUPS; g++) {
		finish_group(top, (enum kp_top_group)g, span.seconds);
		if (top->row_counts[g])
			qsort(top->rows[g], top->row_counts[g], sizeof *top->rows[g], by_time);
	}
	top->calls = 0;
	for (size_t i = 0; i < top->row_counts[KP_TOP_KERNELS]; i++)
		top->calls += top->rows[KP_TOP_KERNELS][i].calls;
	top->calls_per_s = span.seconds > 0 ? (double)top->calls / span.seconds : 0;
	if (status == KP_OK)
		status = fill_gpus(top, &span);
	if (status == KP_OK)
		status = kp_top_find_rules(top);
	return status == KP_OK ? kp_top_find_rate(top, &span) : status;
}

enum kp_status kp_top_reset(struct kp_top *top)
{
	struct kp_top_base *bases = calloc(top->view.process_count + 1, sizeof *bases);
	size_t count = 0;

	if (!bases)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < top->view.process_count; i++) {
		const struct kp_board_image *image = top->view.processes[i].image;
		if (!image)
			continue;
		struct kp_top_base *base = &bases[count++];
		base->process = image->head.process;
		base->at_ns = image->head.settled_ns;
		base->row_count = image->head.row_count;
		base->gpu_count = image->head.gpu_count;
		for (uint32_t r = 0; r < image->head.row_count; r++) {
			base->calls[r] = image->rows[r].calls;
			base->total_ns[r] = image->rows[r].total_ns;
		}
		for (uint32_t g = 0; g < image->head.gpu_count; g++)
			base->busy_ns[g] = image->head.gpus[g].busy_ns;
	}
	free(top->bases);
	top->bases = bases;
	top->base_count = count;
	return KP_OK;
}
