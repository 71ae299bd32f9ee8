/* A consumer of a Hopper version: products, and what overlaps what. Part of
 * attention_hopper_body.cuh. */

#define QUERIES_STEP(i) (((i) / 4 * (ROWS * TILE_ROW_BYTES) >> 4) + (i) % 4 * 2)
#define KEYS_STEP(i) (((i) / 4 * (KEYS * TILE_ROW_BYTES) >> 4) + (i) % 4 * 2)
#define VALUES_STEP(i) ((i)*16 * TILE_ROW_BYTES >> 4)

/* Scores of a tile. */
static __device__ __forceinline__ void multiply_keys(float (&s)[SCORES], descriptor q, descriptor k)
{
	wgmma_fence();
#pragma unroll
	for (int i = 0; i < DIM / 16; i++)
		WGMMA_SS(HOPPER_KEYS, HOPPER_KEYS_HALF, HOPPER_TEXT, s, q + QUERIES_STEP(i),
			 k + KEYS_STEP(i), i > 0);
	wgmma_commit();
}

/* Sums of a tile; `add` 0: the first. */
static __device__ __forceinline__ void multiply_values(float (&o)[SUMS], unsigned (&p)[STEPS][4],
						       descriptor v, int add)
{
	wgmma_fence();
#pragma unroll
	for (int i = 0; i < STEPS; i++)
		WGMMA_RS(HOPPER_DIM, HOPPER_DIM_HALF, HOPPER_TEXT, o, p[i], v + VALUES_STEP(i),
			 i > 0 ? 1 : add);
	wgmma_commit();
}

/*
 * The same value in all lanes, which the compiler does not know by itself of what was loaded: loops
 * and descriptors then stay in uniform registers. Else each descriptor is moved there anew.
 */
static __device__ __forceinline__ int uniform(int value)
{
	return __reduce_max_sync(0xffffffff, value);
}

/* Warpgroups take turns with the matrix instructions of a tile; who waits, does its softmax. */
static __device__ __forceinline__ void take_turn(unsigned group)
{
	named_sync(1 + group, 2 * WARPGROUP);
}

static __device__ __forceinline__ void pass_turn(unsigned group)
{
	named_arrive(1 + (group + 1) % GROUPS, 2 * WARPGROUP);
}

static __device__ __forceinline__ void release(unsigned barrier)
{
	if (threadIdx.x % 32 == 0)
		barrier_arrive(barrier);
}

/* Until the copies of the tile `count` have arrived. */
static __device__ __forceinline__ void wait_for(unsigned full, unsigned count)
{
	barrier_wait(full + 8 * (count % STAGES), count / STAGES & 1);
}

static __device__ __forceinline__ descriptor describe_values(const struct room *r, unsigned count)
{
	unsigned tile = r->v + count % STAGES * TILE_BYTES;

	return describe_columns((unsigned)uniform((int)tile), KEYS * TILE_ROW_BYTES);
}

static __device__ __forceinline__ descriptor describe_keys(const struct room *r, unsigned count)
{
	return describe_rows((unsigned)uniform((int)(r->k + count % STAGES * TILE_BYTES)));
}

/*
 * Values behind the end of a sequence are another's, and may be NaN, which no weight of 0 takes
 * away: zeros instead. All consumers, each a part; then they wait for each other, and the matrix
 * instructions see what was written.
 */
static __device__ __forceinline__ void clear_behind_end(const struct kp_attention_call *call,
							const struct room *r,
							const struct prefill_piece *piece,
							unsigned count)
{
	int kept = uniform(piece->keys - piece->last * KEYS);
	unsigned tile = r->v + count % STAGES * TILE_BYTES;

	if (!call->k_starts || kept >= KEYS)
		return;
	wait_for(r->v_full, count);
	for (int i = kept * 8 + (int)threadIdx.x - WARPGROUP; i < KEYS * 8; i += GROUPS * WARPGROUP)
#pragma unroll
		for (int column = 0; column < COLUMNS; column++)
			clear_shared(tile + column * (KEYS * TILE_ROW_BYTES) + i * 16);
	fence_shared();
	named_sync(1 + GROUPS, GROUPS * WARPGROUP);
}

/* What a consumer is at. */
struct place {
	const struct prefill_piece *piece;    /* in the ring */
	unsigned group, found, count, pieces; /* pieces seen, tiles and pieces worked on */
};

