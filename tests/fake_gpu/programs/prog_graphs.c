/*
 * Graphs that do not stay as they were made.
 *
 *	prog_graphs update N      updated before each of N launches, and once by one that does not
 *	                          fit
 *	prog_graphs disable N     one node of three off in every other of N launches
 *	prog_graphs condition N   a kernel, and two more behind a condition, launched N times
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "tests/fake_gpu/programs/one_kernel.h"

static CUcontext context;
static CUfunction work, other;
static CUstream stream;
static unsigned times;

/* `count` nodes in a row, behind what is there. */
static CUgraphNode add(CUgraph graph, CUfunction function, unsigned count)
{
	CUDA_KERNEL_NODE_PARAMS params = {.func = function,
					  .gridDimX = 1,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1};
	CUgraphNode node = NULL, before;

	for (unsigned i = 0; i < count; i++) {
		before = node;
		check(cuGraphAddKernelNode(&node, graph, &before, before ? 1 : 0, &params), "add");
	}
	return node;
}

static CUgraph make(void)
{
	CUgraph graph;

	check(cuGraphCreate(&graph, 0), "cuGraphCreate");
	return graph;
}

static void update(void)
{
	CUgraph graphs[] = {make(), make(), make()};
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;

	add(graphs[0], work, 5);
	add(graphs[1], other, 5);
	add(graphs[2], other, 4);
	check(cuGraphInstantiate(&exec, graphs[0], 0), "cuGraphInstantiate");
	for (unsigned i = 0; i < times; i++) {
		check(cuGraphExecUpdate(exec, graphs[i % 2], &info), "cuGraphExecUpdate");
		check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
	}
	if (cuGraphExecUpdate(exec, graphs[2], &info) == CUDA_SUCCESS)
		exit(4);
	check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
}

static void disable(void)
{
	CUgraph graph = make();
	CUgraphNode node = add(graph, work, 3);
	CUgraphExec exec;

	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	for (unsigned i = 0; i < times; i++) {
		check(cuGraphNodeSetEnabled(exec, node, i % 2), "cuGraphNodeSetEnabled");
		check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
	}
}

static void condition(void)
{
	CUgraph graph = make();
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphNode node;
	CUgraphExec exec;

	add(graph, work, 1);
	params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
	params.conditional.size = 1;
	params.conditional.ctx = context;
	check(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, context, 1, 0),
	      "cuGraphConditionalHandleCreate");
	check(cuGraphAddNode(&node, graph, NULL, NULL, 0, &params), "cuGraphAddNode");
	add(params.conditional.phGraph_out[0], other, 2);
	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	for (unsigned i = 0; i < times; i++)
		check(cuGraphLaunch(exec, stream), "cuGraphLaunch");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	times = (unsigned)atoi(argv[2]);
	context = begin_cuda();
	work = load_kernel("work", 2000);
	other = load_kernel("other", 3000);
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	if (strcmp(argv[1], "update") == 0)
		update();
	else if (strcmp(argv[1], "disable") == 0)
		disable();
	else
		condition();
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	puts("done");
	return 0;
}
