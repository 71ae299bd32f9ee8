/* What a command is, before it is started; see target.h. Threading: no shared state. */
#include "profiler/target.h"

#include <errno.h>
#include <string.h>

void kp_target_inspect(const char *name, const char *search, struct kp_target *out)
{
	memset(out, 0, sizeof *out);
	if (!kp_program_resolve(name, search, out->path, &out->error)) {
		bool missing = out->error == ENOENT || out->error == ENOTDIR;

		out->state = missing ? KP_TARGET_NOT_FOUND : KP_TARGET_NOT_EXECUTABLE;
		return;
	}
	out->error = 0;
	kp_program_inspect(out->path, &out->program);
}

const char *kp_target_explain(const struct kp_target *target)
{
	if (target->state == KP_TARGET_NOT_FOUND)
		return strchr(target->path, '/') ? "no such file" : "command not found";
	if (target->state == KP_TARGET_FOUND)
		return kp_program_reason(target->program.kind);
	if (target->error == EISDIR)
		return "is a directory, not a program";
	if (target->error == EACCES)
		return "is not executable, or you may not execute it";
	return strerror(target->error);
}