/* The lane's first row of a piece. */
static __device__ __forceinline__ int row_of(const struct prefill_piece *piece, unsigned group)
{
	return piece->row +
	       (int)(group * 64 + threadIdx.x % WARPGROUP / 32 * 16 + threadIdx.x % 32 / 4);
}

/* Waits for the queries of a piece. */
static __device__ __forceinline__ descriptor take_queries(const struct room *r,
							  const struct place *at)
{
	unsigned stage = at->pieces % Q_STAGES;

	barrier_wait(r->q_full + 8 * stage, at->pieces / Q_STAGES & 1);
	return describe_rows(
		(unsigned)uniform((int)(r->q + stage * Q_BYTES + at->group * 64 * TILE_ROW_BYTES)));
}

/* Of a piece's last tile, which comes first. */
static __device__ __forceinline__ void mask_first(const struct kp_attention_call *call,
						  const struct place *at, float (&s)[SCORES])
{
	const struct prefill_piece *piece = at->piece;

	if (uniform(piece->masked > 0 || piece->masked_low >= piece->tiles))
		mask(call, piece, row_of(piece, at->group), piece->last * KEYS, s);
}

/* The first tile, and its weights: nothing is there to overlap with. */
static __device__ __forceinline__ void begin(const struct kp_attention_call *call,
					     const struct room *r, const struct place *at,
					     descriptor q, float (&s)[SCORES], struct rows *rows,
					     unsigned (&p)[STEPS][4])
{
	*rows = (struct rows){{-INFINITY, -INFINITY}, {0, 0}, {1, 1}};
	wait_for(r->k_full, at->count);
	multiply_keys(s, q, describe_keys(r, at->count));
	WGMMA_WAIT(0);
	HOLD(s, SCORES);
	release(r->k_empty + 8 * (at->count % STAGES));
	mask_first(call, at, s);
	raise(s, call->scale, rows);
	weigh(s, call->scale, rows);
	narrow(s, p);
	clear_behind_end(call, r, at->piece, at->count);
}

/*
 * Starts both products of a step, scores of the next tile and sums of this one, and waits for the
 * scores. The sums so far are brought to the new maxima while the scores are under way.
 */
static __device__ __forceinline__ void multiply_both(const struct room *r, const struct place *at,
						     descriptor q, float (&s)[SCORES],
						     float (&o)[SUMS], unsigned (&p)[STEPS][4],
						     const struct rows *rows, int add)
{
	descriptor k = describe_keys(r, at->count + 1), v = describe_values(r, at->count);

	wait_for(r->k_full, at->count + 1);
	take_turn(at->group);
	multiply_keys(s, q, k);
	rescale(o, rows);
	wait_for(r->v_full, at->count);
	multiply_values(o, p, v, add);
	pass_turn(at->group);
	WGMMA_WAIT(1);
	HOLD(s, SCORES);
	release(r->k_empty + 8 * ((at->count + 1) % STAGES));
}

/*
 * Waits for the sums. No total is negative. Asking makes the branch, and so the wait, come after
 * the softmax: else ptxas moves that behind the wait, and nothing overlaps.
 */
static __device__ __forceinline__ void finish_both(const struct room *r, struct place *at,
						   float (&o)[SUMS], const struct rows *rows)
{
	if (!(rows->total[0] + rows->total[1] < 0))
		wait_for(r->v_full, at->count);
	WGMMA_WAIT(0);
	HOLD(o, SUMS);
	release(r->v_empty + 8 * (at->count % STAGES));
	at->count++;
}

/* All but the last tile of values of a piece, from the weights of its first one on. */
static __device__ __forceinline__ void attend(const struct kp_attention_call *call,
					      const struct room *r, struct place *at, descriptor q,
					      float (&s)[SCORES], float (&o)[SUMS],
					      struct rows *rows, unsigned (&p)[STEPS][4])
{
	int tiles = uniform(at->piece->tiles), masked = uniform(at->piece->masked);
	int unmasked = tiles - uniform(at->piece->masked_low);

	for (int i = 1; i < tiles; i++) {
		multiply_both(r, at, q, s, o, p, rows, i > 1);
		if (i < masked || i >= unmasked)
			mask(call, at->piece, row_of(at->piece, at->group),
			     (at->piece->last - i) * KEYS, s);
		raise(s, call->scale, rows);
		weigh(s, call->scale, rows);
		finish_both(r, at, o, rows);
		narrow(s, p);
	}
	release(r->q_empty + 8 * (at->pieces % Q_STAGES));
}

