/* What a consumer of a Hopper version does with scores and sums in its registers. Part of
 * attention_hopper_body.cuh. */

/* What a thread has of two rows, g and g + 8 of its warp's 16. */
struct rows {
	float most[2]; /* times scale, in powers of two */
	float total[2];
	float factor[2]; /* of the sums so far: not yet applied */
};

/* Keys that a row does not see get no weight. `key`: the tile's first. */
static __device__ __forceinline__ void mask(const struct kp_attention_call *call,
					    const struct prefill_piece *piece, int row, int key,
					    float (&s)[SCORES])
{
	key += (int)(threadIdx.x % 4 * 2);
	int end0 = prefill_end(piece, row) - key, end1 = prefill_end(piece, row + 8) - key;

#pragma unroll
	for (int i = 0; i < SCORES; i++)
		if (i / 4 * 8 + i % 2 >= (i % 4 < 2 ? end0 : end1))
			s[i] = -INFINITY;
	if (!call->window)
		return;
	end0 = prefill_first(call, piece, row) - key;
	end1 = prefill_first(call, piece, row + 8) - key;
#pragma unroll
	for (int i = 0; i < SCORES; i++)
		if (i / 4 * 8 + i % 2 < (i % 4 < 2 ? end0 : end1))
			s[i] = -INFINITY;
}

static __device__ __forceinline__ float quad_most(float value)
{
	value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 1));
	return fmaxf(value, __shfl_xor_sync(0xffffffff, value, 2));
}

static __device__ __forceinline__ float quad_sum(float value)
{
	value += __shfl_xor_sync(0xffffffff, value, 1);
	return value + __shfl_xor_sync(0xffffffff, value, 2);
}

/* The largest score of the rows, times scale. */
static __device__ __forceinline__ void find_most(const float (&s)[SCORES], float scale,
						 float most[2])
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		float a = s[2 * r], b = s[2 * r + 1];

#pragma unroll
		for (int i = 4; i < SCORES; i += 4) {
			a = fmaxf(a, s[i + 2 * r]);
			b = fmaxf(b, s[i + 2 * r + 1]);
		}
		most[r] = quad_most(fmaxf(a, b)) * scale;
	}
}

/* Scores become weights, 2^(s · scale - most); adds them up. */
static __device__ __forceinline__ void weigh(float (&s)[SCORES], float scale, struct rows *rows)
{
#pragma unroll
	for (int r = 0; r < 2; r++) {
		float most = rows->most[r] == -INFINITY ? 0 : rows->most[r], a = 0, b = 0;

#pragma unroll
		for (int i = 0; i < SCORES; i += 4) {
			s[i + 2 * r] = power_of_two(fmaf(s[i + 2 * r], scale, -most));
			s[i + 2 * r + 1] = power_of_two(fmaf(s[i + 2 * r + 1], scale, -most));
			a += s[i + 2 * r];
			b += s[i + 2 * r + 1];
		}
		rows->total[r] += a + b;
	}
}

/* New maxima; sums so far are to be multiplied by the factor. */
static __device__ __forceinline__ void raise(const float (&s)[SCORES], float scale,
					     struct rows *rows)
{
	float most[2];

	find_most(s, scale, most);
#pragma unroll
	for (int r = 0; r < 2; r++) {
		float now = fmaxf(rows->most[r], most[r]);

		rows->factor[r] = power_of_two(rows->most[r] - (now == -INFINITY ? 0 : now));
		rows->total[r] *= rows->factor[r];
		rows->most[r] = now;
	}
}

static __device__ __forceinline__ void rescale(float (&o)[SUMS], const struct rows *rows)
{
#pragma unroll
	for (int i = 0; i < SUMS; i++)
		o[i] *= rows->factor[i / 2 % 2];
}

/* Weights as the left operand: the sums' layout is the operand's. */
static __device__ __forceinline__ void narrow(const float (&s)[SCORES], unsigned (&p)[STEPS][4])
{
#pragma unroll
	for (int i = 0; i < SCORES / 2; i++)
		p[i / 4][i % 4] = pack_pair(s[2 * i], s[2 * i + 1], HOPPER_TYPE());
}

/* 4 × 4 words among the four lanes of a row: lane t gets word t of each. */
static __device__ __forceinline__ void turn_quad(unsigned w[4])
{
	unsigned lane = threadIdx.x % 4;

#pragma unroll
	for (int i = 0; i < 4; i += 2) {
		unsigned other = __shfl_xor_sync(0xffffffff, lane & 1 ? w[i] : w[i + 1], 1);

		if (lane & 1)
			w[i] = other;
		else
			w[i + 1] = other;
	}
#pragma unroll
	for (int i = 0; i < 2; i++) {
		unsigned other = __shfl_xor_sync(0xffffffff, lane & 2 ? w[i] : w[i + 2], 2);

		if (lane & 2)
			w[i] = other;
		else
			w[i + 2] = other;
	}
}

static __device__ __forceinline__ void store(const struct kp_attention_call *call,
					     const struct prefill_piece *piece, int row,
					     const float (&o)[SUMS], const struct rows *rows)
{
	unsigned lane = threadIdx.x % 4;

#pragma unroll
	for (int r = 0; r < 2; r++) {
		float total = quad_sum(rows->total[r]), inverse = total == 0 ? 0 : 1 / total;
		int query = row + 8 * r;
		HOPPER_TYPE *out = (HOPPER_TYPE *)call->out + prefill_out(call, piece, query);

#pragma unroll
		for (int i = 0; i < SUMS; i += 16) {
			unsigned w[4];

#pragma unroll
			for (int j = 0; j < 4; j++)
				w[j] = pack_pair(o[i + 4 * j + 2 * r] * inverse,
						 o[i + 4 * j + 2 * r + 1] * inverse, HOPPER_TYPE());
			turn_quad(w);
			if (query < piece->queries)
				*(uint4 *)(out + 2 * i + 8 * lane) =
					make_uint4(w[0], w[1], w[2], w[3]);
		}
		if (call->lse && lane == 0 && query < piece->queries)
			*prefill_lse(call, piece, query) =
				total == 0 ? -INFINITY : (rows->most[r] + log2f(total)) * LN_2;
	}
}
