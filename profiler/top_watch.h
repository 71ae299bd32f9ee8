/*
 * What «kprof top» watches: a room in memory that processes publish their sums in (trace/board.h),
 * and what they are now. Not thread-safe.
 */
#ifndef KP_PROFILER_TOP_WATCH_H
#define KP_PROFILER_TOP_WATCH_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/board.h"
#include "tui/top_view.h"

struct kp_top_watch {
	struct kp_room *room; /* NULL: a file is looked at */
	int fd;
	char path[64]; /* by which programs that are started find it */
	struct kp_board_image *images[KP_ROOM_BOARDS];
	uint64_t sequences[KP_ROOM_BOARDS]; /* as they were read last */
	uint64_t asked_ns[KP_ROOM_BOARDS];  /* when a board was last asked for anew */
	struct kp_top_process processes[KP_ROOM_BOARDS];
	size_t count; /* boards that were taken */
	uint64_t refreshed_ns;
	bool over; /* the program has ended: what there is will stay */
	struct kp_top_process shown[KP_ROOM_BOARDS]; /* without those that were replaced */
	struct kp_top_view view;
	char words[96]; /* of the view */
};

/* Makes the room; false with errno set. */
bool kp_top_watch_open(struct kp_top_watch *watch);
/* Looks at a file that was saved instead. Errors: those of kp_board_file_read, KP_IO (errno). */
enum kp_status kp_top_watch_load(struct kp_top_watch *watch, const char *path);
/* Says that nobody watches any more. */
void kp_top_watch_close(struct kp_top_watch *watch);
void kp_top_watch_fini(struct kp_top_watch *watch);
/* Reads what is new, at most ten times a second; true: there is something. */
bool kp_top_watch_refresh(struct kp_top_watch *watch);
/* Switches recording on or off in all processes, and says what came of it. True: a process may
 * record now; also one that has not answered in time, or has ended since. */
bool kp_top_watch_record(struct kp_top_watch *watch, bool on, char *words, size_t size);
/* Switches a rule of A/B in all processes that have it, and says what came of it. */
void kp_top_watch_switch(struct kp_top_watch *watch, const char *rule, bool on, char *words,
			 size_t size);
enum kp_status kp_top_watch_save(const struct kp_top_watch *watch, FILE *file);

#endif
