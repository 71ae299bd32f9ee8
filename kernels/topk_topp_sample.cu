/* The launches of topk_topp_sample; topk_topp_sample.h says what they compute, topk_topp_sample.c
 * which ones there are. Everywhere: x of the grid counts rows, y parts of a row. */
#include "kernels/sample_state.cuh"

#define PHILOX_ROUNDS 10
#define BUCKETS_A_THREAD (KP_SAMPLE_BUCKETS / SAMPLE_THREADS)

/* ---- begin ---- */

template <class T, bool VECTOR>
__device__ inline void sample_begin(const struct kp_topk_topp_sample_args &args)
{
	__shared__ logits_best parts[LOGITS_WARPS];
	logits_row<T, VECTOR> row;
	sample_space space;
	logits_best best;

	row.find(args.x, blockIdx.x, args.x_row, args.x_column, args.columns);
	space.find(args, blockIdx.x);
	let_next_launch_begin();
	wait_for_launch_in_front();
	for (unsigned i = blockIdx.y * SAMPLE_THREADS + threadIdx.x; i < KP_SAMPLE_BUCKETS;
	     i += gridDim.y * SAMPLE_THREADS)
		space.histogram[i] = 0;
	best = logits_best_of(row, logits_part_of(blockIdx.y, args.chunk, row.end));
	best = logits_best_of_block(best, parts);
	if (threadIdx.x != 0)
		return;
	space.largest[blockIdx.y] = best.value;
	if (blockIdx.y == 0)
		space.state->arrived = 0;
}

/* ---- level ---- */

/* 64-bit sums of a block, as two halves: shared memory adds 32 bits at once. */
struct sample_histogram {
	unsigned low[KP_SAMPLE_BUCKETS], high[KP_SAMPLE_BUCKETS];

	__device__ inline void clear()
	{
		for (unsigned i = threadIdx.x; i < KP_SAMPLE_BUCKETS; i += SAMPLE_THREADS)
			low[i] = high[i] = 0;
		__syncthreads();
	}
	/* Who passes 2³² sees it by the old value, whatever the order. */
	__device__ inline void add(unsigned bucket, sample_sum amount)
	{
		unsigned part = (unsigned)amount, old = atomicAdd(&low[bucket], part);
		unsigned carry = (unsigned)(amount >> 32) + (old + part < old);

		if (carry)
			atomicAdd(&high[bucket], carry);
	}
	__device__ inline void add_to(sample_sum *row) const
	{
		__syncthreads();
		for (unsigned i = threadIdx.x; i < KP_SAMPLE_BUCKETS; i += SAMPLE_THREADS) {
			sample_sum sum = (sample_sum)high[i] << 32 | low[i];

			if (sum)
				atomicAdd(&row[i], sum);
		}
	}
};

__device__ inline unsigned sample_shift(unsigned span)
{
	unsigned shift = 0;

	while (span >> shift >= KP_SAMPLE_BUCKETS)
		shift++;
	return shift;
}

/* Ones or weights of the part's elements into the buckets of their keys. */
template <class T, bool VECTOR>
__device__ inline void sample_count(const logits_row<T, VECTOR> &row, logits_part part,
				    const sample_rule &rule, const struct kp_sample_state &state,
				    sample_histogram *histogram)
{
	unsigned shift = sample_shift(state.span), bucket = 0;
	sample_sum run = 0; /* of neighbours in one bucket */

	logits_each_of_block(row, part, [&](float value, unsigned) {
		unsigned below = state.high - sample_key<T>(value);

		/* Keys above `high` wrap round to more than any span. */
		if (below > state.span)
			return;
		if (below >> shift != bucket && run) {
			histogram->add(bucket, run);
			run = 0;
		}
		bucket = below >> shift;
		run += state.stage == KP_SAMPLE_TOP_K ? 1 : rule.weight(value, state.most);
	});
	if (run)
		histogram->add(bucket, run);
}

/* The search of this kind is over: `threshold` is what it found. */
template <class T>
__device__ inline void sample_conclude(const sample_rule &rule, unsigned threshold,
				       struct kp_sample_state *state)
{
	bool top_p = state->stage == KP_SAMPLE_TOP_K && rule.top_p < 1;

	state->threshold = threshold;
	state->stage = top_p ? KP_SAMPLE_TOP_P_BEGIN : KP_SAMPLE_FOUND;
	if (top_p)
		sample_restart<T>(state);
}

/* For one thread: the search goes on in a bucket, before which there was so much. */
template <class T>
__device__ inline void sample_narrow(const sample_rule &rule, unsigned bucket, sample_sum before,
				     struct kp_sample_state *state)
{
	unsigned shift = sample_shift(state->span), rest = state->span - (bucket << shift);
	unsigned last = (1u << shift) - 1;

	state->high -= bucket << shift;
	state->span = rest < last ? rest : last;
	state->target -= before;
	if (shift == 0)
		sample_conclude<T>(rule, state->high, state);
}

