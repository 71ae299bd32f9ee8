/*
 * Ceilings that were measured before: a small YAML file a user, an entry a GPU and driver.
 *
 * $XDG_CACHE_HOME/kprof/ceilings.yaml, else $HOME/.cache/kprof/ceilings.yaml; its form is described
 * in docs/ceilings.md. What kprof bench ceilings writes with -o has the same form. A file of
 * another version, or a broken one, counts as empty; an entry that is not sound is left out, and so
 * is each number that none could have measured. Written to a new file beside it, then moved over
 * it.
 */
#ifndef KP_PROFILER_CEILINGS_CACHE_H
#define KP_PROFILER_CEILINGS_CACHE_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzers/ceilings.h"
#include "profiler/format.h"
#include "trace/status.h"

#define KP_CEILINGS_HOW_BYTES 64

/* What was measured on one GPU with one driver. Texts are NUL-terminated, and empty if unknown. */
struct kp_ceilings_entry {
	char name[256], uuid[64], driver[64];
	uint64_t sm_count;
	char measured_at[32]; /* UTC, as in 2026-11-29T12:00:00Z */
	struct kp_ceilings ceilings;
	char how[KP_CEILING_COUNT][KP_CEILINGS_HOW_BYTES]; /* by which kernel */
	uint32_t sm_mhz[KP_CEILING_COUNT];                 /* meanwhile; 0: unknown */
};

/* Entries, the newest last. Zeroed: none. */
struct kp_ceilings_cache {
	struct kp_ceilings_entry *entries;
	size_t count;
};
void kp_ceilings_cache_fini(struct kp_ceilings_cache *cache);

/* Reads YAML text. Errors: KP_INVALID (not such a document), KP_NEWER, KP_NO_MEMORY. */
enum kp_status kp_ceilings_parse(const char *text, size_t length, struct kp_ceilings_cache *out);
/* Reads a file (NULL: the user's cache). Errors: KP_IO (errno), those of kp_ceilings_parse. */
enum kp_status kp_ceilings_load(const char *path, struct kp_ceilings_cache *out);
/*
 * Puts an entry into the user's cache, in the place of an older one of the same GPU and driver.
 * Errors: KP_IO (errno), KP_NOT_FOUND (there is no place for caches), KP_NEWER (a newer kprof keeps
 * it), KP_NO_MEMORY.
 */
enum kp_status kp_ceilings_store(const struct kp_ceilings_entry *entry);
/* Where the user's cache is; false where there is no place for it. */
bool kp_ceilings_path(char *out, size_t size);

/* Writes entries as a document, as YAML or JSON. Errors: KP_NO_MEMORY. */
enum kp_status kp_document_ceilings(FILE *file, const struct kp_ceilings_entry *entries,
				    size_t count, enum kp_format format);

/*
 * The newest entry of that GPU (by UUID) and driver, else of one of the same model (name and number
 * of multiprocessors) and driver; NULL if there is none. MIG slices have no model. A driver that is
 * not known (NULL) is only like another that was not.
 */
const struct kp_ceilings_entry *kp_ceilings_cache_find(const struct kp_ceilings_cache *cache,
						       const struct kp_device_info *device,
						       const struct kp_text *driver_name);

/*
 * How an analysis finds ceilings: those of the cache that `context` points to, then those that are
 * known without measuring.
 */
void kp_ceilings_cache_answer(void *context, const struct kp_device_info *device,
			      const struct kp_text *driver_name, struct kp_ceilings *out);

#endif
