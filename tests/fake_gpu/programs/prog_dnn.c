/*
 * A program that has cuDNN execute graphs, as PyTorch does: tensors and operations are gone before
 * a plan runs, plans are kept and run often, on any thread:
 *
 *	prog_dnn DOOR WORK ROUNDS
 *
 * DOOR: «link», or «dlsym» in a library that was loaded RTLD_LOCAL. WORK: «eager»; «graph», the
 * same captured, and launched ROUNDS times; «thread», by a second thread; «many», which makes and
 * forgets ROUNDS plans. A round is six kernels in calls whose shape is known, one in a call of
 * which it is not (a plan from a file), and one in none.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/fake_gpu/library/cudnn.h"
#include "tests/fake_gpu/library/launch.h"

/* cudnnBackendAttributeType_t */
enum {
	HANDLE,
	DATA_TYPE,
	BOOLEAN,
	INT64,
	FLOAT,
	POINTER = 6,
	MODE = 14,
	DESCRIPTOR = 15,
	CHAR = 24
};
/* cudnnDataType_t */
enum { SINGLE = 0, HALF = 2, BF16 = 9 };

#define DECLARE(name, parameters) static int(*find_##name) parameters;
KP_FAKE_CUDNN(DECLARE)

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_dnn: %s: error %d\n", what, result);
	exit(3);
}

static void find_all(const char *door)
{
	void *library =
		strcmp(door, "link") == 0 ? NULL : dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);

#define FIND(name, parameters)                                                                     \
	if (library)                                                                               \
		*(void **)&find_##name = dlsym(library, #name);                                    \
	else                                                                                       \
		find_##name = name;                                                                \
	check(find_##name ? 0 : 1, #name);
	KP_FAKE_CUDNN(FIND)
}

/* ---- descriptors ---- */

static void *make(int type)
{
	void *made;

	check(find_cudnnBackendCreateDescriptor(type, &made), "create");
	return made;
}

static void set(void *descriptor, int name, int type, int64_t count, const void *elements)
{
	check(find_cudnnBackendSetAttribute(descriptor, name, type, count, elements), "set");
}

static void refer(void *descriptor, int name, void *to)
{
	set(descriptor, name, DESCRIPTOR, 1, &to);
}

static void *finish(void *descriptor)
{
	check(find_cudnnBackendFinalize(descriptor), "finalize");
	return descriptor;
}

static void forget(void *descriptor)
{
	check(find_cudnnBackendDestroyDescriptor(descriptor), "destroy");
}

struct shape {
	int type;
	int64_t extents[4];
	bool last, internal; /* last: channels are the innermost */
};

