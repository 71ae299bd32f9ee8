/*
 * Doors before functions of the driver: code without a prototype that launches what is held before
 * it goes on, with all arguments in their places; see ab_sequence.h.
 *
 * A door is 16 bytes of code that name its number; what is behind it stands in a table. Where
 * nothing is held, that is a load, two comparisons and a jump. Doors are given out, never taken
 * back.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_sequence.h"

#include <errno.h>
#include <stddef.h>

#include "inject/ab_sequence_memory.h"
#include "inject/ab_sequence_names.h"
#include "inject/words.h"

/* As the assembler has it: a number of 16 bytes. */
struct door {
	void *target;
	uint64_t kind; /* enum kp_ab_sequence_kind; 0 is the quick one */
};
_Static_assert(sizeof(struct door) == 16 && KP_AB_SEQUENCE_ORDERED == 0, "the code below");

#if defined(__x86_64__)

#define DOORS 1024U
#define DOORS_TEXT "1024"

extern __attribute__((visibility("hidden"))) struct door kp_ab_sequence_doors[DOORS];
extern __attribute__((visibility("hidden"))) const char kp_ab_sequence_door_code[];
__attribute__((visibility("hidden"))) uint64_t kp_ab_sequence_opened(uint64_t number,
								     const uint64_t *arguments);

struct door kp_ab_sequence_doors[DOORS];
static _Atomic uint32_t doors_used;

/* clang-format off */
__asm__(
	".pushsection .text\n"
	".hidden kp_ab_sequence_door_code\n"
	".balign 16\n"
	".type kp_ab_sequence_door_code, @function\n"
	"kp_ab_sequence_door_code:\n"
	".set number, 0\n"
	".rept " DOORS_TEXT "\n"
	"	.balign 16\n"
	"	endbr64\n"
	"	movl $number, %r11d\n"
	"	jmp kp_ab_sequence_door_common\n"
	"	.set number, number + 1\n"
	".endr\n"
	".size kp_ab_sequence_door_code, . - kp_ab_sequence_door_code\n"
	".balign 16\n"
	".type kp_ab_sequence_door_common, @function\n"
	"kp_ab_sequence_door_common:\n"
	"	.cfi_startproc\n"
	"	shlq $4, %r11\n"
	"	leaq kp_ab_sequence_doors(%rip), %r10\n"
	"	addq %r10, %r11\n"
	"	cmpl $0, kp_ab_sequence_pending(%rip)\n"
	"	jne 1f\n"
	"	cmpq $0, 8(%r11)\n"
	"	jne 1f\n"
	"	jmpq *(%r11)\n"
	"1:	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	subq $192, %rsp\n"
	"	andq $-16, %rsp\n"
	"	movq %rdi, (%rsp)\n"
	"	movq %rsi, 8(%rsp)\n"
	"	movq %rdx, 16(%rsp)\n"
	"	movq %rcx, 24(%rsp)\n"
	"	movq %r8, 32(%rsp)\n"
	"	movq %r9, 40(%rsp)\n"
	"	movq %rax, 48(%rsp)\n"
	"	movq %r11, 56(%rsp)\n"
	"	movups %xmm0, 64(%rsp)\n"
	"	movups %xmm1, 80(%rsp)\n"
	"	movups %xmm2, 96(%rsp)\n"
	"	movups %xmm3, 112(%rsp)\n"
	"	movups %xmm4, 128(%rsp)\n"
	"	movups %xmm5, 144(%rsp)\n"
	"	movups %xmm6, 160(%rsp)\n"
	"	movups %xmm7, 176(%rsp)\n"
	"	subq %r10, %r11\n"
	"	shrq $4, %r11\n"
	"	movq %r11, %rdi\n"
	"	movq %rsp, %rsi\n"
	"	call kp_ab_sequence_opened\n"
	"	testq %rax, %rax\n"
	"	jne 2f\n"
	"	movq (%rsp), %rdi\n"
	"	movq 8(%rsp), %rsi\n"
	"	movq 16(%rsp), %rdx\n"
	"	movq 24(%rsp), %rcx\n"
	"	movq 32(%rsp), %r8\n"
	"	movq 40(%rsp), %r9\n"
	"	movq 48(%rsp), %rax\n"
	"	movq 56(%rsp), %r11\n"
	"	movups 64(%rsp), %xmm0\n"
	"	movups 80(%rsp), %xmm1\n"
	"	movups 96(%rsp), %xmm2\n"
	"	movups 112(%rsp), %xmm3\n"
	"	movups 128(%rsp), %xmm4\n"
	"	movups 144(%rsp), %xmm5\n"
	"	movups 160(%rsp), %xmm6\n"
	"	movups 176(%rsp), %xmm7\n"
	"	.cfi_remember_state\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	jmpq *(%r11)\n"
	"	.cfi_restore_state\n"
	"2:	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size kp_ab_sequence_door_common, . - kp_ab_sequence_door_common\n"
	".popsection\n");
