/* Numbers for people; see humanise.h. Pure functions. */
#include "profiler/humanise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *const time_units[] = {"ns", "µs", "ms", "s"};
static const char *const byte_units[] = {"B", "kB", "MB", "GB", "TB", "PB"};

/* The decimals that give `value` its significant digits. */
static int decimals_of(double value, int digits)
{
	int before = value < 10 ? 1 : value < 100 ? 2 : 3;

	return digits > before ? digits - before : 0;
}

/*
 * Scales by 1000 to the unit in which the rounded value is below 1000 (the last unit takes all).
 * Whole numbers of the first unit stay whole.
 */
static struct kp_human scale(double value, int digits, const char *const *units, size_t unit_count)
{
	struct kp_human out = {"-"};
	size_t unit = 0;

	if (!isfinite(value) || value < 0)
		return out;
	for (;;) {
		int decimals = unit == 0 && value == floor(value) ? 0 : decimals_of(value, digits);
		double rounded = round(value * pow(10, decimals)) / pow(10, decimals);
		if (rounded < 1000 || unit + 1 == unit_count) {
			/* 9.996 rounds to 10.00: one decimal less keeps the digits. */
			int fitting = decimals ? decimals_of(rounded, digits) : 0;
			snprintf(out.text, sizeof out.text, "%.*f%s", fitting, value, units[unit]);
			return out;
		}
		value /= 1000;
		unit++;
	}
}

struct kp_human kp_human_duration(double ns, int digits)
{
	return scale(ns, digits, time_units, sizeof time_units / sizeof *time_units);
}

struct kp_human kp_human_bytes(uint64_t bytes, int digits)
{
	return scale((double)bytes, digits, byte_units, sizeof byte_units / sizeof *byte_units);
}

struct kp_human kp_human_percent(double percent)
{
	struct kp_human out = {"-"};

	if (isfinite(percent))
		snprintf(out.text, sizeof out.text, "%.1f%%", percent);
	return out;
}

struct kp_human kp_human_count(uint64_t count)
{
	struct kp_human out;
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), written = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			out.text[written++] = ',';
		out.text[written++] = digits[i];
	}
	out.text[written] = '\0';
	return out;
}
