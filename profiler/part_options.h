/*
 * The part of a trace that a command looks at: --from, --to, --process and --range of what reads
 * traces. What the headers of chunks say is outside is not read at all.
 */
#ifndef KP_PROFILER_PART_OPTIONS_H
#define KP_PROFILER_PART_OPTIONS_H

#include <stdbool.h>

#include "profiler/options.h"
#include "profiler/settings.h"
#include "trace/reader.h"

extern const struct kp_option_group kp_part_group;

/* What the reader borrows while it reads the part. Zeroed: none. */
struct kp_part {
	uint8_t *processes;
	struct kp_reader_window *windows;
};

/*
 * Makes the reader deliver what the settings ask for, everything if they ask for nothing. False
 * after saying what is wrong with them, or that the part is empty. The part must outlive the
 * reader.
 */
bool kp_part_select(struct kp_reader *reader, const struct kp_settings *settings,
		    struct kp_part *part);
void kp_part_fini(struct kp_part *part);

#endif
