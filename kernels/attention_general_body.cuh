/*
 * The body of a version of attention_prefill for any GPU since compute capability 8.0; included
 * once a version, with
 *
 *   GENERAL_NAME    of the version's namespace
 *   GENERAL_DIM     elements of a head for which it has room: a multiple of 32, at most 256
 *   GENERAL_TYPE    of the storage
 *   GENERAL_SYMBOL  of the kernel
 *
 * A block of four warps has 64 query rows, each warp 16 of them: queries and sums stay in
 * registers, 64 keys (16 above 128 elements) at a time go through shared memory with the values
 * that belong to them. The copies are asynchronous: values come in while scores are computed, and
 * the next keys while values are added up. Rows of tiles are 16 bytes longer than they need be, so
 * that the lanes of a fragment are in different banks.
 */
namespace GENERAL_NAME
{

typedef GENERAL_TYPE element;

enum {
	DIM = GENERAL_DIM,
	KEYS = DIM > 128 ? 16 : 64,
	ROWS = 64,
	THREADS = 128,
	PITCH = DIM + 8,
	VECTORS = DIM / 8,
};

struct tile {
	alignas(16) element rows[KEYS][PITCH];
};

/* The lane's part of two rows, g and g + 8 of the warp's 16. */
struct work {
	unsigned q[DIM / 16][4];
	float o[DIM / 8][4];
	float most[2], total[2];
	int end[2], first[2];
};

/* The first element of a key, or value, and head. */
static __device__ inline const element *find_key(const struct kp_attention_call *call,
						 const struct prefill_piece *piece,
						 const void *tensor, long long batch, long long row,
						 long long head, int key)
{
	long long at = call->k_starts ? 0 : piece->batch * batch;

	key += piece->k_start;
	if (call->pages) {
		at = call->pages[piece->batch * call->pages_batch +
				 (unsigned)key / call->page_tokens] *
		     batch;
		key = (int)((unsigned)key % call->page_tokens);
	}
	return (const element *)tensor + at + key * row + piece->kv_head * head;
}

/* Eight elements, of which the head may have fewer. */
static __device__ inline void copy_vector(const struct kp_attention_call *call, element *to,
					  const element *from, unsigned column, bool exists)
{
	if (exists && call->vectors && column < call->head_dim) {
		copy_async(to, from + column);
		return;
	}
	for (unsigned i = 0; i < 8; i++) {
		if (exists && column + i < call->head_dim)
			to[i] = from[column + i];
		else
			from_float(0, to + i);
	}
}

/* Keys `first` … of a tile; what the sequence does not have becomes 0. */
static __device__ inline void copy_tile(const struct kp_attention_call *call,
					const struct prefill_piece *piece, bool values, int first,
					struct tile *to)
{
	for (unsigned i = threadIdx.x; i < KEYS * VECTORS; i += THREADS) {
		int row = (int)(i / VECTORS), key = first + row;
		bool exists = key < piece->keys;
		const element *from = nullptr;

		if (exists)
			from = values ? find_key(call, piece, call->v, call->v_batch, call->v_key,
						 call->v_head, key)
				      : find_key(call, piece, call->k, call->k_batch, call->k_key,
						 call->k_head, key);
		copy_vector(call, &to->rows[row][i % VECTORS * 8], from, i % VECTORS * 8, exists);
	}
	copies_commit();
}

/* Two elements of a query as a word. */
static __device__ inline unsigned query_pair(const struct kp_attention_call *call,
					     const element *from, unsigned column, bool exists)
{
	float pair[2] = {0, 0};

	if (exists && call->vectors && column < call->head_dim)
		return *(const unsigned *)(from + column);
	for (unsigned i = 0; i < 2; i++)
		if (exists && column + i < call->head_dim)
			pair[i] = to_float(from[column + i]);
	return pack_pair(pair[0], pair[1], element());
}

static __device__ inline void begin(const struct kp_attention_call *call,
				    const struct prefill_piece *piece, int row, struct work *work)
{
	const unsigned t = threadIdx.x % 4;

#pragma unroll
	for (int r = 0; r < 2; r++) {
		const int query = row + 8 * r;
		const bool exists = query < piece->queries;
		const element *from = (const element *)call->q;

		if (exists)
			from += (call->q_starts ? 0 : piece->batch * call->q_batch) +
				(piece->q_start + query) * call->q_query +
				piece->head * call->q_head;
		work->most[r] = -INFINITY;
		work->total[r] = 0;
		work->end[r] = prefill_end(piece, query);
		work->first[r] = prefill_first(call, piece, query);
#pragma unroll
		for (int i = 0; i < DIM / 16; i++) {
			work->q[i][r] = query_pair(call, from, 16 * i + 2 * t, exists);
			work->q[i][2 + r] = query_pair(call, from, 16 * i + 2 * t + 8, exists);
		}
	}
#pragma unroll
	for (int i = 0; i < DIM / 8 * 4; i++)
		work->o[i / 4][i % 4] = 0;
}

static __device__ inline void multiply_keys(float s[KEYS / 8][4], const struct work *work,
					    const struct tile *keys)
{
	const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;

#pragma unroll
	for (int j = 0; j < KEYS / 8; j++) {
		s[j][0] = s[j][1] = s[j][2] = s[j][3] = 0;
#pragma unroll
		for (int i = 0; i < DIM / 16; i++) {
			const element *from = &keys->rows[8 * j + g][16 * i + 2 * t];
			unsigned b[2] = {*(const unsigned *)from, *(const unsigned *)(from + 8)};

			multiply_add<element>(s[j], work->q[i], b);
		}
	}
}

/* In powers of two; what a row does not see, -infinity. */
static __device__ inline void finish_scores(const struct kp_attention_call *call,
					    const struct work *work, int first,
					    float s[KEYS / 8][4])
{
#pragma unroll
	for (int i = 0; i < KEYS / 8 * 4; i++) {
		int r = i / 2 % 2, key = first + i / 4 * 8 + (int)(threadIdx.x % 4 * 2) + i % 2;
		float score = s[i / 4][i % 4] * call->scale;

		if (call->cap != 0)
			score = call->cap - call->cap * __fdividef(2, 1 + power_of_two(score));
		if (key >= work->end[r] || key < work->first[r])
			score = -INFINITY;
		s[i / 4][i % 4] = score;
	}
}

static __device__ inline void soften(struct work *work, float s[KEYS / 8][4])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		float most = work->most[r], shown, factor;

#pragma unroll
		for (int j = 0; j < KEYS / 8; j++)
			most = fmaxf(most, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
		most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, 1));
		most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, 2));
		shown = most == -INFINITY ? 0 : most;
		factor = power_of_two(work->most[r] - shown);
		work->most[r] = most;
		work->total[r] *= factor;