/* A piece's record in the ring is not needed any more. */
static __device__ __forceinline__ void leave_piece(const struct room *r, unsigned number)
{
	__syncwarp();
	release(r->piece_empty + 8 * (number % PIECES));
}

/* The last sums of a piece, and its results. */
static __device__ __forceinline__ void finish(const struct kp_attention_call *call,
					      const struct room *r, struct place *at,
					      float (&o)[SUMS], const struct rows *rows,
					      unsigned (&p)[STEPS][4], unsigned number)
{
	rescale(o, rows);
	wait_for(r->v_full, at->count);
	multiply_values(o, p, describe_values(r, at->count), uniform(at->piece->tiles) > 1);
	WGMMA_WAIT(0);
	HOLD(o, SUMS);
	release(r->v_empty + 8 * (at->count % STAGES));
	at->count++;
	store(call, at->piece, row_of(at->piece, at->group), o, rows);
	leave_piece(r, number);
}

/*
 * From one piece to the next without a pause: the first scores of the next are computed with the
 * last sums of this one, and its softmax goes on meanwhile.
 */
static __device__ __forceinline__ void cross(const struct kp_attention_call *call,
					     const struct room *r, struct place *at,
					     const struct prefill_piece *next, descriptor q,
					     float (&s)[SCORES], float (&o)[SUMS],
					     struct rows *rows, unsigned (&p)[STEPS][4],
					     unsigned number)
{
	const struct prefill_piece *done = at->piece;
	struct rows done_rows = *rows;

	at->piece = next;
	*rows = (struct rows){{-INFINITY, -INFINITY}, {0, 0}, {1, 1}};
	multiply_both(r, at, q, s, o, p, &done_rows, uniform(done->tiles) > 1);
	mask_first(call, at, s);
	raise(s, call->scale, rows);
	weigh(s, call->scale, rows);
	finish_both(r, at, o, rows);
	store(call, done, row_of(done, at->group), o, &done_rows);
	leave_piece(r, number);
	narrow(s, p);
	clear_behind_end(call, r, at->piece, at->count);
}

/* Rows that see no key. */
static __device__ __forceinline__ void store_nothing(const struct kp_attention_call *call,
						     const struct prefill_piece *piece,
						     unsigned group)
{
	struct rows rows = {{0, 0}, {0, 0}, {1, 1}};
	float o[SUMS];

#pragma unroll
	for (int i = 0; i < SUMS; i++)
		o[i] = 0;
	store(call, piece, row_of(piece, group), o, &rows);
}

/* The next piece that has keys; those without are done at once. NULL: there are no more. */
static __device__ __forceinline__ const struct prefill_piece *find_next(
	const struct kp_attention_call *call, const struct room *r, struct place *at)
{
	for (;;) {
		unsigned number = at->found++, slot = number % PIECES;
		const struct prefill_piece *piece = &r->pieces[slot];

		int tiles;

		barrier_wait(r->piece_full + 8 * slot, number / PIECES & 1);
		tiles = uniform(piece->tiles);
		if (tiles > 0)
			return piece;
		if (tiles < 0)
			return nullptr;
		store_nothing(call, piece, at->group);
		leave_piece(r, number);
	}
}

static __device__ __forceinline__ void consume(const struct kp_attention_call *call,
					       const struct room *r, unsigned group)
{
	float s[SCORES], o[SUMS];
	unsigned p[STEPS][4];
	struct rows rows;
	struct place at;
	descriptor q;

	at.group = group;
	at.found = at.count = at.pieces = 0;
	if (group == GROUPS - 1)
		pass_turn(group);
	at.piece = find_next(call, r, &at);
	while (at.piece) {
		const struct prefill_piece *next;
		unsigned number = at.found - 1;

		q = take_queries(r, &at);
		begin(call, r, &at, q, s, &rows, p);
		for (;;) {
			attend(call, r, &at, q, s, o, &rows, p);
			at.pieces++;
			next = find_next(call, r, &at);
			if (!HOPPER_CROSS || !next)
				break;
			q = take_queries(r, &at);
			cross(call, r, &at, next, q, s, o, &rows, p, number);
			number = at.found - 1;
		}
		finish(call, r, &at, o, &rows, p, number);
		at.piece = next;
	}
}
