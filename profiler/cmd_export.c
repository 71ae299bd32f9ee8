/* kprof export: writes a trace in a format of other tools. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/report_losses.h"
#include "profiler/commands.h"
#include "profiler/export.h"
#include "profiler/open.h"
#include "profiler/rules.h"
#include "profiler/say.h"

enum shape { TEXT, BINARY, PATCHED };

static const struct {
	enum kp_status (*write)(struct kp_export *job);
	enum shape shape;
	uint64_t largest;
} formats[KP_EXPORT_FORMAT_COUNT] = {
#define X(name, extensions, shape, largest, opens) {kp_export_##name, shape, largest},
	KP_EXPORT_FORMATS(X)
#undef X
};

/* The format that was asked for, or that the output's name stands for; -1 after saying why. */
static int format_of(const struct kp_settings *settings)
{
	char list[256] = "";
	int format = settings->format;

	if (format < 0 && settings->output)
		format = kp_export_of_path(settings->output);
	for (int i = 0; i < KP_EXPORT_FORMAT_COUNT && format < 0; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
			 kp_export_names[i]);
	if (format < 0 && settings->output)
		kp_fail("%s: its ending stands for no format; choose one with --format: %s",
			settings->output, list);
	else if (format < 0)
		kp_fail("no format; choose one with --format: %s", list);
	return format;
}

static void say_left_out(const struct kp_export *job)
{
	if (job->left_out)
		kp_say("%" PRIu64 " of %" PRIu64 " slices are left out of the timeline, for it has "
		       "at most %" PRIu64 " (--limit); sums cover all",
		       job->left_out, job->left_out + job->slices, job->limit);
}

/* Whatever the format: what the trace lacks is said. */
static void say_incomplete(struct kp_reader *reader)
{
	struct kp_damage damage = kp_reader_damage(reader);
	uint64_t dropped = 0, unwritten = 0, lost = kp_losses_promised(reader);

	for (size_t i = 0; i < kp_reader_process_count(reader); i++) {
		const struct kp_counts *counts = &kp_reader_process(reader, i)->counts;

		dropped += KP_HAS(counts, COUNTS, records_dropped) ? counts->records_dropped : 0;
		unwritten +=
			KP_HAS(counts, COUNTS, kernels_unwritten) ? counts->kernels_unwritten : 0;
	}
	if (dropped || unwritten || lost || damage.torn_tail)
		kp_say("the trace is not complete, nor is the export: %" PRIu64
		       " records dropped by CUPTI, %" PRIu64 " launches not written, %" PRIu64
		       " lost to damage%s",
		       dropped, unwritten, lost,
		       damage.torn_tail ? "; it ends within a chunk" : "");
}

static bool write_export(struct kp_export *job, int format)
{
	errno = 0;
	enum kp_status status = formats[format].write(job);
	int error = errno;

	if (status == KP_OK || (status == KP_IO && job->out.error)) {
		if (job->out.error) /* a hidden file must not get its name */
			status = KP_IO;
		if (!kp_out_commit(&job->out))
			return false;
		if (status == KP_OK) {
			say_incomplete(kp_export_events_reader(job->events));
			say_left_out(job);
		}
		return true;
	}
	kp_out_abandon(&job->out);
	kp_fail("cannot export the trace: %s",
		status == KP_IO && error ? strerror(error) : kp_status_message(status));
	return false;
}

static uint64_t limit_of(const struct kp_settings *settings, int format)
{
	if (settings->limit != UINT64_MAX)
		return settings->limit;
	return formats[format].largest == KP_EXPORT_NONE ? 0 : formats[format].largest;
}

static bool export_reader(struct kp_reader *reader, const struct kp_settings *settings, int format)
{
	struct kp_export job = {.limit = limit_of(settings, format)};
	struct kp_operators *operators;
	bool done = false;

	if (!kp_rules_open(settings, &operators))
		return false;
	enum kp_status status = kp_export_events_create(reader, operators, &job.events);
	if (status != KP_OK)
		kp_fail("cannot read the trace: %s", kp_status_message(status));
	else if (kp_out_open(&job.out, settings->output, formats[format].shape != TEXT,
			     formats[format].shape == PATCHED))
		done = write_export(&job, format);
	kp_export_events_destroy(job.events);
	kp_operators_destroy(operators);
	return done;
}

/* A limit that a format cannot keep is not passed over. */
static bool check_limit(const struct kp_settings *settings, int format)
{
	if (settings->limit == UINT64_MAX || settings->limit == 0 ||
	    formats[format].largest != KP_EXPORT_NONE)
		return true;
	kp_fail("--limit is of timelines: %s holds all", kp_export_names[format]);
	return false;
}

int kp_cmd_export(const struct kp_settings *settings)
{
	int format = format_of(settings);

	if (format >= 0 && !check_limit(settings, format))
		return KP_EXIT_FAILURE;
	struct kp_reader *reader = format < 0
					   ? NULL
					   : kp_open_traces((const char *const *)settings->operands,
							    settings->operand_count);
	if (!reader)
		return KP_EXIT_FAILURE;
	bool done = export_reader(reader, settings, format);
	kp_reader_close(reader);
	return done ? 0 : KP_EXIT_FAILURE;
}
