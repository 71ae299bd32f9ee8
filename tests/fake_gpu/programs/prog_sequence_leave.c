/*
 * Launches that rules may hold, in programs that do not play by turns:
 *
 *	prog_sequence_leave threads|jump|cancel|fork|callback|exit COUNT
 *
 * «threads»: four at once, each with a stream and memory of its own, look at what they computed
 * every few rounds. «jump»: a signal handler jumps out of launches (the fault «signal»). «cancel»:
 * threads are cancelled in the midst of their rounds. «fork»: children are made, and call the
 * driver in vain, while something is held. «callback»: a client of CUPTI calls the driver in the
 *midst of each launch. «exit»: the program ends then. It prints what was right.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

#include "tests/fake_gpu/programs/sequence_game.h"
#include "tests/fake_gpu/programs/sequence_kernels.h"

enum { THREADS = 4, ALONE = 30 };

static CUcontext context;
static CUfunction functions[KERNELS];
static const uint64_t bytes = BYTES;

/* One thread's own: x, t, u, y, and x as the host knows it. */
struct own {
	CUstream stream;
	CUdeviceptr x, t, u, y;
	float known[WORDS];
	long count, right;
};

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_sequence_leave: %s: error %d\n", what, result);
	exit(3);
}

static void launch(const struct own *own, int kernel, void **arguments)
{
	check((int)cuLaunchKernel(functions[kernel], 1, 1, 1, 32, 1, 1, 0, own->stream, arguments,
				  NULL),
	      "cuLaunchKernel");
}

static void launch_first(struct own *own)
{
	uint32_t salt = 1;
	void *arguments[] = {&own->t, &own->x, (void *)&bytes, &salt};

	launch(own, FIRST, arguments);
}

static void launch_rest(struct own *own)
{
	uint32_t salt = 1;
	void *second[] = {&own->u, &own->t, &own->x, (void *)&bytes, &salt};
	void *third[] = {&own->y, &own->u, (void *)&bytes, &salt};

	launch(own, SECOND, second);
	launch(own, THIRD, third);
}

static bool is_same(const float *a, const float *b)
{
	bool same = true;

	for (int i = 0; i < WORDS; i++)
		same &= a[i] == b[i];
	return same;
}

/* What comes out of a round. */
static bool is_right(struct own *own)
{
	float t[WORDS], u[WORDS], y[WORDS], got[3][WORDS];

	sequence_mix_all(t, own->known, NULL, BYTES, 1);
	sequence_mix_all(u, t, own->known, BYTES, 1);
	sequence_mix_all(y, u, NULL, BYTES, 1);
	check((int)cuMemcpyDtoHAsync_v2(got[0], own->t, BYTES, own->stream), "copy");
	check((int)cuMemcpyDtoHAsync_v2(got[1], own->u, BYTES, own->stream), "copy");
	check((int)cuMemcpyDtoHAsync_v2(got[2], own->y, BYTES, own->stream), "copy");
	check((int)cuStreamSynchronize(own->stream), "cuStreamSynchronize");
	return is_same(t, got[0]) && is_same(u, got[1]) && is_same(y, got[2]);
}

