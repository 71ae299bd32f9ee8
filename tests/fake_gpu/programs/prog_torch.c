/*
 * Programs of PyTorch's eager kernels (torch_kernels.h), by chance:
 *
 *	prog_torch [async|mixed] [calm] [past=NAME] FIRST COUNT
 *
 * Plays COUNT games from the seed FIRST on, and prints of each what the program could observe, as
 * a hash: results of calls, memory that was copied to the host, and at the end all of it. Norms and
 * gates follow each other as eager code runs them. Their memory is handed out as PyTorch's caching
 * allocator does, what was freed last at once again, so that operands come to lie on others; with
 * «async» the driver's own gives and takes it back, in the midst of sequences, as soon as Python
 * would; with «mixed» in some games. Unless a game is calm, steps are left out, done twice, with
 *other operands or sizes, and other calls come in between. All work of a game is of one stream, or
 *handed on by an event; the other stream has memory of its own. So two runs must print the same,
 *whoever stands between this program and the driver. «past» calls one function of the driver past
 *all hooks.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "tests/fake_gpu/programs/torch_kernels.h"
#include "tests/fake_gpu/programs/torch_values.h"

enum { SLOT = 256, SLOTS = 32, KEPT = 8, ARENA = SLOT * SLOTS, STREAMS = 3, CHAINS = 6 };

void *kp_fake_raw(const char *symbol);

#define CALLS(X)                                                                                   \
	X(cuLaunchKernelEx, cuLaunchKernelEx)                                                      \
	X(cuLaunchKernel, cuLaunchKernel)                                                          \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                                           \
	X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                 \
	X(cuMemsetD8Async, cuMemsetD8Async)                                                        \
	X(cuMemAllocAsync, cuMemAllocAsync)                                                        \
	X(cuMemFreeAsync, cuMemFreeAsync)                                                          \
	X(cuEventRecord, cuEventRecord)                                                            \
	X(cuStreamWaitEvent, cuStreamWaitEvent)                                                    \
	X(cuStreamSynchronize, cuStreamSynchronize)                                                \
	X(cuCtxSynchronize, cuCtxSynchronize)

static struct {
#define MEMBER(name, function) __typeof__(&function) name;
	CALLS(MEMBER)
#undef MEMBER
} cuda = {
#define MEMBER(name, function) .name = function,
	CALLS(MEMBER)
#undef MEMBER
};

/* What a chain works on. */
struct operand {
	uint64_t at; /* 0: none */
	bool own;    /* from take() */
	bool written;
};

static struct operand operands[26]; /* by letter */

static struct {
	uint64_t random, hash;
	bool mixed, async, calm, quiet; /* quiet: this game is calm */
	bool rotates;                   /* what was freed is not handed out at once */
	uint32_t next;
	uint64_t late[26]; /* given back at the end of a chain */
	uint32_t late_count;
	CUfunction functions[TORCH_KERNEL_COUNT];
	CUstream streams[STREAMS];
	CUevent event;
	uint64_t arena, aside; /* of the other stream: two slots */
	bool used[SLOTS];
	uint32_t rows, columns, stream;
	uint64_t kept[KEPT]; /* what lives on from chain to chain: rows, then two weights */
} game;

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_torch: %s: error %d\n", what, result);
	exit(3);
}
#define INSIST(call) check((int)(call), #call)

static uint32_t draw(uint32_t below)
{
	game.random = game.random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(game.random >> 33) % below;
}

static bool happens(uint32_t in)
{
	return !game.quiet && draw(in) == 0;
}

static void observe(const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		game.hash = (game.hash ^ ((const uint8_t *)at)[i]) * 0x100000001b3U;
}

static CUstream stream(void)
{
	return game.streams[game.stream];
}

/* ---- memory ---- */

static uint64_t any_place(void)
{
	return game.arena + (uint64_t)16 * draw((ARENA - SLOT) / 16);
}

