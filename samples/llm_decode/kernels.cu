/*
 * The program's own small kernels; kernels.h says what each computes. They are plain on purpose:
 * one thread an element, or one block a row. Elementwise kernels move 2 bytes a bf16 they read or
 * write and are bound by memory, or by the launch when there are few tokens.
 */
#include "kernels.h"

#include "reduce.h"

static unsigned int blocks(size_t count)
{
	return (unsigned int)((count + THREADS - 1) / THREADS);
}

static __device__ size_t global_index(void)
{
	return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* splitmix64: element i of a stream of random bits. */
static __device__ uint64_t random_bits(uint64_t seed, uint64_t i)
{
	uint64_t z = seed * 0xd1342543de82ef95ull + (i + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static __global__ void fill_kernel(bf16 *out, size_t count, uint64_t seed, float centre,
				   float spread)
{
	size_t i = global_index();

	if (i < count) {
		float unit = (float)(random_bits(seed, i) >> 40) * (1.0f / (1 << 24));

		out[i] = __float2bfloat16(centre + spread * (2 * unit - 1));
	}
}

static __global__ void embedding_kernel(bf16 *out, const bf16 *table, const int *ids, size_t count,
					int width)
{
	size_t i = global_index();

	if (i < count)
		out[i] = table[(size_t)ids[i / width] * width + i % width];
}

static __global__ void inverse_rms_kernel(float *out, const bf16 *x, int width)
{
	__shared__ float shared[THREADS];
	const bf16 *row = x + (size_t)blockIdx.x * width;
	float sum = 0;

	for (int i = threadIdx.x; i < width; i += THREADS) {
		float value = __bfloat162float(row[i]);

		sum += value * value;
	}
	sum = reduce_sum(sum, shared);
	if (threadIdx.x == 0)
		out[blockIdx.x] = 1 / sqrtf(sum / width + 1e-5f);
}

static __global__ void scale_kernel(bf16 *out, const bf16 *x, const float *inverse_rms,
				    const bf16 *weight, size_t count, int width)
{
	size_t i = global_index();

	if (i < count)
		out[i] = __float2bfloat16(__bfloat162float(x[i]) * inverse_rms[i / width] *
					  __bfloat162float(weight[i % width]));
}

static __global__ void add_kernel(bf16 *x, const bf16 *y, size_t count)
{
	size_t i = global_index();

	if (i < count)
		x[i] = __float2bfloat16(__bfloat162float(x[i]) + __bfloat162float(y[i]));
}

static __global__ void silu_kernel(bf16 *x, size_t count)
{
	size_t i = global_index();

	if (i < count) {
		float value = __bfloat162float(x[i]);

		x[i] = __float2bfloat16(value / (1 + expf(-value)));
	}
}

static __global__ void mul_kernel(bf16 *x, const bf16 *y, size_t count)
{
	size_t i = global_index();

	if (i < count)
		x[i] = __float2bfloat16(__bfloat162float(x[i]) * __bfloat162float(y[i]));
}

/* One thread a pair: element i of a head turns with element i + head_dim / 2. */
static __global__ void rope_kernel(bf16 *x, const int *position, struct layout l, size_t pairs)
{
	size_t i = global_index();

	if (i >= pairs)
		return;

	int half = l.head_dim / 2;
	int pair = i % half;
	size_t head = i / half;
	int where = *position + (int)(head / l.heads % l.seq);
	float angle = where * powf(10000.0f, -(float)pair / half);
	float sine = sinf(angle), cosine = cosf(angle);
	bf16 *first = x + head * l.head_dim + pair;
	float a = __bfloat162float(first[0]), b = __bfloat162float(first[half]);

	first[0] = __float2bfloat16(a * cosine - b * sine);
	first[half] = __float2bfloat16(a * sine + b * cosine);
}

/* The index in [batch][heads][rows][head_dim] of element i of [batch][seq][heads][head_dim]. */
static __device__ size_t head_major(struct layout l, size_t i, int rows, int first_row)
{
	size_t d = i % l.head_dim;
	size_t head = i / l.head_dim % l.heads;
	size_t row = i / l.head_dim / l.heads % l.seq;
	size_t sequence = i / l.head_dim / l.heads / l.seq;

	return ((sequence * l.heads + head) * rows + first_row + row) * l.head_dim + d;
}

static __global__ void cache_append_kernel(bf16 *cache, const bf16 *x, const int *position,
					   struct layout l, size_t count)
{
	size_t i = global_index();

	if (i < count)
		cache[head_major(l, i, l.capacity, *position)] = x[i];
}

static __global__ void split_heads_kernel(bf16 *out, const bf16 *x, struct layout l, size_t count)
{
	size_t i = global_index();

	if (i < count)
		out[head_major(l, i, l.seq, 0)] = x[i];
}

static __global__ void merge_heads_kernel(bf16 *out, const bf16 *x, struct layout l, size_t count)
{
	size_t i = global_index();

	if (i < count)
		out[i] = x[head_major(l, i, l.seq, 0)];
}

static __global__ void last_rows_kernel(bf16 *out, const bf16 *x, int seq, int width, size_t count)
{
	size_t i = global_index();

	if (i < count)
		out[i] = x[((i / width + 1) * seq - 1) * width + i % width];
}

static __device__ bool beats(float value, int index, float other, int other_index)
{
	return value > other || (value == other && index < other_index);
}

static __global__ void argmax_kernel(int *ids, const bf16 *logits, int vocab)
{
	__shared__ float values[THREADS];
	__shared__ int indices[THREADS];
	const bf16 *row = logits + (size_t)blockIdx.x * vocab;
	int me = threadIdx.x;

	values[me] = -INFINITY;
	indices[me] = vocab;
	for (int i = me; i < vocab; i += THREADS) {
		float value = __bfloat162float(row[i]);

		if (beats(value, i, values[me], indices[me])) {
			values[me] = value;
			indices[me] = i;
		}
	}
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		int other = me + half;

		if (me < half && beats(values[other], indices[other], values[me], indices[me])) {
			values[me] = values[other];
			indices[me] = indices[other];
		}
		__syncthreads();
	}
	if (me == 0)
		ids[blockIdx.x] = indices[0] < vocab ? indices[0] : 0;
}

static __global__ void advance_kernel(int *position, int count)
{
	*position += count;
}

void kernels_fill(struct launcher *launcher, bf16 *out, size_t count, uint64_t seed, float centre,
		  float spread)
{
	LAUNCH(launcher, fill_kernel, blocks(count), THREADS, out, count, seed, centre, spread);
}

void kernels_embedding(struct launcher *launcher, bf16 *out, const bf16 *table, const int *ids,
		       int tokens, int width)
{
	size_t count = (size_t)tokens * width;

	LAUNCH(launcher, embedding_kernel, blocks(count), THREADS, out, table, ids, count, width);
}

void kernels_inverse_rms(struct launcher *launcher, float *out, const bf16 *x, int tokens,
			 int width)
{
	LAUNCH(launcher, inverse_rms_kernel, tokens, THREADS, out, x, width);
}

void kernels_scale(struct launcher *launcher, bf16 *out, const bf16 *x, const float *inverse_rms,
		   const bf16 *weight, int tokens, int width)
{
	size_t count = (size_t)tokens * width;

	LAUNCH(launcher, scale_kernel, blocks(count), THREADS, out, x, inverse_rms, weight, count,
	       width);
}

void kernels_add(struct launcher *launcher, bf16 *x, const bf16 *y, size_t count)
{
	LAUNCH(launcher, add_kernel, blocks(count), THREADS, x, y, count);
}

void kernels_silu(struct launcher *launcher, bf16 *x, size_t count)
{
	LAUNCH(launcher, silu_kernel, blocks(count), THREADS, x, count);
}

void kernels_mul(struct launcher *launcher, bf16 *x, const bf16 *y, size_t count)
{
	LAUNCH(launcher, mul_kernel, blocks(count), THREADS, x, y, count);
}

static size_t elements(const struct layout *l)
{
	return (size_t)l->batch * l->seq * l->heads * l->head_dim;
}

void kernels_rope(struct launcher *launcher, bf16 *x, const int *position,
		  const struct layout *layout)
{
	size_t pairs = elements(layout) / 2;

	LAUNCH(launcher, rope_kernel, blocks(pairs), THREADS, x, position, *layout, pairs);
}

void kernels_cache_append(struct launcher *launcher, bf16 *cache, const bf16 *x,
			  const int *position, const struct layout *layout)
{
	size_t count = elements(layout);

	LAUNCH(launcher, cache_append_kernel, blocks(count), THREADS, cache, x, position, *layout,
	       count);
}

void kernels_split_heads(struct launcher *launcher, bf16 *out, const bf16 *x,
			 const struct layout *layout)
{
	size_t count = elements(layout);

	LAUNCH(launcher, split_heads_kernel, blocks(count), THREADS, out, x, *layout, count);
}

void kernels_merge_heads(struct launcher *launcher, bf16 *out, const bf16 *x,
			 const struct layout *layout)
{
	size_t count = elements(layout);

	LAUNCH(launcher, merge_heads_kernel, blocks(count), THREADS, out, x, *layout, count);
}

void kernels_last_rows(struct launcher *launcher, bf16 *out, const bf16 *x, int batch, int seq,
		       int width)
{
	size_t count = (size_t)batch * width;

	LAUNCH(launcher, last_rows_kernel, blocks(count), THREADS, out, x, seq, width, count);
}

void kernels_argmax(struct launcher *launcher, int *ids, const bf16 *logits, int batch, int vocab)
{
	LAUNCH(launcher, argmax_kernel, batch, THREADS, ids, logits, vocab);
}

void kernels_advance(struct launcher *launcher, int *position, int count)
{
	LAUNCH(launcher, advance_kernel, 1, 1, position, count);
}
