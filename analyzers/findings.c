/* The ids and their texts, and the search for all findings; see findings.h. Pure. */
#include "analyzers/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/findings_search.h"

struct row {
	const char *key;
	enum kp_rung rung;
	const char *title, *remedy, *reason;
};

static const struct row rows[] = {
#define KP_FINDING(NAME, key, rung, title, remedy, reason)                                         \
	{key, KP_RUNG_##rung, title, remedy, reason},
#include "analyzers/findings.def"
#undef KP_FINDING
};
_Static_assert(KP_FINDING_COUNT <= 64, "silenced findings are bits of one word");

const char *const kp_finding_keys[] = {
#define KP_FINDING(NAME, key, rung, title, remedy, reason) key,
#include "analyzers/findings.def"
#undef KP_FINDING
	NULL,
};

const char *kp_finding_key(enum kp_finding_id id)
{
	return rows[id].key;
}

const char *kp_finding_title(enum kp_finding_id id)
{
	return rows[id].title;
}

const char *kp_finding_usual_remedy(enum kp_finding_id id)
{
	return rows[id].remedy;
}

enum kp_rung kp_finding_rung(enum kp_finding_id id)
{
	return rows[id].rung;
}

const char *kp_finding_rung_reason(enum kp_finding_id id)
{
	return rows[id].reason;
}

const char *kp_rung_key(enum kp_rung rung)
{
	static const char *const keys[] = {
#define ROW(NAME, key, words) key,
		KP_RUNGS(ROW)
#undef ROW
	};

	return keys[rung];
}

const char *kp_rung_words(enum kp_rung rung)
{
	static const char *const all[] = {
#define ROW(NAME, key, words) words,
		KP_RUNGS(ROW)
#undef ROW
	};

	return all[rung];
}

const char *kp_confidence_key(enum kp_confidence confidence)
{
	static const char *const keys[] = {"low", "medium", "high"};

	return keys[confidence];
}

const char *kp_held_key(enum kp_held_reason reason)
{
	static const char *const keys[] = {
#define ROW(NAME, key) key,
		KP_HELD_REASONS(ROW)
#undef ROW
	};

	return keys[reason];
}

enum kp_status kp_finding_of_key(const char *key, enum kp_finding_id *out)
{
	for (unsigned i = 0; i < KP_FINDING_COUNT; i++) {
		if (strcmp(rows[i].key, key) == 0) {
			*out = (enum kp_finding_id)i;
			return KP_OK;
		}
	}
	return KP_INVALID;
}

/* How much of the time kernels run: in iterations, where these have half of the kernels' time. */
static void look_at_busy_time(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	const struct kp_timeline *timeline = report->timeline;
	double wall_ns = 0, busy_ns = 0;

	search->busy_pct = 100 * (double)report->busy_ns / (double)report->span_ns;
	for (size_t i = 0; timeline && i < timeline->iteration_count; i++) {
		wall_ns += (double)timeline->iterations[i].wall_total_ns;
		busy_ns += timeline->iterations[i].busy.mean *
			   (double)timeline->iterations[i].busy.count;
	}
	search->steady = wall_ns > 0 && busy_ns * 2 >= (double)report->busy_ns;
	if (search->steady)
		search->busy_pct = 100 * busy_ns / wall_ns;
	search->mostly_idle = search->busy_pct < KP_BUSY_ENOUGH_PCT;
	for (size_t i = 0; timeline && i < report->gpu_count; i++)
		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++)
			search->gap_ns[k] += (double)timeline->idle[i].parts[k].total_ns;
	search->paced =
		(double)report->busy_ns / ((double)report->busy_ns + search->gap_ns[KP_GAP_LAUNCH]);
}

static bool same_model(const struct kp_device_info *a, const struct kp_device_info *b)
{
	return a->has == b->has && a->sm_count == b->sm_count &&
	       a->threads_per_sm == b->threads_per_sm && a->blocks_per_sm == b->blocks_per_sm &&
	       a->registers_per_sm == b->registers_per_sm &&
	       a->shared_bytes_per_sm == b->shared_bytes_per_sm;
}

static void look_at_devices(struct kp_search *search)
{
	const struct kp_report *report = search->report;
	const struct kp_device_info *device = report->gpu_count ? report->gpus[0].info : NULL;

	for (size_t i = 1; device && i < report->gpu_count; i++)
		if (!report->gpus[i].info || !same_model(device, report->gpus[i].info))
			device = NULL;
	search->device = device;
	kp_ceilings_of_device(device, &search->ceilings);
	for (size_t i = 0; i < report->gpu_count; i++)
		if (device && report->gpus[i].traffic)
			kp_ceilings_merge(&search->ceilings, &report->gpus[i].traffic->ceilings);
}

/* Where launches hold the GPU up, what makes kernels faster wins no more than before until they do
 * not: true of silenced findings, too. */
static void condition_wins(struct kp_search *search)
{
	bool held_up = false;

	for (size_t i = 0; i < search->count; i++)
		held_up |= search->items[i].id == KP_FINDING_LAUNCH_BOUND;
	for (size_t i = 0; i < search->count; i++)
		search->items[i].win.once_launched = held_up && search->items[i].kernel_ns > 0;
}

static void look_at_everything(struct kp_search *search)
{
	static void (*const all[])(struct kp_search *) = {
		kp_find_launch_bound,  kp_find_sync_copies,   kp_find_memory_copies,
		kp_find_gpu_idle,      kp_find_imbalance,     kp_find_math_attention,
		kp_find_tensor_cores,  kp_find_wide_type,     kp_find_skinny_gemm,
		kp_find_unfused_chain, kp_find_copies,        kp_find_tiny_kernels,
		kp_find_tail_wave,     kp_find_low_occupancy, kp_find_many_shapes,
		kp_find_near_limit,    kp_find_communication, kp_find_candidates,
		kp_find_no_hotspot,    kp_find_above_physics, kp_find_broken_times,
		kp_find_incomplete,
	};

	look_at_busy_time(search);
	look_at_devices(search);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		all[i](search);
	condition_wins(search);
}

enum kp_status kp_findings_find(const struct kp_report *report,
				const struct kp_findings_options *options, struct kp_arena *arena,
				struct kp_findings *out)
{
	struct kp_search search = {
		.report = report, .options = options, .arena = arena, .status = KP_OK};
	enum kp_status status;

	*out = (struct kp_findings){0};
	search.framework = kp_framework_of(report);
	search.claimed_ns = calloc(report->kernel_count + 1, sizeof(*search.claimed_ns));
	if (!search.claimed_ns)
		return KP_NO_MEMORY;
	if (report->counts.kernels_timed && report->span_ns && report->kernel_ns && report->busy_ns)
		look_at_everything(&search);
	status = search.status;
	if (status == KP_OK)
		status = kp_findings_resolve(&search, out);
	free(search.claimed_ns);
	free(search.items);
	return status;
}
