/* Copies of tracks, for the screen; see tracks.h. */
#include <stdlib.h>
#include <string.h>

#include "tui/tracks.h"

bool kp_track_is(const struct kp_track *one, const struct kp_track *other)
{
	return one->kind == other->kind && one->gpu == other->gpu &&
	       one->process == other->process && one->number == other->number &&
	       one->domain == other->domain && one->depth == other->depth;
}

static void *copy_of(const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (copy && size)
		memcpy(copy, bytes, size);
	return copy;
}

/* All but bins and values, which are empty. */
static bool copy_track(const struct kp_track *from, size_t columns, struct kp_track *out)
{
	size_t values = columns * kp_track_values(from);

	*out = *from;
	out->block_capacity = out->block_count;
	out->bins = calloc(columns, sizeof *out->bins);
	out->values = values ? calloc(values, sizeof *out->values) : NULL;
	out->blocks = NULL;
	if (from->blocks)
		out->blocks = copy_of(from->blocks, from->block_count * sizeof *from->blocks);
	return out->bins && (!values || out->values) && (!from->blocks || out->blocks);
}

/* A copy for a window, without what its columns hold. */
static struct kp_tracks *outline(const struct kp_tracks *tracks, uint64_t from_ns, uint64_t to_ns,
				 size_t columns)
{
	struct kp_tracks *copy = malloc(sizeof *copy);

	if (!copy)
		return NULL;
	*copy = (struct kp_tracks){
		.from_ns = from_ns,
		.to_ns = to_ns,
		.columns = columns,
		.left_out = tracks->left_out,
		.launches = tracks->launches,
		.tracks = calloc(tracks->count + 1, sizeof *copy->tracks),
		.order = copy_of(tracks->order, tracks->count * sizeof *tracks->order),
		.names = copy_of(tracks->names, tracks->name_count * sizeof *tracks->names),
		.name_count = tracks->name_count,
	};
	bool whole = copy->tracks && copy->order && copy->names;
	for (size_t i = 0; i < tracks->count && whole; i++) {
		whole = copy_track(&tracks->tracks[i], columns, &copy->tracks[i]);
		copy->count++;
	}
	if (whole)
		return copy;
	kp_tracks_free(copy);
	return NULL;
}

struct kp_tracks *kp_tracks_copy(const struct kp_tracks *tracks)
{
	struct kp_tracks *copy = outline(tracks, tracks->from_ns, tracks->to_ns, tracks->columns);

	for (size_t i = 0; copy && i < copy->count; i++) {
		const struct kp_track *from = &tracks->tracks[i];
		size_t values = tracks->columns * kp_track_values(from);
		memcpy(copy->tracks[i].bins, from->bins, tracks->columns * sizeof *from->bins);
		if (values)
			memcpy(copy->tracks[i].values, from->values, values * sizeof *from->values);
	}
	return copy;
}

/* Fills the columns of a track from those that were at the same time, by their middles. */
static void stretch(const struct kp_tracks *from, const struct kp_track *old,
		    const struct kp_tracks *to, struct kp_track *track)
{
	double width_ns = kp_tracks_column_ns(to);
	float scale = (float)(width_ns / kp_tracks_column_ns(from));
	size_t values = kp_track_values(old);

	for (size_t i = 0; i < to->columns; i++) {
		uint64_t at_ns = kp_tracks_instant(to, i) + (uint64_t)(width_ns / 2);
		if (at_ns < from->from_ns || at_ns >= from->to_ns)
			continue;
		size_t k = kp_tracks_column(from, at_ns);
		track->bins[i] = old->bins[k];
		track->bins[i].covered_ns *= scale;
		track->bins[i].weight *= scale;
		for (size_t v = 0; v < values; v++)
			track->values[i * values + v] = old->values[k * values + v] * scale;
	}
}

struct kp_tracks *kp_tracks_stretch(const struct kp_tracks *tracks, uint64_t from_ns,
				    uint64_t to_ns, size_t columns)
{
	struct kp_tracks *copy = outline(tracks, from_ns, to_ns > from_ns ? to_ns : from_ns + 1,
					 columns ? columns : 1);

	for (size_t i = 0; copy && i < copy->count; i++)
		stretch(tracks, &tracks->tracks[i], copy, &copy->tracks[i]);
	if (copy)
		copy->stretched = true;
	return copy;
}

void kp_tracks_free(struct kp_tracks *tracks)
{
	if (tracks)
		kp_tracks_fini(tracks);
	free(tracks);
}
