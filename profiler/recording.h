/*
 * The files of one recording: the trace that collectors append to, and beside it the mapping in
 * which they count (trace/live.h). The trace stays; the mapping's file goes with
 * kp_recording_close. A trace that was there before goes only when another has taken its place.
 */
#ifndef KP_PROFILER_RECORDING_H
#define KP_PROFILER_RECORDING_H

#include <limits.h>
#include <stdbool.h>

#include "trace/live.h"

/* Room for a path beside the trace's. */
#define KP_RECORDING_PATH_BYTES (PATH_MAX + 48)

struct kp_recording {
	char trace[PATH_MAX];                    /* absolute */
	char live_path[KP_RECORDING_PATH_BYTES]; /* absolute */
	char earlier[KP_RECORDING_PATH_BYTES]; /* where the trace that was there waits; empty: none
						  was */
	unsigned tag;                          /* in the names of files beside the trace */
	int fd;                                /* of the trace, O_APPEND */
	int spare_fd;                          /* room on its disk; -1: none */
	struct kp_live *live;
};

/*
 * Makes both files. The trace is `output`, or a new file in the current directory named after
 * `command` where that is NULL. Says what is wrong and returns false; then nothing is left behind.
 */
bool kp_recording_open(struct kp_recording *recording, const char *output, const char *command);
/*
 * Gives back the room that was kept on the disk from the start: where the program has filled it,
 * what is missing from the trace can still be said.
 */
void kp_recording_spend_spare(struct kp_recording *recording);
/* Removes the mapping's file; unless `keep`, the trace as well, and an earlier one comes back. */
void kp_recording_close(struct kp_recording *recording, bool keep);

#endif