/* For the last block of a row: the bucket where the sum comes to the target. */
template <class T>
__device__ inline void sample_choose(const sample_rule &rule, struct kp_sample_state state,
				     const sample_space &space)
{
	__shared__ sample_sum parts[SAMPLE_WARPS];
	sample_sum sums[BUCKETS_A_THREAD], mine = 0;
	unsigned first = threadIdx.x * BUCKETS_A_THREAD;
	sample_scan scan;

#pragma unroll
	for (unsigned i = 0; i < BUCKETS_A_THREAD; i++) {
		sums[i] = __ldcg(&space.histogram[first + i]);
		space.histogram[first + i] = 0; /* for the next level */
		mine += sums[i];
	}
	scan = sample_scan_block(mine, parts);
	if (state.stage == KP_SAMPLE_TOP_P_BEGIN) {
		state.target = sample_part_of(rule.top_p, scan.total);
		state.stage = KP_SAMPLE_TOP_P;
	}
	state.arrived = 0;
	if (scan.total < state.target) {
		/* Fewer than k have a weight: all of them are kept. */
		sample_conclude<T>(rule, state.high - state.span, &state);
		if (threadIdx.x == 0)
			*space.state = state;
		return;
	}
	if (scan.before >= state.target || scan.before + mine < state.target)
		return;
#pragma unroll
	for (unsigned i = 0; i < BUCKETS_A_THREAD; i++) {
		if (scan.before + sums[i] >= state.target) {
			sample_narrow<T>(rule, first + i, scan.before, &state);
			*space.state = state;
			return;
		}
		scan.before += sums[i];
	}
}

template <class T, bool VECTOR>
__device__ inline void sample_level(const struct kp_topk_topp_sample_args &args)
{
	__shared__ sample_histogram histogram;
	logits_row<T, VECTOR> row;
	struct kp_sample_state state;
	sample_space space;
	sample_rule rule;

	row.find(args.x, blockIdx.x, args.x_row, args.x_column, args.columns);
	space.find(args, blockIdx.x);
	let_next_launch_begin();
	wait_for_launch_in_front();
	rule.find(args, blockIdx.x);
	/* min-p is not a part of top-p's sum: it comes behind. */
	rule.min_p = 0;
	state = sample_state_of<T>(args, rule, space, args.level == 0);
	if (state.stage >= KP_SAMPLE_FOUND) {
		if (args.level == 0 && blockIdx.y == 0 && threadIdx.x == 0)
			*space.state = state;
		return;
	}
	histogram.clear();
	sample_count(row, logits_part_of(blockIdx.y, args.chunk, row.end), rule, state, &histogram);
	histogram.add_to(space.histogram);
	if (sample_is_last(space))
		sample_choose<T>(rule, state, space);
}

/* ---- draw ---- */

/* 64 random bits of a row. */
__device__ inline sample_sum sample_philox(sample_sum seed, sample_sum offset, unsigned row)
{
	unsigned key[2] = {(unsigned)seed, (unsigned)(seed >> 32)};
	unsigned counter[4] = {(unsigned)offset, (unsigned)(offset >> 32), row, 0};

	for (int round = 0; round < PHILOX_ROUNDS; round++) {
		sample_sum a = (sample_sum)0xd2511f53u * counter[0];
		sample_sum b = (sample_sum)0xcd9e8d57u * counter[2];

		counter[0] = (unsigned)(b >> 32) ^ counter[1] ^ key[0];
		counter[1] = (unsigned)b;
		counter[2] = (unsigned)(a >> 32) ^ counter[3] ^ key[1];
		counter[3] = (unsigned)a;
		key[0] += 0x9e3779b9u;
		key[1] += 0xbb67ae85u;
	}
	return (sample_sum)counter[1] << 32 | counter[0];
}

/* u · 2⁶⁴ of a row. */
__device__ inline sample_sum sample_random(const struct kp_topk_topp_sample_args &args,
					   unsigned row)
{
	float u;

	if (args.uniforms) {
		u = args.uniforms[row];
		u = u >= 1 ? 1 - 0x1p-24f : u;
		return u > 0 ? (sample_sum)(u * 0x1p64f) : 0;
	}
	if (args.philox)
		return sample_philox(args.philox[0], args.philox[1], row);
	return sample_philox(args.seed, args.offset, row);
}

template <class T>
__device__ inline unsigned sample_kept(const sample_rule &rule, const struct kp_sample_state &state,
				       float value)
{
	return sample_key<T>(value) >= state.threshold ? rule.weight(value, state.most) : 0;
}

/* Kept weights of the vectors at part.first, part.first + turn, … */
template <class T, bool VECTOR>
__device__ inline sample_sum sample_mass(const logits_row<T, VECTOR> &row, logits_part part,
					 unsigned turn, const sample_rule &rule,
					 const struct kp_sample_state &state)
{
	sample_sum mass = 0;

	logits_each(row, part, turn,
		    [&](float value, unsigned) { mass += sample_kept<T>(rule, state, value); });
	return mass;
}

__device__ inline void sample_store(const struct kp_topk_topp_sample_args &args, int index,
				    float logprob)
{
	unsigned row = blockIdx.x;

	logits_store_index(args, row, index);
	if (args.logprob)
		args.logprob[row] = logprob;
}

