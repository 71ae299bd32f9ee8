/*
 * linear_skinny through rings; see linear_skinny.h and linear_ring.h. W: the type of the weight.
 *
 * A block stays on its multiprocessor and has an equal share of the rows of the weight, one behind
 * the other. Its warps share the inputs: each has a ring of its own, in which the weights of its
 * next turns are on their way, across the end of a row and of a tile; so the memory is never idle
 * while a block adds up. No warp waits for another but to add up.
 */
#include "kernels/linear_ring.h"
#include "kernels/linear_skinny.cuh"
#include "kernels/ring.cuh"

/* What a block has of `units`: first … last - 1. */
struct linear_share {
	unsigned first, last;

	__device__ inline void find(unsigned units)
	{
		first = (unsigned)((unsigned long long)blockIdx.x * units / gridDim.x);
		last = (unsigned)((blockIdx.x + 1ULL) * units / gridDim.x);
	}
};

/* ---- one token: a lane a vector of ROWS rows, x in registers for good ---- */

template <class T, class W, int ROWS, int KEPT, int STAGES, int WARPS> struct linear_ring_rows {
	static constexpr int COUNT = weight_vector<W>::COUNT, INPUTS = weight_vector<W>::INPUTS;
	static constexpr int TURNS = KEPT / INPUTS; /* along the inputs, at most */
	static constexpr int SUMS = LINEAR_RING_SUMS;
	linear_share share;
	unsigned lane, warp, vectors, turns;
	const W *weights; /* of the lane, in row 0 */
	long long weight_row;
	uint4 *ring;
	uint4 x[TURNS][INPUTS];
	unsigned long long policy;
	unsigned row, turn; /* to be loaded next */
	int stage;          /* that is read next */

	__device__ inline void find(const struct kp_linear_skinny_args &args)
	{
		share.find(args.outputs);
		lane = threadIdx.x % WARP;
		warp = threadIdx.x / WARP;
		vectors = args.inputs / COUNT;
		turns = (vectors + WARPS * WARP - 1) / (WARPS * WARP);
		weights = (const W *)args.weight + threadIdx.x * COUNT;
		weight_row = args.weight_row;
		ring = dynamic_shared() + warp * STAGES * ROWS * WARP + lane;
		policy = ring_policy();
		row = share.first;
		turn = 0;
		stage = 0;
	}
	__device__ inline bool has_vector(unsigned of_turn) const
	{
		return of_turn * (WARPS * WARP) + threadIdx.x < vectors;
	}
	__device__ inline void load(int into)
	{
		bool is_there = has_vector(turn);

#pragma unroll
		for (int i = 0; i < ROWS; i++)
			if (is_there && row + i < share.last)
				ring_copy_once(ring + (into * ROWS + i) * WARP,
					       weights + (row + i) * weight_row +
						       turn * (WARPS * WARP * COUNT),
					       true, policy);
		ring_end_group();
		if (++turn == turns) {
			turn = 0;
			row += ROWS;
		}
	}
	__device__ inline void start()
	{
#pragma unroll
		for (int i = 0; i < STAGES; i++)
			load(i);
	}
	__device__ inline void load_x(const uint4 *from)
	{
#pragma unroll
		for (int i = 0; i < TURNS * INPUTS; i++) {
			unsigned turn_of_x = i / INPUTS;
			unsigned vector = turn_of_x * (WARPS * WARP) + threadIdx.x;

			x[turn_of_x][i % INPUTS] = has_vector(turn_of_x)
							   ? from[vector * INPUTS + i % INPUTS]
							   : NO_VECTOR;
		}
	}
	/* The lane's sums of the next ROWS rows. */
	__device__ inline void multiply(float sums[ROWS])
	{
#pragma unroll
		for (unsigned i = 0; i < TURNS; i++) {
			float values[COUNT];
			uint4 read[ROWS];

			if (i >= turns)
				continue;
			ring_wait<STAGES - 1>();
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				read[r] = ring[(stage * ROWS + r) * WARP];
			load(stage);
			stage = stage + 1 == STAGES ? 0 : stage + 1;
			if (!has_vector(i))
				continue;
#pragma unroll
			for (int j = 0; j < INPUTS; j++)
				unpack<T>(x[i][j], values + j * WIDTH);
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				sums[r] = dot<W>(read[r], values, sums[r]);
		}
	}
	__device__ inline void run(const struct kp_linear_skinny_args &args)
	{
		float *parts = (float *)(dynamic_shared() + WARPS * STAGES * ROWS * WARP);
		unsigned buffer = 0;

		for (unsigned at = share.first; at < share.last; at += SUMS) {
			float *mine = parts + buffer * SUMS * WARPS;
			unsigned end = share.last - at < SUMS ? share.last : at + SUMS;

			for (unsigned first = at; first < end; first += ROWS) {
				float sums[ROWS] = {};

				multiply(sums);
#pragma unroll
				for (int r = 0; r < ROWS; r++) {
					float total = reduce_warp<sum>(sums[r]);

					if (lane == 0)
						mine[(first + r - at) * WARPS + warp] = total;
				}
			}
			__syncthreads();
			if (threadIdx.x < end - at)
				put(args, at + threadIdx.x, mine + threadIdx.x * WARPS);
			buffer ^= 1;
		}
		ring_wait<0>();
	}
	__device__ inline void put(const struct kp_linear_skinny_args &args, unsigned output,
				   const float *parts) const
	{
		float total = 0;

#pragma unroll
		for (int i = 0; i < WARPS; i++)
			total += parts[i];
		linear_put<T>(args, 0, output, total);
	}
};

