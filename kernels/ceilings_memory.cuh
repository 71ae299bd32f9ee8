/*
 * Device memory at its fastest: reading, writing and copying long arrays of 16-byte vectors.
 *
 * Every kernel takes (in, out, count, 0): `count` vectors. Bytes moved are 16 × count, twice that
 * for a copy. `tile` vectors are a block's next piece; blocks go on by gridDim.x tiles, so that a
 * grid of one block a tile and a persistent grid are the same kernel. The reference of each is in
 * profiler/bench_memory.c.
 */

/* A word of the random data, and of no pattern that memory or caches could know. */
__device__ inline unsigned random_word(unsigned index)
{
	index ^= index >> 16;
	index *= 0x21f0aaadu;
	index ^= index >> 15;
	index *= 0x735a2d97u;
	return index ^ index >> 15;
}

/* out[i] = four random words, by their indices. */
extern "C" __global__ void kp_fill(const uint4 *, uint4 *out, unsigned long long count, unsigned)
{
	unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;

	for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
	     i < count; i += stride) {
		unsigned word = (unsigned)i * 4;

		out[i] = make_uint4(random_word(word), random_word(word + 1), random_word(word + 2),
				    random_word(word + 3));
	}
}

/* What reading leaves behind: the exclusive or of all words, spread over so many of `out`. */
#define READ_SLOTS 4096

__device__ inline void keep(unsigned folded, unsigned *out)
{
	unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

	folded = __reduce_xor_sync(0xffffffffu, folded);
	if (threadIdx.x % 32 == 0)
		atomicXor(&out[warp % READ_SLOTS], folded);
}

__device__ inline unsigned fold(uint4 vector)
{
	return vector.x ^ vector.y ^ vector.z ^ vector.w;
}

template <int LOADS>
__device__ inline void read_tiles(const uint4 *in, unsigned *out, unsigned long long count)
{
	unsigned long long tile = (unsigned long long)blockDim.x * LOADS;
	unsigned folded = 0;

	for (unsigned long long at = blockIdx.x * tile + threadIdx.x; at - threadIdx.x < count;
	     at += gridDim.x * tile) {
		uint4 vectors[LOADS];

#pragma unroll
		for (int i = 0; i < LOADS; i++)
			vectors[i] = at + i * blockDim.x < count ? __ldcs(&in[at + i * blockDim.x])
								 : make_uint4(0, 0, 0, 0);
#pragma unroll
		for (int i = 0; i < LOADS; i++)
			folded ^= fold(vectors[i]);
	}
	keep(folded, out);
}

template <int LOADS>
__device__ inline void copy_tiles(const uint4 *in, uint4 *out, unsigned long long count)
{
	unsigned long long tile = (unsigned long long)blockDim.x * LOADS;

	for (unsigned long long at = blockIdx.x * tile + threadIdx.x; at < count;
	     at += gridDim.x * tile) {
		uint4 vectors[LOADS];

#pragma unroll
		for (int i = 0; i < LOADS; i++)
			if (at + i * blockDim.x < count)
				vectors[i] = __ldcs(&in[at + i * blockDim.x]);
#pragma unroll
		for (int i = 0; i < LOADS; i++)
			if (at + i * blockDim.x < count)
				__stcs(&out[at + i * blockDim.x], vectors[i]);
	}
}

#define READ_KERNEL(loads)                                                                         \
	extern "C" __global__ void kp_read_##loads(const uint4 *in, unsigned *out,                 \
						   unsigned long long count, unsigned)             \
	{                                                                                          \
		read_tiles<loads>(in, out, count);                                                 \
	}
#define COPY_KERNEL(loads)                                                                         \
	extern "C" __global__ void kp_copy_##loads(const uint4 *in, uint4 *out,                    \
						   unsigned long long count, unsigned)             \
	{                                                                                          \
		copy_tiles<loads>(in, out, count);                                                 \
	}

READ_KERNEL(4)
READ_KERNEL(8)
COPY_KERNEL(1)
COPY_KERNEL(4)
COPY_KERNEL(8)

/* out[i] = words that go up by odd steps from those of in[0]: cheap, and no two vectors alike. */
extern "C" __global__ void kp_write_4(const uint4 *in, uint4 *out, unsigned long long count,
				      unsigned)
{
	unsigned long long tile = blockDim.x * 4ull;
	const uint4 first = in[0];

	for (unsigned long long at = blockIdx.x * tile + threadIdx.x; at < count;
	     at += gridDim.x * tile) {
#pragma unroll
		for (int i = 0; i < 4; i++) {
			unsigned long long to = at + i * blockDim.x;
			unsigned step = (unsigned)to;

			if (to < count)
				__stcs(&out[to], make_uint4(first.x + step * 0x9e3779b1u,
							    first.y + step * 0x85ebca77u,
							    first.z + step * 0xc2b2ae3du,
							    first.w + step * 0x27d4eb2fu));
		}
	}
}

