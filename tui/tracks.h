/*
 * What the timeline shows of a window of time: tracks of kernels, memory operations, NVTX ranges,
 * calls, counters and gaps, each in as many columns as the screen has.
 *
 * Filled batch by batch from a reader that was told of the window; memory depends on the columns
 * and the number of tracks, not on the launches. Where few enough fall into the window, a track
 * also has them one by one. Gaps have the causes of gap_causes.h, as far as the window tells them:
 * what calls say is not looked at. Not thread-safe.
 */
#ifndef KP_TUI_TRACKS_H
#define KP_TUI_TRACKS_H

#include "analyzers/activities.h"
#include "analyzers/gaps.h"
#include "trace/arena.h"
#include "trace/intern.h"
#include "trace/reader.h"

#define KP_TRACKS_MOST 128U
#define KP_TRACK_BLOCKS 1024U /* more of one track are not kept one by one */
#define KP_TRACK_RANGE_DEPTHS 3U

enum kp_track_kind { /* in the order in which those of a GPU or thread stand */
		     KP_TRACK_GAPS,
		     KP_TRACK_COUNTERS,
		     KP_TRACK_STREAM,
		     KP_TRACK_MEMORY,
		     KP_TRACK_RANGES,
		     KP_TRACK_CALLS
};

#define KP_TRACK_NOTHING UINT32_MAX

struct kp_track_bin {
	float covered_ns; /* of the column in which something was there */
	float weight;     /* of who, more than of all others */
	uint32_t who;     /* name of what has most of it */
};

struct kp_track_block {
	uint64_t start_ns, end_ns;
	uint32_t name;
};

struct kp_track {
	enum kp_track_kind kind;
	uint32_t gpu;                            /* of tracks of a GPU; of others UINT32_MAX */
	uint32_t process, number, domain, depth; /* number: stream, thread or session */
	char label[40];
	struct kp_track_bin *bins;
	float *values;                 /* of gaps: columns × causes, ns; of counters: bytes */
	float most;                    /* of counters: bytes a nanosecond */
	struct kp_track_block *blocks; /* NULL: too many */
	size_t block_count, block_capacity;
	bool crowded;
};

/* Whether two tracks, of different windows, show the same. */
bool kp_track_is(const struct kp_track *one, const struct kp_track *other);

/* A name in a track. */
struct kp_track_name {
	const char *text;
	struct kp_text mangled; /* of a kernel; else empty */
};

struct kp_track_gpu {
	uint32_t track;                   /* its gaps */
	struct kp_activities *activities; /* NULL: the window has nothing of it */
	struct kp_gaps gaps;
};

struct kp_tracks {
	uint64_t from_ns, to_ns;
	size_t columns;
	struct kp_track *tracks; /* sorted once filled: see order */
	size_t count, capacity;
	uint32_t *order;   /* of tracks, as they are shown */
	size_t left_out;   /* tracks that there is no memory for */
	uint64_t launches; /* in the window */
	bool stretched;    /* a guess from another window: launches are unknown */
	struct kp_intern track_keys;
	struct kp_track_gpu *gpus;
	size_t gpu_count, gpu_capacity;
	struct kp_track_slot **slots;       /* by process, then configuration */
	size_t process_count, waiting_most; /* the latter: of a GPU, see kp_limits_waiting */
	struct kp_arena *arena;
	/* Kept from window to window: names, so that those of copies stay good, and GPUs, so that
	 * their numbers do. */
	struct kp_track_name *names;
	size_t name_count, name_capacity;
	struct kp_intern name_keys, gpu_keys;
	struct kp_arena *name_arena;
};

/* Empties it for a window, to < from + 2^62; zeroed before the first. Errors: KP_NO_MEMORY. */
enum kp_status kp_tracks_begin(struct kp_tracks *tracks, const struct kp_reader *reader,
			       uint64_t from_ns, uint64_t to_ns, size_t columns);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_tracks_take(struct kp_tracks *tracks, const struct kp_event *event);
/* When all is read, and in between. Errors: KP_NO_MEMORY. */
enum kp_status kp_tracks_settle(struct kp_tracks *tracks, uint64_t watermark_ns);
void kp_tracks_fini(struct kp_tracks *tracks);

/*
 * tracks_view.c: what is shown of it, which takes no more; names are good as long as the
 * original's. NULL without memory.
 */
struct kp_tracks *kp_tracks_copy(const struct kp_tracks *tracks);
/* The same as it would look in another window: a guess, until that has been read. */
struct kp_tracks *kp_tracks_stretch(const struct kp_tracks *tracks, uint64_t from_ns,
				    uint64_t to_ns, size_t columns);
/* Of these two. NULL is allowed. */
void kp_tracks_free(struct kp_tracks *tracks);

/* tracks_names.c: the number of a name. Errors: KP_NO_MEMORY. */
enum kp_status kp_tracks_kernel(struct kp_tracks *tracks, struct kp_text mangled, uint32_t *name);
enum kp_status kp_tracks_word(struct kp_tracks *tracks, struct kp_text text, uint32_t *name);

/* tracks_bins.c: an interval in a track; a gap; a sample. */
void kp_track_cover(const struct kp_tracks *tracks, struct kp_track *track, uint64_t start_ns,
		    uint64_t end_ns, uint32_t name);
void kp_track_gap(const struct kp_tracks *tracks, struct kp_track *track, const struct kp_gap *gap);
void kp_track_sample(const struct kp_tracks *tracks, struct kp_track *track, uint64_t begin_ns,
		     uint64_t end_ns, double bytes);
/* The column of an instant in the window, the instant at which a column begins, its length. */
size_t kp_tracks_column(const struct kp_tracks *tracks, uint64_t at_ns);
uint64_t kp_tracks_instant(const struct kp_tracks *tracks, size_t column);
double kp_tracks_column_ns(const struct kp_tracks *tracks);
/* How many values a track has for each column. */
size_t kp_track_values(const struct kp_track *track);

#endif
