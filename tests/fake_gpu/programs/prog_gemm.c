/*
 * A program that multiplies matrices by cuBLAS and cuBLASLt, and launches kernels of its own
 * between, all with one grid and block:
 *
 *	prog_gemm DOOR WORK ROUNDS [THREADS]
 *
 * DOOR is how it finds cuBLAS: «link», or «dlsym» in a library that was loaded RTLD_LOCAL. WORK is
 * «eager», or «graph»: the same captured, and launched ROUNDS times between other work. With
 * THREADS, as many threads do so at once, on a stream each and with sizes of their own. Built with
 * KP_OWN_SGEMM, it has a cublasSgemm_v2 of its own, which is not cuBLAS's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/fake_gpu/library/cublas.h"
#include "tests/fake_gpu/library/launch.h"
#include "tests/fake_gpu/library/lt.h"

enum { HALF = 2, SINGLE = 0, COMPUTE_SINGLE = 68, EPILOGUE_BIAS = 4 };

#define DECLARE(name, parameters) static int(*find_##name) parameters;
KP_FAKE_CUBLAS(DECLARE)

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "prog_gemm: %s: error %d\n", what, result);
	exit(3);
}

#ifdef KP_OWN_SGEMM
/* The program's own: whatever stands in front of cuBLAS stays there. */
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc)
{
	(void)handle, (void)ta, (void)tb, (void)m, (void)n, (void)alpha, (void)a, (void)lda;
	(void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
	for (int i = 0; i < (k >= 4096 ? 2 : 1) && m > 0; i++)
		check(kp_fake_kernel(NULL, "own"), "own");
	return m > 0 ? 0 : FAKE_INVALID_VALUE;
}
#endif

static void find_all(const char *door)
{
	void *library =
		strcmp(door, "link") == 0 ? NULL : dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);

#define FIND(name, parameters)                                                                     \
	if (library)                                                                               \
		*(void **)&find_##name = dlsym(library, #name);                                    \
	else                                                                                       \
		find_##name = name;                                                                \
	check(find_##name ? 0 : 1, #name);
	KP_FAKE_CUBLAS(FIND)
}

static void multiply_lt(CUstream stream, int m)
{
	const int transpose = 1, epilogue = EPILOGUE_BIAS, batch = 3;
	struct layout *a, *d;
	struct matmul *matmul;

	check(cublasLtMatrixLayoutCreate(&a, HALF, 96, (uint64_t)m, 96), "layout");
	check(cublasLtMatrixLayoutCreate(&d, HALF, (uint64_t)m, 24, m), "layout");
	check(cublasLtMatrixLayoutSetAttribute(d, 5, &batch, sizeof(batch)), "batch");
	check(cublasLtMatmulDescCreate(&matmul, COMPUTE_SINGLE, SINGLE), "matmul");
	check(cublasLtMatmulDescSetAttribute(matmul, 3, &transpose, sizeof(transpose)), "set");
	check(cublasLtMatmulDescSetAttribute(matmul, 7, &epilogue, sizeof(epilogue)), "set");
	check(cublasLtMatmul(NULL, matmul, NULL, NULL, a, NULL, a, NULL, NULL, d, NULL, d, NULL,
			     NULL, 0, stream),
	      "cublasLtMatmul");
	cublasLtMatmulDescDestroy(matmul);
	cublasLtMatrixLayoutDestroy(a);
	cublasLtMatrixLayoutDestroy(d);
}

/* 8 kernels in 8 calls that are looked at, 1 of which fails; 3 kernels of no such call. */
static void work(void *handle, CUstream stream, int round, int thread)
{
	int m = 1000 * thread + 64 + round % 3;
	const int sizes[2] = {2, 3}, ms[2] = {m, m}, ns[2] = {8, 16}, ks[2] = {4, 4},
		  no[2] = {0, 0};

	check(kp_fake_kernel(stream, "elementwise"), "elementwise");
	check(find_cublasSgemm_v2(handle, 0, 0, m, 32, 16, NULL, NULL, m, NULL, 16, NULL, NULL, m),
	      "cublasSgemm_v2");
	check(find_cublasGemmEx(handle, 1, 0, m, 40, 48, NULL, NULL, HALF, 48, NULL, HALF, 48, NULL,
				NULL, HALF, m, COMPUTE_SINGLE, -1),
	      "cublasGemmEx");
	check(kp_fake_kernel(stream, "elementwise"), "elementwise");
	check(find_cublasGemmStridedBatchedEx(handle, 0, 1, m, 56, 8, NULL, NULL, HALF, m, 0, NULL,
					      HALF, 56, 448, NULL, NULL, HALF, m, 56 * m, 12,
					      COMPUTE_SINGLE, -1),
	      "cublasGemmStridedBatchedEx");
	check(find_cublasSgemv_v2(handle, 1, m, 72, NULL, NULL, m, NULL, 1, NULL, NULL, 1),
	      "cublasSgemv_v2");
	multiply_lt(stream, m);
	check(find_cublasSsyrk_v2(handle, 0, 0, m, 20, NULL, NULL, m, NULL, NULL, m),
	      "cublasSsyrk_v2");
	check(find_cublasSgemm_v2_64(handle, 0, 0, m, 32, 4096, NULL, NULL, m, NULL, 4096, NULL,
				     NULL, m),
	      "cublasSgemm_v2_64");
	check(find_cublasSgemmGroupedBatched(handle, no, no, ms, ns, ks, NULL, NULL, ms, NULL, ks,
					     NULL, NULL, ms, 2, sizes),
	      "cublasSgemmGroupedBatched");
	if (find_cublasSgemm_v2(handle, 0, 0, -1, 32, 16, NULL, NULL, 1, NULL, 16, NULL, NULL, 1) ==
	    0)
		check(1, "a product without rows");
}

static CUgraphExec capture(void *handle, CUstream stream, int round)
{
	CUgraphExec exec;
	CUgraph graph;

	check((int)cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
	for (int i = 0; i < 2; i++)
		work(handle, stream, round + i, 0);
	check((int)cuStreamEndCapture(stream, &graph), "end");
	check((int)cuGraphInstantiate(&exec, graph, 0), "instantiate");
	check((int)cuGraphDestroy(graph), "destroy");
	return exec;
}

static void work_in_graphs(void *handle, CUstream stream, long rounds)
{
	CUgraphExec graphs[2] = {capture(handle, stream, 0), capture(handle, stream, 1)};

	for (long i = 0; i < rounds; i++) {
		check((int)cuGraphLaunch(graphs[i % 2], stream), "cuGraphLaunch");
		if (i % 3 == 0)
			work(handle, stream, (int)i, 7);
	}
}

static struct {
	CUcontext context;
	const char *work;
	long rounds;
} asked;

static void *run(void *number)
{
	int thread = (int)(intptr_t)number;
	CUstream stream;
	void *handle;

	check((int)cuCtxSetCurrent(asked.context), "cuCtxSetCurrent");
	check((int)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(find_cublasCreate_v2(&handle), "cublasCreate_v2");
	check(find_cublasSetStream_v2(handle, stream), "cublasSetStream_v2");
	if (strcmp(asked.work, "graph") == 0)
		work_in_graphs(handle, stream, asked.rounds);
	for (long i = 0; i < asked.rounds && strcmp(asked.work, "eager") == 0; i++)
		work(handle, stream, (int)i, thread);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 4 ? atol(argv[4]) : 1;
	pthread_t ids[16];

	if (argc < 4 || threads < 1 || threads > 16)
		return 2;
	find_all(argv[1]);
	asked.work = argv[2];
	asked.rounds = atol(argv[3]);
	check((int)cuInit(0), "cuInit");
	check((int)cuDevicePrimaryCtxRetain(&asked.context, 0), "cuDevicePrimaryCtxRetain");
	for (long i = 1; i < threads; i++)
		check(pthread_create(&ids[i], NULL, run, (void *)(intptr_t)i), "pthread_create");
	run(NULL);
	for (long i = 1; i < threads; i++)
		check(pthread_join(ids[i], NULL), "pthread_join");
	check((int)cuCtxSynchronize(), "cuCtxSynchronize");
	return 0;
}
