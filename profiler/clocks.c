/* Clocks in reports; see clocks.h. Pure. */
#include "profiler/clocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

struct line {
	char *text;
	size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct line *line, const char *format, ...)
{
	size_t room = line->size - line->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line->text + line->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		line->length += (size_t)length < room ? (size_t)length : room - 1;
}

static const char *comma(const struct line *line)
{
	return line->length ? ", " : "";
}

static void put_mhz(struct line *line, const char *what, const struct kp_clocks_range *range,
		    uint32_t typical)
{
	if (!range->known)
		return;
	put(line, "%s%s %" PRIu32 " MHz", comma(line), what, typical);
	if (range->least != range->most)
		put(line, " (%" PRIu32 " to %" PRIu32 ")", range->least, range->most);
}

void kp_clocks_text(const struct kp_clocks_summary *summary, char *out, size_t size)
{
	struct line line = {out, size, 0};

	out[0] = '\0';
	put_mhz(&line, "SM", &summary->sm_mhz, summary->sm_mhz.median);
	put_mhz(&line, "memory", &summary->memory_mhz, summary->memory_mhz.most);
	if (summary->power_mw.known)
		put(&line, "%s%.0f W (%.0f at most)", comma(&line), summary->power_mw.mean / 1e3,
		    summary->power_mw.most / 1e3);
	if (summary->temperature_c.known)
		put(&line, "%s%" PRIu32 " °C", comma(&line), summary->temperature_c.most);
}

void kp_clocks_throttle_text(const struct kp_clocks_summary *summary, char *out, size_t size)
{
	struct line line = {out, size, 0};

	out[0] = '\0';
	if (!(summary->throttled_pct > 0))
		return;
	put(&line, "%.1f%% of the time, by", summary->throttled_pct);
	for (int reason = 0; reason < KP_THROTTLE_COUNT; reason++)
		if (summary->reason_pct[reason] > 0)
			put(&line, "%s %s (%.1f%%)", line.text[line.length - 1] == ')' ? "," : "",
			    kp_throttle_title((enum kp_throttle_reason)reason),
			    summary->reason_pct[reason]);
}

static void emit_value(struct kp_emit *emit, const char *key, bool known, uint32_t value)
{
	if (known)
		kp_emit_count(emit, key, value);
	else
		kp_emit_null(emit, key);
}

void kp_clocks_emit(struct kp_emit *emit, const struct kp_clocks_summary *summary)
{
	const struct kp_clocks_range *sm = &summary->sm_mhz, *memory = &summary->memory_mhz;
	const struct kp_clocks_range *power = &summary->power_mw;

	if (summary->readings == 0) {
		kp_emit_null(emit, "clocks");
		return;
	}
	kp_emit_map_begin(emit, "clocks");
	kp_emit_count(emit, "readings", summary->readings);
	kp_emit_count(emit, "readings_idle", summary->idle);
	kp_emit_number(emit, "reading_mean_ns", summary->reading_mean_ns, 0);
	kp_emit_count(emit, "reading_max_ns", summary->reading_most_ns);
	emit_value(emit, "sm_mhz_median", sm->known, sm->median);
	emit_value(emit, "sm_mhz_min", sm->known, sm->least);
	emit_value(emit, "sm_mhz_max", sm->known, sm->most);
	emit_value(emit, "memory_mhz_min", memory->known, memory->least);
	emit_value(emit, "memory_mhz_max", memory->known, memory->most);
	kp_emit_number(emit, "power_mean_mw", power->known ? power->mean : NAN, 0);
	emit_value(emit, "power_max_mw", power->known, power->most);
	emit_value(emit, "temperature_max_c", summary->temperature_c.known,
		   summary->temperature_c.most);
	kp_emit_number(emit, "throttled_pct",
		       summary->throttle_known ? summary->throttled_pct : NAN, 3);
	kp_emit_map_begin(emit, "throttle_reasons_pct");
	for (int reason = 0; reason < KP_THROTTLE_COUNT; reason++)
		if (summary->reason_pct[reason] > 0)
			kp_emit_number(emit, kp_throttle_key((enum kp_throttle_reason)reason),
				       summary->reason_pct[reason], 3);
	kp_emit_map_end(emit);
	kp_emit_map_end(emit);
}
