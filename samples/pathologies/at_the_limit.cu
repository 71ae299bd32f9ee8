/*
 * Already at the limit: vectors that are read, scaled, added and written, as fast as memory goes.
 * There is nothing to win but by moving fewer bytes.
 *
 * What stands in for a remedy is what one might try: the same work with four times the loads in
 * flight. It must not win anything to speak of.
 *
 * a[count] = b + FACTOR * c, in fp32; 12 * count bytes, 2 * count FLOPs. Exact, of the first and
 * last elements.
 */
#include "timing.h"

enum { THREADS = 256, FACTOR = 3, CACHES = 8, UNROLL = 4, CHECKED = 1 << 18 };

struct work {
	bool unrolled;
	size_t count; /* of float4; of whole blocks of either kernel */
	float4 *a, *b, *c;
};

static __host__ __device__ float value_of(uint32_t seed, size_t i)
{
	return (float)(timing_hash(seed + (uint32_t)i) & 1023);
}

static __global__ void fill_vector(float *vector, uint32_t seed)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	vector[i] = value_of(seed, i);
}

static __device__ float4 triad(float4 b, float4 c)
{
	return make_float4(b.x + FACTOR * c.x, b.y + FACTOR * c.y, b.z + FACTOR * c.z,
			   b.w + FACTOR * c.w);
}

static __global__ void triad_kernel(float4 *a, const float4 *b, const float4 *c)
{
	size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;

	a[i] = triad(b[i], c[i]);
}

static __global__ void triad_unrolled_kernel(float4 *a, const float4 *b, const float4 *c)
{
	size_t i = (size_t)blockIdx.x * THREADS * UNROLL + threadIdx.x;
	float4 left[UNROLL], right[UNROLL];

	for (int k = 0; k < UNROLL; k++) {
		left[k] = b[i + k * THREADS];
		right[k] = c[i + k * THREADS];
	}
	for (int k = 0; k < UNROLL; k++)
		a[i + k * THREADS] = triad(left[k], right[k]);
}

static void iterate(void *context)
{
	const struct work *work = (const struct work *)context;
	unsigned blocks = (unsigned)(work->count / THREADS);

	if (work->unrolled)
		triad_unrolled_kernel<<<blocks / UNROLL, THREADS>>>(work->a, work->b, work->c);
	else
		triad_kernel<<<blocks, THREADS>>>(work->a, work->b, work->c);
	CUDA_CHECK(cudaGetLastError());
}

static float4 *make_vector(const struct work *work, uint32_t seed)
{
	float4 *vector = timing_allocate<float4>(work->count);

	fill_vector<<<(unsigned)(4 * work->count / THREADS), THREADS>>>((float *)vector, seed);
	CUDA_CHECK(cudaGetLastError());
	return vector;
}

/* A part of CHECKED elements, from `first` on. */
static bool part_is_right(const struct work *work, size_t first)
{
	static float a[CHECKED];
	bool right = true;

	CUDA_CHECK(
		cudaMemcpy(a, (const float *)work->a + first, sizeof(a), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < CHECKED; i++)
		right &= a[i] == value_of(2, first + i) + FACTOR * value_of(3, first + i);
	return right;
}

int main(int argc, char **argv)
{
	struct timing timing;
	struct work work = {};
	size_t block = THREADS * UNROLL;

	timing_parse(&timing, argc, argv, "at_the_limit", "Vectors as fast as memory goes.",
		     "try more loads in flight, which wins nothing");
	work.unrolled = timing.remedy;
	work.count = (size_t)timing_attribute(cudaDevAttrL2CacheSize) * CACHES / sizeof(float4);
	work.count = (work.count / block + 1) * block;
	work.a = make_vector(&work, 1);
	work.b = make_vector(&work, 2);
	work.c = make_vector(&work, 3);
	timing_run(&timing, iterate, &work);
	return timing_verdict(part_is_right(&work, 0) &&
			      part_is_right(&work, 4 * work.count - CHECKED));
}
