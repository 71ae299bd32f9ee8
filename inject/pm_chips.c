/* Which metrics are sampled on which chip; see pm_chips.h. */
#include "inject/pm_chips.h"

#include <stdio.h>
#include <string.h>

#define SET(name, dram_read, dram_write, l2, tensor, sm)                                           \
	static const char *const set_##name[KP_METRIC_COUNT] = {                                   \
		[KP_METRIC_DRAM_READ] = (dram_read), [KP_METRIC_DRAM_WRITE] = (dram_write),        \
		[KP_METRIC_L2_SECTORS] = (l2),       [KP_METRIC_TENSOR_ACTIVE] = (tensor),         \
		[KP_METRIC_SM_ACTIVE] = (sm),                                                      \
	};
#include "inject/pm_chips.def"

static const struct kp_pm_chip chips[] = {
#define CHIP(name, trigger, set) {#name, KP_PM_BY_##trigger, set_##set},
#include "inject/pm_chips.def"
	{NULL, KP_PM_BY_TIME, NULL},
};

const struct kp_pm_chip *kp_pm_chips(void)
{
	return chips;
}

const struct kp_pm_chip *kp_pm_chip_find(const char *name)
{
	for (const struct kp_pm_chip *chip = chips; chip->name; chip++)
		if (strcmp(chip->name, name) == 0)
			return chip;
	return NULL;
}

size_t kp_pm_chip_names(const struct kp_pm_chip *chip, size_t most,
			const char *names[KP_METRIC_COUNT], char text[KP_PM_METRICS_BYTES])
{
	size_t count = 0, used = 0;

	text[0] = '\0';
	for (enum kp_metric i = 0; i < KP_METRIC_COUNT && i < most; i++) {
		if (!chip->metrics[i])
			continue;
		names[count++] = chip->metrics[i];
		used += (size_t)snprintf(text + used, KP_PM_METRICS_BYTES - used, "%s %s %s\n",
					 kp_metric_key(i), chip->metrics[i], kp_metric_unit(i));
	}
	return count;
}
