/* What held launches are known to do; see ab_sequence_recognise.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence_recognise.h"

#include <string.h>

#include "analyzers/torch_tensor.h"
#include "trace/library_call.h"

/* Of what is held, by number. One that was not read has no operation. */
static struct kp_torch_launch launches[KP_AB_MEMBERS_MOST];

void kp_ab_sequence_read(const struct kp_ab_held *launch, uint32_t at)
{
	if (!launch->layout->torch.kernel ||
	    !kp_torch_launch_decode(&launch->layout->torch, (const void *const *)launch->parameters,
				    launch->grid, &launches[at]))
		launches[at].op = KP_TORCH_NONE;
}

/* The bytes of one operand, as a buffer of the flow's: by where they lie, not by what they are. */
static enum kp_ab_reason add_operand(struct kp_ab_flow *flow, const struct kp_torch_tensor *tensor,
				     bool writes)
{
	uint64_t begin, end;

	if (!tensor->address)
		return KP_AB_REASON_COUNT;
	if (!kp_torch_tensor_range(tensor, &begin, &end) ||
	    (writes && !kp_torch_tensor_is_dense(tensor)))
		return KP_AB_REASON_FLOW;
	return kp_ab_flow_put(flow, begin, end - begin, writes);
}

/* All that it reads, then all that it writes. */
static enum kp_ab_reason add_launch(struct kp_ab_flow *flow, const struct kp_torch_launch *launch)
{
	enum kp_ab_reason reason = KP_AB_REASON_COUNT;
	uint8_t all = launch->outputs + launch->inputs;

	for (uint8_t i = launch->outputs; reason == KP_AB_REASON_COUNT && i < all; i++)
		reason = add_operand(flow, &launch->tensors[i], false);
	for (uint8_t i = 0; reason == KP_AB_REASON_COUNT && i < launch->outputs; i++)
		reason = add_operand(flow, &launch->tensors[i], true);
	return reason;
}

/* Whether these, in their order, are how the kind begins, whatever their operands. */
static bool is_of_kind(uint8_t kind, uint32_t at)
{
	uint8_t place = kp_torch_sequence_place(kind, launches[at].op);

	return place & (at ? KP_TORCH_PLACE_ANY : KP_TORCH_PLACE_FIRST);
}

enum kp_ab_reason kp_ab_sequence_recognise(const struct kp_ab_rule *rule,
					   struct kp_ab_under_way *state, uint32_t at,
					   bool *complete)
{
	uint8_t kind = (uint8_t)rule->recognised;
	enum kp_torch_match match;

	if (launches[at].op == KP_TORCH_NONE)
		return KP_AB_REASON_UNREADABLE;
	if (!rule->unseen && (launches[at].seen != KP_TORCH_SEEN_GPU ||
			      kp_torch_sequence_kinds[kind].seen != KP_TORCH_SEEN_GPU))
		return KP_AB_REASON_UNSEEN;
	match = kp_torch_sequence_is(kind, launches, at + 1, &state->recognised);
	if (match == KP_TORCH_MATCH_NO)
		return is_of_kind(kind, at) ? KP_AB_REASON_FLOW : KP_AB_REASON_OTHER_LAUNCH;
	*complete = match == KP_TORCH_MATCH_WHOLE;
	return add_launch(&state->flow, &launches[at]);
}

/* As rules have types. */
static int64_t code_of(uint8_t type)
{
	return type == KP_TORCH_BF16  ? KP_DATA_BF16
	       : type == KP_TORCH_F16 ? KP_DATA_F16
	       : type == KP_TORCH_F32 ? KP_DATA_F32
				      : 0;
}

/* Of [columns, rows]; of one row there is no step, and any will do. */
static void see_operand(const struct kp_torch_tensor *tensor, uint64_t columns, uint32_t number,
			int64_t *symbols)
{
	uint32_t bytes = kp_torch_type_bytes(tensor->type);
	bool has_step = tensor->dims == 2 && tensor->sizes[1] > 1 && bytes;

	symbols[KP_AB_SYMBOL_OPERAND_0 + number] = (int64_t)tensor->address;
	symbols[KP_AB_SYMBOL_ROW_0 + number] =
		(int64_t)(has_step ? tensor->strides[1] / bytes : columns);
}

void kp_ab_sequence_see(const struct kp_torch_sequence *sequence, int64_t *symbols)
{
	symbols[KP_AB_SYMBOL_ROWS] = (int64_t)sequence->rows;
	symbols[KP_AB_SYMBOL_COLUMNS] = (int64_t)sequence->columns;
	symbols[KP_AB_SYMBOL_DTYPE] = code_of(sequence->type);
	symbols[KP_AB_SYMBOL_EPS] = kp_ab_bits(sequence->eps);
	symbols[KP_AB_SYMBOL_SCALE] = kp_ab_bits(sequence->scale);
	for (uint8_t i = 0; i < sequence->input_count; i++)
		see_operand(&sequence->inputs[i], sequence->columns, i, symbols);
	for (uint8_t i = 0; i < sequence->output_count; i++)
		see_operand(&sequence->outputs[i], sequence->columns, KP_TORCH_SEQUENCE_INPUTS + i,
			    symbols);
}
