/* The producer of a Hopper version, one thread: finds pieces, copies tiles. Part of
 * attention_hopper_body.cuh. */

static __device__ __forceinline__ void load_tile(unsigned to, const void *map, unsigned barrier,
						 unsigned bytes, int row, int head, int batch)
{
	barrier_expect(barrier, bytes);
#pragma unroll
	for (int i = 0; i < COLUMNS; i++)
		load_box(to + i * (bytes / COLUMNS), map, barrier, i * TILE_COLUMN, row, head,
			 batch);
}

static __device__ __forceinline__ void load_keys(const struct room *r, unsigned count,
						 const void *map, bool values, int row, int head,
						 int batch)
{
	unsigned stage = count % STAGES, parity = count / STAGES & 1;
	unsigned full = (values ? r->v_full : r->k_full) + 8 * stage;

	barrier_wait((values ? r->v_empty : r->k_empty) + 8 * stage, parity ^ 1);
	load_tile((values ? r->v : r->k) + stage * TILE_BYTES, map, full, TILE_BYTES, row, head,
		  batch);
}

static __device__ __forceinline__ void load_queries(const struct kp_attention_call *call,
						    const struct room *r,
						    const struct prefill_piece *piece,
						    unsigned pieces)
{
	unsigned stage = pieces % Q_STAGES, parity = pieces / Q_STAGES & 1;

	barrier_wait(r->q_empty + 8 * stage, parity ^ 1);
	load_tile(r->q + stage * Q_BYTES, &call->q_map, r->q_full + 8 * stage, Q_BYTES,
		  piece->q_start + piece->row, piece->head, call->q_starts ? 0 : piece->batch);
}

/* All of a piece. Values follow a tile behind the keys: that is the order of their use. */
static __device__ __forceinline__ void load_piece(const struct kp_attention_call *call,
						  const struct room *r,
						  const struct prefill_piece *piece, unsigned count,
						  unsigned pieces)
{
	int k_batch = call->k_starts ? 0 : piece->batch;
	int key = piece->k_start + piece->last * KEYS;

	for (int i = 0; i <= piece->tiles; i++, key -= KEYS) {
		if (i < piece->tiles)
			load_keys(r, count + i, &call->k_map, false, key, piece->kv_head, k_batch);
		if (i == 0) {
			load_queries(call, r, piece, pieces);
		} else {
			load_keys(r, count + i - 1, &call->v_map, true, key + KEYS, piece->kv_head,
				  k_batch);
		}
	}
}

/* Puts a piece where consumers find it. */
static __device__ __forceinline__ void publish(const struct room *r, unsigned number,
					       const struct prefill_piece *piece)
{
	unsigned slot = number % PIECES;

	barrier_wait(r->piece_empty + 8 * slot, (number / PIECES & 1) ^ 1);
	r->pieces[slot] = *piece;
	barrier_arrive(r->piece_full + 8 * slot);
}

static __device__ __forceinline__ void produce(const struct kp_attention_call *call,
					       const struct room *r)
{
	struct prefill_piece piece;
	unsigned count = 0, pieces = 0, published = 0;

	for (unsigned turn = 0; prefill_find(call, r->ends, turn, ROWS, KEYS, &piece); turn++) {
		if (piece.row >= piece.queries)
			continue;
		publish(r, published++, &piece);
		if (piece.tiles == 0)
			continue;
		load_piece(call, r, &piece, count, pieces);
		count += piece.tiles;
		pieces++;
	}
	piece.tiles = -1;
	publish(r, published, &piece);
}
