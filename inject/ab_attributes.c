/* Attributes of launches, and what they mean for a replacement; see ab.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab.h"
#include "inject/ab_sequence.h"

/* Attributes that a plain launch in the place of theirs does no harm to. */
static bool is_harmless(CUlaunchAttributeID id)
{
	switch (id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		return true;
	default:
		return false;
	}
}

bool kp_ab_may_replace(const CUlaunchConfig *config)
{
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (!config->attrs || !is_harmless(config->attrs[i].id))
			return false;
	return true;
}

bool kp_ab_launch_interrupts(CUresult *result)
{
	if (kp_ab_open == KP_AB_OPEN_LAUNCH && !kp_ab_inside)
		kp_ab_drop();
	if (!kp_ab_sequence_is_pending() || kp_ab_inside)
		return false;
	*result = kp_ab_sequence_interrupt(KP_AB_REASON_OTHER_LAUNCH);
	return *result != CUDA_SUCCESS;
}
