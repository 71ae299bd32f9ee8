/* Options about windows and filters; see window_options.h. Not thread-safe: setenv. */
#include "profiler/window_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/range_choice.h"
#include "profiler/say.h"
#include "trace/control.h"

bool kp_window_options_check(const struct kp_settings *settings)
{
	struct kp_range_choice range;

	if (settings->range && !kp_range_choice_parse(settings->range, &range)) {
		kp_fail("--range %s: it is NAME, NAME:N or NAME:N-M, with N from 1 on",
			settings->range);
		return false;
	}
	const char *const patterns[] = {settings->kernels, settings->skip_kernels};
	for (int i = 0; i < 2; i++) {
		if (patterns[i] && strlen(patterns[i]) >= KP_PATTERNS_MAX_BYTES) {
			kp_fail("--%s: its patterns are longer than %d bytes",
				i ? "skip-kernels" : "kernels", KP_PATTERNS_MAX_BYTES - 1);
			return false;
		}
	}
	return true;
}

static bool put_text(const char *name, const char *value)
{
	return value ? setenv(name, value, 1) == 0 : unsetenv(name) == 0;
}

/* 0: not asked for. */
static bool put_number(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, value);
	return put_text(name, value ? text : NULL);
}

bool kp_window_options_export(const struct kp_settings *settings)
{
	struct kp_range_choice range = {"", 0, 0};
	bool done = true;

	if (settings->range)
		kp_range_choice_parse(settings->range, &range);
	done &= put_number("KPROF_DELAY_NS", (uint64_t)llround(settings->delay_s * 1e9));
	done &= put_number("KPROF_DURATION_NS", (uint64_t)llround(settings->duration_s * 1e9));
	done &= put_number("KPROF_DUTY_PPM", (uint64_t)llround(settings->duty_pct * 1e4));
	done &= put_number("KPROF_HOST", settings->host);
	done &= put_text("KPROF_CALLS", settings->calls == KP_SWITCH_OFF ? "0" : NULL);
	done &= put_number("KPROF_CAPTURE_RANGE",
			   settings->capture_range == KP_CAPTURE_CUDA_PROFILER);
	done &= put_text("KPROF_RANGE", settings->range ? range.name : NULL);
	done &= put_number("KPROF_RANGE_FIRST", range.first);
	done &= put_number("KPROF_RANGE_LAST", range.last);
	done &= put_text("KPROF_KERNELS", settings->kernels);
	done &= put_text("KPROF_SKIP_KERNELS", settings->skip_kernels);
	return done;
}
