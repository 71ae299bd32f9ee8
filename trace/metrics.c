/* The lines of a session's metrics; see metrics.h. */
#include "trace/metrics.h"

#include <string.h>

#include "trace/records.h"

static const struct {
	const char *key, *unit;
} table[] = {
#define METRIC_ROW(NAME, key, unit, title) {#key, unit},
	KP_METRICS(METRIC_ROW)};

_Static_assert(KP_METRIC_COUNT <= KP_SAMPLE_VALUES, "a sample holds each metric");

const char *kp_metric_key(enum kp_metric metric)
{
	return metric < KP_METRIC_COUNT ? table[metric].key : "";
}

const char *kp_metric_unit(enum kp_metric metric)
{
	return metric < KP_METRIC_COUNT ? table[metric].unit : "";
}

static enum kp_metric metric_of(const char *key, size_t length)
{
	size_t i = 0;

	while (i < KP_METRIC_COUNT &&
	       (strlen(table[i].key) != length || memcmp(table[i].key, key, length) != 0))
		i++;
	return (enum kp_metric)i;
}

/* A word of a line, which ends at `end`, and what ends it; NULL where there is none. */
static const char *word(const char **at, const char *line_end, char separator, size_t *length)
{
	const char *begin = *at;
	const char *end =
		separator == '\n' ? line_end : memchr(begin, separator, (size_t)(line_end - begin));

	if (!end || end == begin)
		return NULL;
	*length = (size_t)(end - begin);
	*at = end + 1;
	return begin;
}

static bool parse_line(const char *at, const char *end, struct kp_metric_line *out)
{
	out->key = word(&at, end, ' ', &out->key_length);
	out->source = out->key ? word(&at, end, ' ', &out->source_length) : NULL;
	out->unit = out->source && at < end ? word(&at, end, '\n', &out->unit_length) : NULL;
	if (!out->unit || memchr(out->unit, ' ', out->unit_length))
		return false;
	out->metric = metric_of(out->key, out->key_length);
	return true;
}

size_t kp_metrics_parse(const struct kp_text *metrics, struct kp_metric_line out[KP_SAMPLE_VALUES])
{
	const char *at = metrics->bytes, *end = at + metrics->length;
	size_t count = 0;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		if (!line_end || count == KP_SAMPLE_VALUES ||
		    !parse_line(at, line_end, &out[count]))
			return 0;
		count++;
		at = line_end + 1;
	}
	return count;
}

bool kp_metrics_place(const struct kp_text *metrics, enum kp_metric metric, size_t *out)
{
	struct kp_metric_line lines[KP_SAMPLE_VALUES];
	size_t count = metrics->bytes ? kp_metrics_parse(metrics, lines) : 0;

	for (size_t i = 0; i < count; i++)
		if (lines[i].metric == metric) {
			*out = i;
			return true;
		}
	return false;
}
