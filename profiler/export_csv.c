/*
 * CSV (RFC 4180): a line of names, then one an event. Texts stand in quotes, numbers without; what
 * is not known is empty.
 */
#include "profiler/export_rows.h"

static void quote(struct kp_buffer *out, const char *text)
{
	kp_buffer_put(out, "\"", 1);
	for (; *text; text++)
		kp_buffer_put(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	kp_buffer_put(out, "\"", 1);
}

enum kp_status kp_export_csv(struct kp_export *job)
{
	static const struct kp_row_style style = {"", "\r\n", false, quote};

	for (unsigned i = 0; i < KP_EXPORT_HEAD_COUNT; i++)
		kp_out_print(&job->out, "%s%s", i ? "," : "", kp_export_fixed_columns[i].name);
	for (unsigned i = 0; i < KP_EXPORT_OWN_COUNT; i++)
		kp_out_print(&job->out, ",%s", kp_export_own_columns[i].name);
	for (unsigned i = KP_EXPORT_HEAD_COUNT; i < KP_EXPORT_FIXED_COUNT; i++)
		if (i != KP_EXPORT_COLUMN_FULL_NAME)
			kp_out_print(&job->out, ",%s", kp_export_fixed_columns[i].name);
	kp_out_text(&job->out, "\r\n");
	return kp_export_rows(job, &style);
}
