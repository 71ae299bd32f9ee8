/*
 * What the beginning of a large trace says of all of it, so that it need not be read several times:
 * private to report*.c.
 *
 * Some things are known only when all has been read: which launches are sequences, and with which
 * kernel iterations begin. A report of a large trace takes them from its first batches, finds them
 * out while it reads the whole, and then compares: where the guess was wrong, what depends on it is
 * read again. So reports are equal whatever was guessed, but for one thing: of several kernels that
 * are as good a beginning of iterations (KP_REPETITION_AS_GOOD) the guessed one is taken. All
 * numbers are given in order of appearance: those of the beginning are those of the whole.
 */
#ifndef KP_ANALYZERS_REPORT_GUESS_H
#define KP_ANALYZERS_REPORT_GUESS_H

#include "analyzers/report.h"

struct kp_builder;

/* Of a GPU as a process uses it, by the report's number of it. */
struct kp_guess_anchor {
	bool found; /* iterations repeat */
	uint32_t symbol, period;
};

/* Zeroed: nothing is guessed. */
struct kp_guess {
	bool made;
	bool is_known;        /* sequences are what all of the trace says */
	uint32_t **sequences; /* by process, as in kp_build_process; NULL: of none */
	size_t process_count;
	struct kp_guess_anchor *anchors; /* by use */
	size_t anchor_count;
};

/* The batches that are looked at for a guess; 0: the trace is too small for one. */
size_t kp_guess_batches(struct kp_reader *reader);
/* Takes what a builder found in them. Errors: KP_NO_MEMORY. */
enum kp_status kp_guess_take(struct kp_guess *guess, struct kp_builder *sample);
void kp_guess_fini(struct kp_guess *guess);

#endif