/* Mostly what the chain under way works on, as far as it has been written; else what lives on. */
static uint64_t some_place(void)
{
	for (int tries = 0; tries < 20 && draw(8); tries++) {
		const struct operand *operand = &operands[draw(26)];

		if (operand->at && operand->written)
			return operand->at;
	}
	return game.async ? game.kept[draw(KEPT)] : any_place();
}

/* `lives`: it is used behind the chain. */
static struct operand take(bool lives)
{
	struct operand out = {0, true, false};
	uint32_t slot = game.rotates ? game.next : KEPT;
	struct operand *between = &operands["wpmeqnh"[draw(7)] - 'a'];

	if (!lives && happens(12) && between->written) { /* both live as long as the chain */
		if (between->own)
			game.late[game.late_count++] = between->at;
		between->own = false;
		return (struct operand){between->at, false, true};
	}
	if (game.async) {
		INSIST(cuda.cuMemAllocAsync((CUdeviceptr *)&out.at, SLOT, stream()));
		return out;
	}
	if (happens(40))
		return (struct operand){some_place(), false, true};
	while (slot + 1 < SLOTS && game.used[slot])
		slot++;
	game.next = slot + 1 < SLOTS ? slot + 1 : KEPT;
	game.used[slot] = true;
	out.at = game.arena + (uint64_t)slot * SLOT;
	return out;
}

static void give(struct operand *operand)
{
	if (operand->own && game.async)
		INSIST(cuda.cuMemFreeAsync(operand->at, stream()));
	else if (operand->own)
		game.used[(operand->at - game.arena) / SLOT] = false;
	*operand = (struct operand){0, false, false};
}

/* ---- other calls ---- */

static void launch(const struct torch_work *work, CUstream on)
{
	static struct torch_call call;

	const CUlaunchConfig config = {.gridDimX = 1,
				       .gridDimY = 1,
				       .gridDimZ = 1,
				       .blockDimX = 32,
				       .blockDimY = 1,
				       .blockDimZ = 1,
				       .hStream = on};
	CUfunction function = game.functions[work->kernel];

	torch_call_make(work, &call);
	if (work->kernel == TORCH_SHIFT)
		INSIST(cuda.cuLaunchKernelEx(&config, function, call.parameters, NULL));
	else
		INSIST(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, on, call.parameters,
					   NULL));
}

static void read_some(uint64_t at)
{
	unsigned char bytes[SLOT];

	INSIST(cuda.cuStreamSynchronize(stream()));
	INSIST(cuda.cuMemcpyDtoH(bytes, at, sizeof(bytes)));
	observe(bytes, sizeof(bytes));
}

static void go_to_another_stream(void)
{
	uint32_t next = draw(2);

	INSIST(cuda.cuEventRecord(game.event, stream()));
	INSIST(cuda.cuStreamWaitEvent(game.streams[next], game.event, 0));
	game.stream = next;
}

static void shift(uint64_t to, uint64_t from, CUstream on)
{
	const struct torch_work work = {TORCH_SHIFT, game.rows, game.columns, {to, from, 0}, 0};

	launch(&work, on);
}

static void disturb(void)
{
	switch (draw(8)) {
	case 0:
		read_some(some_place());
		break;
	case 1:
		INSIST(cuda.cuMemsetD8Async(some_place(), (unsigned char)draw(64), 16, stream()));
		break;
	case 2:
		shift(some_place(), some_place(), stream());
		break;
	case 3:
		shift(game.aside, game.aside + SLOT, game.streams[2]);
		break;
	case 4:
		INSIST(cuda.cuEventRecord(game.event, stream()));
		break;
	case 5:
		go_to_another_stream();
		break;
	case 6:
		INSIST(cuda.cuMemcpyDtoDAsync(some_place(), some_place(), 32, stream()));
		break;
	default:
		INSIST(cuda.cuStreamSynchronize(stream()));
	}
}

/* ---- chains ---- */

