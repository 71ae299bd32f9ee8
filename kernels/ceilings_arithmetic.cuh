/*
 * Arithmetic at its fastest, from registers: fused multiply-adds, and the matrix instructions of a
 * warp (mma.sync).
 *
 * Every kernel takes (in, out, 0, iterations). Operands are loaded from `in` (KP_OPERAND_BYTES of
 * the kernel's type) once; accumulators begin at 0. Each thread writes the sum of its accumulators
 * to out[thread of the grid] as a double. With all operands 1 that is the number of multiply-adds
 * that it did, whatever the layout of its fragments: the host checks it, and so the count that
 * rates are computed from (kernels/ceilings.def).
 */

__device__ inline size_t grid_thread()
{
	return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* Fused multiply-adds: 8 chains a thread, 4 pairs of operands in turn, 16 steps an iteration. */
template <typename number>
__device__ inline void multiply_add(const number *in, double *out, unsigned iterations)
{
	number sums[8] = {}, factors[4], terms[4];
	double total = 0;

	for (int i = 0; i < 4; i++) {
		factors[i] = in[threadIdx.x * 8 + i];
		terms[i] = in[threadIdx.x * 8 + 4 + i];
	}
	for (unsigned iteration = 0; iteration < iterations; iteration++) {
#pragma unroll
		for (int step = 0; step < 16; step++) {
#pragma unroll
			for (int i = 0; i < 8; i++)
				sums[i] = fma(sums[i], factors[step % 4], terms[step % 4]);
		}
	}
	for (int i = 0; i < 8; i++)
		total += sums[i];
	out[grid_thread()] = total;
}

extern "C" __global__ void kp_fma_fp32(const float *in, double *out, unsigned long long,
				       unsigned iterations)
{
	multiply_add(in, out, iterations);
}

extern "C" __global__ void kp_fma_fp64(const double *in, double *out, unsigned long long,
				       unsigned iterations)
{
	multiply_add(in, out, iterations);
}

/*
 * A matrix instruction: what a thread holds of A, B and the accumulators, and the instruction
 * itself. Shapes are m16n8 but where the name says otherwise.
 */
#define MMA_32(name, text, accumulator, constraint)                                                \
	struct name {                                                                              \
		typedef unsigned operand;                                                          \
		typedef accumulator sum;                                                           \
		enum { A = 4, B = 2, C = 4 };                                                      \
		static __device__ inline void multiply(sum *c, const operand *a, const operand *b) \
		{                                                                                  \
			asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "        \
					  "{%0, %1, %2, %3};"                                      \
				     : "+" constraint(c[0]), "+" constraint(c[1]),                 \
				       "+" constraint(c[2]), "+" constraint(c[3])                  \
				     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),      \
				       "r"(b[1]));                                                 \
		}                                                                                  \
		static __device__ inline double value(sum c)                                       \
		{                                                                                  \
			return (double)c;                                                          \
		}                                                                                  \
	}
/* The same with sums in pairs of 16 bits. */
#define MMA_16(name, text)                                                                         \
	struct name {                                                                              \
		typedef unsigned operand;                                                          \
		typedef unsigned sum;                                                              \
		enum { A = 4, B = 2, C = 2 };                                                      \
		static __device__ inline void multiply(sum *c, const operand *a, const operand *b) \
		{                                                                                  \
			asm volatile(text " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"       \
				     : "+r"(c[0]), "+r"(c[1])                                      \
				     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),      \
				       "r"(b[1]));                                                 \
		}                                                                                  \
		static __device__ inline double value(sum c)                                       \
		{                                                                                  \
			__half_raw low, high;                                                      \
			low.x = (unsigned short)c;                                                 \
			high.x = (unsigned short)(c >> 16);                                        \
			return (double)__half2float(low) + (double)__half2float(high);             \
		}                                                                                  \
	}

#define MMA "mma.sync.aligned."
MMA_32(mma_bf16, MMA "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f");
MMA_32(mma_fp16, MMA "m16n8k16.row.col.f32.f16.f16.f32", float, "f");
MMA_16(mma_fp16_short, MMA "m16n8k16.row.col.f16.f16.f16.f16");
MMA_32(mma_tf32, MMA "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f");
MMA_32(mma_int8, MMA "m16n8k32.row.col.s32.s8.s8.s32", int, "r");
#if __CUDA_ARCH__ >= 890
MMA_32(mma_fp8, MMA "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f");
#if __CUDACC_VER_MAJOR__ >= 13
MMA_16(mma_fp8_short, MMA "m16n8k32.row.col.f16.e4m3.e4m3.f16");
#endif
#endif

/* m8n8k4 */
struct mma_fp64_small {
	typedef double operand;
	typedef double sum;
	enum { A = 1, B = 1, C = 2 };
	static __device__ inline void multiply(sum *c, const operand *a, const operand *b)
	{
		asm volatile(MMA "m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
			     : "+d"(c[0]), "+d"(c[1])
			     : "d"(a[0]), "d"(b[0]));
	}
	static __device__ inline double value(sum c)
	{
		return c;
	}
};

#if __CUDA_ARCH__ >= 900
/* m16n8k16 */
struct mma_fp64 {
	typedef double operand;
	typedef double sum;
	enum { A = 8, B = 4, C = 4 };
	static __device__ inline void multiply(sum *c, const operand *a, const operand *b)
	{
		asm volatile(MMA "m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
				 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
				 "{%0, %1, %2, %3};"
			     : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
			     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]),
			       "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
	}
	static __device__ inline double value(sum c)
	{
		return c;
	}
};
#endif

/*
 * ROWS × COLUMNS accumulators, each of which takes both of two sets of operands in an iteration:
 * 2 · ROWS · COLUMNS instructions, neighbours independent of each other.
 */
template <typename mma, int ROWS, int COLUMNS>
__device__ inline void multiply_matrices(const typename mma::operand *in, double *out,
					 unsigned iterations)
{
	typename mma::operand a[2][ROWS][mma::A], b[2][COLUMNS][mma::B];
	typename mma::sum c[ROWS][COLUMNS][mma::C] = {};
	size_t at = threadIdx.x;
	double total = 0;

	for (int set = 0; set < 2; set++) {
		for (int i = 0; i < ROWS * mma::A; i++, at += blockDim.x)
			a[set][i / mma::A][i % mma::A] = in[at];
		for (int i = 0; i < COLUMNS * mma::B; i++, at += blockDim.x)
			b[set][i / mma::B][i % mma::B] = in[at];
	}
	for (unsigned iteration = 0; iteration < iterations; iteration++) {
#pragma unroll
		for (int i = 0; i < 2 * ROWS * COLUMNS; i++) {
			int set = i / (ROWS * COLUMNS), row = i / COLUMNS % ROWS,
			    column = i % COLUMNS;

			mma::multiply(c[row][column], a[set][row], b[set][column]);
		}
	}
#pragma unroll
	for (int i = 0; i < ROWS * COLUMNS * mma::C; i++)
		total += mma::value(c[i / mma::C / COLUMNS][i / mma::C % COLUMNS][i % mma::C]);
	out[grid_thread()] = total;
}

#define MMA_KERNEL(kernel, mma, rows, columns)                                                     \
	extern "C" __global__ void __launch_bounds__(256) kernel(                                  \
		const mma::operand *in, double *out, unsigned long long, unsigned iterations)      \
	{                                                                                          \
		multiply_matrices<mma, rows, columns>(in, out, iterations);                        \
	}

MMA_KERNEL(kp_mma_bf16, mma_bf16, 2, 4)
MMA_KERNEL(kp_mma_fp16, mma_fp16, 2, 4)
MMA_KERNEL(kp_mma_fp16_short, mma_fp16_short, 2, 4)
MMA_KERNEL(kp_mma_tf32, mma_tf32, 2, 4)
MMA_KERNEL(kp_mma_int8, mma_int8, 2, 4)
MMA_KERNEL(kp_mma_fp64_small, mma_fp64_small, 2, 4)
#if __CUDA_ARCH__ >= 890
MMA_KERNEL(kp_mma_fp8, mma_fp8, 2, 4)
#if __CUDACC_VER_MAJOR__ >= 13
MMA_KERNEL(kp_mma_fp8_short, mma_fp8_short, 2, 4)
#endif
#endif
#if __CUDA_ARCH__ >= 900
MMA_KERNEL(kp_mma_fp64, mma_fp64, 2, 2)
#endif
