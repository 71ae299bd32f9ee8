/*
 * What a reader takes of what a trace describes: one policy, so that a small hostile file cannot
 * make those who read it take much memory. A report needs some ten bytes for each byte of a
 * kernel's name and four for other texts, five times as much where bytes have to be escaped, and
 * some 10 KiB for each kernel; all of a trace may take 64 MiB, or four times the bytes of its
 * files.
 *
 *   kernels    KP_LIMIT_KERNELS names, or one for each KP_LIMIT_KERNEL_BYTES of the files; all
 *              others are one kernel, whose name says so
 *   names      of kernels: whole until they are KP_LIMIT_NAME_BYTES together, or a third of the
 *              files' bytes; what comes then is cut to KP_LIMIT_CUT_BYTES, «…», and its number
 *   words      all other texts, the same with KP_LIMIT_WORD_BYTES
 *   a text     64 KiB, as writers cut it; all that are stored KP_LIMIT_STORED_BYTES, or the files'
 *   devices    KP_LIMIT_DEVICES, or one for each KP_LIMIT_DEVICE_BYTES of the files; a chunk with
 *              others is damaged
 *   waiting    launches of a GPU whose place in time later batches may still change: see
 *              kp_limits_waiting; of more the older half is taken as it is
 *
 * Texts that are equal count once. What a collector writes stays below: its texts take a byte of
 * the files for ten of theirs as a rule.
 */
#ifndef KP_TRACE_LIMITS_H
#define KP_TRACE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/intern.h"
#include "trace/records.h"

#define KP_LIMIT_STORED_BYTES ((uint64_t)6 << 20)
#define KP_LIMIT_NAME_BYTES ((uint64_t)2 << 20)
#define KP_LIMIT_WORD_BYTES ((uint64_t)6 << 20)
#define KP_LIMIT_LONGEST ((size_t)1 << 16)
#define KP_LIMIT_CUT_BYTES 48
#define KP_LIMIT_KERNELS 3072
#define KP_LIMIT_KERNEL_BYTES 2560
#define KP_LIMIT_DEVICES 1024
#define KP_LIMIT_DEVICE_BYTES 4096
#define KP_LIMIT_WAITING                                                                           \
	(((size_t)1 << 17) - 4096) /* of 56 bytes each, 2^17 with what comes in                    \
				    */
#define KP_LIMIT_WAITING_MOST ((size_t)1 << 20)

struct kp_limits {
	/* Bytes that are left; those that have to be escaped count several times in the latter. */
	uint64_t stored_left, names_left, words_left;
	size_t kernels, kernels_left, devices; /* kernels, devices: at most */
	struct kp_intern texts;                /* that are whole: hashes */
	struct kp_intern devices_known;
};

void kp_limits_init(struct kp_limits *limits, uint64_t trace_bytes);
void kp_limits_fini(struct kp_limits *limits);

/* Whether a text is stored whole, as it comes in. */
bool kp_limits_store(struct kp_limits *limits, size_t length);
/* Whether the fields of a record are taken: they are words. */
bool kp_limits_record(struct kp_limits *limits, const void *bytes, size_t length);
/* Whether a device of a process is one too many. Errors: KP_NO_MEMORY. */
enum kp_status kp_limits_device(struct kp_limits *limits, uint32_t process, uint32_t device,
				bool *too_many);

/*
 * How many launches may wait for the order of time: KP_LIMIT_WAITING of any file; all that the
 * files can hold, as where a kernel runs from the start to the end or many processes share a GPU,
 * until that is KP_LIMIT_WAITING_MOST; of larger files one for sixteen bytes.
 */
size_t kp_limits_waiting(uint64_t trace_bytes);

/* What becomes of a text, once all are there and it is known what is a kernel. */
enum kp_limits_verdict { KP_LIMIT_WHOLE, KP_LIMIT_CUT, KP_LIMIT_BEYOND /* kernels alone */ };
/* Errors: KP_NO_MEMORY. */
enum kp_status kp_limits_judge(struct kp_limits *limits, struct kp_text text, bool kernel,
			       enum kp_limits_verdict *out);
/* What is left of one that is cut, with its number behind; returns its length. `out` has room for
 * KP_LIMIT_CUT_BYTES + 32. */
size_t kp_limits_cut(const void *bytes, size_t length, size_t number, char *out);

#endif