template <class T, class W, int ROWS, int KEPT, int STAGES, int WARPS>
__device__ inline void linear_ring_row(const struct kp_linear_skinny_args &args)
{
	linear_ring_rows<T, W, ROWS, KEPT, STAGES, WARPS> work;

	work.find(args);
	let_next_launch_begin();
	work.start();
	wait_for_launch_in_front();
	work.load_x((const uint4 *)args.x);
	work.run(args);
}

/* ---- 1 to 16 tokens: a warp takes a line of 128 bytes of 16 · TILES rows ---- */

/* A tile's sums: vectors of rows g and g + 8, with those of x that they meet. */
template <class T, class W>
__device__ inline void linear_multiply(uint4 upper_rows, uint4 lower_rows,
				       const uint4 inputs[weight_vector<W>::INPUTS], float sums[4])
{
	unsigned upper[weight_vector<W>::WORDS], lower[weight_vector<W>::WORDS];

	fragment<T, W>(upper_rows, upper);
	fragment<T, W>(lower_rows, lower);
#pragma unroll
	for (int k = 0; k < weight_vector<W>::WORDS; k += 2) {
		const uint4 x = inputs[k / 4];
		const unsigned a[4] = {upper[k], lower[k], upper[k + 1], lower[k + 1]};
		const unsigned b[2] = {k % 4 ? x.z : x.x, k % 4 ? x.w : x.y};

		multiply_add<T>(sums, a, b);
	}
}

template <class T, class W, int TILES, int SIDES, int KEPT, int STAGES, int WARPS>
struct linear_ring_tiles {
	static constexpr int COUNT = weight_vector<W>::COUNT, INPUTS = weight_vector<W>::INPUTS;
	static constexpr int CHUNKS = KEPT ? KEPT / INPUTS : 1; /* of x, in registers */
	static constexpr int LINE = LINEAR_RING_LINE_VECTORS;
	static constexpr int COPIES = 4 * TILES; /* of a warp, for a turn: 4 rows each */
	static constexpr int X_SLOTS = KEPT ? 0 : 2 * SIDES * INPUTS, SLOTS = COPIES + X_SLOTS;
	static constexpr int ROWS = TILES * 16, TOKENS = SIDES * 8;
	linear_share share; /* of tiles */
	unsigned lane, warp, vectors, chunks;
	const W *rows[COPIES];
	const T *tokens[SIDES];
	bool has_token[SIDES];
	uint4 *ring;
	uint4 x[CHUNKS][SIDES][2][INPUTS];
	unsigned long long policy;
	unsigned tile, chunk; /* to be loaded next */
	int stage;            /* that is read next */

