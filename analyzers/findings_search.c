/* What those who look for findings share; see findings_search.h and, for time to win, findings.h.
 */
#include "analyzers/findings_search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace/vector.h"

/* Names longer than this are left to the table. */
#define NAME_MAX_BYTES 120

/* Without a timeline: the busy time that is the rows' own, or as much of it as of kernel time. */
static double alone_of(const struct kp_search *search, uint64_t alone_ns,
		       const struct kp_shares *shares)
{
	const struct kp_report *report = search->report;
	double pct = report->options.busy_shares ? shares->busy_pct : shares->kernel_pct;

	return report->timeline ? (double)alone_ns : pct / 100 * (double)report->busy_ns;
}

void kp_rows_add_kernel(struct kp_rows *rows, const struct kp_search *search,
			const struct kp_kernel_row *kernel)
{
	rows->total_ns += (double)kernel->durations.total_ns;
	rows->alone_ns += alone_of(search, kernel->alone_ns, &kernel->shares);
	rows->calls += kernel->durations.timed;
}

struct kp_rows kp_rows_of_operator(const struct kp_search *search,
				   const struct kp_operator_row *operator_row)
{
	return (struct kp_rows){
		.total_ns = (double)operator_row->durations.total_ns,
		.alone_ns = alone_of(search, operator_row->alone_ns, &operator_row->shares),
		.calls = operator_row->durations.timed,
	};
}

double kp_rows_pct(const struct kp_search *search, const struct kp_rows *rows)
{
	return 100 * rows->total_ns / (double)search->report->kernel_ns;
}

static bool is_silenced(const struct kp_search *search, enum kp_finding_id id)
{
	return search->options->silenced >> id & 1;
}

double kp_search_left(const struct kp_search *search, size_t kernel_index)
{
	double total_ns = (double)search->report->kernels[kernel_index].durations.total_ns;

	return total_ns > 0 ? fmax(1 - search->claimed_ns[kernel_index] / total_ns, 0) : 1;
}

void kp_rows_add_left(struct kp_rows *rows, const struct kp_search *search, size_t kernel_index)
{
	double left = kp_search_left(search, kernel_index);
	struct kp_rows own = {0};

	kp_rows_add_kernel(&own, search, &search->report->kernels[kernel_index]);
	rows->total_ns += left * own.total_ns;
	rows->alone_ns += left * own.alone_ns;
	rows->calls += own.calls;
}

struct kp_rows kp_rows_left_of_operator(const struct kp_search *search,
					const struct kp_operator_row *row)
{
	struct kp_rows rows = kp_rows_of_operator(search, row), left = {0};
	double part = 1;

	for (size_t i = 0; i < row->kernel_count; i++)
		kp_rows_add_left(&left, search, row->first_kernel + i);
	if (rows.total_ns > 0)
		part = fmin(left.total_ns / rows.total_ns, 1);
	return (struct kp_rows){part * rows.total_ns, part * rows.alone_ns, rows.calls};
}

void kp_finding_elsewhere(struct kp_finding *finding, const struct kp_rows *rows,
			  const struct kp_rows *left)
{
	double pct = 100 * (1 - left->total_ns / rows->total_ns);

	if (pct > 0.01)
		kp_finding_evidence(finding, "in_other_findings_of_it_pct", pct, "modelled");
}

void kp_search_claim_ns(struct kp_search *search, enum kp_finding_id id, size_t kernel_index,
			double ns)
{
	if (!is_silenced(search, id) && isfinite(ns))
		search->claimed_ns[kernel_index] += fmax(ns, 0);
}

void kp_search_claim(struct kp_search *search, enum kp_finding_id id, size_t kernel_index,
		     double part)
{
	double total_ns = (double)search->report->kernels[kernel_index].durations.total_ns;

	kp_search_claim_ns(search, id, kernel_index,
			   part * kp_search_left(search, kernel_index) * total_ns);
}

struct kp_finding *kp_search_add(struct kp_search *search, enum kp_finding_id id,
				 enum kp_confidence confidence)
{
	struct kp_finding *finding = &search->spare;

	if (kp_vector_reserve((void **)&search->items, search->count + 1, &search->capacity,
			      sizeof(*search->items)))
		finding = &search->items[search->count++];
	else
		search->status = KP_NO_MEMORY;
	*finding = (struct kp_finding){
		.id = id,
		.confidence = confidence,
		.operator_index = KP_FINDING_NOWHERE,
		.variant_index = KP_FINDING_NOWHERE,
		.kernel_index = KP_FINDING_NOWHERE,
		.gpu_index = KP_FINDING_NOWHERE,
		.subject = "",
		.sentence = "",
		.remedy = kp_finding_remedy(id, search->framework),
		.win = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, "", false},
	};
	return finding;
}

