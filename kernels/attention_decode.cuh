/*
 * The body of the versions of attention_decode that use tensor cores; see attention_decode.h.
 *
 * C: the type of the cache. DIM: head_dim. SIDES: eight query rows each. A query row is a head of
 * the group by a query, the head counting faster. Four warps take tiles of 16 keys in turn.
 */
#include "kernels/attention_range.cuh"

#define ATTENTION_WARPS 4
#define SECTION 64 /* elements of V that the eight lanes g of a token load at once */

/* Eight elements as they are stored, and as 16-bit words. */
template <class T, class C> struct cache_vector {
	uint4 words;

	__device__ inline void load(const C *from)
	{
		words = load_streamed(from);
	}
	__device__ inline void clear()
	{
		words = make_uint4(0, 0, 0, 0);
	}
	__device__ inline uint4 wide() const
	{
		return words;
	}
};

template <class T> struct cache_vector<T, e4m3> {
	uint2 words;

	__device__ inline void load(const e4m3 *from)
	{
		words = load_streamed_half(from);
	}
	__device__ inline void clear()
	{
		words = make_uint2(0, 0);
	}
	__device__ inline uint4 wide() const
	{
		uint2 low = widen<T, e4m3>(words.x), high = widen<T, e4m3>(words.y);

		return make_uint4(low.x, low.y, high.x, high.y);
	}
};

/* The unit of a block: a sequence, a key head, so many of its query rows. */
template <int SIDES> struct attention_unit {
	unsigned sequence, kv_head, first_row, group, rows;

	__device__ inline void find(const struct kp_attention_decode_args &args)
	{
		unsigned batches;

		group = args.q_heads / args.kv_heads;
		rows = group * args.queries;
		batches = (rows + SIDES * 8 - 1) / (SIDES * 8);
		kv_head = blockIdx.x % args.kv_heads;
		first_row = blockIdx.x / args.kv_heads % batches * SIDES * 8;
		sequence = blockIdx.x / args.kv_heads / batches;
	}
	__device__ inline attention_row row(unsigned number) const
	{
		return {sequence, (first_row + number) / group,
			kv_head * group + (first_row + number) % group};
	}
	__device__ inline bool has(unsigned number) const
	{
		return first_row + number < rows;
	}
};

/* The first key of a tile: its page, and its number there. */
struct attention_place {
	long long page;
	unsigned number;
};

/* Where the cache has the tiles of a sequence. */
template <class C> struct attention_cache {
	const C *k, *v;
	const int *pages; /* of the sequence; nullptr: `page` is its only one */
	long long k_page, v_page, k_token, v_token, page;
	unsigned page_tokens;

	__device__ inline void find(const struct kp_attention_decode_args &args, unsigned sequence,
				    unsigned kv_head)
	{
		k = (const C *)args.k + kv_head * args.k_head;
		v = (const C *)args.v + kv_head * args.v_head;
		pages = args.pages ? args.pages + sequence * args.pages_batch : nullptr;
		k_page = args.k_page;
		v_page = args.v_page;
		k_token = args.k_token;
		v_token = args.v_token;
		page = sequence;
		page_tokens = args.page_tokens;
	}
	/* Where a tile is. The page is loaded here: long before the tile, so that nothing waits. */
	__device__ inline attention_place place_of(int key) const
	{
		if (!pages)
			return {page, (unsigned)key};
		return {pages[(unsigned)key / page_tokens], (unsigned)key % page_tokens};
	}
};

