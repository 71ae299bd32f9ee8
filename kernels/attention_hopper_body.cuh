/*
 * The body of a Hopper version of attention_prefill; included once a version, with
 *
 *   HOPPER_NAME              of the version's namespace
 *   HOPPER_DIM, _DIM_HALF    elements of a head: 64 or 128
 *   HOPPER_KEYS, _KEYS_HALF  keys of a tile: 128 or 176
 *   HOPPER_GROUPS            consumer warpgroups, each with 64 query rows
 *   HOPPER_Q_STAGES          tiles of queries in shared memory
 *   HOPPER_CROSS             1: no pause between pieces of work
 *   HOPPER_TEXT              "bf16" or "f16"; HOPPER_TYPE: the type of CUDA
 */
namespace HOPPER_NAME
{

enum {
	DIM = HOPPER_DIM,
	KEYS = HOPPER_KEYS,
	GROUPS = HOPPER_GROUPS,
	STAGES = 2, /* of keys, and of values */
	Q_STAGES = HOPPER_Q_STAGES,
	PIECES = 4,      /* places in the ring */
	SEQUENCES = 256, /* whose blocks are counted beforehand */
	ROWS = 64 * GROUPS,
	COLUMNS = DIM / TILE_COLUMN,
	SUMS = DIM / 2,    /* registers of the result a thread */
	SCORES = KEYS / 2, /* registers of a tile's scores a thread */
	STEPS = KEYS / 16,
	Q_BYTES = ROWS * DIM * 2,
	TILE_BYTES = KEYS * DIM * 2,
};

/* Addresses in shared memory. */
struct room {
	unsigned q, k, v, q_full, q_empty, k_full, k_empty, v_full, v_empty, piece_full,
		piece_empty;
	struct prefill_piece *pieces; /* a ring: what the producer found, for the consumers */
	const unsigned *ends; /* blocks of all sequences up to each; NULL: all have as many */
};

static __device__ __forceinline__ struct room divide(unsigned base)
{
	struct room r;

	r.q = base;
	r.k = r.q + Q_STAGES * Q_BYTES;
	r.v = r.k + STAGES * TILE_BYTES;
	r.q_full = r.v + STAGES * TILE_BYTES;
	r.q_empty = r.q_full + 8 * Q_STAGES;
	r.k_full = r.q_empty + 8 * Q_STAGES;
	r.k_empty = r.k_full + 8 * STAGES;
	r.v_full = r.k_empty + 8 * STAGES;
	r.v_empty = r.v_full + 8 * STAGES;
	r.piece_full = r.v_empty + 8 * STAGES;
	r.piece_empty = r.piece_full + 8 * PIECES;
	return r;
}

static __device__ __forceinline__ void set_up(const struct room *r)
{
	for (unsigned i = 0; i < Q_STAGES; i++) {
		barrier_init(r->q_full + 8 * i, 1);
		barrier_init(r->q_empty + 8 * i, 4 * GROUPS);
	}
	for (unsigned i = 0; i < STAGES; i++) {
		barrier_init(r->k_full + 8 * i, 1);
		barrier_init(r->v_full + 8 * i, 1);
		barrier_init(r->k_empty + 8 * i, 4 * GROUPS);
		barrier_init(r->v_empty + 8 * i, 4 * GROUPS);
	}
	for (unsigned i = 0; i < PIECES; i++) {
		barrier_init(r->piece_full + 8 * i, 1);
		barrier_init(r->piece_empty + 8 * i, 4 * GROUPS);
	}
	barrier_init_done();
}

/* clang-format off */
#include "kernels/attention_hopper_producer.cuh"
#include "kernels/attention_hopper_softmax.cuh"
#include "kernels/attention_hopper_consumer.cuh"
/* clang-format on */

/* The blocks of all sequences up to each; one warp. */
static __device__ __forceinline__ void count_blocks(const struct kp_attention_call *call,
						    unsigned *ends)
{
	unsigned lane = threadIdx.x, before = 0;

	for (unsigned first = 0; first < call->batch; first += 32) {
		unsigned at = min(first + lane, call->batch - 1), sum;
		int rows = call->q_starts[at + 1] - call->q_starts[at];

		sum = rows > 0 && first + lane < call->batch ? (rows + ROWS - 1) / ROWS : 0;
#pragma unroll
		for (int distance = 1; distance < 32; distance *= 2) {
			unsigned other = __shfl_up_sync(0xffffffff, sum, distance);

			sum += lane >= distance ? other : 0;
		}
		if (first + lane < call->batch)
			ends[at] = before + sum;
		before += __shfl_sync(0xffffffff, sum, 31);
	}
}

static __device__ __forceinline__ void run(const struct kp_attention_call *call)
{
	extern __shared__ char shared[];
	__shared__ struct prefill_piece pieces[PIECES];
	__shared__ unsigned ends[SEQUENCES];
	struct room r = divide((shared_address(shared) + 1023) & ~1023u);
	unsigned group = (unsigned)uniform((int)(threadIdx.x / WARPGROUP));

	r.pieces = pieces;
	if (threadIdx.x == 0) {
		set_up(&r);
		prefetch_map(&call->q_map);
		prefetch_map(&call->k_map);
		prefetch_map(&call->v_map);
	}
	let_next_launch_begin();
	wait_for_launch_in_front();
	r.ends = call->q_starts && call->batch <= SEQUENCES ? ends : nullptr;
	if (r.ends && threadIdx.x < 32)
		count_blocks(call, ends);
	__syncthreads();
	if (group == 0) {
#if HOPPER_GROUPS == 2
		GIVE_REGISTERS(24);
#else
		GIVE_REGISTERS(32);
#endif
		if (threadIdx.x == 0)
			produce(call, &r);
	} else {
#if HOPPER_GROUPS == 2
		TAKE_REGISTERS(240);
#else
		TAKE_REGISTERS(160);
#endif
		consume(call, &r, group - 1);
	}
}

} // namespace HOPPER_NAME

#if HOPPER_GROUPS == 2
#define HOPPER_THREADS 384
#else
#define HOPPER_THREADS 512
#endif
extern "C" __global__ void __launch_bounds__(HOPPER_THREADS, 1)
	HOPPER_SYMBOL(const __grid_constant__ struct kp_attention_call call)
{
	HOPPER_NAME::run(&call);
}

#undef HOPPER_THREADS
