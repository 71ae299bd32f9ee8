/* Findings of a report, and what they need besides its rows; see findings.h. */
#include "analyzers/report_build.h"

#include <string.h>

bool kp_build_is_communication(const struct kp_builder *builder, uint32_t row)
{
	size_t variant = builder->rows[row].label.variant;
	size_t index = kp_operators_variant(builder->operators, variant).operator_index;

	return strcmp(kp_operators_name(builder->operators, index), "communication") == 0;
}

void kp_build_communication(const struct kp_builder *builder, struct kp_gpu_row *rows)
{
	size_t processes = kp_reader_process_count(builder->reader);

	for (size_t p = 0; p < processes; p++) {
		const struct kp_process *process = kp_build_process_at(builder, p);
		const struct kp_build_slot *slots = builder->processes[p].slots;

		for (size_t i = 0; slots && i < process->config_count; i++) {
			struct kp_gpu_row *gpu = &rows[slots[i].gpu];

			if (slots[i].row_plus_one &&
			    kp_build_is_communication(builder, slots[i].row_plus_one - 1))
				gpu->communication_ns =
					kp_add_saturating(gpu->communication_ns, slots[i].total_ns);
		}
	}
}

enum kp_status kp_build_findings(struct kp_builder *builder)
{
	struct kp_report *report = builder->report;

	return kp_findings_find(report, &report->options.findings, report->arena,
				&report->findings);
}
