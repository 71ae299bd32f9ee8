/*
 * Reads the trace for views that look into it, in a thread of its own: a window of the timeline, or
 * the history of a kernel.
 *
 * The newest wish counts; an older one that is being read is given up. What has been read so far is
 * handed over as copies, now and then and once all is read, so that the thread that has the
 * terminal waits for nobody: it is idle between keys, and gets the processor at once when one
 * comes, however loaded the machine is.
 */
#ifndef KP_TUI_SCANNER_H
#define KP_TUI_SCANNER_H

#include "tui/history.h"
#include "tui/tracks.h"

struct kp_scanner;

enum kp_scan_kind { KP_SCAN_NOTHING, KP_SCAN_TRACKS, KP_SCAN_HISTORY };

/* A wish. */
struct kp_scan {
	enum kp_scan_kind kind;
	uint64_t from_ns, to_ns; /* of tracks, */
	size_t columns;
	const char *mangled;     /* of a history: whose, borrowed during the call; */
	uint64_t min_ns, max_ns; /* its shortest and longest launch */
};

/* What there is of it. */
struct kp_scanned {
	struct kp_tracks
		*tracks; /* the caller's, to be given to kp_tracks_free; NULL: nothing new */
	struct kp_history *history; /* the same, to be freed */
	bool ended;                 /* that is all */
	enum kp_status status;      /* why there is no more; KP_CHANGED: the files are others now */
	uint64_t damaged_chunks;    /* with `ended`: found on the way, and in opening */
};

/* Of files that have been opened as a trace before; borrowed, with the reader of then. Errors:
 * KP_NO_MEMORY, KP_IO. */
enum kp_status kp_scanner_create(const char *const *paths, size_t count,
				 const struct kp_reader *opened, struct kp_scanner **out);
/* Ends the thread. NULL is allowed. What was taken before shows names of it: free it first. */
void kp_scanner_destroy(struct kp_scanner *scanner);
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_scanner_want(struct kp_scanner *scanner, const struct kp_scan *scan);
/* Waits until what is wanted is read. */
void kp_scanner_wait(struct kp_scanner *scanner);
/* What is new of the newest wish. */
struct kp_scanned kp_scanner_take(struct kp_scanner *scanner);

#endif
