/* Which metrics are sampled on which chip: the table of pm_chips.def. */
#ifndef KP_INJECT_PM_CHIPS_H
#define KP_INJECT_PM_CHIPS_H

#include "inject/pm_api.h"
#include "trace/metrics.h"

struct kp_pm_chip {
	const char *name; /* CUPTI's, such as GH100 */
	enum kp_pm_trigger trigger;
	const char *const *metrics; /* KP_METRIC_COUNT of CUPTI's names; NULL: not sampled */
};

/* The row of a chip; NULL: none. */
const struct kp_pm_chip *kp_pm_chip_find(const char *name);
/* All rows, ended by one without a name. */
const struct kp_pm_chip *kp_pm_chips(void);

/*
 * Of the first `most` metrics those that the chip has, in the order of a sample's values; returns
 * how many. `text` is the same as a session's `metrics` (trace/metrics.h), terminated.
 */
#define KP_PM_METRICS_BYTES 640
size_t kp_pm_chip_names(const struct kp_pm_chip *chip, size_t most,
			const char *names[KP_METRIC_COUNT], char text[KP_PM_METRICS_BYTES]);

#endif
