/*
 * Collapsed stacks, as flamegraph.pl, inferno and speedscope read them: one line a stack, its
 * frames separated by semicolons, then a space and the nanoseconds.
 *
 * The stacks are process; GPU; operator (or memory), once more if it is written out; kernel.
 * Semicolons and control characters in a name become \xHH. What has no times is not there, for it
 * has no width.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "profiler/export.h"
#include "profiler/export_totals.h"

static void put_frame(struct kp_out *out, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f || byte == ';')
			kp_out_print(out, "\\x%02x", byte);
		else
			kp_out_put(out, text, 1);
	}
}

static void put_stack(struct kp_export *job, const struct kp_export_group *group)
{
	const struct kp_export_template *template = group->template;
	const char *frames[KP_EXPORT_OPERATOR_FRAMES];
	char name[512], written[256];
	size_t count = kp_export_operator_frames(job, template, written, sizeof written, frames);

	kp_export_process_name(template->process, name, sizeof name);
	put_frame(&job->out, name);
	kp_out_print(&job->out, ";GPU %" PRIu64 ";", template->cells[KP_EXPORT_COLUMN_DEVICE]);
	for (size_t i = 0; i < count; i++) {
		put_frame(&job->out, frames[i]);
		kp_out_text(&job->out, ";");
	}
	put_frame(&job->out, kp_export_text_of(job->events, template, KP_EXPORT_COLUMN_NAME));
	kp_out_print(&job->out, " %" PRIu64 "\n", group->total.total_ns);
}

enum kp_status kp_export_collapsed(struct kp_export *job)
{
	struct kp_export_totals totals;
	struct kp_export_group *groups = NULL;
	size_t count = 0;
	enum kp_status status = kp_export_totals_read(job->events, &totals);

	if (status == KP_OK)
		status = kp_export_totals_group(&totals, job->events, &groups, &count);
	for (size_t i = 0; i < count && status == KP_OK; i++) {
		if (groups[i].template->valid)
			put_stack(job, &groups[i]);
	}
	free(groups);
	kp_export_totals_fini(&totals);
	return status;
}
