/* JSON lines: one object an event, with the columns that are known. */
#include "profiler/export_json.h"
#include "profiler/export_rows.h"

enum kp_status kp_export_jsonl(struct kp_export *job)
{
	static const struct kp_row_style style = {"{", "}\n", true, kp_export_json};

	return kp_export_rows(job, &style);
}
