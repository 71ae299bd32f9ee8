/* The cache as a file; see ceilings_cache.h. */
#include "profiler/ceilings_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/emit.h"

#define FILE_BYTES_MOST (1U << 20)
#define NAME "ceilings.yaml"

/* The folder for caches of this user: an absolute path, or nothing. */
static bool cache_folder(char *out, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int length = -1;

	if (cache && cache[0] == '/')
		length = snprintf(out, size, "%s/kprof", cache);
	else if (home && home[0] == '/')
		length = snprintf(out, size, "%s/.cache/kprof", home);
	return length > 0 && (size_t)length < size;
}

bool kp_ceilings_path(char *out, size_t size)
{
	size_t length;

	if (!cache_folder(out, size))
		return false;
	length = strlen(out);
	return (size_t)snprintf(out + length, size - length, "/" NAME) < size - length;
}

static enum kp_status read_file(int fd, char **text, size_t *length)
{
	struct stat about;
	ssize_t count;

	if (fstat(fd, &about) != 0)
		return KP_IO;
	if (!S_ISREG(about.st_mode) || about.st_size > FILE_BYTES_MOST)
		return KP_INVALID;
	*text = malloc(FILE_BYTES_MOST);
	if (!*text)
		return KP_NO_MEMORY;
	*length = 0;
	while (*length < FILE_BYTES_MOST &&
	       (count = read(fd, *text + *length, FILE_BYTES_MOST - *length)) != 0) {
		if (count < 0 && errno != EINTR)
			return KP_IO;
		*length += count > 0 ? (size_t)count : 0;
	}
	return KP_OK;
}

enum kp_status kp_ceilings_load(const char *path, struct kp_ceilings_cache *out)
{
	char own[PATH_MAX], *text = NULL;
	enum kp_status status;
	size_t length = 0;

	*out = (struct kp_ceilings_cache){0};
	if (!path) {
		errno = ENOENT;
		if (!kp_ceilings_path(own, sizeof(own)))
			return KP_IO;
		path = own;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return KP_IO;
	status = read_file(fd, &text, &length);
	int error = errno;
	close(fd);
	if (status == KP_OK)
		status = kp_ceilings_parse(text, length, out);
	free(text);
	errno = error;
	return status;
}

/* Makes all folders of a path that are missing, for this user alone. */
static bool make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
		*slash = '/';
		if (!made)
			return false;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Writes a new file beside the cache and moves it there. */
static enum kp_status replace(const char *folder, const struct kp_ceilings_cache *cache)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	enum kp_status status = KP_IO;

	if (snprintf(path, sizeof path, "%s/" NAME, folder) >= (int)sizeof path ||
	    snprintf(fresh, sizeof fresh, "%s/.ceilings.XXXXXX", folder) >= (int)sizeof fresh)
		return KP_NOT_FOUND;
	int fd = mkostemp(fresh, O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return KP_IO;
	}
	status = kp_document_ceilings(file, cache->entries, cache->count, KP_FORMAT_YAML);
	bool bad = ferror(file) != 0;
	bad |= fclose(file) != 0;
	if (status == KP_OK && (bad || rename(fresh, path) != 0))
		status = KP_IO;
	if (status != KP_OK) {
		int error = errno;
		unlink(fresh);
		errno = error;
	}
	return status;
}

static bool is_same(const struct kp_ceilings_entry *a, const struct kp_ceilings_entry *b)
{
	return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->driver, b->driver) == 0;
}

enum kp_status kp_ceilings_store(const struct kp_ceilings_entry *entry)
{
	struct kp_ceilings_cache cache, all = {0};
	char folder[PATH_MAX];
	enum kp_status status;

	if (!cache_folder(folder, sizeof(folder)))
		return KP_NOT_FOUND;
	if (!make_folders(folder))
		return KP_IO;
	/* What cannot be read is empty, and is replaced; but not what a newer kprof keeps. */
	if (kp_ceilings_load(NULL, &cache) == KP_NEWER)
		return KP_NEWER;
	all.entries = calloc(cache.count + 1, sizeof(*all.entries));
	if (!all.entries) {
		kp_ceilings_cache_fini(&cache);
		return KP_NO_MEMORY;
	}
	for (size_t i = 0; i < cache.count; i++)
		if (!is_same(&cache.entries[i], entry))
			all.entries[all.count++] = cache.entries[i];
	all.entries[all.count++] = *entry;
	status = replace(folder, &all);
	kp_ceilings_cache_fini(&cache);
	kp_ceilings_cache_fini(&all);
	return status;
}

/* ---- the document ---- */

static void emit_ceiling(struct kp_emit *emit, const struct kp_ceilings_entry *entry,
			 enum kp_ceiling_kind kind)
{
	const struct kp_ceiling *ceiling = &entry->ceilings.of[kind];

	if (ceiling->source != KP_CEILING_MEASURED)
		return;
	kp_emit_map_begin(emit, kp_ceiling_key(kind));
	kp_emit_number(emit, "value", ceiling->value, 3);
	kp_emit_number(emit, "low", ceiling->low, 3);
	kp_emit_number(emit, "high", ceiling->high, 3);
	kp_emit_string(emit, "how", entry->how[kind]);
	if (entry->sm_mhz[kind])
		kp_emit_count(emit, "sm_mhz", entry->sm_mhz[kind]);
	else
		kp_emit_null(emit, "sm_mhz");
	kp_emit_map_end(emit);
}

static void emit_entry(struct kp_emit *emit, const struct kp_ceilings_entry *entry)
{
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "name", entry->name);
	kp_emit_string(emit, "uuid", entry->uuid);
	kp_emit_string(emit, "driver", entry->driver);
	kp_emit_count(emit, "sm_count", entry->sm_count);
	kp_emit_string(emit, "measured_at", entry->measured_at);
	kp_emit_map_begin(emit, "ceilings");
	for (int kind = 0; kind < KP_CEILING_COUNT; kind++)
		emit_ceiling(emit, entry, (enum kp_ceiling_kind)kind);
	kp_emit_map_end(emit);
	kp_emit_map_end(emit);
}

enum kp_status kp_document_ceilings(FILE *file, const struct kp_ceilings_entry *entries,
				    size_t count, enum kp_format format)
{
	struct kp_emit *emit;
	enum kp_status status = format == KP_FORMAT_JSON ? kp_emit_json_create(file, &emit)
							 : kp_emit_yaml_create(file, &emit);

	if (status != KP_OK)
		return status;
	kp_emit_map_begin(emit, NULL);
	kp_emit_string(emit, "schema", "kprof.ceilings/v1");
	kp_emit_string(emit, "kprof_version", KPROF_VERSION);
	kp_emit_list_begin(emit, "gpus");
	for (size_t i = 0; i < count; i++)
		emit_entry(emit, &entries[i]);
	kp_emit_list_end(emit);
	kp_emit_map_end(emit);
	return kp_emit_finish(emit);
}