/* clang-format on */

/* What a door says: to call the function; or not to, and what to return. */
#define GO_ON 0
#define RETURN(result) (1ULL << 32 | (uint32_t)(result))

/* Whether a function only asks, and about nothing that is to be given back. */
static bool shows_nothing(enum kp_ab_sequence_kind kind, const uint64_t *arguments)
{
	if (kind == KP_AB_SEQUENCE_ASKS_FOURTH)
		return !kp_ab_sequence_gives_back(arguments[3]);
	return (kind == KP_AB_SEQUENCE_ASKS || kind == KP_AB_SEQUENCE_ASKS_POINTER) &&
	       !kp_ab_sequence_gives_back(arguments[2]);
}

static bool changes_memory(enum kp_ab_sequence_kind kind)
{
	return kind == KP_AB_SEQUENCE_MEMORY || kind == KP_AB_SEQUENCE_FREES ||
	       kind == KP_AB_SEQUENCE_MAPS || kind == KP_AB_SEQUENCE_RELEASES;
}

/* Whether nothing can be held from now on. Tokens are for those that see memory from elsewhere. */
static bool ends(enum kp_ab_sequence_kind kind, const uint64_t *arguments)
{
	if (kind == KP_AB_SEQUENCE_MAPS)
		return kp_ab_sequence_memory_maps(arguments[3]);
	return kind == KP_AB_SEQUENCE_ENDS ||
	       (kind == KP_AB_SEQUENCE_ASKS_POINTER &&
		(uint32_t)arguments[1] == CU_POINTER_ATTRIBUTE_P2P_TOKENS);
}

/* The slow way through a door; the first arguments of the function. */
uint64_t kp_ab_sequence_opened(uint64_t number, const uint64_t *arguments)
{
	const struct door *door = &kp_ab_sequence_doors[number];
	CUresult result = CUDA_SUCCESS;
	int error = errno;
	bool held = false;

	if (changes_memory(door->kind))
		kp_ab_sequence_memory_changes();
	if (kp_ab_sequence_is_pending() &&
	    !kp_ab_inside) { /* not kprof's own, or a replacement's */
		if (door->kind == KP_AB_SEQUENCE_FREES)
			held = kp_ab_sequence_holds_free(door->target, arguments[0],
							 (CUstream)arguments[1], &result);
		if (door->kind == KP_AB_SEQUENCE_ALLOCATES)
			held = kp_ab_sequence_makes_alloc(
				door->target, (uint64_t *)(uintptr_t)arguments[0],
				(size_t)arguments[1], (CUstream)arguments[2]);
		if (!held && !shows_nothing(door->kind, arguments))
			result = kp_ab_sequence_interrupt(KP_AB_REASON_OTHER_CALL);
	}
	if (ends(door->kind, arguments))
		kp_ab_sequence_end();
	if (door->kind == KP_AB_SEQUENCE_RELEASES)
		kp_ab_sequence_memory_releases(arguments[0]);
	errno = error;
	return held || result != CUDA_SUCCESS ? RETURN(result) : GO_ON;
}

/*
 * Two threads may give one function two doors: that does no harm. A driver that goes and comes may
 * have another function at the address of one that had a door.
 */
static void *give_out(void *target, enum kp_ab_sequence_kind kind)
{
	uint32_t used = atomic_load(&doors_used), number;

	for (number = 0; number < used && number < DOORS; number++)
		if (kp_ab_sequence_doors[number].target == target &&
		    kp_ab_sequence_doors[number].kind == kind)
			return (void *)(kp_ab_sequence_door_code + (size_t)16 * number);
	number = atomic_fetch_add(&doors_used, 1);
	if (number >= DOORS) {
		atomic_store(&doors_used, DOORS);
		kp_ab_sequence_end();
		return target;
	}
	kp_ab_sequence_doors[number] = (struct door){target, kind};
	return (void *)(kp_ab_sequence_door_code + (size_t)16 * number);
}

#else

static void *give_out(void *target, enum kp_ab_sequence_kind kind)
{
	(void)kind;
	kp_ab_sequence_end();
	return target;
}

#endif

void *kp_ab_sequence_door(const char *name, void *target)
{
	enum kp_ab_sequence_kind kind = kp_ab_sequence_kind(name);

	return kind == KP_AB_SEQUENCE_QUERY ? target : give_out(target, kind);
}

void kp_ab_sequence_passed_by(const char *name)
{
	if (kp_ab_sequence_kind(name) != KP_AB_SEQUENCE_QUERY)
		kp_ab_sequence_end();
}
