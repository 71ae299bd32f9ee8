/*
 * The mapping that launcher and collectors share while a program runs: one slot a process.
 *
 * It outlives a killed process, so that the launcher can say exactly what was lost. The launcher
 * creates the file (beside the trace), each process that uses CUDA takes a slot, and the launcher
 * reads all slots when the program has ended and removes the file. All counters are monotonic and
 * are written with relaxed atomics by the owner of the slot; `process` is written last when a slot
 * is taken (release), so a slot with process = 0 is free or being filled.
 */
#ifndef KP_TRACE_LIVE_H
#define KP_TRACE_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

#define KP_LIVE_MAGIC 0x314556494c50524bULL /* "KRPLIVE1" */
#define KP_LIVE_SLOTS 2048
#define KP_LIVE_MESSAGE_BYTES 384

enum kp_live_state {
	KP_LIVE_FREE = 0,
	KP_LIVE_RUNNING = 1,  /* the collector is on */
	KP_LIVE_DISABLED = 2, /* it could not start or gave up: see message */
	KP_LIVE_ENDED = 3     /* everything is written, the end record included */
};

struct kp_live_slot {
	_Atomic uint64_t process; /* identity, as in the trace; 0: free */
	_Atomic uint32_t pid;
	_Atomic uint32_t state;          /* enum kp_live_state */
	_Atomic uint64_t kernels_issued; /* at the driver's door, if issued_known */
	_Atomic uint64_t issued_known;   /* 0: they are not counted, or cannot be exactly */
	_Atomic uint64_t kernels_recorded, records_dropped, kernels_invalid, kernels_untimed;
	_Atomic uint64_t kernels_written; /* in chunks that are complete on disk */
	_Atomic uint64_t write_errno;
	uint64_t reserved[4];
	char message[KP_LIVE_MESSAGE_BYTES]; /* one line with the remedy; empty: none */
	uint64_t reserved2[2];
};

struct kp_live {
	uint64_t magic;
	_Atomic uint32_t slots_taken; /* may exceed KP_LIVE_SLOTS: then some processes have none */
	uint32_t reserved[13];
	struct kp_live_slot slots[KP_LIVE_SLOTS];
};

_Static_assert(sizeof(struct kp_live_slot) == 512, "slots are 512 bytes");

#endif
