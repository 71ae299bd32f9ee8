/*
 * The body of the versions of attention_decode that use tensor cores; see attention_decode.h.
 *
 * C: the type of the cache. DIM: head_dim. SIDES: eight query rows each. A query row is a head of
 * the group by a query, the head counting faster. Four warps take tiles of 16 keys in turn.
 */
#include "kernels/attention_range.cuh"
#include "kernels/attention_ring.cuh"

#define ATTENTION_WARPS 4

template <class T> struct is_bf16 {
	static constexpr bool value = false;
};
template <> struct is_bf16<__nv_bfloat16> {
	static constexpr bool value = true;
};

/* Bytes 1 and 2 of a word change places. */
__device__ inline unsigned exchange_bytes(unsigned word)
{
	return (word & 0xff0000ffu) | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u);
}

/* Elements of the cache as those of mma. */
template <class T, class C> struct cache_elements {
	using number = T; /* that mma multiplies: P, q and the cache */
	static constexpr bool IS_WIDE = true;
};

/*
 * All values of e4m3 are fp16, which takes one instruction for two of them; so P and q are fp16
 * too, q as much of a power of two as suits the row.
 */
template <class T> struct cache_elements<T, e4m3> {
	using number = __half;
	static constexpr bool IS_WIDE = false;
};

/* Two bytes of a word as fp16. */
__device__ inline unsigned halves_of_e4m3(unsigned word)
{
	__half2_raw pair =
		__nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(word & 0xffff), __NV_E4M3);

	return pair.x | (unsigned)pair.y << 16;
}

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
	int page;
	unsigned number;
};

/* Where the cache has the tiles of a sequence. */
template <class C> struct attention_cache {
	const C *k, *v;
	const int *pages; /* of the sequence; nullptr: `page` is its only one */
	long long k_page, v_page, k_token, v_token;
	int page;
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
		page = (int)sequence;
		page_tokens = args.page_tokens;
	}
	/* Where a tile is. The page is loaded here: long before the tile, so that nothing waits. */
	__device__ inline attention_place place_of(int key, int end) const
	{
		if (!pages || key >= end)
			return {page, (unsigned)key};
		return {pages[(unsigned)key / page_tokens], (unsigned)key % page_tokens};
	}
};

template <class T, class C, int DIM, int SIDES> struct attention_tiles {
	using number = typename cache_elements<T, C>::number;
	static constexpr bool IS_WIDE = cache_elements<T, C>::IS_WIDE;
	static constexpr bool IS_SCALED = !IS_WIDE && is_bf16<T>::value;
	static constexpr int TILES = DIM / 16; /* of 16 elements */
	static constexpr int BYTES = DIM * (int)sizeof(C);
	static constexpr int PARTS = BYTES > 256 ? 2 : 1; /* slots of a row */
	static constexpr int CHUNKS = BYTES / PARTS / 16;
	static constexpr int SLOT = ATTENTION_TILE * CHUNKS * 16;
	static constexpr int SLOTS = ATTENTION_RING_BYTES / SLOT;
	static constexpr int ITEMS = 2 * PARTS; /* of a tile: its keys, its values */
	static constexpr int AHEAD = (ITEMS - 1 + SLOTS) / ITEMS; /* tiles on their way */
	attention_cache<C> cache;
	attention_score score;
	attention_place places[AHEAD + 1];
	char *ring;
	unsigned g, t, slot;
	int end, stride, lows[SIDES][2], highs[SIDES][2]; /* keys that the lane's columns see */
	int all_low, all_high;                            /* those that all columns see */
	unsigned q[SIDES][TILES][2];
	float factors[SIDES][2]; /* what scores of the lane's columns are too small by */
	float most[SIDES][2], total[SIDES][2], out[SIDES][TILES][4];

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
		for (int i = 0; i < SIDES * TILES * 4; i++)
			out[i / 4 / TILES][i / 4 % TILES][i % 4] = 0;
	}
	/* The element that result i of tile 0 is. */
	__device__ inline unsigned element(int i) const
	{
		return IS_WIDE ? g + i / 2 * 8 : g * 2 + i / 2;
	}
	/* Where words 0 and 1 of a tile of q begin: k runs as in the fragments of the cache. */
	__device__ inline unsigned element_of_q(int word) const
	{
		return IS_WIDE ? t * 2 + word * 8 : t * 4 + word * 2;
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
			for (int i = 0; i < TILES * 2; i++)
				q[side][i / 2][i % 2] =
					unit.has(side * 8 + g)
						? *(const unsigned *)(from + i / 2 * 16 +
								      element_of_q(i % 2))
						: 0;
			if constexpr (IS_SCALED)
				narrow_q(side);
		}
	}
	/* bf16 as fp16: times the power of two that brings the largest to 2^8. */
	__device__ inline void narrow_q(int side)
	{
		float largest = 0, factor;
		unsigned exponent;

#pragma unroll
		for (int i = 0; i < TILES * 2; i++) {
			float2 pair = unpack_pair(q[side][i / 2][i % 2], T());

			if (fabsf(pair.x) < INFINITY)
				largest = fmaxf(largest, fabsf(pair.x));
			if (fabsf(pair.y) < INFINITY)
				largest = fmaxf(largest, fabsf(pair.y));
		}
		largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, 1));
		largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, 2));
		/* 2^e becomes 2^(8 - e), within what floats have. */
		exponent = 127 + 127 + 8 - (__float_as_uint(largest) >> 23);
		factor = __uint_as_float((exponent > 247 ? 247 : exponent) << 23);
