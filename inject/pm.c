/* Binds CUPTI's PM sampling; see pm.h. */
#include "inject/pm.h"

#include <dlfcn.h>

#include "inject/hooks.h"

bool kp_pm_bind(struct kp_pm *pm, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (!library)
		return false;
#define BIND(name, parameters, last)                                                               \
	*(void **)&pm->name = kp_hooks_lookup(library, "cupti" #name);                             \
	if (!pm->name)                                                                             \
		return false;
	KP_PM_FUNCTIONS(BIND)
#undef BIND
	*(void **)&pm->GetResultString = kp_hooks_lookup(library, "cuptiGetResultString");
	return true;
}

const char *kp_pm_word(const struct kp_pm *pm, int result)
{
	const char *word = NULL;

	if (pm->GetResultString)
		pm->GetResultString(result, &word);
	return word ? word : "unknown CUPTI error";
}
