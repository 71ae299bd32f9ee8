/* Durations of one kernel; see history.h. */
#include "tui/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void kp_history_fini(struct kp_history *history)
{
	for (size_t i = 0; history->matches && i < history->process_count; i++)
		free(history->matches[i]);
	free(history->matches);
	*history = (struct kp_history){0};
}

struct kp_history *kp_history_copy(const struct kp_history *history)
{
	struct kp_history *copy = malloc(sizeof *copy);

	if (!copy)
		return NULL;
	*copy = *history;
	copy->matches = NULL;
	copy->process_count = 0;
	return copy;
}

static bool *match(const struct kp_process *process, const char *mangled)
{
	bool *matches = calloc(process->config_count + 1, sizeof *matches);
	size_t length = strlen(mangled);

	for (size_t i = 0; matches && i < process->config_count; i++) {
		struct kp_text name = kp_process_string(process, process->configs[i].name);
		matches[i] = name.length == length && memcmp(name.bytes, mangled, length) == 0;
	}
	return matches;
}

enum kp_status kp_history_begin(struct kp_history *history, const struct kp_reader *reader,
				const char *mangled, uint64_t min_ns, uint64_t max_ns)
{
	struct kp_reader_span span = kp_reader_span(reader);

	kp_history_fini(history);
	*history = (struct kp_history){
		.first_ns = span.first_ns,
		.last_ns = span.last_ns,
		.low_ns = fmax((double)min_ns, 1),
		.high_ns = (double)max_ns + 1,
		.process_count = kp_reader_process_count(reader),
	};
	history->high_ns = fmax(history->high_ns, history->low_ns * 1.02);
	history->matches = calloc(history->process_count + 1, sizeof(*history->matches));
	for (size_t i = 0; history->matches && i < history->process_count; i++) {
		history->matches[i] = match(kp_reader_process(reader, i), mangled);
		if (!history->matches[i])
			return KP_NO_MEMORY;
	}
	return history->matches ? KP_OK : KP_NO_MEMORY;
}

static size_t place(double part, size_t count)
{
	if (!(part > 0))
		return 0;
	return part >= 1 ? count - 1 : (size_t)(part * (double)count);
}

void kp_history_take(struct kp_history *history, const struct kp_event *event)
{
	double span_ns = (double)(history->last_ns - history->first_ns) + 1;
	double ratio = log(history->high_ns / history->low_ns);

	if (event->kind != KP_EVENT_LAUNCHES || history->last_ns < history->first_ns)
		return;
	const bool *matches = history->matches[event->process->index];
	for (size_t i = 0; i < event->count; i++) {
		const struct kp_launch *launch = &event->launches[i];
		if (!matches[launch->config] ||
		    kp_time_quality(launch->start_ns, launch->end_ns) != KP_TIME_VALID)
			continue;
		double duration_ns = (double)(launch->end_ns - launch->start_ns);
		double at_ns = launch->start_ns > history->first_ns
				       ? (double)(launch->start_ns - history->first_ns)
				       : 0;
		size_t column = place(at_ns / span_ns, KP_HISTORY_COLUMNS);
		history->calls++;
		history->counts[column]++;
		history->total_ns[column] += duration_ns;
		history->bins[place(log(fmax(duration_ns, 1) / history->low_ns) / ratio,
				    KP_HISTORY_BINS)]++;
	}
}

double kp_history_edge(const struct kp_history *history, size_t bin)
{
	return history->low_ns *
	       pow(history->high_ns / history->low_ns, (double)bin / KP_HISTORY_BINS);
}