#pragma unroll
		for (int i = 0; i < TILES * 2; i++) {
			float2 pair = unpack_pair(q[side][i / 2][i % 2], T());

			q[side][i / 2][i % 2] =
				pack_pair(pair.x * factor, pair.y * factor, __half());
		}
		factor = 1 / factor;
		factors[side][0] = __shfl_sync(ALL_LANES, factor, (int)(t * 8));
		factors[side][1] = __shfl_sync(ALL_LANES, factor, (int)(t * 8 + 4));
	}
	/* Starts the copy of an item: part of the keys or values of the tile `tiles` further on. */
	__device__ inline void start(int key, int item, unsigned into)
	{
		int tile = item / ITEMS, part = item % PARTS, first = key + tile * stride;
		bool is_v = item % ITEMS >= PARTS;
		const attention_place place = places[tile];
		const C *from =
			is_v ? cache.v + place.page * cache.v_page + place.number * cache.v_token
			     : cache.k + place.page * cache.k_page + place.number * cache.k_token;

		if (first < end)
			tile_fill<CHUNKS>(
				ring + into * SLOT, (const char *)from + part * CHUNKS * 16,
				(is_v ? cache.v_token : cache.k_token) * (long long)sizeof(C),
				end - first);
		ring_end_group();
	}
	/* Item `item` of the tile is done with: its slot takes the one SLOTS later. */
	__device__ inline void refill(int key, int item)
	{
		__syncwarp();
		start(key, item + SLOTS, slot);
		slot = slot + 1 == SLOTS ? 0 : slot + 1;
	}
	__device__ inline const char *wait()
	{
		ring_wait<SLOTS - 1>();
		__syncwarp();
		return ring + slot * SLOT;
	}
	/* d += A · q or P, for all sides; 16 elements of the head. */
	__device__ inline void multiply_keys(const char *keys, int part, float s[SIDES][4])
	{
#pragma unroll
		for (int step = 0; step < CHUNKS / 2; step++) {
			unsigned a[4];

			tile_keys<CHUNKS>(keys, step, a);
			if constexpr (IS_WIDE) {
#pragma unroll
				for (int side = 0; side < SIDES; side++)
					multiply_add<number>(s[side], a,
							     q[side][part * (CHUNKS / 2) + step]);
			} else {
#pragma unroll
				for (int half = 0; half < 2; half++) {
					const unsigned wide[4] = {
						halves_of_e4m3(a[half * 2]),
						halves_of_e4m3(a[half * 2 + 1]),
						halves_of_e4m3(a[half * 2] >> 16),
						halves_of_e4m3(a[half * 2 + 1] >> 16)};

#pragma unroll
					for (int side = 0; side < SIDES; side++)
						multiply_add<number>(
							s[side], wide,
							q[side]
							 [(part * (CHUNKS / 2) + step) * 2 + half]);
				}
			}
		}
	}
	__device__ inline void multiply_values(const char *values, int part,
					       const unsigned p[SIDES][2])
	{
#pragma unroll
		for (int step = 0; step < CHUNKS / 2; step++) {
			unsigned a[4];

			tile_values<CHUNKS>(values, step, a);
			if constexpr (IS_WIDE) {
#pragma unroll
				for (int side = 0; side < SIDES; side++)
					multiply_add<number>(out[side][part * (CHUNKS / 2) + step],
							     a, p[side]);
			} else {
#pragma unroll
				for (int half = 0; half < 2; half++) {
					/* Keys 2t and 2t + 1, elements 2g and 2g + 1 of each. */
					unsigned low = exchange_bytes(a[half]);
					unsigned high = exchange_bytes(a[half + 2]);
					const unsigned wide[4] = {
						halves_of_e4m3(low), halves_of_e4m3(low >> 16),
						halves_of_e4m3(high), halves_of_e4m3(high >> 16)};

#pragma unroll
					for (int side = 0; side < SIDES; side++)
						multiply_add<number>(
							out[side][(part * (CHUNKS / 2) + step) * 2 +
								  half],
							wide, p[side]);
				}
			}
		}
	}
	/* Scores of the dot products; -infinity where a column does not see the key. */
	__device__ inline void mask(int key, float s[SIDES][4]) const
	{
#pragma unroll
		for (int i = 0; IS_SCALED && i < SIDES * 4; i++)
			s[i / 4][i % 4] *= factors[i / 4][i % 2];
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
		for (int i = 0; i < SIDES * TILES * 4; i++)
			out[i / 4 / TILES][i / 4 % TILES][i % 4] *= scales[i / 4 / TILES][i % 2];
	}
	/* Tiles from `key` on, `distance` keys apart. */
	__device__ inline void run(int key, int distance, char *memory)
	{
		ring = memory + threadIdx.x / WARP * ATTENTION_RING_BYTES;
		stride = distance;
		slot = 0;
#pragma unroll
		for (int i = 0; i <= AHEAD; i++)
			places[i] = cache.place_of(key + i * stride, end);
#pragma unroll
		for (int i = 0; i < SLOTS; i++)
			start(key, i, i);
		for (; key < end; key += stride) {
			attention_place next = cache.place_of(key + (AHEAD + 1) * stride, end);

			take(key);
#pragma unroll
			for (int i = 0; i < AHEAD; i++)
				places[i] = places[i + 1];
			places[AHEAD] = next;
		}
		ring_wait<0>();
#pragma unroll
		for (int i = 0; i < SIDES * 2; i++)
#pragma unroll
			for (int lanes = 4; lanes < WARP; lanes *= 2)
				total[i / 2][i % 2] +=
					__shfl_xor_sync(ALL_LANES, total[i / 2][i % 2], lanes);
	}
	__device__ inline void take(int key)
	{
		float s[SIDES][4];
		unsigned p[SIDES][2];

#pragma unroll
		for (int i = 0; i < SIDES * 4; i++)
			s[i / 4][i % 4] = 0;
#pragma unroll
		for (int part = 0; part < PARTS; part++) {
			multiply_keys(wait(), part, s);
			refill(key, part);
		}
		mask(key, s);
		weigh(s);
#pragma unroll
		for (int side = 0; side < SIDES; side++) {
			p[side][0] = transpose(pack_pair(s[side][0], s[side][1], number()));
			p[side][1] = transpose(pack_pair(s[side][2], s[side][3], number()));
		}
#pragma unroll
		for (int part = 0; part < PARTS; part++) {
			multiply_values(wait(), part, p);
			refill(key, PARTS + part);
		}
	}
};

