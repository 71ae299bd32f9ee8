/* How processes ended; see fates.h. */
#include "profiler/fates.h"

static const struct {
	const char *key, *words;
} fates[KP_FATE_COUNT] = {
	[KP_FATE_ENDED] = {"ended", "ended"},
	[KP_FATE_ENDED_EARLY] = {"ended_early", "ended, kernels running"},
	[KP_FATE_REPLACED] = {"replaced", "became another program"},
	[KP_FATE_KILLED] = {"killed", "killed"},
	[KP_FATE_UNFINISHED] = {"unfinished", "running or killed"},
	[KP_FATE_REFUSED] = {"refused", "not recorded"},
	[KP_FATE_UNTRACED] = {"untraced", "not traced"},
};

const char *kp_fate_key(enum kp_process_fate fate)
{
	return fates[fate].key;
}

const char *kp_fate_words(enum kp_process_fate fate)
{
	return fates[fate].words;
}
