/* The kernels of a report as CSV (RFC 4180): one row a kernel, largest first; see print.h. */
#include "profiler/fields.h"
#include "profiler/print.h"

enum kp_status kp_print_csv(FILE *file, const struct kp_report *report)
{
	fputs("operator,", file);
	kp_fields_csv_header(file, &kp_kernel_fields);
	if (report->windows.scaled) {
		fputc(',', file);
		kp_fields_csv_header(file, &kp_kernel_estimate_fields);
	}
	fputs("\r\n", file);
	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kp_kernel_row *kernel = &report->kernels[report->kernels_by_time[i]];
		const char *name = report->operators[kernel->operator_index].name;
		enum kp_status status = kp_fields_csv_text(file, name);
		fputc(',', file);
		if (status == KP_OK)
			status = kp_fields_csv(file, &kp_kernel_fields, kernel);
		if (status == KP_OK && report->windows.scaled) {
			fputc(',', file);
			status = kp_fields_csv(file, &kp_kernel_estimate_fields, kernel);
		}
		fputs("\r\n", file);
		if (status != KP_OK)
			return status;
	}
	return KP_OK;
}
