/* Visits each loaded module once; see modules.h. */
#include "inject/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/loader.h"

struct visit {
	struct kp_modules_seen *seen;
	void (*visit)(const struct dl_phdr_info *info);
};

/* Remembers a module; false if it was known. A full table knows no more: such modules are new
 * every time. */
static bool remember(struct kp_modules_seen *seen, const ElfW(Phdr) * header)
{
	size_t at = ((uintptr_t)header >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & (KP_MODULES_SEEN - 1);

	while (seen->headers[at] && seen->headers[at] != header)
		at = (at + 1) & (KP_MODULES_SEEN - 1);
	if (seen->headers[at])
		return false;
	if (seen->count < KP_MODULES_SEEN / 2) {
		seen->headers[at] = header;
		seen->count++;
	}
	return true;
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct visit *visit = context;

	(void)size;
	if (remember(visit->seen, info->dlpi_phdr))
		visit->visit(info);
	return 0;
}

/* Under the loader's lock, as all else that touches `seen`: whether the visit is due. */
static int look_at_counts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct kp_modules_seen *seen = context;

	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return 1;
	if (seen->adds == info->dlpi_adds && seen->subs == info->dlpi_subs)
		return 2;
	if (seen->subs != info->dlpi_subs) {
		for (size_t i = 0; i < KP_MODULES_SEEN; i++)
			seen->headers[i] = NULL;
		seen->count = 0;
	}
	seen->adds = info->dlpi_adds;
	seen->subs = info->dlpi_subs;
	return 1;
}

void kp_modules_visit_new(struct kp_modules_seen *seen, void (*prepare)(void),
			  void (*visit)(const struct dl_phdr_info *info))
{
	struct visit each = {seen, visit};

	if (kp_loader_iterate(look_at_counts, seen) == 2)
		return;
	prepare();
	kp_loader_iterate(look, &each);
}