const struct kp_finding *kp_search_found(const struct kp_search *search, enum kp_finding_id id)
{
	for (size_t i = 0; i < search->count && !is_silenced(search, id); i++)
		if (search->items[i].id == id)
			return &search->items[i];
	return NULL;
}

static void about_rows(struct kp_search *search, struct kp_finding *finding,
		       const struct kp_rows *rows)
{
	finding->kernel_ns = rows->total_ns;
	finding->alone_ns = rows->alone_ns;
	finding->kernel_pct = kp_rows_pct(search, rows);
	kp_finding_evidence(finding, "share_of_kernel_time_pct", finding->kernel_pct, "measured");
	if (search->report->timeline)
		kp_finding_evidence(finding, "exclusive_share_of_span_pct",
				    100 * rows->alone_ns / (double)search->report->span_ns,
				    "measured");
}

void kp_search_about_operator(struct kp_search *search, struct kp_finding *finding,
			      size_t operator_index, const struct kp_rows *rows)
{
	finding->operator_index = operator_index;
	finding->subject = search->report->operators[operator_index].name;
	about_rows(search, finding, rows);
}

void kp_search_about_kernel(struct kp_search *search, struct kp_finding *finding,
			    size_t kernel_index)
{
	const struct kp_kernel_row *kernel = &search->report->kernels[kernel_index];
	struct kp_rows rows = {0};

	kp_rows_add_kernel(&rows, search, kernel);
	finding->kernel_index = kernel_index;
	finding->operator_index = kernel->operator_index;
	finding->variant_index = kernel->variant_index;
	finding->subject = kernel->shortened;
	about_rows(search, finding, &rows);
}

void kp_search_say(struct kp_search *search, struct kp_finding *finding, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	finding->sentence = kp_arena_copy(search->arena, text, strlen(text));
	if (finding->sentence)
		return;
	finding->sentence = "";
	search->status = KP_NO_MEMORY;
}

void kp_finding_evidence(struct kp_finding *finding, const char *what, double value,
			 const char *source)
{
	if (isfinite(value) && finding->evidence_count < KP_EVIDENCE_MOST)
		finding->evidence[finding->evidence_count++] =
			(struct kp_evidence){what, value, source};
}

static double part_of(double part, double whole)
{
	return isnan(part) ? NAN : fmin(fmax(part, 0), whole);
}

double kp_search_pace(const struct kp_search *search)
{
	return search->mostly_idle ? 0 : search->paced;
}

void kp_search_win_set(struct kp_search *search, struct kp_finding *finding, const double ns[4],
		       const char *formula)
{
	double kernel_ns = (double)search->report->kernel_ns;
	double span_ns = (double)search->report->span_ns;
	struct kp_win *win = &finding->win;

	win->kernel_bound_ns = part_of(ns[0], kernel_ns);
	win->kernel_likely_ns = part_of(ns[1], win->kernel_bound_ns);
	win->span_bound_ns = part_of(ns[2], span_ns);
	win->span_likely_ns = part_of(ns[3], win->span_bound_ns);
	win->kernel_bound_pct = 100 * win->kernel_bound_ns / kernel_ns;
	win->kernel_likely_pct = 100 * win->kernel_likely_ns / kernel_ns;
	win->span_bound_pct = 100 * win->span_bound_ns / span_ns;
	win->span_likely_pct = 100 * win->span_likely_ns / span_ns;
	win->formula = formula;
}

void kp_search_win(struct kp_search *search, struct kp_finding *finding, const struct kp_rows *rows,
		   double bound_part, double likely_part, const char *formula)
{
	double bound = part_of(bound_part, 1), likely = part_of(likely_part, bound);
	double span_likely_ns =
		search->mostly_idle ? 0 : likely * rows->alone_ns * kp_search_pace(search);

	kp_search_win_set(search, finding,
			  (const double[]){bound * rows->total_ns, likely * rows->total_ns,
					   bound * rows->alone_ns, span_likely_ns},
			  formula);
}

void kp_search_win_wait(struct kp_search *search, struct kp_finding *finding, double bound_ns,
			double likely_ns, const char *formula)
{
	kp_search_win_set(search, finding, (const double[]){0, 0, bound_ns, likely_ns}, formula);
}

const char *kp_search_name(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	return strlen(kernel->shortened) <= NAME_MAX_BYTES
		       ? kernel->shortened
		       : search->report->operators[kernel->operator_index].name;
}

size_t kp_search_operator(const struct kp_search *search, const char *name)
{
	const struct kp_report *report = search->report;
	size_t i = 0;

	while (i < report->operator_count && strcmp(report->operators[i].name, name) != 0)
		i++;
	return i;
}

bool kp_search_is(const struct kp_search *search, const struct kp_kernel_row *kernel,
		  const char *operator_name)
{
	return strcmp(search->report->operators[kernel->operator_index].name, operator_name) == 0;
}
