/*
 * CUPTI's PM sampling, bound at run time from the libcupti that the collector uses.
 *
 * kp_pm_<Name> are CUPTI's functions with their parameters' size filled in.
 */
#ifndef KP_INJECT_PM_H
#define KP_INJECT_PM_H

#include <stdbool.h>

#include "inject/pm_api.h"

/* CUptiResult: a few that are told apart; 0 is success. */
enum {
	KP_PM_OUT_OF_MEMORY = 8, /* of DecodeData: the hardware's buffer has overflown */
	KP_PM_HARDWARE_BUSY = 26,
	KP_PM_ON_VIRTUAL = 33,
	KP_PM_NO_PRIVILEGES = 35,
	KP_PM_NO_VGPU_PRIVILEGES = 40,
	KP_PM_ON_CONFIDENTIAL = 41,
	KP_PM_ON_MINING = 42,
	KP_PM_ON_MIG = 43,
	KP_PM_ON_SLI = 44,
	KP_PM_ON_WSL = 45
};

/* API version of CUDA 12.6, with which it came. */
#define KP_PM_OLDEST 24

struct kp_pm {
#define KP_PM_MEMBER(name, parameters, last) int (*name)(struct parameters *);
	KP_PM_FUNCTIONS(KP_PM_MEMBER)
#undef KP_PM_MEMBER
	int (*GetResultString)(int result, const char **text);
};

/* Binds the functions of a libcupti that is loaded. False where it is older than CUDA 12.6. */
bool kp_pm_bind(struct kp_pm *pm, const char *path);
/* CUPTI's own word for a result. Never NULL. */
const char *kp_pm_word(const struct kp_pm *pm, int result);

#define KP_PM_CALL(name, parameters, last)                                                         \
	static inline int kp_pm_##name(const struct kp_pm *pm, struct parameters *p)               \
	{                                                                                          \
		p->size = KP_PM_SIZE(parameters, last);                                            \
		return pm->name(p);                                                                \
	}
KP_PM_FUNCTIONS(KP_PM_CALL)
#undef KP_PM_CALL

#endif
