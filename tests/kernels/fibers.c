/*
 * Fibers; see fibers.h. ucontext makes their stacks. swapcontext asks the kernel twice, which is
 * most of a test's time: they change over by setjmp, but for the address sanitizer, which only
 * knows of the former.
 */
#undef _FORTIFY_SOURCE /* longjmp to another stack is no mistake here */
#include "tests/kernels/fibers.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)128 << 10)

/* Where a fiber, or the scheduler, goes on. */
struct place {
	ucontext_t context;
	jmp_buf jump;
	bool has_jump; /* else its context is where it begins */
};

struct fiber {
	struct place place;
	char *stack;
	bool ended;
	bool (*is_ready)(const void *context); /* NULL: it need not wait */
	const void *awaited;
};

static struct {
	struct fiber fibers[KP_FIBERS_MOST];
	struct place scheduler;
	unsigned count, alive, number, turns[KP_FIBERS_MOST];
	uint32_t random;
	kp_fiber_body body;
	void *context;
} group;

static void change(struct place *from, struct place *to)
{
#ifdef __SANITIZE_ADDRESS__
	swapcontext(&from->context, &to->context);
#else
	if (_setjmp(from->jump) != 0)
		return;
	from->has_jump = true;
	if (to->has_jump)
		_longjmp(to->jump, 1);
	setcontext(&to->context);
#endif
}

/* For ever: at the end of a body, the next group's begins. */
static void enter(void)
{
	for (;;) {
		struct fiber *fiber = &group.fibers[group.number];

		group.body(group.context);
		fiber->ended = true;
		group.alive--;
		change(&fiber->place, &group.scheduler);
	}
}

static void prepare(struct fiber *fiber)
{
	fiber->ended = false;
	fiber->is_ready = NULL;
	if (fiber->stack)
		return;
	fiber->stack = malloc(STACK_BYTES);
	if (!fiber->stack || getcontext(&fiber->place.context) != 0)
		abort();
	fiber->place.context.uc_stack.ss_sp = fiber->stack;
	fiber->place.context.uc_stack.ss_size = STACK_BYTES;
	fiber->place.context.uc_link = NULL;
	makecontext(&fiber->place.context, enter, 0);
}

static uint32_t next_random(void)
{
	group.random = group.random * 1664525U + 1013904223U;
	return group.random >> 8;
}

static void choose_turns(enum kp_fiber_order order)
{
	for (unsigned i = 0; i < group.count; i++)
		group.turns[i] = order == KP_FIBERS_DOWN ? group.count - 1 - i : i;
	for (unsigned i = group.count; order == KP_FIBERS_SHUFFLED && i > 1; i--) {
		unsigned other = next_random() % i, kept = group.turns[i - 1];

		group.turns[i - 1] = group.turns[other];
		group.turns[other] = kept;
	}
}

/* A turn for each that need not wait; false: there was none. */
static bool run_round(void)
{
	bool has_run = false;

	for (unsigned i = 0; i < group.count; i++) {
		struct fiber *fiber = &group.fibers[group.turns[i]];

		if (fiber->ended || (fiber->is_ready && !fiber->is_ready(fiber->awaited)))
			continue;
		has_run = true;
		fiber->is_ready = NULL;
		group.number = group.turns[i];
		change(&group.scheduler, &fiber->place);
	}
	return has_run;
}

void kp_fibers_run(unsigned count, enum kp_fiber_order order, kp_fiber_body body, void *context)
{
	if (count == 0 || count > KP_FIBERS_MOST)
		abort();
	if (order == KP_FIBERS_ALONE) {
		group.alive = 0;
		for (group.number = 0; group.number < count; group.number++)
			body(context);
		return;
	}
	group.count = group.alive = count;
	group.body = body;
	group.context = context;
	for (unsigned i = 0; i < count; i++)
		prepare(&group.fibers[i]);
	while (group.alive > 0) {
		choose_turns(order);
		if (!run_round()) {
			fprintf(stderr, "%u of %u threads wait for ever\n", group.alive, count);
			abort();
		}
	}
}

unsigned kp_fiber_number(void)
{
	return group.number;
}

unsigned kp_fibers_alive(void)
{
	return group.alive;
}

void kp_fiber_wait(bool (*is_ready)(const void *context), const void *context)
{
	struct fiber *fiber = &group.fibers[group.number];

	if (is_ready(context))
		return;
	if (group.alive == 0)
		abort(); /* alone, and it waits */
	fiber->is_ready = is_ready;
	fiber->awaited = context;
	change(&fiber->place, &group.scheduler);
}