static void begin(struct own *own, int number)
{
	check((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check((int)cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check((int)cuMemAlloc_v2(&own->x, BYTES), "cuMemAlloc");
	check((int)cuMemAlloc_v2(&own->t, BYTES), "cuMemAlloc");
	check((int)cuMemAlloc_v2(&own->u, BYTES), "cuMemAlloc");
	check((int)cuMemAlloc_v2(&own->y, BYTES), "cuMemAlloc");
	for (int i = 0; i < WORDS; i++)
		own->known[i] = (float)(number * 1000 + i);
	check((int)cuMemcpyHtoD_v2(own->x, own->known, BYTES), "cuMemcpyHtoD");
}

static void play_round(struct own *own, long i)
{
	launch_first(own);
	launch_rest(own);
	if (i % 7 == 6)
		own->right += is_right(own);
}

static void *work(void *argument)
{
	struct own *own = argument;

	check((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (long i = 0; i < own->count; i++)
		play_round(own, i);
	return NULL;
}

static long play_threads(long count, bool cancel)
{
	struct own owns[THREADS] = {{0}};
	const struct timespec pause = {.tv_nsec = 300000};
	pthread_t threads[THREADS];
	long right = 0, alone = 0;

	for (int i = 0; i < THREADS; i++) {
		begin(&owns[i], i);
		owns[i].count = cancel ? 100000000 : count;
		check(pthread_create(&threads[i], NULL, work, &owns[i]), "pthread_create");
	}
	for (int i = 0; cancel && i < THREADS; i++) {
		nanosleep(&pause, NULL);
		pthread_cancel(threads[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		check(pthread_join(threads[i], NULL), "pthread_join");
		right += owns[i].right;
	}
	for (int i = 0; i < THREADS * ALONE; i++) { /* whoever is left is not held up */
		launch_first(&owns[i / ALONE]);
		launch_rest(&owns[i / ALONE]);
		alone += is_right(&owns[i / ALONE]);
	}
	return cancel ? alone : right + alone;
}

static sigjmp_buf back;

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* A round that was left is made again. */
static long play_jumps(long count)
{
	static struct own own;
	static volatile long i;
	const struct sigaction action = {.sa_handler = jump};

	begin(&own, 1);
	sigaction(SIGUSR1, &action, NULL);
	sigsetjmp(back, 1);
	for (; i < count; i++) {
		launch_first(&own);
		launch_rest(&own);
	}
	signal(SIGUSR1, SIG_IGN);
	launch_first(&own);
	launch_rest(&own);
	return is_right(&own);
}

static long play_forks(long count)
{
	struct own own = {0};

	begin(&own, 1);
	for (long i = 0; i < count; i++) {
		int status;
		pid_t child;

		launch_first(&own);
		child = fork();
		if (child == 0) {
			cuStreamSynchronize(own.stream); /* both fail, and nothing waits */
			cuLaunchKernel(functions[MAYBE], 1, 1, 1, 32, 1, 1, 0, own.stream, NULL,
				       NULL);
			_exit(7);
		}
		waitpid(child, &status, 0);
		launch_rest(&own);
		own.right += is_right(&own);
	}
	return own.right;
}

static long looks;

static void CUPTIAPI look(void *of, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			  const void *data)
{
	static _Thread_local bool looking;
	const struct own *own = of;

	(void)domain, (void)id, (void)data;
	if (looking || !own->stream)
		return;
	looking = true;
	cuStreamQuery(own->stream);
	looks++;
	looking = false;
}

static long play_callbacks(long count)
{
	static struct own own;
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	__typeof__(cuptiSubscribe) *subscribe;
	__typeof__(cuptiEnableDomain) *enable;
	CUpti_SubscriberHandle subscriber;

	*(void **)&subscribe = dlsym(cupti, "cuptiSubscribe");
	*(void **)&enable = dlsym(cupti, "cuptiEnableDomain");
	begin(&own, 1);
	check((int)subscribe(&subscriber, look, &own), "cuptiSubscribe");
	check((int)enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "cuptiEnableDomain");
	for (long i = 0; i < count; i++) {
		launch_first(&own);
		launch_rest(&own);
		own.right += is_right(&own);
	}
	return looks >= count ? own.right : -looks;
}

int main(int argc, char **argv)
{
	static const struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, KERNELS, sequence_kernels};
	long count = argc == 3 ? atol(argv[2]) : 0, right = 0;
	struct own own = {0};
	CUmodule module;

	if (count < 1)
		return 2;
	check((int)cuInit(0), "cuInit");
	check((int)cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	check((int)cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check((int)cuModuleLoadData(&module, &image), "cuModuleLoadData");
	for (int i = 0; i < KERNELS; i++)
		check((int)cuModuleGetFunction(&functions[i], module, sequence_kernels[i].name),
		      "cuModuleGetFunction");
	if (strcmp(argv[1], "threads") == 0 || strcmp(argv[1], "cancel") == 0)
		right = play_threads(count, argv[1][0] == 'c');
	else if (strcmp(argv[1], "jump") == 0)
		right = play_jumps(count);
	else if (strcmp(argv[1], "callback") == 0)
		right = play_callbacks(count);
	else if (strcmp(argv[1], "fork") == 0)
		right = play_forks(count);
	else
		begin(&own, 1);
	printf("%ld\n", right);
	fflush(stdout);
	if (strcmp(argv[1], "exit") == 0)
		launch_first(&own);
	return 0;
}
