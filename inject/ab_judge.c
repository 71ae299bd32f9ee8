/* What has come of comparisons, and what follows from it; see ab_state.h. With the mutex. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_extra.h"
#include "inject/ab_state.h"

#include <math.h>
#include <string.h>

#include "analyzers/ab_accuracy.h"

/* All blocks of one output together. */
struct whole {
	struct kp_compare_part sum;
	double noise_rms; /* of its second run against its first; NaN: there was none */
	struct kp_piece_errors truth;
	uint64_t outside; /* words of guards that were written */
	struct kp_compare_worst worst[KP_AB_WORST];
};

static double rms(double squares, uint64_t count)
{
	return count ? sqrt(squares / (double)count) : NAN;
}

static void insert_worst(struct whole *whole, struct kp_compare_worst worst)
{
	for (int i = 0; i < KP_AB_WORST; i++) {
		struct kp_compare_worst next = whole->worst[i];

		if (worst.difference <= next.difference)
			continue;
		whole->worst[i] = worst;
		worst = next;
	}
}

static void add_part(struct kp_compare_part *sum, const struct kp_compare_part *part)
{
	sum->difference2 += part->difference2;
	sum->original2 += part->original2;
	sum->candidate2 += part->candidate2;
	sum->product += part->product;
	sum->elements += part->elements;
	sum->finite += part->finite;
	sum->mismatches += part->mismatches;
	sum->mask_different += part->mask_different;
	sum->gaps += part->gaps;
	if (part->largest > sum->largest)
		sum->largest = part->largest;
	if (part->ulps > sum->ulps)
		sum->ulps = part->ulps;
}

static struct whole add_up(const struct kp_ab_output_result *result, uint32_t blocks, bool noise)
{
	struct kp_compare_part again = {0};
	struct whole whole = {.noise_rms = NAN, .outside = result->guard};

	for (uint32_t i = 0; i < blocks; i++) {
		add_part(&whole.sum, &result->parts[1][i]);
		add_part(&again, &result->noise[i]);
		insert_worst(&whole, result->parts[1][i].worst);
	}
	if (noise)
		whole.noise_rms = rms(again.difference2, again.finite);
	return whole;
}

static struct kp_ab_accuracy_verdict judge_output(const struct kp_ab_slot *slot,
						  const struct kp_ab_data *data,
						  const struct whole *whole, bool inputs_changed)
{
	const struct kp_compare_part *sum = &whole->sum;
	const struct kp_ab_figures figures = {
		.other_stream = slot->strayed,
		.inputs_changed = inputs_changed,
		.expected = data->matrix.rows * data->matrix.columns,
		.elements = sum->elements,
		.finite = sum->finite,
		.outside = whole->outside + sum->gaps,
		.mask_different = sum->mask_different,
		.mismatches = sum->mismatches,
		.rms = rms(sum->difference2, sum->finite),
		.rms_original = rms(sum->original2, sum->finite),
		.noise_rms = whole->noise_rms,
		.rms_tolerated = slot->job.rule->tolerance.rms,
		.truth_elements = whole->truth.elements,
		.truth_rms = rms(whole->truth.truth2, whole->truth.elements),
		.truth_rms_original = rms(whole->truth.original2, whole->truth.elements),
		.truth_rms_candidate = rms(whole->truth.candidate2, whole->truth.elements),
		.truth_unit = data->matrix.dtype == KP_DTYPE_BF16 ? 0x1p-9 : 0x1p-12,
	};

	return kp_ab_accuracy(&figures);
}

static uint32_t blocks_of(const struct kp_ab_data *data)
{
	return kp_compare_blocks(data->matrix.rows * data->matrix.columns);
}

static bool changes_inputs(const struct kp_ab_slot *slot)
{
	for (uint32_t i = 0; i < slot->job.data_count; i++)
		if (memcmp(slot->host->sums[0][i], slot->host->sums[1][i],
			   blocks_of(&slot->job.data[i]) * sizeof(slot->host->sums[0][i][0])) != 0)
			return true;
	return false;
}

/* NaN and infinity as texts: where a result is off, they are what matters. */
static struct kp_ab_number exact(double value)
{
	struct kp_ab_number out = {"\"nan\""};

	if (isinf(value))
		strcpy(out.text, value > 0 ? "\"inf\"" : "\"-inf\"");
	else if (!isnan(value))
		out = kp_ab_number(value);
	return out;
}

