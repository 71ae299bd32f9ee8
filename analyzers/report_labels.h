/* Labels of launch configurations while a report is built: private to report*.c. */
#ifndef KP_ANALYZERS_REPORT_LABELS_H
#define KP_ANALYZERS_REPORT_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzers/operators.h"
#include "trace/reader.h"

struct kp_builder;
struct kp_guess;

/* A process as the builder has it: it may have more configurations than the reader's. */
const struct kp_process *kp_build_process_at(const struct kp_builder *builder, size_t index);

/* One kernel name of the trace. */
struct kp_build_name {
	const char *full; /* demangled, in the report's arena */
	struct kp_label label;
};

/* report_labels.c: names and labels of all launch configurations; row of a configuration. */
enum kp_status kp_build_labels(struct kp_builder *builder);
/* What a configuration is: what the order of its launches says, else its name. */
struct kp_label kp_build_label_of(const struct kp_builder *builder, size_t process,
				  uint32_t config);
enum kp_status kp_build_row_of(struct kp_builder *builder, const struct kp_process *process,
			       uint32_t config, uint32_t *row);
void kp_build_labels_fini(struct kp_builder *builder);

/*
 * report_sequences.c: labels by the order of launches. Without a guess it reads the whole trace, if
 * there can be any. With one it takes them from there, and where there is a finder then, that has
 * to take each batch while all is read (the builder is its context); at the end the guess is
 * compared with what was found, which takes its place. *wrong: it was another.
 */
enum kp_status kp_build_sequences(struct kp_builder *builder);
enum kp_status kp_build_sequences_take(void *context, const struct kp_event *event);
enum kp_status kp_build_sequences_check(struct kp_builder *builder, struct kp_guess *guess,
					bool *wrong);
void kp_build_sequences_end(struct kp_builder *builder);

#endif
