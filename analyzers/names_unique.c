/* Making short names different from one another; see kp_names_shorten_all in names.h. */
#include "analyzers/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct naming {
	const char *text;
	size_t index;
	unsigned detail; /* enum kp_name_detail */
};

static int compare_namings(const void *left, const void *right)
{
	const struct naming *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Where the run of equal names that begins at `first` ends. `names` are sorted. */
static size_t run_end(const struct naming *names, size_t count, size_t first)
{
	size_t end = first + 1;

	while (end < count && strcmp(names[end].text, names[first].text) == 0)
		end++;
	return end;
}

/* One step of detail for all that read alike; *changed says whether there were any. */
static enum kp_status refine(struct kp_arena *arena, const char *const *full, size_t count,
			     struct naming *names, bool *changed)
{
	*changed = false;
	qsort(names, count, sizeof(*names), compare_namings);
	for (size_t first = 0, end; first < count; first = end) {
		end = run_end(names, count, first);
		for (size_t i = first; i < end && end - first > 1; i++) {
			if (names[i].detail == KP_NAME_FULL)
				continue;
			names[i].detail++;
			names[i].text = kp_name_shorten(arena, full[names[i].index],
							(enum kp_name_detail)names[i].detail);
			if (!names[i].text)
				return KP_NO_MEMORY;
			*changed = true;
		}
	}
	return KP_OK;
}

static int compare_text(const void *key, const void *name)
{
	return strcmp(key, ((const struct naming *)name)->text);
}

/* Numbers the run [first, end) of the sorted names from #2 on, leaving out numbers in use. */
static enum kp_status number(struct kp_arena *arena, const struct naming *names, size_t count,
			     size_t first, size_t end, const char **out)
{
	size_t next = 2, length = strlen(names[first].text) + 24;

	for (size_t i = first + 1; i < end; i++) {
		char *text = kp_arena_alloc(arena, length);

		if (!text)
			return KP_NO_MEMORY;
		do
			snprintf(text, length, "%s#%zu", names[first].text, next++);
		while (bsearch(text, names, count, sizeof(*names), compare_text));
		out[names[i].index] = text;
	}
	return KP_OK;
}

enum kp_status kp_names_shorten_all(struct kp_arena *arena, const char *const *full, size_t count,
				    const char **out)
{
	struct naming *names = calloc(count ? count : 1, sizeof(*names));
	enum kp_status status = names ? KP_OK : KP_NO_MEMORY;
	bool changed = true;

	for (size_t i = 0; status == KP_OK && i < count; i++) {
		names[i].index = i;
		names[i].text = kp_name_shorten(arena, full[i], KP_NAME_BRIEF);
		if (!names[i].text)
			status = KP_NO_MEMORY;
	}
	while (status == KP_OK && changed)
		status = refine(arena, full, count, names, &changed);
	for (size_t first = 0, end; status == KP_OK && first < count; first = end) {
		end = run_end(names, count, first);
		out[names[first].index] = names[first].text;
		status = number(arena, names, count, first, end, out);
	}
	free(names);
	return status;
}