template <class T, class C, int DIM, int SIDES> struct attention_tiles {
	static constexpr int STEPS = DIM / 32, SECTIONS = (DIM + SECTION - 1) / SECTION;
	static constexpr bool AHEAD = DIM < 256; /* else there are no registers for it */
	attention_cache<C> cache;
	attention_score score;
	unsigned g, t;
	int end, lows[SIDES][2], highs[SIDES][2]; /* keys that the lane's columns see */
	int all_low, all_high;                    /* those that all columns see */
	uint4 q[SIDES][STEPS];
	cache_vector<T, C> k[2][STEPS], v[4][SECTIONS];
	float most[SIDES][2], total[SIDES][2], out[SIDES][SECTIONS][4][4];

	__device__ inline void find(const struct kp_attention_decode_args &args,
				    const attention_unit<SIDES> &unit, const attention_range &range)
	{
		cache.find(args, unit.sequence, unit.kv_head);
		score.find(args);
		g = threadIdx.x % WARP / 4;
		t = threadIdx.x % 4;
		end = range.end;
		all_high = attention_last(args, range.length, unit.row(0).query);
		all_low = attention_first(args, range.length - 1);
#pragma unroll
		for (int i = 0; i < SIDES * 2; i++) {
			unsigned query = unit.row(i / 2 * 8 + t * 2 + i % 2).query;

			highs[i / 2][i % 2] = attention_last(args, range.length, query);
			lows[i / 2][i % 2] = attention_first(args, highs[i / 2][i % 2]);
			most[i / 2][i % 2] = -INFINITY;
			total[i / 2][i % 2] = 0;
		}
#pragma unroll
		for (int i = 0; i < SIDES * SECTIONS * 16; i++)
			out[i / 16 / SECTIONS][i / 16 % SECTIONS][i / 4 % 4][i % 4] = 0;
	}
	__device__ inline void load_q(const struct kp_attention_decode_args &args,
				      const attention_unit<SIDES> &unit)
	{
#pragma unroll
		for (int side = 0; side < SIDES; side++) {
			const attention_row row = unit.row(side * 8 + g);
			const T *from = (const T *)args.q + row.sequence * args.q_batch +
					row.query * args.q_query + row.head * args.q_head;

#pragma unroll
			for (int step = 0; step < STEPS; step++)
				q[side][step] = unit.has(side * 8 + g)
							? *(const uint4 *)(from + step * 32 + t * 8)
							: make_uint4(0, 0, 0, 0);
		}
	}
	__device__ inline void load_k(int key, const attention_place &place)
	{
		const C *from = cache.k + place.page * cache.k_page +
				(long long)(place.number + g) * cache.k_token + t * 8;

#pragma unroll
		for (int i = 0; i < 2; i++)
#pragma unroll
			for (int step = 0; step < STEPS; step++)
				if (key + (int)g + i * 8 < end)
					k[i][step].load(from + i * 8 * cache.k_token + step * 32);
				else
					k[i][step].clear();
	}
	/* Tokens 2t, 2t+1, 2t+8, 2t+9; elements 8g … of each section. */
	__device__ inline void load_v(int key, const attention_place &place)
	{
		const C *from = cache.v + place.page * cache.v_page +
				(long long)(place.number + t * 2) * cache.v_token + g * 8;

#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int section = 0; section < SECTIONS; section++) {
				int token = i % 2 + i / 2 * 8;

				if (key + (int)t * 2 + token < end &&
				    section * SECTION + (int)g * 8 < DIM)
					v[i][section].load(from + token * cache.v_token +
							   section * SECTION);
				else
					v[i][section].clear();
			}
	}
	/* Dot products of the tile: by side, keys g and g + 8 with columns 2t and 2t + 1. */
	__device__ inline void multiply_k(float s[SIDES][4])
	{
#pragma unroll
		for (int i = 0; i < SIDES * 4; i++)
			s[i / 4][i % 4] = 0;
#pragma unroll
		for (int step = 0; step < STEPS; step++) {
			const uint4 upper = k[0][step].wide(), lower = k[1][step].wide();
			const unsigned first[4] = {upper.x, lower.x, upper.y, lower.y};
			const unsigned second[4] = {upper.z, lower.z, upper.w, lower.w};

#pragma unroll
			for (int side = 0; side < SIDES; side++) {
				const unsigned b[4] = {q[side][step].x, q[side][step].y,
						       q[side][step].z, q[side][step].w};

				multiply_add<T>(s[side], first, b);
				multiply_add<T>(s[side], second, b + 2);
			}
		}
	}
	/* Scores of the dot products; -infinity where a column does not see the key. */
	__device__ inline void mask(int key, float s[SIDES][4]) const
	{
#pragma unroll
		for (int i = 0; score.cap == 0 && i < SIDES * 4; i++)
			s[i / 4][i % 4] *= score.scale;
#pragma unroll
		for (int i = 0; score.cap != 0 && i < SIDES * 4; i++)
			s[i / 4][i % 4] = score.capped(s[i / 4][i % 4]);
		if (key >= all_low && key + ATTENTION_TILE - 1 <= all_high)
			return;
#pragma unroll
		for (int i = 0; i < SIDES * 4; i++) {
			int at = key + (int)g + i % 4 / 2 * 8;

			if (at > highs[i / 4][i % 2] || at < lows[i / 4][i % 2])
				s[i / 4][i % 4] = -INFINITY;
		}
	}
	/* s becomes 2^(s - maximum); what was summed up before is scaled to the new maximum. */
	__device__ inline void weigh(float s[SIDES][4])
	{
		float scales[SIDES][2];
		bool changes = false;

#pragma unroll
		for (int i = 0; i < SIDES * 2; i++) {
			int side = i / 2, column = i % 2;
			float before = most[side][column];
			float now = fmaxf(before, fmaxf(s[side][column], s[side][2 + column]));

#pragma unroll
			for (int lanes = 4; lanes < WARP; lanes *= 2)
				now = fmaxf(now, __shfl_xor_sync(ALL_LANES, now, lanes));
			most[side][column] = now;
			/* Nothing seen so far: what is subtracted must not be -infinity. */
			scales[side][column] = now == before ? 1 : power_of_two(before - now);
			changes = changes || now != before;
			if (now == -INFINITY)
				now = 0;
			s[side][column] = power_of_two(s[side][column] - now);
			s[side][2 + column] = power_of_two(s[side][2 + column] - now);
			total[side][column] = total[side][column] * scales[side][column] +
					      (s[side][column] + s[side][2 + column]);
		}
		if (!__ballot_sync(ALL_LANES, changes))
			return;
#pragma unroll
		for (int i = 0; i < SIDES * SECTIONS * 16; i++)
			out[i / 16 / SECTIONS][i / 16 % SECTIONS][i / 4 % 4][i % 4] *=
				scales[i / 16 / SECTIONS][i % 2];
	}
	__device__ inline void multiply_v(const float s[SIDES][4])
	{
		unsigned p[SIDES][2];

#pragma unroll
		for (int side = 0; side < SIDES; side++) {
			p[side][0] = transpose(pack_pair(s[side][0], s[side][1], T()));
			p[side][1] = transpose(pack_pair(s[side][2], s[side][3], T()));
		}
#pragma unroll
		for (int section = 0; section < SECTIONS; section++) {
			unsigned words[4][4];

#pragma unroll
			for (int i = 0; i < 4; i++) {
				const uint4 wide = v[i][section].wide();

				words[i][0] = wide.x;
				words[i][1] = wide.y;
				words[i][2] = wide.z;
				words[i][3] = wide.w;
			}
#pragma unroll
			for (int i = 0; i < 4; i++) {
				/* Rows g and g + 8 are elements 8g + 2i and 8g + 2i + 1. */
				const unsigned a[4] = {lower_halves(words[0][i], words[1][i]),
						       upper_halves(words[0][i], words[1][i]),
						       lower_halves(words[2][i], words[3][i]),
						       upper_halves(words[2][i], words[3][i])};

#pragma unroll
				for (int side = 0; side < SIDES; side++)
					multiply_add<T>(out[side][section][i], a, p[side]);
			}
		}
	}
	/* Tiles from `key` on, `stride` keys apart. */
	__device__ inline void run(int key, int stride)
	{
		attention_place place = {0, 0}, next = {0, 0}, after;

		if (key < end)
			place = cache.place_of(key);
		if (key + stride < end)
			next = cache.place_of(key + stride);
		if (AHEAD && key < end)
			load_k(key, place);
		while (key < end) {
			float s[SIDES][4];

			if (AHEAD)
				load_v(key, place);
			else
				load_k(key, place);
			after = next;
			if (key + 2 * stride < end)
				after = cache.place_of(key + 2 * stride);
			multiply_k(s);
			if (!AHEAD)
				load_v(key, place);
			if (AHEAD && key + stride < end)
				load_k(key + stride, next);
			mask(key, s);
			weigh(s);
			multiply_v(s);
			key += stride;
			place = next;
			next = after;
		}
#pragma unroll
		for (int i = 0; i < SIDES * 2; i++)
#pragma unroll
			for (int lanes = 4; lanes < WARP; lanes *= 2)
				total[i / 2][i % 2] +=
					__shfl_xor_sync(ALL_LANES, total[i / 2][i % 2], lanes);
	}
};

