/* What rules of the null controls put in the original's place; see control.h. One thread. */
#include "kernels/control_driver.h"

/* Some milliseconds: longer than a comparison takes. */
#define LATE_ROUNDS 2000000U

/* Of each control, by its number. */
static struct {
	uint32_t calls;
	void *kept;
} known[KP_CONTROL_NUMBERS];

void kp_control_remember(uint32_t number, void *kept)
{
	known[number].kept = kept;
}

static void *pointer(const int64_t *arguments, enum kp_control_argument which)
{
	return (void *)(uintptr_t)arguments[which];
}

static uint32_t whole(const int64_t *arguments, enum kp_control_argument which)
{
	return (uint32_t)arguments[which];
}

__attribute__((visibility("default"))) int kp_control_candidate(const int64_t *arguments,
								uint32_t count, void *stream)
{
	struct kp_control_args args = {
		.y = pointer(arguments, KP_CONTROL_ARGUMENT_Y),
		.x = pointer(arguments, KP_CONTROL_ARGUMENT_X),
		.w = pointer(arguments, KP_CONTROL_ARGUMENT_W),
		.rows = whole(arguments, KP_CONTROL_ARGUMENT_ROWS),
		.columns = whole(arguments, KP_CONTROL_ARGUMENT_COLUMNS),
		.depth = whole(arguments, KP_CONTROL_ARGUMENT_DEPTH),
		.number = whole(arguments, KP_CONTROL_ARGUMENT_NUMBER),
		.rounds = whole(arguments, KP_CONTROL_ARGUMENT_ROUNDS),
		.dtype = whole(arguments, KP_CONTROL_ARGUMENT_DTYPE),
		.seed = whole(arguments, KP_CONTROL_ARGUMENT_SEED),
		.control = whole(arguments, KP_CONTROL_ARGUMENT_CONTROL),
	};
	enum kp_control_kernel kernel = KP_CONTROL_KERNEL_REPLACEMENT;

	if (args.control == KP_CONTROL_TIMED)
		kernel = KP_CONTROL_KERNEL_ORIGINAL;
	if (count != KP_CONTROL_ARGUMENT_COUNT || args.number >= KP_CONTROL_NUMBERS ||
	    !kp_control_driver())
		return 1;
	args.call = known[args.number].calls++;
	args.kept = known[args.number].kept;
	if (args.control == KP_CONTROL_OTHER_STREAM) {
		kernel = KP_CONTROL_KERNEL_LATE;
		stream = kp_control_driver()->side_stream;
		args.rounds = LATE_ROUNDS;
	}
	return kp_control_launch(kernel, (uint64_t)args.rows * args.columns, &args, stream) ? 0 : 1;
}
