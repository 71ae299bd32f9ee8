/*
 * Threads that leave a launch other than by returning, beside one that goes on.
 *
 *	prog_leave cancel N    N threads, each cancelled in a launch of a graph, of a kernel
 *	prog_leave jump N      one thread, out of whose launches a handler of SIGUSR1 jumps N times
 *	prog_leave reset N     contexts that are destroyed and reset N times while another is in use
 *	prog_leave devices N   N launches on each of two GPUs; only the first is waited for
 *	prog_leave invalid N   N captures that are invalidated, and streams destroyed in one
 *	prog_leave fork N      N children that end at once, by exit, _exit and exec, beside launches
 *	prog_leave threads N   N times four threads that launch a little, to their very end
 *	prog_leave capture N   N captures that take long, and graphs of them, launched and destroyed
 *	prog_leave load N FILE two threads load that module, launch from it and unload it N times
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "tests/fake_gpu/programs/one_kernel.h"

static CUcontext context;
static CUfunction function;
static CUgraphExec graph;
static _Atomic bool stop;
static _Atomic unsigned launching;
static unsigned times;
static const char *module_path;

static void launch(CUstream stream)
{
	check(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
}

static CUstream make_stream(void)
{
	CUstream stream;

	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	return stream;
}

static void start(void)
{
	CUgraph captured;
	CUstream stream;

	context = begin_cuda();
	function = load_kernel("work", 2000);
	stream = make_stream();
	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
	for (int i = 0; i < 5; i++)
		launch(stream);
	check(cuStreamEndCapture(stream, &captured), "end");
	check(cuGraphInstantiate(&graph, captured, 0), "cuGraphInstantiate");
}

/* The one that goes on. */
static void *work(void *unused)
{
	CUstream stream = make_stream();

	while (!atomic_load(&stop)) {
		launch(stream);
		check(cuGraphLaunch(graph, stream), "cuGraphLaunch");
		check(cuStreamSynchronize(stream), "cuStreamSynchronize");
		usleep(100);
	}
	return unused;
}

static void launch_either(unsigned number, CUstream stream)
{
	atomic_fetch_add(&launching, 1);
	if (number % 2)
		launch(stream);
	else
		check(cuGraphLaunch(graph, stream), "cuGraphLaunch");
}

/* ---- threads that are cancelled ---- */

static void *launch_until_cancelled(void *argument)
{
	CUstream stream = make_stream();

	for (;;) {
		launch_either((unsigned)(uintptr_t)argument, stream);
		pthread_testcancel(); /* where launches take no time */
	}
	return NULL;
}

static void be_cancelled(void)
{
	for (unsigned i = 0; i < times; i++) {
		unsigned before = atomic_load(&launching);
		pthread_t thread;

		if (pthread_create(&thread, NULL, launch_until_cancelled, (void *)(uintptr_t)i))
			exit(3);
		while (atomic_load(&launching) == before)
			usleep(100);
		usleep(1000); /* now it is in the midst of it, mostly */
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		usleep(20000);
	}
}

/* ---- a thread that jumps ---- */

static sigjmp_buf outside;

static void jump(int number)
{
	(void)number;
	siglongjmp(outside, 1);
}

static void jump_out(void)
{
	const struct sigaction action = {.sa_handler = jump};
	CUstream stream = make_stream();
	volatile unsigned jumps = 0;

	sigaction(SIGUSR1, &action, NULL);
	if (sigsetjmp(outside, 1) != 0)
		jumps = jumps + 1;
	while (jumps < times)
		launch_either(jumps, stream);
	signal(SIGUSR1, SIG_IGN);
	for (int i = 0; i < 40; i++)
		launch_either((unsigned)i, stream);
	usleep(1200000); /* it does not come through a door any more */
}

/* ---- contexts ---- */

static void reset(void)
{
	for (unsigned i = 0; i < times; i++) {
		CUcontext other, primary;
		CUstream stream;

		check(cuCtxCreate(&other, NULL, 0, 0), "cuCtxCreate");
		check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
		launch(stream);
		check(cuCtxDestroy(other), "cuCtxDestroy");
		check(cuDevicePrimaryCtxRetain(&primary, 1), "cuDevicePrimaryCtxRetain");
		check(cuCtxSetCurrent(primary), "cuCtxSetCurrent");
		launch(NULL);
		check(cuDevicePrimaryCtxReset(1), "cuDevicePrimaryCtxReset");
		check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
		usleep(500);
	}
}

