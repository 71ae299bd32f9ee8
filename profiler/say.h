/*
 * kprof's own words: one line each, on stderr, begun with «kprof: ».
 *
 * A line goes out in one write, so that it does not mix with what the program under kprof prints.
 * Control bytes in it are made visible. Trouble with stderr itself is ignored.
 */
#ifndef KP_PROFILER_SAY_H
#define KP_PROFILER_SAY_H

/* Exit statuses of kprof itself, as env(1) has them. */
enum {
	KP_EXIT_FAILURE = 125,        /* kprof failed, or was called wrongly */
	KP_EXIT_NOT_EXECUTABLE = 126, /* CMD was found, but cannot be run */
	KP_EXIT_NOT_FOUND = 127       /* CMD was not found */
};

__attribute__((format(printf, 1, 2))) void kp_say(const char *format, ...);
/* Says it and returns KP_EXIT_FAILURE. */
__attribute__((format(printf, 1, 2))) int kp_fail(const char *format, ...);

#endif
