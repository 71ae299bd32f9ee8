/*
 * Kernels of real device code that the fake driver computes: those of kernels/ceilings.cu, by name.
 *
 * A fatbin holds machine code, which cannot run here; its kernels do what the rows of emulate.c
 * say, in C, written from the description of the instructions and not from kprof's own references.
 * They take a time that the work sets, so that rates come out as the rows have them.
 *
 * The operators of libkprof_kernels are rows without `run`: what nvcc compiles, compiled for the
 * CPU (tests/kernels/cpu.cuh). They take a time that the number of blocks sets.
 */
#ifndef KP_FAKE_GPU_EMULATE_H
#define KP_FAKE_GPU_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kp_fake_emulation {
	const char *name;
	/* NULL: an operator. Else what it computes, for so many threads in the grid; returns how
	 * long that takes, ns. */
	uint64_t (*run)(const struct kp_fake_emulation *row, uint64_t threads, void **arguments);
	double rate;              /* bytes a ns, or multiply-adds of the GPU a ns */
	unsigned multiply_adds;   /* a thread and iteration */
	unsigned one_bytes;       /* an operand of one: its size, */
	uint64_t one;             /* and its bits */
	uint32_t parameter_bytes; /* what cuFuncGetParamInfo says of its one; 0: of none */
	bool has_rounds;          /* it is a kp_control_args, whose rounds take their time */
	bool is_late;             /* an operator that waits first, on a stream of its own */
};

extern const struct kp_fake_emulation kp_fake_emulations[];
extern const size_t kp_fake_emulation_count;

/* Whether an image is a fatbin. */
bool kp_fake_is_fatbin(const void *image);
/* Computes one launch, unless it repeats the one before; returns how long it takes, ns. */
uint64_t kp_fake_emulate(const struct kp_fake_emulation *row, uint64_t threads, void **arguments);
/* Computes one launch of an operator; with no arguments (capture) nothing. Returns its length, ns.
 * The fault «wrong» leaves the N-th out. */
uint64_t kp_fake_emulate_operator(const struct kp_fake_emulation *row, const uint32_t grid[3],
				  uint32_t threads, uint32_t shared_bytes, void **arguments);
/* Something else has changed memory. */
void kp_fake_emulate_anew(void);

#endif
