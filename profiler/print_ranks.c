/* The ranks of a distributed job; see print_ranks.h. */
#include "profiler/print_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "profiler/humanise.h"
#include "profiler/text.h"

#define DIGITS 3
#define HOST_MOST 20 /* columns */
#define RANK_MOST 12

void kp_ranks_name(const struct kp_rank_row *row, char *out, size_t size)
{
	kp_text_visible(out, size, row->process->info.rank.bytes, row->process->info.rank.length);
}

static struct kp_human duration(uint64_t ns)
{
	return kp_human_duration((double)ns, DIGITS);
}

static void wait_words(const struct kp_report_ranks *ranks, char *out, size_t size)
{
	uint64_t wait_ns = 0;
	size_t last = 0;
	char name[64];

	out[0] = '\0';
	for (size_t i = 0; i < ranks->count; i++) {
		wait_ns += ranks->rows[i].wait_ns;
		if (ranks->rows[i].last_arrivals > ranks->rows[last].last_arrivals)
			last = i;
	}
	kp_ranks_name(&ranks->rows[last], name, sizeof name);
	if (ranks->operations)
		snprintf(out, size,
			 ". In %s collective operations they waited %s for the last of them, most "
			 "often rank %s (%.0f %%; inferred from the kernels' durations)",
			 kp_human_count(ranks->operations).text, duration(wait_ns).text, name,
			 100 * (double)ranks->rows[last].last_arrivals / (double)ranks->operations);
	else if (ranks->unmatched)
		snprintf(out, size,
			 ". Who waited for whom is not known: their collective operations differ, "
			 "or their clocks do (kprof merge aligns these)");
}

void kp_ranks_words(const struct kp_report_ranks *ranks, char *out, size_t size)
{
	uint64_t least_ns = UINT64_MAX, most_ns = 0;
	char wait[256], name[64], slowest[128] = "";

	out[0] = '\0';
	if (ranks->count == 0)
		return;
	for (size_t i = 0; i < ranks->count; i++) {
		uint64_t compute_ns = ranks->rows[i].compute_ns;

		least_ns = compute_ns < least_ns ? compute_ns : least_ns;
		most_ns = compute_ns > most_ns ? compute_ns : most_ns;
	}
	wait_words(ranks, wait, sizeof wait);
	if (ranks->slowest < ranks->count) {
		kp_ranks_name(&ranks->rows[ranks->slowest], name, sizeof name);
		snprintf(slowest, sizeof slowest, "; most in rank %s", name);
	}
	snprintf(out, size, "%zu compute from %s to %s, the most ÷ the mean is %.2f%s%s",
		 ranks->count, duration(least_ns).text, duration(most_ns).text,
		 isfinite(ranks->compute_imbalance) ? ranks->compute_imbalance : 1.0, slowest,
		 wait);
}

/* The GPUs of a row's process, as the report numbers them. */
static void gpus_of(const struct kp_report *report, const struct kp_rank_row *row, char *out,
		    size_t size)
{
	const struct kp_process_row *process = &report->processes[row->process->index];
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < process->gpu_count && used + 12 < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%" PRIu32, i ? "," : "",
					 process->gpus[i]);
}

static void print_row(FILE *file, const struct kp_report *report, const struct kp_rank_row *row)
{
	char rank[64], host[256] = "", gpus[64];

	kp_ranks_name(row, rank, sizeof rank);
	if (KP_HAS(&row->process->info, PROCESS, host))
		kp_text_visible(host, sizeof host, row->process->info.host.bytes,
				row->process->info.host.length);
	gpus_of(report, row, gpus, sizeof gpus);
	size_t columns = kp_text_columns(rank);
	fprintf(file, "%*s", columns < 4 ? (int)(4 - columns) : 0, "");
	kp_text_fit(file, rank, RANK_MOST);
	fprintf(file, " %-5s %7s %7s %7s %7s", gpus, duration(row->busy_ns).text,
		duration(row->compute_ns).text, duration(row->communication_ns).text,
		report->ranks.operations ? duration(row->wait_ns).text : "");
	if (report->ranks.operations)
		fprintf(file, " %5.1f%%",
			100 * (double)row->last_arrivals / (double)report->ranks.operations);
	else
		fputs("       ", file);
	if (host[0]) {
		fputc(' ', file);
		kp_text_fit(file, host, HOST_MOST);
	}
	fputc('\n', file);
}

void kp_print_ranks(FILE *file, const struct kp_report *report, const struct kp_view *view)
{
	const struct kp_report_ranks *ranks = &report->ranks;
	size_t shown = view->top && view->top < ranks->count ? (size_t)view->top : ranks->count;
	char words[512];

	if (ranks->count == 0)
		return;
	kp_ranks_words(ranks, words, sizeof words);
	fputc('\n', file);
	kp_print_line(file, view, KP_STYLE_PLAIN, "Ranks", "%s", words);
	fputs("Rank GPU      Busy Compute   Comm.  Waited   Last Host\n", file);
	for (size_t i = 0; i < shown; i++)
		print_row(file, report, &ranks->rows[i]);
	if (shown < ranks->count)
		fprintf(file, "     (%zu more ranks)\n", ranks->count - shown);
}

/* ---- for programs ---- */

static void emit_row(struct kp_emit *emit, const struct kp_report *report,
		     const struct kp_rank_row *row)
{
	const struct kp_process_info *info = &row->process->info;
	bool told = report->ranks.operations > 0;

	kp_emit_map_begin(emit, NULL);
	kp_emit_text(emit, "rank", info->rank);
	if (KP_HAS(info, PROCESS, host))
		kp_emit_text(emit, "host", info->host);
	else
		kp_emit_null(emit, "host");
	kp_emit_count(emit, "process", row->process->index);
	kp_emit_count(emit, "kernels", row->kernels);
	kp_emit_count(emit, "busy_time_ns", row->busy_ns);
	kp_emit_count(emit, "kernel_time_ns", row->kernel_ns);
	kp_emit_count(emit, "compute_time_ns", row->compute_ns);
	kp_emit_count(emit, "communication_time_ns", row->communication_ns);
	if (told) {
		kp_emit_count(emit, "wait_time_ns", row->wait_ns);
		kp_emit_count(emit, "last_arrivals", row->last_arrivals);
	} else {
		kp_emit_null(emit, "wait_time_ns");
		kp_emit_null(emit, "last_arrivals");
	}
	kp_emit_map_end(emit);
}

void kp_document_ranks(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_report_ranks *ranks = &report->ranks;

	if (ranks->count == 0) {
		kp_emit_null(emit, "ranks");
		return;
	}
	kp_emit_map_begin(emit, "ranks");
	kp_emit_number(emit, "compute_imbalance", ranks->compute_imbalance, 4);
	kp_emit_number(emit, "kernel_imbalance", ranks->kernel_imbalance, 4);
	if (ranks->slowest < ranks->count)
		kp_emit_text(emit, "slowest", ranks->rows[ranks->slowest].process->info.rank);
	else
		kp_emit_null(emit, "slowest");
	kp_emit_count(emit, "collectives", ranks->operations);
	kp_emit_count(emit, "collectives_unmatched", ranks->unmatched);
	kp_emit_list_begin(emit, "rows");
	for (size_t i = 0; i < ranks->count; i++)
		emit_row(emit, report, &ranks->rows[i]);
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
}
