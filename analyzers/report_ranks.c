/* The ranks of a distributed job; see report_ranks.h. */
#include "analyzers/report_ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/collectives.h"
#include "analyzers/report_build.h"

/* More compute than the mean by less than this is even. */
#define EVEN 1.01

struct kp_build_ranks {
	struct kp_collectives collectives;
};

/* The processes that are ranks while they are matched. */
struct matching {
	const struct kp_collectives *collectives;
	struct kp_rank_row *rows;
	size_t count;
	const struct kp_collective **lists; /* of one name, a rank each; NULL: it has none */
	struct kp_report_ranks *ranks;
};

static bool is_rank(const struct kp_process *process)
{
	return process->promised_launches > 0 && KP_HAS(&process->info, PROCESS, rank) &&
	       process->info.rank.length > 0;
}

static bool same_rank(const struct kp_process *a, const struct kp_process *b)
{
	const struct kp_text *x = &a->info.rank, *y = &b->info.rank;

	return x->length == y->length && memcmp(x->bytes, y->bytes, x->length) == 0;
}

/* Whether two processes are different ranks. */
static bool are_several(const struct kp_reader *reader)
{
	const struct kp_process *first = NULL;

	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_process *process = kp_reader_process(reader, i);

		if (is_rank(process) && first && !same_rank(first, process))
			return true;
		if (is_rank(process) && !first)
			first = process;
	}
	return false;
}

enum kp_status kp_build_ranks_begin(struct kp_builder *builder)
{
	if (!are_several(builder->reader))
		return KP_OK;
	builder->ranks = calloc(1, sizeof *builder->ranks);
	if (!builder->ranks)
		return KP_NO_MEMORY;
	builder->report->options.process_times = true; /* how long each was busy */
	return kp_collectives_init(&builder->ranks->collectives, builder->reader);
}

void kp_build_ranks_end(struct kp_builder *builder)
{
	if (builder->ranks)
		kp_collectives_fini(&builder->ranks->collectives);
	free(builder->ranks);
	builder->ranks = NULL;
}

enum kp_status kp_build_ranks_launch(struct kp_builder *builder, const struct kp_process *process,
				     const struct kp_launch *launch)
{
	if (!builder->ranks || !is_rank(process))
		return KP_OK;
	return kp_collectives_add(&builder->ranks->collectives, process, launch);
}

/* ---- rows ---- */

static uint64_t communication_of(const struct kp_builder *builder, const struct kp_process *process)
{
	const struct kp_build_slot *slots = builder->processes[process->index].slots;
	uint64_t sum_ns = 0;

	for (size_t i = 0; slots && i < process->config_count; i++)
		if (slots[i].row_plus_one &&
		    kp_build_is_communication(builder, slots[i].row_plus_one - 1))
			sum_ns = kp_add_saturating(sum_ns, slots[i].total_ns);
	return sum_ns;
}

/* By number where both are one. */
static int compare_ranks(const void *left, const void *right)
{
	const struct kp_rank_row *a = left, *b = right;
	struct kp_text x = a->process->info.rank, y = b->process->info.rank;
	size_t shorter = x.length < y.length ? x.length : y.length;
	int order = 0;

	if (x.length != y.length && strspn(x.bytes, "0123456789") == x.length &&
	    strspn(y.bytes, "0123456789") == y.length)
		return x.length < y.length ? -1 : 1;
	order = memcmp(x.bytes, y.bytes, shorter);
	if (order == 0)
		order = (x.length > y.length) - (x.length < y.length);
	return order ? order
		     : (a->process->index > b->process->index) -
			       (a->process->index < b->process->index);
}

static struct kp_rank_row *make_rows(struct kp_builder *builder, size_t *count)
{
	struct kp_report *report = builder->report;
	struct kp_rank_row *rows =
		kp_arena_alloc(report->arena, (report->process_count + 1) * sizeof *rows);

	*count = 0;
	for (size_t i = 0; rows && i < report->process_count; i++) {
		const struct kp_process_row *from = &report->processes[i];
		uint64_t communication_ns;

		if (!is_rank(from->process) || from->kernels == 0)
			continue;
		communication_ns = communication_of(builder, from->process);
		rows[(*count)++] = (struct kp_rank_row){
			.process = from->process,
			.kernels = from->kernels,
			.kernel_ns = from->kernel_ns,
			.busy_ns = from->busy_ns,
			.communication_ns = communication_ns,
			.compute_ns = from->kernel_ns - (communication_ns < from->kernel_ns
								 ? communication_ns
								 : from->kernel_ns),
		};
	}
	if (rows)
		qsort(rows, *count, sizeof *rows, compare_ranks);
	return rows;
}

