/*
 * What the parts of the attribution share: private to attribution*.c.
 *
 * Classes are renumbered by the sum of their durations, largest first; those beyond CLASSES_MAX are
 * «the rest», which counts by time and of which nothing else is told.
 */
#ifndef KP_ANALYZERS_ATTRIBUTION_PARTS_H
#define KP_ANALYZERS_ATTRIBUTION_PARTS_H

#include "analyzers/attribution_noise.h"
#include "analyzers/attribution_rows.h"

#define KP_CLASSES_MAX 1000
/* Classes, from the first on, that have edges of their own. */
#define KP_EDGED_MAX 96
/* Classes that have a part in proportion to the duration. */
#define KP_SCALED_MAX 64
/* Classes whose launches count in pieces. */
#define KP_PIECED_MAX 64
#define KP_BLOCKS_MAX 50
/* Where the edges are found: so many stretches of so many samples, or all of them. */
#define KP_STRETCHES 24
#define KP_STRETCH_SAMPLES 2500

/* Ways in which launches that run side by side may slow each other down. */
#define KP_WAYS 4
struct kp_way {
	double slow; /* the loss of pace by each other launch, see below */
	bool relief; /* one that begins before another ends takes over soon after its begin */
};

/*
 * Launches that run side by side count more slowly than they would alone, all alike: with `slow` as
 * the loss by each other launch, 1 / (1 + slow · others). Time that passes at that pace is the same
 * for all that run, so that times of launches and samples are replaced by how much of it has passed
 * until then; what a launch counts is then even again.
 */
struct kp_beside {
	struct kp_attribution_launch *launches;
	uint64_t *begin_ns;
	uint32_t *width_ns; /* of samples, in the place of their lengths */
};

struct kp_stretch {
	struct kp_rows_position from;
	size_t count;
};

struct kp_attribution {
	struct kp_attribution_input input; /* lengths of samples as the clock has them */
	struct kp_attribution_input paced; /* the same, but for these lengths */
	struct kp_beside beside;           /* what both borrow, where launches slow each other */
	struct kp_attribution *ways[KP_WAYS - 1]; /* with another pace each */
	size_t way_count;                         /* these and this one */
	float *beside_ns; /* of samples, see struct kp_row; NULL: launches hardly do */
	uint32_t *kept_of_class;
	uint32_t kept;                /* classes that are kept */
	struct kp_class_times *times; /* of each kept class; the last is the rest */
	double length_ns;             /* the usual length of a sample */
	double length_max_ns;         /* longer samples say too little and are not solved for */
	uint8_t *idle;                /* a bit for each sample: nothing ran in it or near it */
	struct kp_rows rows;
	struct kp_stretch stretches[KP_STRETCHES];
	size_t stretch_count;
	size_t stride; /* one of so many samples is solved for: 1, but where that took too long */
};

/* What attribution_edges.c finds for one metric. */
struct kp_edges_found {
	struct kp_window_edges common;
	struct kp_window_edges *edges; /* of each kept class and the rest */
	/*
	 * moves[i * edged + c]: by how much x of class c moves when one edge of one class is off by
	 * as much as would explain the residual; 2 * edged rows.
	 */
	double *moves;
	size_t edged;
	struct kp_noise noise;
};

/* The idle rate in a metric's unit a nanosecond; 0 where the GPU was hardly ever idle. */
double kp_attribution_background(const struct kp_attribution *attribution, const float *values);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_edges_find(struct kp_attribution *attribution, const float *values,
			     double background, struct kp_edges_found *out);
void kp_edges_fini(struct kp_edges_found *found);
/*
 * attribution_usual.c: the median edges of those of the first `edged` classes that have their own
 * (group_of is not negative) and launches shorter than a sample, since what longer ones count
 * changes within their window and moves their edges, too. False: they are too few to say.
 */
bool kp_edges_usual(const struct kp_class_times *times, const struct kp_window_edges *edges,
		    const int *group_of, size_t edged, struct kp_window_edges *out);

/*
 * attribution_pieces.c, of a class with pieces in the columns `class`, `more`, `more` + 1 and so
 * on. Ties their rates together in normal equations of n columns (the lower triangle), a little;
 * and how much rates change from piece to piece, in the unit of what a launch counts.
 */
void kp_pieces_tie(const struct kp_class_times *times, size_t class, size_t more, double *matrix,
		   size_t n);
double kp_pieces_unlike(const struct kp_class_times *times, size_t class, size_t more,
			const double *x);

/* Whether launches run side by side for a part of the time that matters. */
bool kp_beside_matters(const struct kp_attribution_input *input);
/* Fills `beside` of the classes that are kept, from the times of the clock. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_beside_parts(struct kp_attribution *attribution,
			       const struct kp_attribution_input *input);
/* For each sample, how long launches that run at its end run side by side. NULL: no memory. */
float *kp_beside_at_ends(const struct kp_attribution_input *input);
/* To be released in any case. Errors: KP_NO_MEMORY. */
enum kp_status kp_beside_init(struct kp_beside *beside, const struct kp_attribution_input *input,
			      const struct kp_way *way);
void kp_beside_fini(struct kp_beside *beside);

/* attribution_classes.c: fills all but `rows` and the stretches. Errors: KP_NO_MEMORY. */
enum kp_status kp_attribution_classify(struct kp_attribution *attribution);

#endif
