/*
 * The program of the null controls; see control.h. Launches come one by one where results matter,
 * so that a comparison has ended before the next, and many at a time where times do. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/control_driver.h"

#define KEY_BYTES 32
#define ROUNDS 80000U    /* well above 100 µs */
#define FILLED 64U       /* elements that a thread fills */
#define AT_A_TIME 32U    /* launches that nobody waits for */
#define HALF_DEPTH 8192U /* where sums in half precision are off beyond all rounding of results */

enum kind { WRONG, RIGHT, TIMED };
static const struct {
	const char *key;
	enum kind kind;
} rows[KP_CONTROL_COUNT] = {
#define CONTROL(NAME, key, kind, what) {#key, kind},
#include "kernels/controls.def"
};

struct work {
	enum kp_control control;
	uint32_t launches;
	void *stream;
	struct kp_control_args args;
	uint64_t expected; /* where the original's output goes that no rule knows */
	size_t bytes;      /* of the output */
	void *seen[2];     /* both outputs, in the host's memory */
	unsigned long long wrong;
};

static int complain(const char *what)
{
	fprintf(stderr, "kprof_controls: %s\n", what);
	return 3;
}

/* KEY:SEED:LAUNCHES */
static bool read_word(const char *word, struct work *out)
{
	char key[KEY_BYTES];

	if (sscanf(word, "%31[a-z_]:%u:%u", key, &out->args.seed, &out->launches) != 3)
		return false;
	for (int i = 0; i < KP_CONTROL_COUNT; i++)
		if (strcmp(rows[i].key, key) == 0) {
			out->control = (enum kp_control)i;
			return true;
		}
	return false;
}

/* Every seed has a shape and a type of its own; all have several tiles, and a part of one. */
static void draw_shape(struct work *work)
{
	static const uint32_t dtypes[] = {KP_CONTROL_BF16, KP_CONTROL_FP16, KP_CONTROL_FP32};
	struct kp_control_args *args = &work->args;

	args->rows = 2 + args->seed % 7;
	args->columns = 2 * KP_CONTROL_TILE + 1 + args->seed % 29;
	args->depth = 64 + args->seed % 97;
	if (work->control == KP_CONTROL_HALF_SUMS) {
		args->rows = 4;
		args->columns = 6;
		args->depth = HALF_DEPTH;
	}
	args->dtype = dtypes[args->seed % 3];
	args->rounds = rows[work->control].kind == TIMED ? ROUNDS : 0;
}

static uint64_t elements_of(const struct work *work)
{
	return (uint64_t)work->args.rows * work->args.columns;
}

static bool fill(const struct work *work, void *data, uint64_t count, uint64_t seed)
{
	struct kp_control_fill_args args = {data, count, seed, work->args.dtype, 0};

	return kp_control_launch(KP_CONTROL_KERNEL_FILL, (count + FILLED - 1) / FILLED, &args,
				 work->stream);
}

static bool make(struct work *work)
{
	const struct kp_control_driver *driver = kp_control_driver();
	struct kp_control_args *args = &work->args;
	size_t size = args->dtype == KP_CONTROL_FP32 ? 4 : 2;
	uint64_t at[4], kept;

	work->bytes = elements_of(work) * size;
	work->seen[0] = malloc(2 * work->bytes);
	if (!work->seen[0])
		return false;
	work->seen[1] = (char *)work->seen[0] + work->bytes;
	if (driver->memory(&at[0], work->bytes) || driver->memory(&at[3], work->bytes) ||
	    driver->memory(&at[1], (size_t)args->rows * args->depth * size) ||
	    driver->memory(&at[2], (size_t)args->columns * args->depth * size) ||
	    driver->memory(&kept, elements_of(work) * sizeof(float)))
		return false;
	args->y = (void *)(uintptr_t)at[0];
	args->x = (void *)(uintptr_t)at[1];
	args->w = (const void *)(uintptr_t)at[2];
	work->expected = at[3];
	kp_control_remember(args->number, (void *)(uintptr_t)kept);
	return fill(work, (void *)(uintptr_t)at[2], (uint64_t)args->columns * args->depth,
		    args->seed + 1ULL);
}

static bool launch(struct work *work)
{
	return kp_control_launch(KP_CONTROL_KERNEL_ORIGINAL, elements_of(work), &work->args,
				 work->stream);
}

/* The same inputs once more, past all rules, and both outputs side by side. */
static bool look(struct work *work)
{
	const struct kp_control_driver *driver = kp_control_driver();
	struct kp_control_args free = work->args;

	free.number = KP_CONTROL_FREE;
	free.y = (void *)(uintptr_t)work->expected;
	if (!kp_control_launch(KP_CONTROL_KERNEL_ORIGINAL, elements_of(work), &free,
			       work->stream) ||
	    driver->wait(work->stream) ||
	    driver->fetch(work->seen[0], (uint64_t)(uintptr_t)work->args.y, work->bytes) ||
	    driver->fetch(work->seen[1], work->expected, work->bytes))
		return false;
	work->wrong += memcmp(work->seen[0], work->seen[1], work->bytes) != 0;
	return true;
}

/* Other inputs each time. */
static bool work_on_results(struct work *work)
{
	const struct kp_control_args *args = &work->args;
	bool good = true;

	for (uint32_t i = 0; good && i < work->launches; i++)
		good = fill(work, args->x, (uint64_t)args->rows * args->depth,
			    ((uint64_t)args->seed << 20) + i) &&
		       launch(work) && look(work);
	return good;
}

static bool work_on_times(struct work *work)
{
	const struct kp_control_args *args = &work->args;
	bool good = fill(work, args->x, (uint64_t)args->rows * args->depth, args->seed);

	for (uint32_t i = 0; good && i < work->launches; i++) {
		good = launch(work);
		if (good && i % AT_A_TIME == AT_A_TIME - 1)
			good = kp_control_driver()->wait(work->stream) == 0;
	}
	return good;
}

static int do_control(struct work *work)
{
	bool good;

	draw_shape(work);
	good = make(work) &&
	       (rows[work->control].kind == TIMED ? work_on_times(work) : work_on_results(work)) &&
	       kp_control_driver()->wait_for_all() == 0;
	free(work->seen[0]);
	if (!good)
		return complain("the driver refused");
	if (work->wrong && rows[work->control].kind == WRONG) {
		fprintf(stderr,
			"kprof_controls: %s, seed %u: %llu outputs were not the original's\n",
			rows[work->control].key, work->args.seed, work->wrong);
		return 4;
	}
	return 0;
}

__attribute__((visibility("default"))) int kp_control_work(int count, char **words)
{
	const char *missing = kp_control_driver_open();
	int worst = 0;
	void *stream;

	if (missing) {
		fprintf(stderr, "kprof_controls: there is no %s\n", missing);
		return 3;
	}
	if (kp_control_driver()->stream(&stream, 0))
		return complain("the driver refused");
	for (int i = 0; i < count && worst != 3; i++) {
		struct work work = {.stream = stream};
		int status;

		if (i >= (int)KP_CONTROL_NUMBERS || !read_word(words[i], &work))
			return 2;
		work.args.number = (uint32_t)i;
		work.args.control = work.control;
		status = do_control(&work);
		worst = worst == 0 || status == 3 ? status : worst;
	}
	return worst;
}