/* ---- matching ---- */

/* The k-th operation of a name on all ranks that have it. */
static void match_one(struct matching *matching, size_t k)
{
	uint64_t last_start_ns = 0, first_end_ns = UINT64_MAX, least_ns = UINT64_MAX;
	size_t last = 0;

	for (size_t i = 0; i < matching->count; i++) {
		const struct kp_collective *one =
			matching->lists[i] ? &matching->lists[i][k] : NULL;

		if (!one)
			continue;
		if (one->start_ns > last_start_ns)
			last_start_ns = one->start_ns;
		if (one->end_ns < first_end_ns)
			first_end_ns = one->end_ns;
		if (one->end_ns - one->start_ns < least_ns) {
			least_ns = one->end_ns - one->start_ns;
			last = i;
		}
	}
	if (last_start_ns > first_end_ns) {
		matching->ranks->unmatched++;
		return;
	}
	matching->ranks->operations++;
	matching->rows[last].last_arrivals++;
	for (size_t i = 0; i < matching->count; i++)
		if (matching->lists[i])
			matching->rows[i].wait_ns += matching->lists[i][k].end_ns -
						     matching->lists[i][k].start_ns - least_ns;
}

/* Operations of a name are told where all ranks that have it have as many. */
static void match_name(struct matching *matching, uint32_t name)
{
	size_t count = 0, ranks = 0;
	bool even = true;

	for (size_t i = 0; i < matching->count; i++) {
		uint32_t index = matching->rows[i].process->index;
		size_t own;

		matching->lists[i] =
			kp_collectives_of(&matching->collectives->processes[index], name, &own);
		if (own == 0)
			continue;
		even = even && (ranks == 0 || own == count);
		count = own > count ? own : count;
		ranks++;
	}
	if (ranks < 2)
		return;
	if (!even)
		matching->ranks->unmatched += count;
	for (size_t k = 0; even && k < count; k++)
		match_one(matching, k);
}

static enum kp_status match(struct kp_builder *builder, struct kp_rank_row *rows,
			    struct kp_report_ranks *ranks)
{
	struct kp_collectives *collectives = &builder->ranks->collectives;
	struct matching matching = {
		.collectives = collectives, .rows = rows, .count = ranks->count, .ranks = ranks};

	matching.lists = calloc(ranks->count, sizeof *matching.lists);
	if (!matching.lists)
		return KP_NO_MEMORY;
	kp_collectives_sort(collectives);
	for (uint32_t name = 0; name < collectives->names.count; name++)
		match_name(&matching, name);
	free(matching.lists);
	return KP_OK;
}

/* ---- the whole ---- */

static void find_imbalance(struct kp_report_ranks *ranks)
{
	double compute = 0, kernel = 0, most = 0, most_kernel = 0;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct kp_rank_row *row = &ranks->rows[i];

		compute += (double)row->compute_ns / (double)ranks->count;
		kernel += (double)row->kernel_ns / (double)ranks->count;
		most_kernel = fmax(most_kernel, (double)row->kernel_ns);
		if ((double)row->compute_ns > most) {
			most = (double)row->compute_ns;
			ranks->slowest = i;
		}
	}
	ranks->compute_imbalance = compute > 0 ? most / compute : NAN;
	ranks->kernel_imbalance = kernel > 0 ? most_kernel / kernel : NAN;
	if (!(ranks->compute_imbalance > EVEN))
		ranks->slowest = ranks->count;
}

enum kp_status kp_build_ranks_put(struct kp_builder *builder)
{
	struct kp_report_ranks *ranks = &builder->report->ranks;
	struct kp_rank_row *rows;
	enum kp_status status;

	if (!builder->ranks)
		return KP_OK;
	rows = make_rows(builder, &ranks->count);
	if (!rows)
		return KP_NO_MEMORY;
	ranks->rows = rows;
	if (ranks->count < 2) {
		ranks->count = 0;
		return KP_OK;
	}
	status = match(builder, rows, ranks);
	find_imbalance(ranks);
	return status;
}
