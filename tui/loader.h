/*
 * Loads a trace's report in a thread of its own, coarse first.
 *
 * A long trace is ranked from a hundredth of it, then from a tenth, then from all: each a report
 * that stands by itself and says what it is of. Those of parts hold shares of kernel time and
 * durations, but nothing that needs launches in a row: no busy time, no gaps, no iterations. The
 * thread alone uses the reader while it loads; reports borrow only what does not change.
 */
#ifndef KP_TUI_LOADER_H
#define KP_TUI_LOADER_H

#include "analyzers/diff.h"
#include "analyzers/report.h"

struct kp_loader;

/* What a report is of. */
struct kp_loaded_part {
	double pct;    /* of the trace's batches */
	bool complete; /* of all: the last one */
};

/* How far it is. */
struct kp_loading {
	size_t done, of; /* batches read of those for the report that comes next */
	bool ended;
};

/* What is loaded; all borrowed. */
struct kp_loader_source {
	struct kp_reader *reader;
	const char *path;
	struct kp_reader *base; /* to compare with; NULL: nothing */
	const char *base_path;
	struct kp_report_options options;
};

/* Errors: KP_NO_MEMORY, KP_IO (no thread). */
enum kp_status kp_loader_create(const struct kp_loader_source *source, struct kp_loader **out);
/* Ends the thread first, whatever it does. NULL is allowed. */
void kp_loader_destroy(struct kp_loader *loader);
/*
 * The newest report that has not been taken; NULL: there is none. It is the caller's, to be
 * destroyed before the reader is closed. *status: why there is none and will be none.
 */
struct kp_report *kp_loader_take(struct kp_loader *loader, struct kp_loaded_part *part,
				 enum kp_status *status);
/* The comparison, once it stands; NULL before. It lives as long as the loader. */
const struct kp_diff *kp_loader_diff(struct kp_loader *loader);
struct kp_loading kp_loader_progress(struct kp_loader *loader);
/* Waits until it has ended. */
void kp_loader_wait(struct kp_loader *loader);

#endif
