/* The kernels of a report as CSV (RFC 4180): one row a kernel, largest first; see print.h. */
#include "profiler/fields.h"
#include "profiler/print.h"
#include "profiler/traffic.h"

/* The kinds of fields that a report's rows have, in order; returns how many. */
static size_t kinds_of(const struct kp_report *report, const struct kp_row_kind *kinds[4])
{
	size_t count = 0;

	kinds[count++] = &kp_kernel_fields;
	if (report->windows.scaled)
		kinds[count++] = &kp_kernel_estimate_fields;
	if (report->host.any) {
		kinds[count++] = &kp_kernel_call_fields;
		kinds[count++] = &kp_kernel_queue_fields;
	}
	return count;
}

enum kp_status kp_print_csv(FILE *file, const struct kp_report *report)
{
	const struct kp_row_kind *kinds[4];
	size_t count = kinds_of(report, kinds);

	fputs("operator", file);
	for (size_t i = 0; i < count; i++) {
		fputc(',', file);
		kp_fields_csv_header(file, kinds[i]);
	}
	if (report->traffic.any)
		kp_traffic_csv_header(file);
	fputs("\r\n", file);
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[report->kernels_by_time[i]];
		const char *name = report->operators[kernel->operator_index].name;
		enum kp_status status = kp_fields_csv_text(file, name);

		for (size_t k = 0; k < count && status == KP_OK; k++) {
			fputc(',', file);
			status = kp_fields_csv(file, kinds[k], kernel);
		}
		if (status == KP_OK && report->traffic.any)
			kp_traffic_csv(file, &kernel->traffic);
		fputs("\r\n", file);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}