/* Operands by letter: x x row, a and b what is added, g weights, u the other half of a gate. */
struct step {
	enum torch_kernel kernel;
	const char *operands;
	bool row;          /* the result has one number a row */
	const char *freed; /* behind it, as Python frees it */
};

static const struct step norm[] = {
	{TORCH_WIDEN, "wx", false, ""},      {TORCH_SQUARE, "pw", false, ""},
	{TORCH_MEAN, "mp", false, "p"},      {TORCH_ADD_EPS, "em", true, ""},
	{TORCH_RSQRT, "qe", true, "e"},      {TORCH_MUL_ROWS, "nwq", false, "qw"},
	{TORCH_NARROW, "hn", false, ""},     {TORCH_MUL_COLUMNS, "yhg", false, "hmn"},
	{TORCH_KERNEL_COUNT, "", false, ""},
};
static const struct step residual[] = {
	{TORCH_ADD, "xab", false, ""},
	{TORCH_KERNEL_COUNT, "", false, ""},
};
static const struct step gate[] = {
	{TORCH_SILU, "sx", false, ""},
	{TORCH_MUL, "ysu", false, "s"},
	{TORCH_KERNEL_COUNT, "", false, ""},
};

static struct operand *of(char letter)
{
	return &operands[letter - 'a'];
}

static void do_step(const struct step *step)
{
	struct torch_work work = {step->kernel, game.rows, game.columns, {0}, 1e-5f};

	if (!of(step->operands[0])->at)
		*of(step->operands[0]) = take(step->operands[0] == 'y');
	for (int i = 0; step->operands[i]; i++)
		work.operands[i] =
			of(step->operands[i])->at ? of(step->operands[i])->at : any_place();
	if (step->row)
		work.columns = 1;
	if (!game.async && happens(80))
		work.operands[draw(2)] = some_place();
	if (happens(80) && work.columns > 1)
		work.columns /= 2;
	if (happens(120))
		work.scalar = 1e-3f;
	if (work.operands[2] && happens(40)) {
		uint64_t first = work.operands[1];

		work.operands[1] = work.operands[2];
		work.operands[2] = first;
		if (step->kernel == TORCH_MUL_ROWS && game.async)
			return; /* of memory that is too small */
	}
	launch(&work, stream());
	if (happens(60))
		launch(&work, stream());
	of(step->operands[0])->written = true;
}

static void do_steps(const struct step *steps)
{
	for (; *steps->operands; steps++) {
		if (happens(10))
			disturb();
		if (game.async || !happens(60))
			do_step(steps);
		for (const char *letter = steps->freed; *letter; letter++)
			if (game.quiet || game.async || draw(20))
				give(of(*letter));
	}
}

/* The result takes the place of one of the rows that live on. */
static void keep_result(void)
{
	uint32_t which = draw(KEPT - 2);

	INSIST(cuda.cuMemcpyDtoDAsync(game.kept[which], of('y')->at,
				      (size_t)2 * game.rows * game.columns, stream()));
}

static void play_chain(void)
{
	memset(operands, 0, sizeof(operands));
	*of('x') = (struct operand){game.kept[draw(KEPT - 2)], false, true};
	*of('u') = (struct operand){game.kept[draw(KEPT - 2)], false, true};
	*of('g') = (struct operand){game.kept[KEPT - 1 - draw(2)], false, true};
	*of('a') = (struct operand){game.kept[draw(KEPT - 2)], false, true};
	*of('b') = (struct operand){game.kept[draw(KEPT - 2)], false, true};
	if (!game.quiet && draw(8) == 0)
		*of('y') = *of('x');
	switch (draw(3)) {
	case 0:
		do_steps(gate);
		break;
	case 1:
		*of('x') = (struct operand){0, false, false};
		do_steps(residual);
		do_steps(norm);
		break;
	default:
		do_steps(norm);
	}
	for (uint32_t i = 0; i < game.late_count; i++)
		give(&(struct operand){game.late[i], true, false});
	game.late_count = 0;
	if (of('y')->at && draw(3))
		keep_result();
	if (of('y')->at && draw(4) == 0)
		read_some(of('y')->at);
	for (int i = 0; i < 26; i++)
		give(&operands[i]);
}