#if __CUDA_ARCH__ >= 900
/*
 * The bulk copy engine (sm_90 and later): chunks through a ring in shared memory. A block takes
 * every gridDim.x-th chunk; the last one of all may be short.
 */
#define CHUNK_BYTES 16384u
#define STAGES 6u

__device__ inline unsigned shared_address(const void *pointer)
{
	return (unsigned)__cvta_generic_to_shared(pointer);
}

struct ring {
	unsigned long long full[STAGES]; /* mbarriers: the chunk of a stage has come */
};

__device__ inline void ring_init(ring *ring)
{
	if (threadIdx.x == 0) {
		for (unsigned i = 0; i < STAGES; i++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
				shared_address(&ring->full[i])));
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
}

__device__ inline unsigned chunk_bytes(unsigned long long chunk, unsigned long long count)
{
	unsigned long long left = count * 16 - chunk * CHUNK_BYTES;

	return left < CHUNK_BYTES ? (unsigned)left : CHUNK_BYTES;
}

/* The block's `number`-th chunk, if there is one, into its stage. */
__device__ inline void ring_load(ring *ring, char *stages, const char *in, unsigned number,
				 unsigned long long count)
{
	unsigned long long chunk = blockIdx.x + (unsigned long long)number * gridDim.x;

	if (chunk * CHUNK_BYTES >= count * 16)
		return;
	unsigned stage = number % STAGES, bytes = chunk_bytes(chunk, count);
	unsigned barrier = shared_address(&ring->full[stage]);
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
		     "r"(bytes)
		     : "memory");
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], %2, [%3];" ::"r"(shared_address(stages + stage * CHUNK_BYTES)),
		     "l"(in + chunk * CHUNK_BYTES), "r"(bytes), "r"(barrier)
		     : "memory");
}

/* Waits for the block's `number`-th chunk. */
__device__ inline void ring_wait(ring *ring, unsigned number)
{
	unsigned barrier = shared_address(&ring->full[number % STAGES]), done = 0;

	while (!done)
		asm volatile("{\n.reg .pred p;\n"
			     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
			     "selp.u32 %0, 1, 0, p;\n}"
			     : "=r"(done)
			     : "r"(barrier), "r"(number / STAGES & 1)
			     : "memory");
}

extern "C" __global__ void kp_read_bulk(const char *in, unsigned *out, unsigned long long count,
					unsigned)
{
	extern __shared__ __align__(128) char stages[];
	__shared__ ring ring;
	unsigned folded = 0;

	ring_init(&ring);
	if (threadIdx.x == 0)
		for (unsigned number = 0; number < STAGES; number++)
			ring_load(&ring, stages, in, number, count);
	for (unsigned number = 0;; number++) {
		unsigned long long chunk = blockIdx.x + (unsigned long long)number * gridDim.x;
		const uint4 *vectors = (const uint4 *)(stages + number % STAGES * CHUNK_BYTES);

		if (chunk * CHUNK_BYTES >= count * 16)
			break;
		ring_wait(&ring, number);
		for (unsigned i = threadIdx.x; i < chunk_bytes(chunk, count) / 16; i += blockDim.x)
			folded ^= fold(vectors[i]);
		__syncthreads();
		if (threadIdx.x == 0)
			ring_load(&ring, stages, in, number + STAGES, count);
	}
	keep(folded, out);
}

/* One thread does it all. Half of the stages load while the other half is stored. */
extern "C" __global__ void kp_copy_bulk(const char *in, char *out, unsigned long long count,
					unsigned)
{
	extern __shared__ __align__(128) char stages[];
	__shared__ ring ring;

	ring_init(&ring);
	if (threadIdx.x != 0)
		return;
	for (unsigned number = 0; number < STAGES / 2; number++)
		ring_load(&ring, stages, in, number, count);
	for (unsigned number = 0;; number++) {
		unsigned long long chunk = blockIdx.x + (unsigned long long)number * gridDim.x;

		if (chunk * CHUNK_BYTES >= count * 16)
			break;
		ring_wait(&ring, number);
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
			     "cp.async.bulk.commit_group;" ::"l"(out + chunk * CHUNK_BYTES),
			     "r"(shared_address(stages + number % STAGES * CHUNK_BYTES)),
			     "r"(chunk_bytes(chunk, count))
			     : "memory");
		/* What was stored from the stage that is loaded next has left it. */
		asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(STAGES / 2) : "memory");
		ring_load(&ring, stages, in, number + STAGES / 2, count);
	}
	asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#endif
