/* Fibers by ucontext; see fibers.h. */
#include "tests/kernels/fibers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)128 << 10)

struct fiber {
	ucontext_t context;
	char *stack;
	bool ended;
	bool (*is_ready)(const void *context); /* NULL: it need not wait */
	const void *awaited;
};

static struct {
	struct fiber fibers[KP_FIBERS_MOST];
	ucontext_t scheduler;
	unsigned count, alive, number, turns[KP_FIBERS_MOST];
	uint32_t random;
	kp_fiber_body body;
	void *context;
} group;

static void enter(void)
{
	struct fiber *fiber = &group.fibers[group.number];

	group.body(group.context);
	fiber->ended = true;
	group.alive--;
	swapcontext(&fiber->context, &group.scheduler);
}

static void prepare(struct fiber *fiber)
{
	if (!fiber->stack)
		fiber->stack = malloc(STACK_BYTES);
	if (!fiber->stack || getcontext(&fiber->context) != 0)
		abort();
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, enter, 0);
	fiber->ended = false;
	fiber->is_ready = NULL;
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
		swapcontext(&group.scheduler, &fiber->context);
	}
	return has_run;
}

void kp_fibers_run(unsigned count, enum kp_fiber_order order, kp_fiber_body body, void *context)
{
	if (count == 0 || count > KP_FIBERS_MOST)
		abort();
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
	fiber->is_ready = is_ready;
	fiber->awaited = context;
	swapcontext(&fiber->context, &group.scheduler);
}
