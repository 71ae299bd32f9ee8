/* Who wrote what is read; see torch_flow.h. */
#include "analyzers/torch_flow.h"

#include "analyzers/torch_tensor.h"

static bool writes(const struct kp_torch_launch *launch, const struct kp_torch_tensor *tensor)
{
	for (uint8_t i = 0; i < launch->outputs; i++)
		if (kp_torch_tensor_overlaps(&launch->tensors[i], tensor))
			return true;
	return false;
}

bool kp_torch_flow_feeds(const struct kp_torch_launch *launches, size_t writer, size_t reader,
			 uint8_t input)
{
	const struct kp_torch_tensor *tensor = &launches[reader].tensors[input];

	if (!kp_torch_tensor_is_same(&launches[writer].tensors[0], tensor))
		return false;
	for (size_t i = writer + 1; i < reader; i++)
		if (writes(&launches[i], tensor))
			return false;
	return true;
}

bool kp_torch_flow_is_outside(const struct kp_torch_launch *launches, size_t reader, uint8_t input)
{
	for (size_t i = 0; i < reader; i++)
		if (writes(&launches[i], &launches[reader].tensors[input]))
			return false;
	return true;
}

bool kp_torch_flow_has_own_type(const struct kp_torch_launch *launch)
{
	switch (launch->op) {
	case KP_TORCH_SOFTMAX: /* in f32 */
	case KP_TORCH_CAT:
		return true;
	case KP_TORCH_COPY:
		return launch->compute == launch->tensors[0].type ||
		       launch->compute == launch->tensors[1].type;
	default:
		return launch->compute == launch->tensors[1].type;
	}
}

static bool is_output(const struct kp_torch_sequence *sequence,
		      const struct kp_torch_tensor *tensor)
{
	for (uint8_t i = 0; i < sequence->output_count; i++)
		if (kp_torch_tensor_is_same(&sequence->outputs[i], tensor))
			return true;
	return false;
}

static bool lies_on_input(const struct kp_torch_sequence *sequence,
			  const struct kp_torch_tensor *written, bool *same)
{
	bool found = false;

	*same = true;
	for (uint8_t i = 0; i < sequence->input_count; i++) {
		const struct kp_torch_tensor *input = &sequence->inputs[i];

		if (!kp_torch_tensor_overlaps(written, input))
			continue;
		found = true;
		*same = *same && kp_torch_tensor_is_same(written, input);
	}
	return found;
}

/* Outputs that a later member overwrites are none. Y comes first, and is the last that is written.
 */
static void drop_lost_outputs(const struct kp_torch_launch *launches, size_t count,
			      struct kp_torch_sequence *sequence)
{
	uint8_t kept = 1;

	for (uint8_t i = 1; i < sequence->output_count; i++) {
		const struct kp_torch_tensor output = sequence->outputs[i];
		bool written = false, lost = false;

		for (size_t k = 0; k < count; k++) {
			lost = written && (lost || writes(&launches[k], &output));
			if (kp_torch_tensor_is_same(&launches[k].tensors[0], &output))
				written = true;
		}
		if (!lost)
			sequence->outputs[kept++] = output;
	}
	sequence->output_count = kept;
}

void kp_torch_flow_finish(const struct kp_torch_launch *launches, size_t count,
			  struct kp_torch_sequence *sequence)
{
	bool same;

	sequence->launches = (uint8_t)count;
	sequence->seen = KP_TORCH_SEEN_GPU;
	sequence->type = sequence->outputs[0].type;
	drop_lost_outputs(launches, count, sequence);
	for (size_t i = 0; i < count; i++) {
		const struct kp_torch_tensor *written = &launches[i].tensors[0];

		if (launches[i].seen < sequence->seen)
			sequence->seen = launches[i].seen;
		if (i + 1 == count || is_output(sequence, written))
			continue;
		sequence->intermediates[sequence->intermediate_count++] = *written;
		sequence->reuses |= lies_on_input(sequence, written, &same);
	}
	for (uint8_t i = 0; i < sequence->output_count; i++) {
		if (!lies_on_input(sequence, &sequence->outputs[i], &same))
			continue;
		sequence->in_place |= i == 0 && same;
		sequence->overwrites |= i > 0 || !same;
	}
}
