/*
 * NVTX ranges on the calling thread, in the default domain, when wanted. Header only: without a
 * tool that listens they cost a branch.
 */
#ifndef LLM_DECODE_RANGES_H
#define LLM_DECODE_RANGES_H

#include <nvtx3/nvToolsExt.h>
#include <stdbool.h>

static inline void ranges_push(bool wanted, const char *name)
{
	if (wanted)
		nvtxRangePushA(name);
}

static inline void ranges_pop(bool wanted)
{
	if (wanted)
		nvtxRangePop();
}

#endif
