/* Findings about attention and matrix products: a better switch or library exists. */
#include "analyzers/findings_search.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tensor pipes that work less than this do not work. */
#define TENSOR_NONE_PCT 1.0
/* Tiles with so few rows are made for skinny products. */
#define SKINNY_ROWS 16
/* Such products reach this part of the memory's ceiling where they are good. */
#define SKINNY_REACHED_PCT 80.0
/* Below this they are far from it. */
#define SKINNY_FAR_PCT 70.0

static bool is_type(const struct kp_kernel_row *kernel, const char *dtype)
{
	return kernel->dtype && strcmp(kernel->dtype, dtype) == 0;
}

static bool is_product(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	return kp_search_is(search, kernel, "gemm") || kp_search_is(search, kernel, "gemv") ||
	       kp_search_is(search, kernel, "convolution");
}

/* Whether the function's own name, before its template arguments, has a part; CUTLASS's kernels
 * are named by their only argument. */
static bool function_has(const struct kp_kernel_row *kernel, const char *part)
{
	bool cutlass = strstr(kernel->full, "cutlass::Kernel") != NULL;
	const char *name = cutlass ? kernel->full : kernel->shortened;
	size_t length = cutlass ? strlen(name) : strcspn(name, "<("), size = strlen(part);

	for (size_t i = 0; i + size <= length; i++)
		if (strncmp(name + i, part, size) == 0)
			return true;
	return false;
}

/* Names of kernels that multiply with plain fused multiply-adds. */
static bool says_simt(const struct kp_kernel_row *kernel)
{
	static const char *const parts[] = {"_ffma", "sgemm", "_simt_", "gemmSN", "scudnn"};

	if (!is_type(kernel, "fp32"))
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (function_has(kernel, parts[i]))
			return !function_has(kernel, "tf32") && !function_has(kernel, "s1688") &&
			       !function_has(kernel, "s16816");
	return false;
}

/* The smaller side of the first «NxM» in a name; 0: there is none. */
static unsigned long tile_rows(const char *name)
{
	for (const char *at = name; *at; at++) {
		char *end;

		if (!isdigit((unsigned char)*at) || (at > name && isalnum((unsigned char)at[-1])))
			continue;
		unsigned long first = strtoul(at, &end, 10);
		if (*end == 'x' && isdigit((unsigned char)end[1])) {
			unsigned long second = strtoul(end + 1, NULL, 10);
			return first < second ? first : second;
		}
	}
	return 0;
}

static bool is_skinny(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	unsigned long rows = tile_rows(kernel->full);

	if (kp_search_is(search, kernel, "gemv"))
		return true;
	return kp_search_is(search, kernel, "gemm") && rows && rows <= SKINNY_ROWS;
}

static double fp32_over(const struct kp_search *search, enum kp_ceiling_kind kind)
{
	const struct kp_ceiling *slow = &search->ceilings.of[KP_CEILING_FP32];
	const struct kp_ceiling *fast = &search->ceilings.of[kind];

	if (slow->source == KP_CEILING_ABSENT || fast->source == KP_CEILING_ABSENT ||
	    !(fast->value > 0))
		return NAN;
	return slow->value / fast->value;
}

/* ---- attention ---- */

static bool is_math(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	return kp_search_is(search, kernel, "attention") && kernel->variant &&
	       strcmp(kernel->variant, "math") == 0;
}

static struct kp_rows math_rows(const struct kp_search *search, double *products_ns,
				double *simt_ns)
{
	const struct kp_report *report = search->report;
	struct kp_rows rows = {0};

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[i];
		bool product = kernel->library && strcmp(kernel->library, "cuBLAS") == 0;

		if (!is_math(search, kernel))
			continue;
		kp_rows_add_kernel(&rows, search, kernel);
		if (product || says_simt(kernel))
			*products_ns += (double)kernel->durations.total_ns;
		if (says_simt(kernel))
			*simt_ns += (double)kernel->durations.total_ns;
	}
	return rows;
}

void kp_find_math_attention(struct kp_search *search)
{
	double products_ns = 0, simt_ns = 0;
	struct kp_rows rows = math_rows(search, &products_ns, &simt_ns);
	size_t attention = kp_search_operator(search, "attention");
	double ratio = fp32_over(search, KP_CEILING_TENSOR_BF16);
	struct kp_finding *finding;

	if (kp_rows_pct(search, &rows) < KP_FINDING_LEAST_PCT)
		return;
	/* Half of what tensor cores can do at most is common. */
	double kept_ns = products_ns - simt_ns + simt_ns * (isnan(ratio) ? 0.5 : 2 * ratio);
	finding = kp_search_add(search, KP_FINDING_MATH_ATTENTION, KP_CONFIDENCE_HIGH);
	kp_search_about_operator(search, finding, attention, &rows);
	kp_search_say(
		search, finding,
		"Attention is written out as products and a softmax (math), %.1f %% of kernel "
		"time: switch to flash or cuDNN attention first",
		finding->kernel_pct);
	kp_search_win(search, finding, &rows, 1, 1 - kept_ns / rows.total_ns,
		      "at most all of it; likely: what is not a product goes away, and products "
		      "without tensor cores run at half of what these can do in bf16");
	kp_finding_evidence(finding, "launches", (double)rows.calls, "measured");
	kp_finding_evidence(finding, "products_of_it_pct", 100 * products_ns / rows.total_ns,
			    "name");
	kp_finding_evidence(finding, "products_without_tensor_cores_of_it_pct",
			    100 * simt_ns / rows.total_ns, "name");
	for (size_t i = 0; i < search->report->kernel_count; i++)
		if (is_math(search, &search->report->kernels[i]))
			kp_search_claim(search, KP_FINDING_MATH_ATTENTION, i, 1);
}

