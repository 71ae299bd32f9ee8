/*
 * The trace file as this process sees it: a descriptor that survives what programs do to theirs.
 *
 * Programs close all descriptors and reuse their numbers, so the number is a high one, and before
 * each use the file behind it is compared with the one that was opened. Worker thread only.
 */
#ifndef KP_INJECT_OUTPUT_H
#define KP_INJECT_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct kp_output {
	const char *path;
	int fd;
	dev_t device;
	ino_t inode;
};

/* Moves a descriptor out of the range that programs use; keeps it where that is impossible. */
int kp_output_move_high(int fd);
/* False with errno set where the file cannot be opened for appending. */
bool kp_output_open(struct kp_output *output, const char *path);
/* Whether fd still is that file; reopens it if not. False with errno set where that fails. */
bool kp_output_check(struct kp_output *output);
/* In a forked child: closes the descriptor if it still is that file. Async-signal-safe. */
void kp_output_forget(struct kp_output *output);

/*
 * Around writes on a thread of the program: a file that may not grow (RLIMIT_FSIZE) then gives an
 * error and no signal. The worker thread blocks all signals anyway.
 */
struct kp_shield {
	sigset_t mask, pending;
};
void kp_output_shield(struct kp_shield *shield);
void kp_output_unshield(const struct kp_shield *shield);

#endif
