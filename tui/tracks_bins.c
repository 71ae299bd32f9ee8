/* Columns of tracks; see tracks.h. */
#include <stdlib.h>

#include "trace/vector.h"
#include "tui/tracks.h"

double kp_tracks_column_ns(const struct kp_tracks *tracks)
{
	return (double)(tracks->to_ns - tracks->from_ns) / (double)tracks->columns;
}

size_t kp_tracks_column(const struct kp_tracks *tracks, uint64_t at_ns)
{
	size_t column;

	if (at_ns <= tracks->from_ns)
		return 0;
	column = (size_t)((double)(at_ns - tracks->from_ns) / kp_tracks_column_ns(tracks));
	return column < tracks->columns ? column : tracks->columns - 1;
}

uint64_t kp_tracks_instant(const struct kp_tracks *tracks, size_t column)
{
	return tracks->from_ns + (uint64_t)((double)column * kp_tracks_column_ns(tracks));
}

size_t kp_track_values(const struct kp_track *track)
{
	return track->kind == KP_TRACK_GAPS ? KP_GAP_CAUSE_COUNT : track->kind == KP_TRACK_COUNTERS;
}

/* What of an interval lies in a column, ns; the interval is within the window. */
static float part_in(const struct kp_tracks *tracks, size_t column, uint64_t start_ns,
		     uint64_t end_ns)
{
	uint64_t begin = kp_tracks_instant(tracks, column);
	uint64_t behind = kp_tracks_instant(tracks, column + 1);

	if (begin < start_ns)
		begin = start_ns;
	if (behind > end_ns)
		behind = end_ns;
	return behind > begin ? (float)(behind - begin) : 0;
}

/* Cuts an interval to the window; false: it lies outside. */
static bool clip(const struct kp_tracks *tracks, uint64_t *start_ns, uint64_t *end_ns)
{
	if (*start_ns >= tracks->to_ns || *end_ns < tracks->from_ns)
		return false;
	if (*start_ns < tracks->from_ns)
		*start_ns = tracks->from_ns;
	if (*end_ns > tracks->to_ns)
		*end_ns = tracks->to_ns;
	return true;
}

/* Of many names in a column the one with most of it remains, where one has more than half. */
static void vote(struct kp_track_bin *bin, uint32_t name, float weight)
{
	if (bin->who == name) {
		bin->weight += weight;
	} else if (bin->weight >= weight) {
		bin->weight -= weight;
	} else {
		bin->who = name;
		bin->weight = weight - bin->weight;
	}
}

static void keep_block(struct kp_track *track, uint64_t start_ns, uint64_t end_ns, uint32_t name)
{
	if (track->crowded)
		return;
	if (track->block_count < KP_TRACK_BLOCKS &&
	    kp_vector_grow((void **)&track->blocks, track->block_count, &track->block_capacity,
			   sizeof *track->blocks)) {
		track->blocks[track->block_count++] =
			(struct kp_track_block){start_ns, end_ns, name};
		return;
	}
	track->crowded = true;
	free(track->blocks);
	track->blocks = NULL;
	track->block_count = track->block_capacity = 0;
}

void kp_track_cover(const struct kp_tracks *tracks, struct kp_track *track, uint64_t start_ns,
		    uint64_t end_ns, uint32_t name)
{
	uint64_t whole_start_ns = start_ns, whole_end_ns = end_ns;

	if (!clip(tracks, &start_ns, &end_ns))
		return;
	keep_block(track, whole_start_ns, whole_end_ns, name);
	size_t last = kp_tracks_column(tracks, end_ns);
	for (size_t i = kp_tracks_column(tracks, start_ns); i <= last; i++) {
		float part = part_in(tracks, i, start_ns, end_ns);
		track->bins[i].covered_ns += part;
		vote(&track->bins[i], name, part > 0 ? part : 1e-3F);
	}
}

void kp_track_gap(const struct kp_tracks *tracks, struct kp_track *track, const struct kp_gap *gap)
{
	uint64_t start_ns = gap->begin_ns, end_ns = gap->end_ns;
	float memory = 0;

	if (end_ns > start_ns)
		memory = (float)gap->memory_ns / (float)(end_ns - start_ns);
	if (!clip(tracks, &start_ns, &end_ns))
		return;
	size_t last = kp_tracks_column(tracks, end_ns);
	for (size_t i = kp_tracks_column(tracks, start_ns); i <= last; i++) {
		float part = part_in(tracks, i, start_ns, end_ns);
		float *causes = &track->values[i * KP_GAP_CAUSE_COUNT];
		track->bins[i].covered_ns += part;
		causes[KP_GAP_MEMORY] += part * memory;
		causes[gap->cause] += part * (1 - memory);
	}
}

void kp_track_sample(const struct kp_tracks *tracks, struct kp_track *track, uint64_t begin_ns,
		     uint64_t end_ns, double bytes)
{
	float rate;

	if (end_ns <= begin_ns)
		return;
	rate = (float)(bytes / (double)(end_ns - begin_ns));
	if (!clip(tracks, &begin_ns, &end_ns))
		return;
	size_t last = kp_tracks_column(tracks, end_ns);
	for (size_t i = kp_tracks_column(tracks, begin_ns); i <= last; i++) {
		float part = part_in(tracks, i, begin_ns, end_ns);
		track->bins[i].covered_ns += part;
		track->values[i] += part * rate;
		if (track->bins[i].covered_ns > 0 &&
		    track->values[i] / track->bins[i].covered_ns > track->most)
			track->most = track->values[i] / track->bins[i].covered_ns;
	}
}
