/* Which rows and keys a block of attention_prefill works on, and in which order. */
#ifndef KP_KERNELS_ATTENTION_PIECE_CUH
#define KP_KERNELS_ATTENTION_PIECE_CUH

#include "kernels/attention_call.h"

#define LN_2 0.6931471805599453f

/* Rows of one head of a sequence, with the tiles of keys that any of them sees. */
struct prefill_piece {
	int batch, head, kv_head;
	int q_start,
		k_start;   /* of the sequence among all rows, where those lie behind each other */
	int queries, keys; /* of the sequence */
	int shift;         /* the row i sees keys to i + shift */
	int row;           /* the first */
	int last, tiles;   /* of keys: the last one's number, and how many */
	int masked;        /* so many from the last on are not seen whole by all rows */
	int masked_low;    /* and so many before the first that is */
};

#define NO_SHIFT 0x3fffffff

/* One behind the last key that a row sees. */
__device__ inline int prefill_end(const struct prefill_piece *piece, int row)
{
	int end = min(row + piece->shift + 1, piece->keys);

	return end > 0 ? end : 0;
}

/* The first one. */
__device__ inline int prefill_first(const struct kp_attention_call *call,
				    const struct prefill_piece *piece, int row)
{
	int first = row + piece->shift + 1 - (int)call->window;

	return call->window && first > 0 ? first : 0;
}

__device__ inline void prefill_find_sequence(const struct kp_attention_call *call,
					     struct prefill_piece *out)
{
	out->q_start = out->k_start = 0;
	out->queries = (int)call->queries;
	out->keys = (int)call->keys;
	if (call->q_starts) {
		out->q_start = call->q_starts[out->batch];
		out->queries = call->q_starts[out->batch + 1] - out->q_start;
	}
	if (call->k_starts) {
		out->k_start = call->k_starts[out->batch];
		out->keys = call->k_starts[out->batch + 1] - out->k_start;
	}
	out->shift = NO_SHIFT;
	if (call->causal)
		out->shift = out->keys - out->queries + call->offset;
}

__device__ inline void prefill_find_tiles(const struct kp_attention_call *call, int rows, int keys,
					  struct prefill_piece *out)
{
	int last_row = min(out->row + rows, out->queries) - 1;
	int end = prefill_end(out, last_row), first = prefill_first(call, out, out->row);
	int whole_end = prefill_end(out, out->row) / keys;
	int whole_first = (prefill_first(call, out, last_row) + keys - 1) / keys;

	out->last = (end + keys - 1) / keys - 1;
	out->tiles = end > first ? out->last + 1 - first / keys : 0;
	out->masked = out->last + 1 - whole_end;
	out->masked_low = whole_first - first / keys;
}

/*
 * Which head, sequence and block a number stands for, where all sequences have as many blocks:
 * heads in batches that share L2, within those the longest pieces first.
 */
__device__ inline bool prefill_place(const struct kp_attention_call *call, unsigned number,
				     unsigned *block, struct prefill_piece *out)
{
	unsigned all = call->batch * call->q_heads;
	unsigned batch = number / (call->heads * call->blocks), first = batch * call->heads;
	unsigned heads = min(call->heads, all - first), rest = number - first * call->blocks;
	unsigned head = first + rest % heads;

	if (number >= all * call->blocks)
		return false;
	*block = call->blocks - 1 - rest / heads;
	out->batch = (int)(head / call->q_heads);
	out->head = (int)(head % call->q_heads);
	return true;
}

/* The same for sequences of various lengths. `ends`: the blocks of all sequences up to each. */
__device__ inline bool prefill_place_varied(const struct kp_attention_call *call,
					    const unsigned *ends, unsigned number, unsigned *block,
					    struct prefill_piece *out)
{
	unsigned low = 0, high = call->batch, at = number / call->q_heads;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (ends[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == call->batch)
		return false;
	/* The last block of a sequence, which sees most keys, comes first. */
	*block = ends[low] - 1 - at;
	out->batch = (int)low;
	out->head = (int)(number % call->q_heads);
	return true;
}

/*
 * The piece of a turn; false: there are no more. The blocks take them to and fro, so that none
 * always has the longer ones. A piece may have no rows, and rows no keys. `ends`: see above, or
 * NULL.
 */
__device__ inline bool prefill_find(const struct kp_attention_call *call, const unsigned *ends,
				    unsigned turn, int rows, int keys, struct prefill_piece *out)
{
	unsigned place = turn & 1 ? gridDim.x - 1 - blockIdx.x : blockIdx.x, block;
	unsigned number = turn * gridDim.x + place;
	unsigned all = call->q_heads * (ends ? ends[call->batch - 1] : call->batch * call->blocks);

	if (turn * gridDim.x >= all)
		return false;
	out->tiles = out->queries = 0;
	out->row = 0;
	if (!(ends ? prefill_place_varied(call, ends, number, &block, out)
		   : prefill_place(call, number, &block, out)))
		return true;
	out->kv_head = out->head / (int)(call->q_heads / call->kv_heads);
	out->row = (int)block * rows;
	prefill_find_sequence(call, out);
	if (out->row < out->queries)
		prefill_find_tiles(call, rows, keys, out);
	return true;
}

/* The same where *position says how far a cache is filled. */
__device__ inline void prefill_cut(const struct kp_attention_call *call, int rows, int keys,
				   struct prefill_piece *out)
{
	out->keys = min(out->keys, *call->position + out->queries);
	if (call->causal)
		out->shift = out->keys - out->queries + call->offset;
	prefill_find_tiles(call, rows, keys, out);
}

/* Where a row's log-sum-exp goes. */
__device__ inline float *prefill_lse(const struct kp_attention_call *call,
				     const struct prefill_piece *piece, int row)
{
	if (call->q_starts)
		return call->lse + (size_t)piece->head * call->q_starts[call->batch] +
		       piece->q_start + row;
	return call->lse + ((size_t)piece->batch * call->q_heads + piece->head) * call->queries +
	       row;
}

/* Where its result goes, in elements from the beginning of all. */
__device__ inline long long prefill_out(const struct kp_attention_call *call,
					const struct prefill_piece *piece, int row)
{
	return (call->q_starts ? 0 : piece->batch * call->out_batch) +
	       (piece->q_start + row) * call->out_query + piece->head * call->out_head;
}

#endif