/* Also with attributes that nobody needs to know. */
static void *tensor(struct shape shape)
{
	const int64_t *e = shape.extents, alignment = 16;
	const int64_t first[4] = {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
	const int64_t last[4] = {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
	const unsigned char internal = shape.internal;
	void *made = make(17);

	set(made, 901, DATA_TYPE, 1, &shape.type);
	set(made, 902, INT64, 4, e);
	set(made, 903, INT64, 4, shape.last ? last : first);
	set(made, 900, INT64, 1, &alignment);
	set(made, 2999, INT64, 1, &alignment);
	if (internal)
		set(made, 907, BOOLEAN, 1, &internal);
	return finish(made);
}

/* Gives an operation a tensor, and forgets that. */
static void give(void *operation, int name, struct shape shape)
{
	void *made = tensor(shape);

	refer(operation, name, made);
	forget(made);
}

static void *convolve(int64_t n, const struct shape *y)
{
	const int64_t spatial[1] = {2}, one[2] = {1, 1}, two[2] = {2, 2};
	void *how = make(1), *operation = make(10);

	set(how, 106, INT64, 1, spatial);
	set(how, 104, INT64, 2, one);
	set(how, 105, INT64, 2, one);
	set(how, 102, INT64, 2, one);
	set(how, 103, INT64, 2, two);
	finish(how);
	give(operation, 704, (struct shape){BF16, {n, 32, 56, 48}, true, false});
	give(operation, 703, (struct shape){BF16, {64, 16, 3, 3}, true, false});
	give(operation, 705, *y);
	refer(operation, 702, how);
	forget(how);
	return finish(operation);
}

static void *apply(int mode, const struct shape *x, const struct shape *b, const struct shape *y)
{
	void *how = make(0), *operation = make(13);

	set(how, 0, MODE, 1, &mode);
	finish(how);
	refer(operation, 750, how);
	give(operation, 751, *x);
	if (b)
		give(operation, 752, *b);
	give(operation, 753, *y);
	forget(how);
	return finish(operation);
}

static void *multiply(const struct shape *a, const struct shape *b, const struct shape *c)
{
	void *operation = make(19);

	give(operation, 1520, *a);
	give(operation, 1521, *b);
	give(operation, 1522, *c);
	return finish(operation);
}

/* ---- plans ---- */

/* From the graph of some operations, which go: by heuristics if there is a choice, else by hand. */
static void *plan_of(void **operations, int64_t count, bool by_hand)
{
	void *graph = make(15), *heuristics = make(4), *engine = make(2), *plan = make(5);
	void *configs[3] = {make(3), make(3), make(3)};
	int64_t given, index = 7;

	set(graph, 801, DESCRIPTOR, count, operations);
	finish(graph);
	for (int64_t i = 0; i < count; i++)
		forget(operations[i]);
	refer(heuristics, 201, graph);
	finish(heuristics);
	if (by_hand) {
		refer(engine, 1300, graph);
		set(engine, 1301, INT64, 1, &index);
		finish(engine);
		refer(configs[2], 300, engine);
		finish(configs[2]);
	} else {
		check(find_cudnnBackendGetAttribute(heuristics, 202, DESCRIPTOR, 3, &given,
						    configs),
		      "results");
		check(find_cudnnBackendGetAttribute(configs[0], 300, DESCRIPTOR, 1, &given,
						    &engine),
		      "engine");
	}
	refer(plan, 401, configs[2]);
	finish(plan);
	for (int i = 0; i < 3; i++)
		forget(configs[i]);
	forget(engine);
	forget(heuristics);
	forget(graph);
	return plan;
}

static void *convolution(int64_t n)
{
	const struct shape y = {SINGLE, {n, 64, 28, 24}, true, true};
	const struct shape bias = {BF16, {1, 64, 1, 1}, true, false};
	const struct shape z = {BF16, {n, 64, 28, 24}, true, false};
	void *operations[3] = {convolve(n, &y), apply(0, &y, &bias, &y), apply(100, &y, NULL, &z)};

	return plan_of(operations, 3, false);
}

static void *attention(int64_t keys)
{
	void *operation = make(41);

	give(operation, 2800, (struct shape){BF16, {3, 12, 520, 64}, false, false});
	give(operation, 2801, (struct shape){BF16, {3, 4, keys, 64}, false, false});
	give(operation, 2802, (struct shape){BF16, {3, 4, keys, 80}, false, false});
	give(operation, 2803, (struct shape){BF16, {3, 12, 520, 80}, false, false});
	finish(operation);
	return plan_of(&operation, 1, true);
}

/* Two products with a causal mask between. */
static void *composite(void)
{
	const struct shape q = {HALF, {2, 8, 300, 64}, false, false};
	const struct shape k = {HALF, {2, 2, 64, 300}, false, false};
	const struct shape v = {HALF, {2, 2, 300, 64}, false, false};
	const struct shape scores = {SINGLE, {2, 8, 300, 300}, false, true};
	void *operations[5] = {multiply(&q, &k, &scores), apply(501, &scores, NULL, &scores),
			       apply(501, &scores, NULL, &scores),
			       apply(303, &scores, &scores, &scores), multiply(&scores, &v, &q)};

	return plan_of(operations, 5, false);
}

static void *product(void)
{
	const struct shape a = {HALF, {1, 5, 96, 48}, false, false};
	const struct shape b = {HALF, {1, 1, 48, 40}, false, false};
	const struct shape c = {HALF, {1, 5, 96, 40}, false, true};
	void *operations[2] = {multiply(&a, &b, &c), apply(104, &c, NULL, &c)};

	return plan_of(operations, 2, false);
}

static void *pointwise(void)
{
	const struct shape x = {SINGLE, {1, 7, 11, 13}, false, false};
	void *operation = apply(1, &x, &x, &x);

	return plan_of(&operation, 1, true);
}

static void *from_file(void)
{
	void *plan = make(5);

	set(plan, 405, CHAR, 3, "{}");
	return finish(plan);
}

#define PLANS 7
static void *plans[PLANS];

static void make_plans(void)
{
	plans[0] = convolution(2);
	plans[1] = convolution(5);
	plans[2] = attention(776);
	plans[3] = composite();
	plans[4] = product();
	plans[5] = pointwise();
	plans[6] = from_file();
}

static void execute(void *handle, void *plan)
{
	const int64_t ids[1] = {1};
	void *variant = make(16), *data = NULL;

	set(variant, 1000, INT64, 1, ids);
	set(variant, 1001, POINTER, 1, &data);
	finish(variant);
	check(find_cudnnBackendExecute(handle, plan, variant), "execute");
	forget(variant);
}

static void work(void *handle, CUstream stream)
{
	check(kp_fake_kernel(stream, "elementwise"), "elementwise");
	for (int i = 0; i < PLANS; i++)
		execute(handle, plans[i]);
}

/* A plan executed with other shapes than those that it was made for. */
static void execute_overridden(void *handle)
{
	const int64_t shape[4] = {9, 32, 56, 48};
	void *variant = make(16);

	set(variant, 1011, INT64, 4, shape);
	finish(variant);
	check(find_cudnnBackendExecute(handle, plans[0], variant), "execute");
	forget(variant);
	if (find_cudnnBackendExecute(handle, plans[0], NULL) == 0)
		check(1, "an execution without data");
}

static struct {
	CUcontext context;
	const char *work;
	long rounds;
} asked;

static void run_graph(void *handle, CUstream stream)
{
	CUgraphExec exec;
	CUgraph graph;

	check((int)cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
	work(handle, stream);
	check((int)cuStreamEndCapture(stream, &graph), "end");
	check((int)cuGraphInstantiate(&exec, graph, 0), "instantiate");
	check((int)cuGraphDestroy(graph), "destroy");
	for (long i = 0; i < asked.rounds; i++)
		check((int)cuGraphLaunch(exec, stream), "cuGraphLaunch");
}

static void *run(void *unused)
{
	CUstream stream;
	void *handle;

	(void)unused;
	check((int)cuCtxSetCurrent(asked.context), "cuCtxSetCurrent");
	check((int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(find_cudnnCreate(&handle), "cudnnCreate");
	check(find_cudnnSetStream(handle, stream), "cudnnSetStream");
	if (strcmp(asked.work, "graph") == 0) {
		run_graph(handle, stream);
		return NULL;
	}
	for (long i = 0; i < asked.rounds && strcmp(asked.work, "many") == 0; i++) {
		void *plan = attention(16 + i);

		execute(handle, plan);
		forget(plan);
	}
	for (long i = 0; i < asked.rounds && strcmp(asked.work, "many") != 0; i++)
		work(handle, stream);
	execute_overridden(handle);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;

	if (argc != 4)
		return 2;
	find_all(argv[1]);
	asked.work = argv[2];
	asked.rounds = atol(argv[3]);
	make_plans(); /* before CUDA is in use: descriptors are known from the start */
	check((int)cuInit(0), "cuInit");
	check((int)cuDevicePrimaryCtxRetain(&asked.context, 0), "cuDevicePrimaryCtxRetain");
	check((int)cuCtxSetCurrent(asked.context), "cuCtxSetCurrent");
	if (strcmp(asked.work, "thread") == 0) {
		check(pthread_create(&id, NULL, run, NULL), "pthread_create");
		check(pthread_join(id, NULL), "pthread_join");
	} else {
		run(NULL);
	}
	check((int)cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
