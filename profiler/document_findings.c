/* Findings in the document kprof.report/v1; see findings.h. */
#include "profiler/findings.h"

static void emit_index(struct kp_emit *emit, const char *key, size_t index)
{
	if (index == KP_FINDING_NOWHERE)
		kp_emit_null(emit, key);
	else
		kp_emit_count(emit, key, index);
}

static void emit_place(struct kp_emit *emit, const struct kp_report *report,
		       const struct kp_finding *finding)
{
	bool at_operator = finding->operator_index != KP_FINDING_NOWHERE;
	bool at_variant = finding->variant_index != KP_FINDING_NOWHERE;
	bool at_kernel = finding->kernel_index != KP_FINDING_NOWHERE;

	kp_emit_string(emit, "subject", finding->subject);
	kp_emit_string(emit, "operator",
		       at_operator ? report->operators[finding->operator_index].name : NULL);
	kp_emit_string(emit, "variant",
		       at_variant ? report->variants[finding->variant_index].name : NULL);
	kp_emit_string(emit, "kernel",
		       at_kernel ? report->kernels[finding->kernel_index].full : NULL);
	emit_index(emit, "gpu", finding->gpu_index);
}

static void emit_win(struct kp_emit *emit, const struct kp_win *win)
{
	kp_emit_map_begin(emit, "win");
	kp_emit_number(emit, "span_bound_ns", win->span_bound_ns, 0);
	kp_emit_number(emit, "span_likely_ns", win->span_likely_ns, 0);
	kp_emit_number(emit, "span_bound_pct", win->span_bound_pct, 4);
	kp_emit_number(emit, "span_likely_pct", win->span_likely_pct, 4);
	kp_emit_number(emit, "kernel_time_bound_ns", win->kernel_bound_ns, 0);
	kp_emit_number(emit, "kernel_time_likely_ns", win->kernel_likely_ns, 0);
	kp_emit_number(emit, "kernel_time_bound_pct", win->kernel_bound_pct, 4);
	kp_emit_number(emit, "kernel_time_likely_pct", win->kernel_likely_pct, 4);
	kp_emit_string(emit, "formula", win->formula);
	kp_emit_bool(emit, "once_launches_keep_up", win->once_launched);
	kp_emit_map_end(emit);
}

static void emit_evidence(struct kp_emit *emit, const struct kp_finding *finding)
{
	kp_emit_list_begin(emit, "evidence");
	for (size_t i = 0; i < finding->evidence_count; i++) {
		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "what", finding->evidence[i].what);
		kp_emit_number(emit, "value", finding->evidence[i].value, 4);
		kp_emit_string(emit, "source", finding->evidence[i].source);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}

/* What both lists have. */
static void emit_finding(struct kp_emit *emit, const struct kp_report *report,
			 const struct kp_finding *finding)
{
	kp_emit_string(emit, "id", kp_finding_key(finding->id));
	kp_emit_string(emit, "title", kp_finding_title(finding->id));
	emit_place(emit, report, finding);
	kp_emit_string(emit, "sentence", finding->sentence);
	kp_emit_string(emit, "confidence", kp_confidence_key(finding->confidence));
	kp_emit_number(emit, "share_of_kernel_time_pct", finding->kernel_pct, 4);
	kp_emit_number(emit, "kernel_time_ns", finding->kernel_ns, 0);
	kp_emit_number(emit, "exclusive_ns", finding->alone_ns, 0);
	emit_win(emit, &finding->win);
	emit_evidence(emit, finding);
	kp_emit_string(emit, "rung", kp_rung_key(kp_finding_rung(finding->id)));
	kp_emit_string(emit, "rung_reason", kp_finding_rung_reason(finding->id));
	kp_emit_string(emit, "remedy", finding->remedy);
}

void kp_document_findings(struct kp_emit *emit, const struct kp_report *report)
{
	const struct kp_findings *findings = &report->findings;

	kp_emit_list_begin(emit, "findings");
	for (size_t i = 0; i < findings->count; i++) {
		kp_emit_map_begin(emit, NULL);
		emit_finding(emit, report, &findings->items[i]);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
	kp_emit_list_begin(emit, "findings_held");
	for (size_t i = 0; i < findings->held_count; i++) {
		const struct kp_finding_held *held = &findings->held[i];
		bool by_rule = held->reason == KP_HELD_RULE;

		kp_emit_map_begin(emit, NULL);
		kp_emit_string(emit, "reason", kp_held_key(held->reason));
		kp_emit_string(emit, "by", by_rule ? kp_finding_key(held->by) : NULL);
		kp_emit_string(emit, "why", held->why);
		emit_finding(emit, report, &held->finding);
		kp_emit_map_end(emit);
	}
	kp_emit_list_end(emit);
}
