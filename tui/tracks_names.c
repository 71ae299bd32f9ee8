/* Names in tracks; see tracks.h. */
#include <string.h>

#include "analyzers/demangle.h"
#include "analyzers/names.h"
#include "trace/vector.h"
#include "tui/tracks.h"

/* The number of a text that is known; else a new one, without its words. */
static enum kp_status number(struct kp_tracks *tracks, char kind, struct kp_text text,
			     uint32_t *name, bool *added)
{
	char key[512] = {kind};
	size_t length = text.length < sizeof key - 1 ? text.length : sizeof key - 1;
	enum kp_status status;

	/* Names that are alike for so long may be taken for each other on a screen. */
	memcpy(key + 1, text.bytes, length);
	status = kp_intern_put(&tracks->name_keys, key, length + 1, name, added);
	if (status != KP_OK || !*added)
		return status;
	if (!kp_vector_reserve((void **)&tracks->names, (size_t)*name + 1, &tracks->name_capacity,
			       sizeof *tracks->names))
		return KP_NO_MEMORY;
	tracks->name_count = (size_t)*name + 1;
	tracks->names[*name] = (struct kp_track_name){.text = ""};
	return KP_OK;
}

enum kp_status kp_tracks_kernel(struct kp_tracks *tracks, struct kp_text mangled, uint32_t *name)
{
	bool added;
	enum kp_status status = number(tracks, 'k', mangled, name, &added);

	if (status != KP_OK || !added)
		return status;
	const char *full = kp_demangle(tracks->name_arena, mangled);
	const char *brief = full ? kp_name_shorten(tracks->name_arena, full, KP_NAME_BRIEF) : NULL;
	if (!brief)
		return KP_NO_MEMORY;
	tracks->names[*name] = (struct kp_track_name){brief, mangled};
	return KP_OK;
}

enum kp_status kp_tracks_word(struct kp_tracks *tracks, struct kp_text text, uint32_t *name)
{
	bool added;
	enum kp_status status = number(tracks, 'w', text, name, &added);

	if (status != KP_OK || !added)
		return status;
	const char *copy = kp_demangle_escape(tracks->name_arena, text);
	if (!copy)
		return KP_NO_MEMORY;
	tracks->names[*name].text = copy;
	return KP_OK;
}