/* ---- types ---- */

/* Whether tensor pipes are known to be idle, or the name says that they are not used. */
static bool without_tensor(const struct kp_search *search, const struct kp_kernel_row *kernel,
			   bool *measured)
{
	if (!is_product(search, kernel) || is_type(kernel, "fp64") || is_skinny(search, kernel))
		return false;
	if (search->report->traffic.any && isfinite(kernel->traffic.tensor_pct)) {
		bool idle = kernel->traffic.tensor_pct < TENSOR_NONE_PCT;

		*measured |= idle;
		return idle && kp_search_is(search, kernel, "gemm");
	}
	return says_simt(kernel);
}

/* Part of the time that goes: by the bytes and by the arithmetic of what comes instead. */
static double narrower(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	double memory = search->report->traffic.any ? kernel->traffic.peak_pct / 100 : NAN;
	double ratio = fp32_over(search, KP_CEILING_TENSOR_BF16);

	if (isnan(ratio))
		return 0.5;
	return 1 - fmax(isfinite(memory) ? memory / 2 : 0, 2 * ratio);
}

void kp_find_tensor_cores(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	double ratio = fp32_over(search, KP_CEILING_TENSOR_BF16), likely_ns = 0;
	double bound_part = isnan(ratio) ? 1 : 1 - ratio;
	size_t largest = KP_FINDING_NOWHERE, kernels = 0;
	struct kp_rows rows = {0};
	bool measured = false;

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[report->kernels_by_time[i]];

		if (!without_tensor(search, kernel, &measured))
			continue;
		kp_rows_add_kernel(&rows, search, kernel);
		likely_ns += narrower(search, kernel) * (double)kernel->durations.total_ns;
		largest = kernels++ ? largest : report->kernels_by_time[i];
	}
	if (kp_rows_pct(search, &rows) < KP_FINDING_LEAST_PCT)
		return;
	struct kp_finding *finding =
		kp_search_add(search, KP_FINDING_TENSOR_CORES_UNUSED,
			      measured ? KP_CONFIDENCE_HIGH : KP_CONFIDENCE_MEDIUM);
	const struct kp_kernel_row *top = &report->kernels[largest];
	kp_search_about_operator(search, finding, top->operator_index, &rows);
	kp_search_say(
		search, finding,
		"Matrix products with %.1f %% of kernel time run without tensor cores (%s), led "
		"by %s",
		finding->kernel_pct, measured ? "measured" : "by their names",
		kp_search_name(search, top));
	kp_search_win(
		search, finding, &rows, bound_part, likely_ns / rows.total_ns,
		"at most the ratio of fp32 to bf16 tensor peaks; likely: half of that peak, and "
		"half of the bytes where they are known");
	kp_finding_evidence(finding, "kernels", (double)kernels, "measured");
	kp_finding_evidence(finding, "tensor_active_pct",
			    report->traffic.any ? top->traffic.tensor_pct : NAN, "estimated");
	kp_finding_evidence(finding, "fp32_of_bf16_peak_pct", 100 * ratio, "datasheet");
	for (size_t i = 0; i < report->kernel_count; i++)
		if (without_tensor(search, &report->kernels[i], &measured))
			kp_search_claim(search, KP_FINDING_TENSOR_CORES_UNUSED, i, bound_part);
}

/* 32-bit products that do use tensor cores, or of which nothing says that they do not. */
static bool is_wide(const struct kp_search *search, const struct kp_kernel_row *kernel)
{
	bool measured = false;

	return is_product(search, kernel) && (is_type(kernel, "tf32") || is_type(kernel, "fp32")) &&
	       !without_tensor(search, kernel, &measured);
}