	__device__ inline void find(const struct kp_linear_skinny_args &args)
	{
		share.find((args.outputs + 15) / 16);
		lane = threadIdx.x % WARP;
		warp = threadIdx.x / WARP;
		vectors = args.inputs / COUNT;
		chunks = (vectors + LINE - 1) / LINE;
		ring = dynamic_shared() + warp * STAGES * SLOTS * WARP;
		policy = ring_policy();
		tile = share.first;
		chunk = warp;
		stage = 0;
		find_rows(args);
#pragma unroll
		for (int i = 0; i < SIDES; i++) {
			unsigned token = i * 8 + lane / 4;

			has_token[i] = token < args.tokens;
			tokens[i] = (const T *)args.x + (has_token[i] ? token * args.x_token : 0);
		}
	}
	__device__ inline void find_rows(const struct kp_linear_skinny_args &args)
	{
#pragma unroll
		for (int i = 0; i < COPIES; i++) {
			unsigned row = tile * 16 + i * 4 + lane / LINE;

			/* Behind the last row, that one once more. */
			row = row < args.outputs ? row : args.outputs - 1;
			rows[i] = (const W *)args.weight + row * args.weight_row +
				  lane % LINE * COUNT;
		}
	}
	/* Where a vector of a line is. Every other row has its halves exchanged, so that the two
	 * rows that eight lanes read of lie in all banks. */
	__device__ static inline unsigned place(unsigned row, unsigned vector)
	{
		return row * LINE + (vector ^ (row & 1) * (LINE / 2));
	}
	__device__ inline void load_weights(int into)
	{
		uint4 *to = ring + into * SLOTS * WARP;
		unsigned vector = lane % LINE;
		bool is_there = chunk * LINE + vector < vectors;

#pragma unroll
		for (int i = 0; i < COPIES; i++)
			if (tile + i / 4 < share.last)
				ring_copy_once(to + place(i * 4 + lane / LINE, vector),
					       rows[i] + (size_t)chunk * (LINE * COUNT), is_there,
					       policy);
	}
	__device__ inline void next(const struct kp_linear_skinny_args &args)
	{
		chunk += WARPS;
		if (chunk < chunks)
			return;
		chunk = warp;
		tile += TILES;
		if (tile < share.last)
			find_rows(args);
	}
	/* Vector i of those of x that a lane multiplies in a chunk: by side, half and input. */
	__device__ inline uint4 *x_slot(int of_stage, int i) const
	{
		return ring + (of_stage * SLOTS + COPIES + i) * WARP + lane;
	}
	__device__ inline unsigned x_vector(unsigned of_chunk, int i) const
	{
		return of_chunk * LINE + i / INPUTS % 2 * (LINE / 2) + lane % 4;
	}
	__device__ inline const uint4 *x_at(unsigned of_chunk, int i) const
	{
		return (const uint4 *)tokens[i / INPUTS / 2] + x_vector(of_chunk, i) * INPUTS +
		       i % INPUTS;
	}
	__device__ inline void load_x(int into)
	{
#pragma unroll
		for (int i = 0; i < X_SLOTS; i++)
			if (has_token[i / INPUTS / 2])
				ring_copy(x_slot(into, i), x_at(chunk, i),
					  x_vector(chunk, i) < vectors);
	}
	/* Weights of the first turns: the launch in front does not write them. */
	__device__ inline void start(const struct kp_linear_skinny_args &args)
	{
#pragma unroll
		for (int i = 0; i < STAGES; i++) {
			if (tile < share.last) {
				load_weights(i);
				next(args);
			}
			ring_end_group();
		}
	}
	__device__ inline uint4 first_x(unsigned of_chunk, int i) const
	{
		return has_token[i / INPUTS / 2] && x_vector(of_chunk, i) < vectors
			       ? *x_at(of_chunk, i)
			       : NO_VECTOR;
	}
	/* What is kept of x, or what the first turns need of it. */
	__device__ inline void start_x()
	{
		if constexpr (KEPT != 0) {
#pragma unroll
			for (int i = 0; i < CHUNKS * SIDES * 2 * INPUTS; i++) {
				int at = i / INPUTS / 2 / SIDES,
				    in_chunk = i % (SIDES * 2 * INPUTS);

				x[at][in_chunk / INPUTS / 2][in_chunk / INPUTS % 2]
				 [in_chunk % INPUTS] = first_x(warp + at * WARPS, in_chunk);
			}
		} else {
			unsigned at = warp;

#pragma unroll
			for (int i = 0; i < STAGES; i++) {
#pragma unroll
				for (int j = 0; j < X_SLOTS; j++)
					*x_slot(i, j) = first_x(at, j);
				at = at + WARPS < chunks ? at + WARPS : warp;
			}
		}
	}
	__device__ inline void read_x()
	{
#pragma unroll
		for (int i = 0; i < X_SLOTS; i++)
			x[0][i / INPUTS / 2][i / INPUTS % 2][i % INPUTS] = *x_slot(stage, i);
	}
	/* The oldest turn of the ring, with chunk `kept` of x; its place takes the next one. */
	__device__ inline void take_turn(const struct kp_linear_skinny_args &args, unsigned kept,
					 unsigned have, float sums[TILES][SIDES][4])
	{
		const uint4 *from = ring + stage * SLOTS * WARP;
		uint4 read[TILES][2][2];

		ring_wait<STAGES - 1>();
		__syncwarp();
#pragma unroll
		for (int i = 0; i < COPIES; i++)
			read[i / 4][i / 2 % 2][i % 2] =
				from[place(i / 2 * 8 + lane / 4, i % 2 * (LINE / 2) + lane % 4)];
		read_x();
		__syncwarp();
		if (tile < share.last) {
			load_weights(stage);
			load_x(stage);
			next(args);
		}
		ring_end_group();
		stage = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
		for (unsigned i = 0; i < TILES * 2; i++)
			if (i / 2 < have)
#pragma unroll
				for (int side = 0; side < SIDES; side++)
					linear_multiply<T, W>(
						read[i / 2][0][i % 2], read[i / 2][1][i % 2],
						x[kept][side][i % 2], sums[i / 2][side]);
	}
	/* All turns of the warp for its tiles of these rows, of which there are so many. */
	__device__ inline void multiply(const struct kp_linear_skinny_args &args, unsigned have,
					float sums[TILES][SIDES][4])
	{
		if constexpr (KEPT != 0) {
#pragma unroll
			for (unsigned i = 0; i < CHUNKS; i++)
				if (warp + i * WARPS < chunks)
					take_turn(args, i, have, sums);
		} else {
			for (unsigned i = warp; i < chunks; i += WARPS)
				take_turn(args, 0, have, sums);
		}
	}
	__device__ inline void run(const struct kp_linear_skinny_args &args)
	{
		unsigned buffer = 0;

		for (unsigned at = share.first; at < share.last; at += TILES) {
			float sums[TILES][SIDES][4] = {};
			unsigned left = share.last - at;

			multiply(args, left, sums);
			put(args, at, left, buffer, sums);
			buffer ^= 1;
		}
		ring_wait<0>();
	}
	/* The sums of the block, of which each warp has a part. */
	__device__ inline void put(const struct kp_linear_skinny_args &args, unsigned at,
				   unsigned have, unsigned buffer,
				   const float sums[TILES][SIDES][4]) const
	{
		float *parts = (float *)(dynamic_shared() + WARPS * STAGES * SLOTS * WARP) +
			       buffer * WARPS * TOKENS * ROWS;

#pragma unroll
		for (int i = 0; i < TILES * SIDES * 4; i++) {
			int of_tile = i / 4 / SIDES, side = i / 4 % SIDES, part = i % 4;
			unsigned token = side * 8 + lane % 4 * 2 + part % 2;

			if (token < args.tokens)
				parts[(warp * TOKENS + token) * ROWS + of_tile * 16 + part / 2 * 8 +
				      lane / 4] = sums[of_tile][side][part];
		}
		__syncthreads();
		for (unsigned i = threadIdx.x; i < ROWS * args.tokens; i += WARPS * WARP) {
			unsigned row = i % ROWS, token = i / ROWS, output = at * 16 + row;
			float total = 0;

#pragma unroll
			for (int of_warp = 0; of_warp < WARPS; of_warp++)
				total += parts[(of_warp * TOKENS + token) * ROWS + row];
			if (row < have * 16 && output < args.outputs)
				linear_put<T>(args, token, output, total);
		}
	}
};

template <class T, class W, int TILES, int SIDES, int KEPT, int STAGES, int WARPS>
__device__ inline void linear_ring_tile(const struct kp_linear_skinny_args &args)
{
	linear_ring_tiles<T, W, TILES, SIDES, KEPT, STAGES, WARPS> work;

	work.find(args);
	let_next_launch_begin();
	work.start(args);
	wait_for_launch_in_front();
	work.start_x();
	work.run(args);
}