/* For one thread: the column within its run where the sum passes `target`. */
template <class T, bool VECTOR>
__device__ inline void sample_find(const struct kp_topk_topp_sample_args &args,
				   const logits_row<T, VECTOR> &row, logits_part run,
				   const sample_rule &rule, const struct kp_sample_state &state,
				   sample_sum target, sample_sum total)
{
	constexpr unsigned STEP = logits_row<T, VECTOR>::STEP;
	float values[STEP], value = state.most;
	unsigned found = run.first;
	bool is_found = false;

	for (unsigned at = run.first; at < run.last && !is_found; at += STEP) {
		row.load(at, values);
#pragma unroll
		for (unsigned j = 0; j < STEP; j++) {
			unsigned weight = sample_kept<T>(rule, state, values[j]);

			if (!is_found && target < weight) {
				is_found = true;
				found = at + j;
				value = values[j];
			}
			target -= is_found ? 0 : weight;
		}
	}
	sample_store(args, (int)(found - row.shift),
		     rule.greedy ? 0
				 : (KP_SAMPLE_WEIGHT_LOG2 - log2f((float)total) -
				    rule.distance(value, state.most)) *
					   LN_2);
}

/* For the last block of a row: the part, then the thread of its run, then the column. */
template <class T, bool VECTOR>
__device__ inline void sample_pick(const struct kp_topk_topp_sample_args &args,
				   const logits_row<T, VECTOR> &row, const sample_rule &rule,
				   const struct kp_sample_state &state, const sample_space &space)
{
	constexpr unsigned STEP = logits_row<T, VECTOR>::STEP;
	__shared__ sample_sum parts[2][SAMPLE_WARPS], shared_target;
	__shared__ unsigned chosen;
	unsigned each = (args.splits + SAMPLE_THREADS - 1) / SAMPLE_THREADS, length;
	sample_sum mine = 0, target, total;
	logits_part part, run;
	sample_scan scan;

	for (unsigned i = threadIdx.x * each; i < (threadIdx.x + 1) * each && i < args.splits; i++)
		mine += __ldcg(&space.masses[i]);
	scan = sample_scan_block(mine, parts[0]);
	total = scan.total;
	target = rule.greedy ? 0 : __umul64hi(sample_random(args, blockIdx.x), total);
	if (scan.before <= target && target - scan.before < mine) {
		unsigned i = threadIdx.x * each;

		target -= scan.before;
		for (; target >= __ldcg(&space.masses[i]); i++)
			target -= __ldcg(&space.masses[i]);
		chosen = i;
		shared_target = target;
	}
	__syncthreads();
	target = shared_target;
	part = logits_part_of(chosen, args.chunk, row.end);
	length = args.chunk / SAMPLE_THREADS;
	run.first = part.first + threadIdx.x * length;
	run.last = run.first + length < part.last ? run.first + length : part.last;
	mine = sample_mass(row, run, STEP, rule, state);
	scan = sample_scan_block(mine, parts[1]);
	if (scan.before <= target && target - scan.before < mine)
		sample_find(args, row, run, rule, state, target - scan.before, total);
}

template <class T, bool VECTOR>
__device__ inline void sample_draw(const struct kp_topk_topp_sample_args &args)
{
	constexpr unsigned STEP = logits_row<T, VECTOR>::STEP;
	__shared__ sample_sum parts[SAMPLE_WARPS];
	logits_row<T, VECTOR> row;
	struct kp_sample_state state;
	sample_space space;
	sample_rule rule;
	sample_scan scan;
	logits_part part;

	row.find(args.x, blockIdx.x, args.x_row, args.x_column, args.columns);
	space.find(args, blockIdx.x);
	part = logits_part_of(blockIdx.y, args.chunk, row.end);
	let_next_launch_begin();
	wait_for_launch_in_front();
	rule.find(args, blockIdx.x);
	state = sample_state_of<T>(args, rule, space, args.levels == 0);
	if (state.stage == KP_SAMPLE_NOTHING) {
		if (blockIdx.y == 0 && threadIdx.x == 0)
			sample_store(args, -1, NAN);
		return;
	}
	part.first += threadIdx.x * STEP;
	scan = sample_scan_block(sample_mass(row, part, SAMPLE_THREADS * STEP, rule, state), parts);
	if (threadIdx.x == 0)
		space.masses[blockIdx.y] = scan.total;
	if (sample_is_last(space))
		sample_pick(args, row, rule, state, space);
}

#define KERNEL(name, ...) LOGITS_KERNEL(name, topk_topp_sample, SAMPLE_THREADS, 4, __VA_ARGS__)

KERNEL(sample_begin_vector, sample_begin<T, true>(args))
KERNEL(sample_begin_any, sample_begin<T, false>(args))
KERNEL(sample_level_vector, sample_level<T, true>(args))
KERNEL(sample_level_any, sample_level<T, false>(args))
KERNEL(sample_draw_vector, sample_draw<T, true>(args))
KERNEL(sample_draw_any, sample_draw<T, false>(args))

#undef KERNEL
