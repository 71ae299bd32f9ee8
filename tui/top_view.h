/* What «kprof top» knows at one moment, and where that comes from. */
#ifndef KP_TUI_TOP_VIEW_H
#define KP_TUI_TOP_VIEW_H

#include <stdio.h>

#include "trace/board.h"
#include "trace/status.h"

struct kp_operators;

#define KP_TOP_EXTENSION ".top" /* of files that hold what was seen */

/* A process that is watched, or was. */
struct kp_top_process {
	const struct kp_board_image *image; /* borrowed; NULL: it has published nothing */
	bool alive;
	uint32_t pid;
	char command[32];
	char trouble[160]; /* why there is no more of it; empty: nothing is wrong */
};

/* What a watcher knows at one moment. */
struct kp_top_view {
	const struct kp_top_process *processes;
	size_t process_count;
	uint32_t placeless;  /* processes for which there was no room */
	bool ended;          /* nothing will change any more */
	bool closing;        /* the watcher is asked to end */
	const char *subject; /* the command, or the process */
	const char *state;   /* a word or two on it */
	const char *trouble; /* NULL: nothing is wrong */
};

/* Where it comes from: the command's or the test's. */
struct kp_top_source {
	void *context;
	/* What there is now; NULL: nothing new. Borrowed until the next call. */
	const struct kp_top_view *(*refresh)(void *context);
	/* Waits for something new, that long at most. */
	void (*wait)(void *context, unsigned most_ms);
	/* Switches recording on or off, and says what came of it. */
	void (*record)(void *context, bool on, char *words, size_t size);
	/* Switches a rule of A/B in all processes that have it, and says what came of it; NULL: it
	 * cannot be. */
	void (*switch_rule)(void *context, const char *name, bool on, char *words, size_t size);
	/* Saves what was seen last to a file. */
	enum kp_status (*save)(void *context, FILE *file);
	const char *unit_range; /* NVTX range that makes a unit; NULL: what repeats does */
	double units;           /* that each makes */
	const struct kp_operators *operators;
};

#endif