/* ---- games ---- */

static void begin(uint64_t seed)
{
	game.random = seed * 0x9e3779b97f4a7c15U + 1;
	game.hash = 0xcbf29ce484222325U;
	for (int i = 0; i < 4; i++)
		draw(2);
	game.quiet = game.calm || draw(4) == 0;
	game.rows = 1U << (1 + draw(2));
	game.columns = 8U << draw(2);
	game.stream = draw(2);
	game.rotates = draw(2);
	game.next = KEPT;
	game.async = game.mixed ? draw(2) : game.async;
	memset(game.used, 0, sizeof(game.used));
	INSIST(cuda.cuCtxSynchronize());
	for (uint32_t i = 0; i < ARENA / 2; i++)
		bf16_store((void *)game.arena, i, (float)draw(4000) / 1000 - 2);
	for (uint32_t i = 0; i < SLOT; i++)
		bf16_store((void *)game.aside, i, (float)draw(4000) / 1000 - 2);
	for (uint32_t i = 0; i < KEPT; i++)
		game.kept[i] = game.arena + (uint64_t)SLOT * i;
}

static void play(uint64_t seed)
{
	begin(seed);
	for (int i = 0; i < CHAINS; i++)
		play_chain();
	INSIST(cuda.cuCtxSynchronize());
	observe((void *)game.arena, game.async ? (size_t)KEPT * SLOT : ARENA);
	observe((void *)game.aside, (size_t)2 * SLOT);
	printf("%" PRIu64 " %016" PRIx64 "\n", seed, game.hash);
}

static void start(void)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, TORCH_KERNEL_COUNT,
						   torch_kernels};
	CUcontext context;
	CUmodule module;

	INSIST(cuInit(0));
	INSIST(cuDevicePrimaryCtxRetain(&context, 0));
	INSIST(cuCtxSetCurrent(context));
	INSIST(cuModuleLoadData(&module, &image));
	for (int i = 0; i < TORCH_KERNEL_COUNT; i++)
		INSIST(cuModuleGetFunction(&game.functions[i], module, torch_kernels[i].name));
	for (int i = 1; i < STREAMS; i++)
		INSIST(cuStreamCreate(&game.streams[i], CU_STREAM_NON_BLOCKING));
	INSIST(cuEventCreate(&game.event, 0));
	INSIST(cuMemAlloc_v2((CUdeviceptr *)&game.arena, ARENA));
	INSIST(cuMemAlloc_v2((CUdeviceptr *)&game.aside, (size_t)2 * SLOT));
}

/* Behind the start, where slots of functions may be filled by others. */
static void go_past(const char *past)
{
#define PAST(name, function)                                                                       \
	if (strcmp(past, #name) == 0)                                                              \
		cuda.name = (__typeof__(&function))kp_fake_raw(#name);
	CALLS(PAST)
#undef PAST
}

int main(int argc, char **argv)
{
	const char *past = "";
	uint64_t first, count;
	int at = 1;

	for (; at < argc && (argv[at][0] < '0' || argv[at][0] > '9'); at++) {
		game.async |= strcmp(argv[at], "async") == 0;
		game.mixed |= strcmp(argv[at], "mixed") == 0;
		game.calm |= strcmp(argv[at], "calm") == 0;
		if (strncmp(argv[at], "past=", 5) == 0)
			past = argv[at] + 5;
	}
	if (argc - at != 2)
		return 2;
	start();
	go_past(past);
	first = strtoull(argv[at], NULL, 10);
	count = strtoull(argv[at + 1], NULL, 10);
	for (uint64_t i = 0; i < count; i++)
		play(first + i);
	return 0;
}
