/*
 * External correlation ids of the fake libcupti: a stack of each thread, of which each recorded
 * call notes the top. One stack for all kinds of ids, which is all that its clients need.
 */
#include "tests/fake_gpu/cupti/state.h"

#define DEPTH 64

static _Thread_local struct {
	CUpti_ExternalCorrelationKind kind;
	uint64_t id;
} stack[DEPTH];
static _Thread_local unsigned int depth;

bool kp_fake_external_top(uint32_t *kind, uint64_t *id)
{
	if (!depth)
		return false;
	*kind = (uint32_t)stack[depth - 1].kind;
	*id = stack[depth - 1].id;
	return true;
}

KP_FAKE_EXPORT CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
	    kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
		return kp_fake_cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
	if (depth == DEPTH)
		return kp_fake_cupti_result(CUPTI_ERROR_OUT_OF_MEMORY);
	stack[depth].kind = kind;
	stack[depth++].id = id;
	return CUPTI_SUCCESS;
}

KP_FAKE_EXPORT CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
								 uint64_t *last)
{
	if (!kp_fake_cupti_usable())
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!depth || stack[depth - 1].kind != kind)
		return kp_fake_cupti_result(CUPTI_ERROR_QUEUE_EMPTY);
	depth--;
	if (last)
		*last = stack[depth].id;
	return CUPTI_SUCCESS;
}