/* What the warps of a block have to tell each other, a section of the head at a time. */
template <int SIDES> struct attention_parts {
	float most[ATTENTION_WARPS][SIDES * 8], total[ATTENTION_WARPS][SIDES * 8];
	float out[ATTENTION_WARPS][SIDES * 8][SECTION + 4];
};

/* The sum of a query row over the warps, to the base of the largest exponent. */
struct attention_sum {
	float most, total;
};

template <int SIDES>
__device__ inline attention_sum attention_add_up(const attention_parts<SIDES> &parts,
						 unsigned number)
{
	attention_sum out = {-INFINITY, 0};

#pragma unroll
	for (int warp = 0; warp < ATTENTION_WARPS; warp++)
		out.most = fmaxf(out.most, parts.most[warp][number]);
#pragma unroll
	for (int warp = 0; warp < ATTENTION_WARPS; warp++)
		if (parts.most[warp][number] != -INFINITY || parts.total[warp][number] != 0)
			out.total += parts.total[warp][number] *
				     power_of_two(parts.most[warp][number] -
						  (out.most == -INFINITY ? 0 : out.most));
	return out;
}

/* The warps' sums, and each one's results scaled to what they are of the whole. */
template <class Tiles, int SIDES>
__device__ inline void attention_share(Tiles &tiles, attention_parts<SIDES> &parts, float v_scale)
{
	unsigned warp = threadIdx.x / WARP;
	float scales[SIDES][2];

#pragma unroll
	for (int i = 0; i < SIDES * 2; i++)
		if (tiles.g == 0) {
			parts.most[warp][i / 2 * 8 + tiles.t * 2 + i % 2] =
				tiles.most[i / 2][i % 2];
			parts.total[warp][i / 2 * 8 + tiles.t * 2 + i % 2] =
				tiles.total[i / 2][i % 2];
		}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < SIDES * 2; i++) {
		float most = tiles.most[i / 2][i % 2];
		attention_sum all = attention_add_up(parts, i / 2 * 8 + tiles.t * 2 + i % 2);

		scales[i / 2][i % 2] = v_scale / all.total;
		if (most != all.most)
			scales[i / 2][i % 2] *= power_of_two(most - all.most);
		/* A warp that saw nothing, or all of them. */
		if (most == -INFINITY && tiles.total[i / 2][i % 2] == 0)
			scales[i / 2][i % 2] = 0;
	}