static void write_output(uint32_t i, const struct whole *whole, bool more)
{
	const struct kp_compare_part *sum = &whole->sum;
	double size = rms(sum->original2, sum->finite), off = rms(sum->difference2, sum->finite);
	double scale = sqrt(sum->original2) * sqrt(sum->candidate2);

	kp_ab_write("%s{\"data\":%u,\"elements\":%llu,\"mismatches\":%llu,\"mask_different\":%llu,"
		    "\"outside\":%llu,\"max_abs\":%s,\"max_ulps\":%llu,\"rms\":%s,"
		    "\"rms_original\":%s,\"cosine\":%s,\"noise_rms\":%s,",
		    more ? "," : "", i, (unsigned long long)sum->elements,
		    (unsigned long long)sum->mismatches, (unsigned long long)sum->mask_different,
		    (unsigned long long)whole->outside + sum->gaps, kp_ab_number(sum->largest).text,
		    (unsigned long long)sum->ulps, kp_ab_number(off).text, kp_ab_number(size).text,
		    kp_ab_number(scale > 0 ? sum->product / scale : NAN).text,
		    kp_ab_number(whole->noise_rms).text);
	kp_ab_write("\"truth\":{\"elements\":%llu,\"rms\":%s,\"rms_original\":%s,"
		    "\"rms_candidate\":%s},\"worst\":[",
		    (unsigned long long)whole->truth.elements,
		    kp_ab_number(rms(whole->truth.truth2, whole->truth.elements)).text,
		    kp_ab_number(rms(whole->truth.original2, whole->truth.elements)).text,
		    kp_ab_number(rms(whole->truth.candidate2, whole->truth.elements)).text);
	for (int j = 0; j < KP_AB_WORST && whole->worst[j].difference > 0; j++)
		kp_ab_write("%s[%llu,%llu,%s,%s]", j ? "," : "",
			    (unsigned long long)whole->worst[j].row,
			    (unsigned long long)whole->worst[j].column,
			    exact(whole->worst[j].original).text,
			    exact(whole->worst[j].candidate).text);
	kp_ab_write("]}");
}

/*
 * A rule that was wrong once is not asked again. That nothing was wrong where all outputs are of
 * zeros, or none is finite, tells nothing: zeros, or what lay there, would have been right, too.
 */
static void conclude(const struct kp_ab_slot *slot, enum kp_ab_fault fault, bool says_little)
{
	struct kp_ab_variant *variant = kp_ab_variant(slot->job.shape);

	if (fault != KP_AB_FAULT_NONE)
		atomic_fetch_or(&kp_ab.wrong, 1U << slot->job.number);
	else if (variant && !says_little && !slot->extra)
		atomic_fetch_add(&variant->passed, 1);
}

static void judge(const struct kp_ab_slot *slot)
{
	const struct kp_ab_job *job = &slot->job;
	bool inputs_changed = changes_inputs(slot), says_little = true, more = false;
	enum kp_ab_fault fault = KP_AB_FAULT_NONE;

	kp_ab_write("{\"shadow\":{\"rule\":%u,\"shape\":\"%016llx\",\"poison\":\"%08x\",",
		    job->number, (unsigned long long)job->shape, slot->poison);
	if (slot->extra)
		kp_ab_write("\"inputs\":\"%s\",", kp_ab_extra_names[slot->extra - 1]);
	kp_ab_write("\"outputs\":[");
	for (uint32_t i = 0; i < job->data_count; i++) {
		struct kp_ab_accuracy_verdict found;
		struct whole whole;

		if (job->data[i].role == KP_AB_INPUT)
			continue;
		whole = add_up(&slot->host->outputs[i], blocks_of(&job->data[i]), slot->noise);
		whole.truth = kp_ab_truth_of(slot, i);
		found = judge_output(slot, &job->data[i], &whole, inputs_changed);
		fault = fault == KP_AB_FAULT_NONE ? found.fault : fault;
		says_little &= found.says_little;
		write_output(job->data[i].number, &whole, more);
		more = true;
	}
	if (fault == KP_AB_FAULT_NONE)
		kp_ab_write("],\"fault\":null}}\n");
	else
		kp_ab_write("],\"fault\":\"%s\"}}\n", kp_ab_fault_key(fault));
	conclude(slot, fault, says_little);
}

static bool is_there(const struct kp_ab_slot *slot)
{
	return atomic_load(&slot->busy) && slot->host && *slot->told == slot->turn;
}

static void judge_slot(struct kp_ab_slot *slot)
{
	atomic_thread_fence(memory_order_acquire);
	judge(slot);
	atomic_store(&slot->busy, 0);
}

void kp_ab_judge_first(struct kp_ab_slot *slot, struct kp_ab_slot *before)
{
	slot->before = before;
	slot->before_turn = before ? before->turn : 0;
}

void kp_ab_judge(void)
{
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++) {
		struct kp_ab_context *context = kp_ab_context_at(i);

		for (size_t j = 0; context && j < KP_AB_SLOTS; j++) {
			struct kp_ab_slot *slot = &context->slots[j];

			if (!is_there(slot))
				continue;
			/* It came before on the same stream: it is there. */
			if (slot->before && slot->before->turn == slot->before_turn &&
			    is_there(slot->before))
				judge_slot(slot->before);
			judge_slot(slot);
		}
	}
}