#pragma unroll
		for (int j = 0; j < KEYS / 8; j++) {
			s[j][2 * r] = power_of_two(s[j][2 * r] - shown);
			s[j][2 * r + 1] = power_of_two(s[j][2 * r + 1] - shown);
			work->total[r] += s[j][2 * r] + s[j][2 * r + 1];
		}
#pragma unroll
		for (int i = 0; i < DIM / 8; i++) {
			work->o[i][2 * r] *= factor;
			work->o[i][2 * r + 1] *= factor;
		}
	}
}

static __device__ inline void multiply_values(struct work *work, const float s[KEYS / 8][4],
					      const struct tile *values)
{
#pragma unroll
	for (int j = 0; j < KEYS / 16; j++) {
		const float *low = s[2 * j], *high = s[2 * j + 1];
		unsigned p[4] = {pack_pair(low[0], low[1], element()),
				 pack_pair(low[2], low[3], element()),
				 pack_pair(high[0], high[1], element()),
				 pack_pair(high[2], high[3], element())};

#pragma unroll
		for (int i = 0; i < DIM / 16; i++) {
			unsigned b[4];

			load_turned(b, &values->rows[16 * j][16 * i], PITCH);
			multiply_add<element>(work->o[2 * i], p, b);
			multiply_add<element>(work->o[2 * i + 1], p, b + 2);
		}
	}
}

static __device__ inline void store(const struct kp_attention_call *call,
				    const struct prefill_piece *piece, int row, struct work *work)
{
	const unsigned t = threadIdx.x % 4;

#pragma unroll
	for (int r = 0; r < 2; r++) {
		float total = work->total[r], inverse;
		element *out = (element *)call->out + prefill_out(call, piece, row + 8 * r);

		total += __shfl_xor_sync(ALL_LANES, total, 1);
		total += __shfl_xor_sync(ALL_LANES, total, 2);
		inverse = total == 0 ? 0 : 1 / total;
		if (row + 8 * r >= piece->queries)
			continue;
#pragma unroll
		for (int i = 0; i < DIM / 8 * 2; i++) {
			unsigned column = (unsigned)(i / 2 * 8 + i % 2) + 2 * t;

			if (column < call->head_dim)
				from_float(work->o[i / 2][2 * r + i % 2] * inverse, out + column);
		}
		if (call->lse && t == 0)
			*prefill_lse(call, piece, row + 8 * r) =
				total == 0 ? -INFINITY : (work->most[r] + log2f(total)) * LN_2;
	}
}

static __device__ inline void run(const struct kp_attention_call *call)
{
	__shared__ struct tile keys, values;
	struct prefill_piece piece;
	struct work work;
	float s[KEYS / 8][4];
	int row, tile;

	let_next_launch_begin();
	wait_for_launch_in_front();
	if (!prefill_find(call, nullptr, 0, ROWS, KEYS, &piece) || piece.row >= piece.queries)
		return;
	if (call->position)
		prefill_cut(call, ROWS, KEYS, &piece);
	row = piece.row + (int)(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
	tile = piece.last + 1 - piece.tiles;
	begin(call, &piece, row, &work);
	if (piece.tiles > 0)
		copy_tile(call, &piece, false, tile * KEYS, &keys);
	for (int i = 0; i < piece.tiles; i++, tile++) {
		copies_wait();
		__syncthreads();
		copy_tile(call, &piece, true, tile * KEYS, &values);
		multiply_keys(s, &work, &keys);
		finish_scores(call, &work, tile * KEYS, s);
		copies_wait();
		__syncthreads();
		if (i + 1 < piece.tiles)
			copy_tile(call, &piece, false, (tile + 1) * KEYS, &keys);
		soften(&work, s);
		multiply_values(&work, s, &values);
	}
	store(call, &piece, row, &work);
}

} // namespace GENERAL_NAME

extern "C" __global__ void __launch_bounds__(128)
	GENERAL_SYMBOL(const __grid_constant__ struct kp_attention_call call)
{
	GENERAL_NAME::run(&call);
}
