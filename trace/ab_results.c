/* Names in the lines of an A/B run; see ab_results.h. */
#include "trace/ab_results.h"

const char *const kp_ab_count_names[KP_AB_COUNT_COUNT] = {
#define NAME_OF(NAME, name) name,
	KP_AB_COUNTS(NAME_OF)
#undef NAME_OF
};

const char *const kp_ab_reason_names[KP_AB_REASON_COUNT] = {
#define NAME_OF(NAME, name, what) name,
	KP_AB_REASONS(NAME_OF)
#undef NAME_OF
};

const char *const kp_ab_extra_names[KP_AB_EXTRA_COUNT] = {
#define NAME_OF(NAME, name, what) name,
	KP_AB_EXTRAS(NAME_OF)
#undef NAME_OF
};
