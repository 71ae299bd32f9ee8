/* What analyzers/diff.h promises of any trace, compared with itself: parts that add up. */
#include "promise.h"

#include <math.h>

#include "analyzers/diff.h"

static void check_run(const struct kp_run *run)
{
	for (unsigned unit = 0; unit < KP_UNIT_COUNT; unit++) {
		const struct kp_run_length *length = &run->lengths[unit];
		uint64_t sum = (uint64_t)length->others_ns + (uint64_t)length->rest_ns;

		for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
			sum += length->cause_ns[i];
		for (size_t i = 0; i < run->row_count; i++)
			sum += run->rows[i].part_ns[unit];
		REQUIRE(sum == length->length_ns);
	}
	for (size_t i = 0; i < run->row_count; i++)
		REQUIRE(run->rows[i].before == KP_RUN_NONE || run->rows[i].before < run->row_count);
}

void promise_diff(const struct kp_report *report)
{
	const struct kp_diff_options options = {.margin_pct = 1};
	int64_t base_ps = 0, fresh_ps = 0;
	struct kp_diff *diff;
	struct kp_run *run;

	REQUIRE(kp_run_create(report, "input", &run) == KP_OK);
	check_run(run);
	REQUIRE(kp_diff_build((const struct kp_run *const *)&run, 1,
			      (const struct kp_run *const *)&run, 1, &options, &diff) == KP_OK);
	for (size_t i = 0; i < diff->row_count; i++) {
		REQUIRE(diff->rows[i].change_ps == 0);
		base_ps += diff->rows[i].sides[0].time_ps;
		fresh_ps += diff->rows[i].sides[1].time_ps;
	}
	REQUIRE(base_ps == diff->totals[0].length_ps && fresh_ps == diff->totals[1].length_ps);
	REQUIRE(diff->data_verdict == KP_VERDICT_SAME && diff->change_ps == 0);
	REQUIRE(isfinite(diff->effect.change_pct) && isfinite(diff->effect.typical_ns[0]));
	kp_diff_destroy(diff);
	kp_run_destroy(run);
}
