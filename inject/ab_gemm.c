/* Products of cuBLAS and cuBLASLt as rules see them; see ab.h. */
#define __CUDA_API_VERSION_INTERNAL
#include <math.h>
#include <string.h>

#include "inject/ab_match.h"
#include "inject/ab_sequence.h"
#include "inject/ab_state.h"
#include "inject/floats.h"
#include "trace/library_call.h"

/* A scalar in the host's memory; NaN where it is not known, so that no comparison holds. */
static int64_t scalar(const void *at)
{
	float value = NAN;

	if (at)
		memcpy(&value, at, sizeof(value));
	return kp_ab_bits((double)value);
}

static int64_t address(const void *at)
{
	return (int64_t)(uintptr_t)at;
}

static void fill(const struct kp_ab_product *product, int64_t *out)
{
	const struct kp_library_call *call = product->call;

	out[KP_AB_SYMBOL_M] = (int64_t)call->m;
	out[KP_AB_SYMBOL_N] = (int64_t)call->n;
	out[KP_AB_SYMBOL_K] = (int64_t)call->k;
	out[KP_AB_SYMBOL_BATCH] = (int64_t)call->batch;
	out[KP_AB_SYMBOL_A] = address(product->a);
	out[KP_AB_SYMBOL_B] = address(product->b);
	out[KP_AB_SYMBOL_C] = address(product->c);
	out[KP_AB_SYMBOL_D] = address(product->d);
	out[KP_AB_SYMBOL_BIAS] = address(product->bias);
	out[KP_AB_SYMBOL_ALPHA] = scalar(product->alpha);
	out[KP_AB_SYMBOL_BETA] = scalar(product->beta);
	out[KP_AB_SYMBOL_LDA] = (int64_t)call->lda;
	out[KP_AB_SYMBOL_LDB] = (int64_t)call->ldb;
	out[KP_AB_SYMBOL_LDC] = (int64_t)call->ldc;
	out[KP_AB_SYMBOL_LDD] = (int64_t)call->ldd;
	out[KP_AB_SYMBOL_A_TYPE] = (int64_t)call->a_type;
	out[KP_AB_SYMBOL_B_TYPE] = (int64_t)call->b_type;
	out[KP_AB_SYMBOL_C_TYPE] = (int64_t)call->c_type;
	out[KP_AB_SYMBOL_D_TYPE] = (int64_t)call->d_type;
	out[KP_AB_SYMBOL_COMPUTE] = (int64_t)call->compute_type;
	out[KP_AB_SYMBOL_TRANS_A] = (int64_t)call->transpose_a;
	out[KP_AB_SYMBOL_TRANS_B] = (int64_t)call->transpose_b;
	out[KP_AB_SYMBOL_EPILOGUE] = (int64_t)call->epilogue;
	out[KP_AB_SYMBOL_ROW_MAJOR] = (int64_t)call->row_major;
}

bool kp_ab_product_begins(const struct kp_ab_product *product)
{
	int64_t symbols[KP_AB_SYMBOL_COUNT] = {0};
	struct kp_floats floats;
	uint32_t rules;

	if (!kp_ab_is_on() || kp_ab_inside || kp_ab_open)
		return false; /* kprof's own, or within one that is looked at */
	if (kp_ab_sequence_is_pending())
		kp_ab_sequence_interrupt_silently(KP_AB_REASON_OTHER_LAUNCH);
	if (kp_ab_sequence_is_pending())
		return false; /* an error is to be told by the driver */
	rules = kp_ab_match_entry(product->call->entry);
	if (!rules)
		return false;
	kp_floats_hold(&floats);
	fill(product, symbols);
	kp_floats_let(&floats);
	return kp_ab_product_looked_at(rules, symbols, product->stream, product->host_scalars);
}