void kp_find_wide_type(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	struct kp_rows rows = {0};
	double tf32_ns = 0;
	size_t operator_index = 0;

	for (size_t i = report->kernel_count; i-- > 0;) {
		const struct kp_kernel_row *kernel = &report->kernels[report->kernels_by_time[i]];

		if (!is_wide(search, kernel))
			continue;
		kp_rows_add_kernel(&rows, search, kernel);
		operator_index = kernel->operator_index;
		if (is_type(kernel, "tf32"))
			tf32_ns += (double)kernel->durations.total_ns;
	}
	if (kp_rows_pct(search, &rows) < KP_FINDING_LEAST_PCT)
		return;
	struct kp_finding *finding = kp_search_add(search, KP_FINDING_WIDE_TYPE, KP_CONFIDENCE_LOW);
	kp_search_about_operator(search, finding, operator_index, &rows);
	kp_search_say(
		search, finding,
		"Matrix products in %s take %.1f %% of kernel time: bf16 moves half the bytes "
		"at twice the rate, if the outputs bear it",
		tf32_ns * 2 > rows.total_ns ? "tf32" : "fp32", finding->kernel_pct);
	kp_search_win(
		search, finding, &rows, 0.5, 0.4,
		"half of it, for half the bytes and twice the rate; likely: four fifths of that");
	kp_finding_evidence(finding, "tf32_of_it_pct", 100 * tf32_ns / rows.total_ns, "name");
	for (size_t i = 0; i < report->kernel_count; i++)
		if (is_wide(search, &report->kernels[i]))
			kp_search_claim(search, KP_FINDING_WIDE_TYPE, i, 0.5);
}

/* ---- skinny products ---- */

/* Of the skinny products: those whose bandwidth is known, and how near the limit that is. */
struct skinny {
	struct kp_rows rows, left;           /* left: of them, what no other finding promises */
	double known_ns, peak_ns, likely_ns; /* peak_ns: at the limit they would take so long */
	bool measured;
};

static struct skinny skinny_rows(const struct kp_search *search)
{
	const struct kp_report *report = search->report;
	struct skinny skinny = {.measured = true};

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[i];
		double ns = (double)kernel->durations.total_ns;
		double peak_pct = report->traffic.any ? kernel->traffic.peak_pct : NAN;

		if (!is_skinny(search, kernel))
			continue;
		kp_rows_add_kernel(&skinny.rows, search, kernel);
		kp_rows_add_left(&skinny.left, search, i);
		if (!isfinite(peak_pct))
			continue;
		skinny.known_ns += ns;
		skinny.peak_ns += ns * peak_pct / 100;
		skinny.likely_ns += ns * fmax(1 - peak_pct / SKINNY_REACHED_PCT, 0);
		skinny.measured &= kernel->traffic.source == KP_TRAFFIC_MEASURED;
	}
	return skinny;
}

void kp_find_skinny_gemm(struct kp_search *search)
{
	struct skinny skinny = skinny_rows(search);
	bool known = skinny.known_ns * 2 > skinny.rows.total_ns;
	double peak_pct = known ? 100 * skinny.peak_ns / skinny.known_ns : NAN;
	size_t operator_index = kp_search_operator(search, "gemm");
	enum kp_confidence confidence = skinny.measured ? KP_CONFIDENCE_HIGH : KP_CONFIDENCE_MEDIUM;
	struct kp_finding *finding;

	if (kp_rows_pct(search, &skinny.rows) < KP_FINDING_LEAST_PCT ||
	    (known && peak_pct >= SKINNY_FAR_PCT))
		return;
	if (operator_index == search->report->operator_count)
		operator_index = kp_search_operator(search, "gemv");
	finding = kp_search_add(search, KP_FINDING_SKINNY_GEMM,
				known ? confidence : KP_CONFIDENCE_LOW);
	kp_search_about_operator(search, finding, operator_index, &skinny.rows);
	if (known)
		kp_search_say(
			search, finding,
			"Matrix products with few rows take %.1f %% of kernel time at %.0f %% "
			"of the memory's peak",
			finding->kernel_pct, peak_pct);
	else
		kp_search_say(
			search, finding,
			"Matrix products with few rows, by their tiles, take %.1f %% of kernel "
			"time; how far they are from the memory's bandwidth was not measured "
			"(--counters on)",
			finding->kernel_pct);
	kp_search_win(search, finding, &skinny.left, known ? 1 - peak_pct / 100 : 1,
		      known ? skinny.likely_ns / skinny.known_ns : NAN,
		      known ? "down to the memory's peak; likely: to 80 % of it"
			    : "at most all of it; likely: not known without counters");
	kp_finding_evidence(finding, "memory_peak_pct", peak_pct,
			    skinny.measured ? "measured" : "estimated");
	kp_finding_evidence(finding, "launches", (double)skinny.rows.calls, "measured");
	kp_finding_evidence(finding, "tile_rows_at_most", SKINNY_ROWS, "name");
	kp_finding_elsewhere(finding, &skinny.rows, &skinny.left);
	for (size_t i = 0; i < search->report->kernel_count; i++)
		if (is_skinny(search, &search->report->kernels[i]))
			kp_search_claim(search, KP_FINDING_SKINNY_GEMM, i,
					known ? 1 - peak_pct / 100 : 1);
}
