/*
 * The rows of the linear model: for each sample, how much of which launches' windows lies in it.
 * Private to attribution*.c.
 *
 * A walk goes through samples and launches side by side and keeps only what still runs. A position
 * of a walk can be kept, so that stretches of a long run can be visited again and again.
 */
#ifndef KP_ANALYZERS_ATTRIBUTION_ROWS_H
#define KP_ANALYZERS_ATTRIBUTION_ROWS_H

#include "analyzers/attribution.h"

/* The furthest that an edge of a window lies from a launch's own, nanoseconds. */
#define KP_WINDOW_MAX_NS 8000.0
/* More kernels than a GPU runs at once. */
#define KP_ROWS_RUNNING_MAX 256
/* Classes in one sample; what is beyond is lumped together with the rest. */
#define KP_ROW_ENTRIES_MAX 256

/* Launches at the end of a sample; there are never many. */
#define KP_ROW_ENDS_MAX 64
/* An edge of a sample so near to a window may lie in it: windows scatter by about that, H200. */
#define KP_EDGE_NEAR_NS 600.0

/* Pieces of a window that have rates of their own where a launch lasts longer than a sample. */
#define KP_PIECES 7

/* The window of a class's launches: from start + lag to end - lead. */
struct kp_window_edges {
	double lag_ns, lead_ns;
};

/* The launches of a class: durations. */
struct kp_class_times {
	double launches, mean_ns, least_ns;
	double beside; /* the part of its time that the class runs side by side with others */
	bool scaled;   /* what a launch counts has a part that grows with (duration − least) */
	/*
	 * Where the first pieces end, as parts of the window; the last ones mirror them, and one
	 * lies between. All may end at the middle. 0: what a launch counts flows evenly.
	 */
	double ends[KP_PIECES / 2];
};

/* One class, or the rest, in one sample. */
struct kp_row_entry {
	uint32_t class;       /* number among the classes that are kept; kept_count: the rest */
	double share;         /* windows' parts in the sample, added up; of the rest: nanoseconds */
	double scaled;        /* the same, each times (duration − least) ÷ (mean − least) */
	double d_lag, d_lead; /* derivatives of `share` */
	double d_lag_scaled, d_lead_scaled; /* and of `scaled` */
	/* If ends: parts of each piece in the sample, added up, and their derivatives. */
	double pieces[KP_PIECES], d_lag_pieces[KP_PIECES], d_lead_pieces[KP_PIECES];
};

/* A launch that counts when a sample ends, or close to that. */
struct kp_row_end {
	uint32_t class;
	double per_ns; /* of what a launch of the class counts, how much it counts a nanosecond */
};

struct kp_row {
	size_t sample;
	double length_ns;
	double width_ns; /* the same in the time of the launches, see struct kp_beside */
	struct kp_row_entry entries[KP_ROW_ENTRIES_MAX + 1];
	size_t count;
	struct kp_row_end ends[KP_ROW_ENDS_MAX];
	size_t end_count;
	double beside_ns; /* for how long launches that run at its end do so side by side */
	bool idle;        /* nothing ran in it or close to it */
	/*
	 * In the solution: 1, but next to nothing where a launch has the row for itself and its
	 * middle piece is in it, for that tells nothing of what shared samples count.
	 */
	double weight;
	bool alone; /* lies wholly inside the window of one launch, and nothing else is in it */
};

/* Where a walk stands: before a sample. */
struct kp_rows_position {
	size_t sample, next_launch;
	uint64_t *running; /* launches that began before, KP_ROWS_RUNNING_MAX of them at most */
	size_t running_count;
};

struct kp_rows {
	const struct kp_attribution_input *input;
	const uint32_t *length_ns;     /* of samples, as the clock has them */
	const float *beside_ns;        /* of samples, see struct kp_row; NULL: nowhere */
	const uint32_t *kept_of_class; /* class_count numbers */
	uint32_t kept_count;
	const struct kp_class_times *times;  /* of each kept class */
	const struct kp_window_edges *edges; /* of each kept class */
	struct kp_rows_position at;
	uint32_t *slot; /* of each kept class and the rest: entry + 1 in the row; 0: none */
	uint64_t displaced;
	struct kp_row row;
};

/* A walk from the first sample. Edges and the rest are borrowed. Errors: KP_NO_MEMORY. */
enum kp_status kp_rows_init(struct kp_rows *rows, const struct kp_attribution_input *input,
			    const uint32_t *length_ns, const uint32_t *kept_of_class,
			    uint32_t kept_count, const struct kp_class_times *times);
void kp_rows_fini(struct kp_rows *rows);
/* Goes to the first sample, or to a position (of the same input), with these edges. */
void kp_rows_begin(struct kp_rows *rows, const struct kp_window_edges *edges,
		   const struct kp_rows_position *from);
/* The next sample's row, borrowed until the next call; NULL after the last. */
const struct kp_row *kp_rows_next(struct kp_rows *rows);
/* Keeps where the walk stands. Errors: KP_NO_MEMORY. */
enum kp_status kp_rows_keep(const struct kp_rows *rows, struct kp_rows_position *out);

#endif