static void use_two(void)
{
	CUcontext second;

	check(cuDevicePrimaryCtxRetain(&second, 1), "cuDevicePrimaryCtxRetain");
	for (unsigned i = 0; i < times; i++) {
		check(cuCtxSetCurrent(second), "cuCtxSetCurrent");
		launch(NULL);
		check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
		launch(NULL);
	}
}

/* ---- captures ---- */

static void invalidate(void)
{
	for (unsigned i = 0; i < times; i++) {
		CUstream stream = make_stream();
		CUgraph made = NULL;

		check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
		launch(stream);
		cuStreamSynchronize(stream); /* not allowed now */
		if (i % 2)
			cuStreamEndCapture(stream, &made);
		cuStreamDestroy(stream);
		usleep(500);
	}
}

/* ---- children ---- */

static void make_children(void)
{
	for (unsigned i = 0; i < times; i++) {
		pid_t child = fork();

		if (child < 0)
			exit(3);
		if (!child && i % 3 == 0)
			_exit(0);
		if (!child && i % 3 == 1)
			exit(0);
		if (!child) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

/* ---- threads that end ---- */

static void run_all(void *(*body)(void *), unsigned count)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i) != 0)
			exit(3);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static pthread_key_t at_end;

/* Launches from a destructor, once more after those of others. */
static void launch_late(void *stream)
{
	static _Thread_local int round;

	launch(stream);
	if (round++ == 0)
		pthread_setspecific(at_end, stream);
}

/* Half of them do not wait for what they have launched. */
static void *launch_and_end(void *number)
{
	CUstream stream = make_stream();

	pthread_setspecific(at_end, stream);
	launch_either((unsigned)(uintptr_t)number, stream);
	launch(stream);
	if ((uintptr_t)number % 2)
		check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	return NULL;
}

static void end_threads(void)
{
	if (pthread_key_create(&at_end, launch_late) != 0)
		exit(3);
	for (unsigned i = 0; i < times; i++) {
		run_all(launch_and_end, 4);
		usleep(500);
	}
}

/* ---- captures that last ---- */

static void capture_long(void)
{
	CUstream stream = make_stream();

	for (unsigned i = 0; i < times; i++) {
		CUgraph made;
		CUgraphExec exec;

		check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
		for (int node = 0; node < 10; node++) {
			launch(stream);
			usleep(3000);
		}
		check(cuStreamEndCapture(stream, &made), "end");
		check(cuGraphInstantiate(&exec, made, 0), "cuGraphInstantiate");
		check(cuGraphDestroy(made), "cuGraphDestroy");
		for (unsigned replay = 0; replay < i % 4; replay++)
			check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
		check(cuStreamSynchronize(stream), "cuStreamSynchronize");
		check(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
		usleep(i % 2 ? 0 : 60000); /* nothing is switched while a stream is captured */
	}
}

/* ---- modules ---- */

static void *load_and_launch(void *unused)
{
	CUstream stream = make_stream();

	for (unsigned i = 0; i < times; i++) {
		void *module = dlopen(module_path, RTLD_NOW | RTLD_LOCAL);
		int (*from_module)(CUfunction, CUstream, unsigned);

		if (!module)
			exit(3);
		*(void **)&from_module = dlsym(module, "hoard_launch");
		check((CUresult)from_module(function, stream, 5), "hoard_launch");
		dlclose(module);
		usleep(500);
	}
	check(cuStreamSynchronize(stream), "cuStreamSynchronize");
	return unused;
}

static void load_modules(void)
{
	run_all(load_and_launch, 2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(void);
	} ways[] = {{"cancel", be_cancelled}, {"jump", jump_out},        {"reset", reset},
		    {"devices", use_two},     {"invalid", invalidate},   {"fork", make_children},
		    {"threads", end_threads}, {"capture", capture_long}, {"load", load_modules}};
	sigset_t usr1;
	pthread_t worker;

	if (argc < 3)
		return 2;
	times = (unsigned)atoi(argv[2]);
	module_path = argv[3];
	signal(SIGUSR1, SIG_IGN);
	start();
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	if (pthread_create(&worker, NULL, work, NULL) != 0)
		return 3;
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].body();
	atomic_store(&stop, true);
	pthread_join(worker, NULL);
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	puts("done");
	return 0;
}
