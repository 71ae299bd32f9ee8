/* Which launches fit; see ab_sequence_match.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_match.h"

#include <string.h>

#include "inject/ab_sequence_memory.h"
#include "inject/ab_sequence_recognise.h"
#include "inject/ab_state.h"

/* What a parameter is of a launch that is missing: 0, as large as any is read. */
static const char nothing[4096] __attribute__((aligned(16)));

static void see(const struct kp_ab_held *launch, int64_t *symbols, struct kp_ab_view *out)
{
	memset(symbols, 0, KP_AB_SYMBOL_COUNT * sizeof(*symbols));
	for (int i = 0; i < 3; i++) {
		symbols[KP_AB_SYMBOL_GRID_X + i] = launch->grid[i];
		symbols[KP_AB_SYMBOL_BLOCK_X + i] = launch->block[i];
	}
	symbols[KP_AB_SYMBOL_SHARED] = launch->shared_bytes;
	*out = (struct kp_ab_view){symbols, (const void *const *)launch->parameters,
				   launch->layout->bytes, launch->layout->count};
}

/* Whether this launch is that member, with the data that went before. */
static enum kp_ab_reason fit(const struct kp_ab_plan *plan, const struct kp_ab_member *member,
			     const struct kp_ab_held *launch, struct kp_ab_flow *flow)
{
	int64_t symbols[KP_AB_SYMBOL_COUNT], holds = 1;
	struct kp_ab_view view;

	see(launch, symbols, &view);
	if (member->when.count &&
	    !kp_ab_evaluate(plan->ops + member->when.first, member->when.count, &view, &holds))
		return KP_AB_REASON_UNREADABLE;
	if (!holds)
		return KP_AB_REASON_CONDITIONS;
	return kp_ab_flow_add(flow, plan, member, &view);
}

/* Buffers that came with this launch are this GPU's own. */
static bool is_own(struct kp_ab_under_way *state, CUcontext context)
{
	for (uint32_t i = 0; i < KP_AB_BUFFERS_MOST; i++) {
		const struct kp_ab_flow_buffer *buffer = &state->flow.buffers[i];

		if (!buffer->bound || state->known >> i & 1)
			continue;
		if (!kp_ab_sequence_memory_is_own(context, buffer->address, buffer->bytes))
			return false;
		state->known |= 1U << i;
	}
	return true;
}

/* The launch is this member, if it fits. */
static enum kp_ab_reason try_member(const struct kp_ab_plan *plan, uint32_t number,
				    const struct kp_ab_held *launch, struct kp_ab_flow *flow)
{
	struct kp_ab_flow tried = *flow;
	enum kp_ab_reason reason;

	if (!(launch->members >> number & 1))
		return KP_AB_REASON_OTHER_LAUNCH;
	reason = fit(plan, &plan->members[number], launch, &tried);
	if (reason == KP_AB_REASON_COUNT)
		*flow = tried;
	return reason;
}

enum kp_ab_reason kp_ab_sequence_advance(const struct kp_ab_plan *plan, uint32_t rule,
					 struct kp_ab_under_way *state, CUcontext context,
					 const struct kp_ab_held *launch, uint32_t at,
					 bool *complete)
{
	const struct kp_ab_rule *of = &plan->rules[rule];
	enum kp_ab_reason reason = KP_AB_REASON_OTHER_LAUNCH;
	uint32_t i = state->next;

	*complete = false;
	if (of->match == KP_AB_MATCH_RECOGNISED) {
		reason = kp_ab_sequence_recognise(of, state, at, complete);
		return reason != KP_AB_REASON_COUNT || is_own(state, context)
			       ? reason
			       : KP_AB_REASON_SHARED_MEMORY;
	}
	for (; i < of->member_count; i++) {
		state->launches[i] = KP_AB_ABSENT;
		reason = try_member(plan, of->first_member + i, launch, &state->flow);
		if (reason == KP_AB_REASON_COUNT || !plan->members[of->first_member + i].optional)
			break;
	}
	if (reason != KP_AB_REASON_COUNT)
		return reason;
	state->launches[i] = (uint8_t)at;
	state->next = i + 1;
	*complete = state->next == of->member_count;
	return is_own(state, context) ? reason : KP_AB_REASON_SHARED_MEMORY;
}

/* All parameters one behind the other, as the code of the rule sees them. */
struct whole {
	int64_t symbols[KP_AB_SYMBOL_COUNT];
	const void *parameters[KP_AB_PARAMETERS_MOST];
	uint32_t bytes[KP_AB_PARAMETERS_MOST];
};

static void add_member(const struct kp_ab_plan *plan, const struct kp_ab_member *member,
		       const struct kp_ab_held *launch, struct whole *out)
{
	for (uint32_t i = 0; i < member->parameters; i++) {
		uint32_t at = member->first_parameter + i, said = 0;

		if (i < member->size_count)
			said = plan->sizes[member->first_size + i];
		out->parameters[at] = launch ? launch->parameters[i] : nothing;
		out->bytes[at] = launch                           ? launch->layout->bytes[i]
				 : said && said < sizeof(nothing) ? said
								  : (uint32_t)sizeof(nothing);
	}
}

enum kp_ab_reason kp_ab_sequence_job(uint32_t rule, const struct kp_ab_under_way *state,
				     const struct kp_ab_held *held, struct kp_ab_job *out,
				     uint32_t *owed)
{
	const struct kp_ab_plan *plan = &kp_ab.plan;
	const struct kp_ab_rule *of = &plan->rules[rule];
	struct whole whole = {0};
	struct kp_ab_view view = {whole.symbols, whole.parameters, whole.bytes, 0};
	struct kp_ab_flow_data data[KP_AB_TENSORS_MOST];
	bool recognised = of->match == KP_AB_MATCH_RECOGNISED;
	enum kp_ab_reason reason;

	if (recognised)
		kp_ab_sequence_see(&state->recognised, whole.symbols);
	for (uint32_t i = 0; !recognised && i < of->member_count; i++) {
		const struct kp_ab_member *member = &plan->members[of->first_member + i];

		add_member(plan, member,
			   state->launches[i] == KP_AB_ABSENT ? NULL : &held[state->launches[i]],
			   &whole);
		view.parameter_count = member->first_parameter + member->parameters;
	}
	reason = kp_ab_job_fits(plan, of, &view);
	if (reason == KP_AB_REASON_COUNT)
		reason = kp_ab_job_make(plan, kp_ab.candidates, rule, &view, out);
	for (uint32_t i = 0; reason == KP_AB_REASON_COUNT && i < out->data_count; i++)
		data[i] = (struct kp_ab_flow_data){out->data[i].role, out->data[i].address,
						   out->data[i].bytes};
	return reason == KP_AB_REASON_COUNT
		       ? kp_ab_flow_check(&state->flow, data, out->data_count,
					  recognised ? UINT32_MAX : of->elided, owed)
		       : reason;
}
