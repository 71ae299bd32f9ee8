/*
 * The collector: turns CUPTI's kernel, copy and set records on, and owns the worker thread that
 * translates and writes them.
 *
 * kp_collector_start runs once, inside the program's first cuInit; kp_collector_finish once, when
 * the program ends. Between them only the worker touches the writer.
 */
#ifndef KP_INJECT_COLLECTOR_H
#define KP_INJECT_COLLECTOR_H

#include <stdbool.h>

#include "inject/state.h"

/* False where nothing can be collected; the reason is in the live slot and, if open, the trace. */
bool kp_collector_start(struct kp_inject *inject);

/*
 * Flushes CUPTI, writes all that came, and the end record; waits for that at most
 * KP_FINISH_LIMIT_MS, so that the program always gets to end. Safe to call more than once and from
 * any thread, in a signal handler too; does nothing in a forked child.
 */
#define KP_FINISH_LIMIT_MS 5000
void kp_collector_finish(struct kp_inject *inject);

/*
 * Before the process becomes another program: the same, but the collector goes on, in case that
 * fails; then tell it by kp_collector_resume. Both are async-signal-safe. False: there is nothing
 * to resume.
 */
bool kp_collector_suspend(struct kp_inject *inject);
void kp_collector_resume(struct kp_inject *inject);

/* In a forked child: as if it had never been started. */
void kp_collector_forget(void);

#endif
