/*
 * The thread's floating-point environment around work of kprof's own in the program's threads:
 * flags that are raised there are not the program's, and what it has unmasked traps nothing of
 * kprof's (feenableexcept); nor do its modes of rounding count.
 *
 * Not by fenv.h, which is libm's, and that is in no program for kprof's sake. Of x86-64 only what
 * float and double are computed with; kprof has no long double.
 */
#ifndef KP_INJECT_FLOATS_H
#define KP_INJECT_FLOATS_H

#include <stdint.h>

#if defined(__x86_64__)

struct kp_floats {
	uint32_t mxcsr;
};

static inline struct kp_floats kp_floats_now(void)
{
	return (struct kp_floats){__builtin_ia32_stmxcsr()};
}

static inline void kp_floats_set(struct kp_floats floats)
{
	__builtin_ia32_ldmxcsr(floats.mxcsr);
}

#define KP_FLOATS_DEFAULT ((struct kp_floats){0x1f80}) /* all masked, no flag, to nearest */

#elif defined(__aarch64__)

struct kp_floats {
	uint64_t control, status;
};

static inline struct kp_floats kp_floats_now(void)
{
	struct kp_floats floats;

	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
			 : "=r"(floats.control), "=r"(floats.status));
	return floats;
}

static inline void kp_floats_set(struct kp_floats floats)
{
	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
			 :
			 : "r"(floats.control), "r"(floats.status));
}

#define KP_FLOATS_DEFAULT ((struct kp_floats){0, 0})

#endif

/* What is computed between the two comes from memory and goes there: it stays between them. */
static inline void kp_floats_hold(struct kp_floats *out)
{
	*out = kp_floats_now();
	kp_floats_set(KP_FLOATS_DEFAULT);
	__asm__ volatile("" : : : "memory");
}

static inline void kp_floats_let(const struct kp_floats *floats)
{
	__asm__ volatile("" : : : "memory");
	kp_floats_set(*floats);
}

#endif