/* What the warps of a block have to tell each other. */
template <int DIM, int SIDES> struct attention_parts {
	float most[ATTENTION_WARPS][SIDES * 8], total[ATTENTION_WARPS][SIDES * 8];
	float out[ATTENTION_WARPS][SIDES * 8][DIM + 4];
};

/* The sum of a query row over the warps, to the base of the largest exponent. */
struct attention_sum {
	float most, total;
};

template <int DIM, int SIDES>
__device__ inline attention_sum attention_add_up(const attention_parts<DIM, SIDES> &parts,
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
template <class Tiles, int DIM, int SIDES>
__device__ inline void attention_share(Tiles &tiles, attention_parts<DIM, SIDES> &parts,
				       float v_scale)
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
	for (int i = 0; i < SIDES * Tiles::TILES * 4; i++)
		tiles.out[i / 4 / Tiles::TILES][i / 4 % Tiles::TILES][i % 4] *=
			scales[i / 4 / Tiles::TILES][i % 2];
}

/* All query rows: from the warps to the result or the workspace. */
template <class T, int DIM, int SIDES>
__device__ inline void attention_store(const struct kp_attention_decode_args &args,
				       const attention_unit<SIDES> &unit,
				       const attention_parts<DIM, SIDES> &parts)
{
	for (unsigned i = threadIdx.x; i < SIDES * 8 * DIM; i += ATTENTION_WARPS * WARP) {
		unsigned number = i / DIM, at = i % DIM;
		const attention_row row = unit.row(number);
		float value = 0;

		if (!unit.has(number))
			break;
#pragma unroll
		for (int warp = 0; warp < ATTENTION_WARPS; warp++)
			value += parts.out[warp][number][at];
		if (gridDim.y > 1)
			attention_partial(args, row, gridDim.y, blockIdx.y)[at] = value;
		else
			from_float(value, attention_out<T>(args, row) + at);
	}
}

template <int DIM, int SIDES>
__device__ inline void attention_store_logs(const struct kp_attention_decode_args &args,
					    const attention_unit<SIDES> &unit,
					    const attention_parts<DIM, SIDES> &parts)
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
	__shared__ __align__(16) char memory[ATTENTION_WARPS * ATTENTION_RING_BYTES];
	attention_parts<DIM, SIDES> &parts = *(attention_parts<DIM, SIDES> *)memory;
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
	tiles.run(range.first + (int)warp * ATTENTION_TILE, ATTENTION_WARPS * ATTENTION_TILE,
		  memory);
	__syncthreads();
	attention_share(tiles, parts, attention_value_scale(args));
#pragma unroll
	for (int i = 0; i < SIDES * DIM / 4; i++)
		parts.out[warp][i / (DIM / 4) * 8 + tiles.t * 2 + i % 2]
			 [i / 4 % (DIM / 16) * 16 + tiles.element(i % 4)] =
			tiles.out[i / (DIM / 4)][i / 4 % (DIM / 16)][i % 4];
	__syncthreads();
	attention_store<T, DIM, SIDES>(args, unit, parts);
	attention_store_logs(args, unit, parts);
}
