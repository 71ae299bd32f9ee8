/*
 * What each launch of a trace is, as reports have it: also what only the order of launches tells
 * (operators that are written out), for those who read a trace launch by launch themselves.
 *
 * A launch that is part of something written out, where others of its configuration are not, has a
 * configuration of its own: a copy, behind those of the file. So the label of a launch is its
 * configuration's. Not thread-safe.
 */
#ifndef KP_ANALYZERS_REPORT_LAUNCH_LABELS_H
#define KP_ANALYZERS_REPORT_LAUNCH_LABELS_H

#include "analyzers/operators.h"
#include "trace/reader.h"

struct kp_launch_labels;

/*
 * Reads the trace up to twice, if it has kernels of which anything can be written out at all; then
 * it keeps a byte a launch. Reader and rules are borrowed. Errors: KP_NO_MEMORY, the reader's.
 */
enum kp_status kp_launch_labels_create(struct kp_reader *reader,
				       const struct kp_operators *operators,
				       struct kp_launch_labels **out);
/* NULL is allowed. */
void kp_launch_labels_destroy(struct kp_launch_labels *labels);

/* A process with all configurations, the copies too. Borrowed. */
const struct kp_process *kp_launch_labels_process(const struct kp_launch_labels *labels,
						  size_t index);
/* The label of one of its configurations. */
struct kp_label kp_launch_labels_of(const struct kp_launch_labels *labels, size_t process,
				    uint32_t config);

/* Before each reading of the trace from its beginning. */
void kp_launch_labels_rewind(struct kp_launch_labels *labels);
/* Every batch of that reading has to pass here, in order: from then on it names the process above
 * and its configurations. */
void kp_launch_labels_amend(struct kp_launch_labels *labels, struct kp_event *event);

#endif