#pragma unroll
	for (int i = 0; i < SIDES * Tiles::SECTIONS * 16; i++)
		tiles.out[i / 16 / Tiles::SECTIONS][i / 16 % Tiles::SECTIONS][i / 4 % 4][i % 4] *=
			scales[i / 16 / Tiles::SECTIONS][i % 2];
}

/* Elements `section` … of all query rows: from the warps to the result or the workspace. */
template <class T, int DIM, int SIDES>
__device__ inline void attention_store(const struct kp_attention_decode_args &args,
				       const attention_unit<SIDES> &unit,
				       const attention_parts<SIDES> &parts, int section)
{
	for (unsigned i = threadIdx.x; i < SIDES * 8 * SECTION; i += ATTENTION_WARPS * WARP) {
		unsigned number = i / SECTION, place = i % SECTION, at = section * SECTION + place;
		const attention_row row = unit.row(number);
		float value = 0;

		if (!unit.has(number) || at >= DIM)
			continue;
#pragma unroll
		for (int warp = 0; warp < ATTENTION_WARPS; warp++)
			value += parts.out[warp][number][place];
		if (gridDim.y > 1)
			attention_partial(args, row, gridDim.y, blockIdx.y)[at] = value;
		else
			from_float(value, attention_out<T>(args, row) + at);
	}
}

template <int SIDES>
__device__ inline void attention_store_logs(const struct kp_attention_decode_args &args,
					    const attention_unit<SIDES> &unit,
					    const attention_parts<SIDES> &parts)
{
	attention_sum all;
	float log;

	if (threadIdx.x >= SIDES * 8 || !unit.has(threadIdx.x))
		return;
	all = attention_add_up(parts, threadIdx.x);
	log = all.most == -INFINITY && all.total == 0 ? -INFINITY : all.most + log2f(all.total);
	if (gridDim.y > 1)
		*attention_partial_log(args, unit.row(threadIdx.x), gridDim.y, blockIdx.y) = log;
	else if (args.lse)
		args.lse[unit.row(threadIdx.x).number(args)] = log * LN_2;
}

template <class T, class C, int DIM, int SIDES>
__device__ inline void attention_tile(const struct kp_attention_decode_args &args)
{
	__shared__ attention_parts<SIDES> parts;
	attention_tiles<T, C, DIM, SIDES> tiles;
	attention_unit<SIDES> unit;
	attention_range range;
	unsigned warp = threadIdx.x / WARP;

	let_next_launch_begin();
	unit.find(args);
	wait_for_launch_in_front();
	range = attention_range_of(args, unit.sequence);
	/* A split that the sequence does not have; the second launch knows it. */
	if (blockIdx.y > 0 && blockIdx.y >= attention_splits(args, range))
		return;
	if (gridDim.y > 1) {
		range.first += (int)(blockIdx.y * args.chunk);
		if (range.end - range.first > (int)args.chunk)
			range.end = range.first + (int)args.chunk;
	}
	tiles.find(args, unit, range);
	tiles.load_q(args, unit);
	tiles.run(range.first + (int)warp * ATTENTION_TILE, ATTENTION_WARPS * ATTENTION_TILE);
	attention_share(tiles, parts, attention_value_scale(args));
#pragma unroll
	for (int section = 0; section < tiles.SECTIONS; section++) {
#pragma unroll
		for (int i = 0; i < SIDES * 16; i++)
			/* Rows g and g + 8 of product i / 4 % 4, columns 2t and 2t + 1. */
			parts.out[warp][i / 16 * 8 + tiles.t * 2 + i % 2]
				 [tiles.g * 8 + i / 4 % 4 * 2 + i % 4 / 2] =
				tiles.out[i / 16][section][i / 4 % 4][i % 4];
		__syncthreads();
		attention_store<T, DIM, SIDES>(args, unit, parts, section);
		__syncthreads();
	}
	attention_store_logs(args, unit, parts);
}
