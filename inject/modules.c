/* Visits each loaded module once; see modules.h. */
#include "inject/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/loader.h"

/* One call. */
struct visit {
	struct kp_modules_seen *seen;
	void (*visit)(const struct dl_phdr_info *info);
	unsigned number; /* 0: it has not begun */
};

/* The place of a module: its own, or a free one. */
static size_t place_of(const struct kp_modules_seen *seen, const ElfW(Phdr) * header)
{
	size_t at = ((uintptr_t)header >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & (KP_MODULES_SEEN - 1);

	while (seen->headers[at] && seen->headers[at] != header)
		at = (at + 1) & (KP_MODULES_SEEN - 1);
	return at;
}

static bool is_full(const struct kp_modules_seen *seen)
{
	return seen->count >= KP_MODULES_SEEN / 2;
}

/*
 * Whether there is anything to do. What another thread has noted and not visited yet is: else its
 * loader might launch before it is.
 */
static bool begin(struct visit *visit, const struct dl_phdr_info *info, size_t size)
{
	struct kp_modules_seen *seen = visit->seen;

	visit->number = ++seen->calls;
	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		return true;
	if (seen->adds == info->dlpi_adds && seen->subs == info->dlpi_subs)
		return seen->waiting > 0;
	if (seen->subs != info->dlpi_subs) {
		for (size_t i = 0; i < KP_MODULES_SEEN; i++) {
			seen->headers[i] = NULL;
			seen->noted[i] = 0;
		}
		seen->count = seen->waiting = 0;
	}
	seen->adds = info->dlpi_adds;
	seen->subs = info->dlpi_subs;
	return true;
}

/* The loader's lock is held from the first module to the last, as for all that touches `seen`. */
static int note(struct dl_phdr_info *info, size_t size, void *context)
{
	struct visit *visit = context;
	struct kp_modules_seen *seen = visit->seen;
	size_t at;

	if (!visit->number && !begin(visit, info, size))
		return 1;
	at = place_of(seen, info->dlpi_phdr);
	if (!seen->headers[at] && !is_full(seen)) {
		seen->headers[at] = info->dlpi_phdr;
		seen->noted[at] = visit->number;
		seen->count++;
		seen->waiting++;
	}
	return 0;
}

/* A full table knows no more: modules that are not in it are new every time. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct visit *visit = context;
	struct kp_modules_seen *seen = visit->seen;
	size_t at = place_of(seen, info->dlpi_phdr);

	(void)size;
	if (info->dlpi_subs != seen->subs)
		return 1; /* an address may be another module's: the next call sees to it */
	if (!seen->headers[at]) {
		if (is_full(seen))
			visit->visit(info);
	} else if (seen->noted[at] && seen->noted[at] <= visit->number) {
		seen->noted[at] = 0;
		seen->waiting--;
		visit->visit(info);
	}
	return 0;
}

void kp_modules_visit_new(struct kp_modules_seen *seen, void (*prepare)(void),
			  void (*visit)(const struct dl_phdr_info *info))
{
	struct visit each = {.seen = seen, .visit = visit};

	if (kp_loader_iterate(note, &each) != 0)
		return;
	kp_loader_pass();
	prepare();
	kp_loader_iterate(look, &each);
}
