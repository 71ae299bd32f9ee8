/* What compare.h describes. Threads go through elements in steps of the whole grid. */
#include "kernels/compare.h"
#include "kernels/numbers.cuh"

struct element {
	double value;
	long long order; /* neighbours among the numbers of the type differ by 1 */
	bool is_finite;
	unsigned bits;
};

__device__ inline long long ordered(unsigned bits, unsigned sign)
{
	return bits & sign ? -(long long)(bits & (sign - 1)) : (long long)bits;
}

__device__ inline element element_at(const struct kp_matrix &matrix, long long at)
{
	element out;

	if (matrix.dtype == KP_DTYPE_FP32) {
		out.bits = ((const unsigned *)matrix.data)[at];
		out.value = (double)__uint_as_float(out.bits);
		out.is_finite = (out.bits & 0x7f800000u) != 0x7f800000u;
		out.order = ordered(out.bits, 0x80000000u);
		return out;
	}
	out.bits = ((const unsigned short *)matrix.data)[at];
	out.order = ordered(out.bits, 0x8000u);
	if (matrix.dtype == KP_DTYPE_BF16) {
		out.value = (double)__uint_as_float(out.bits << 16);
		out.is_finite = (out.bits & 0x7f80u) != 0x7f80u;
	} else {
		out.value = (double)to_float(((const __half *)matrix.data)[at]);
		out.is_finite = (out.bits & 0x7c00u) != 0x7c00u;
	}
	return out;
}

__device__ inline unsigned long long first_of_thread()
{
	return (unsigned long long)blockIdx.x * KP_COMPARE_THREADS + threadIdx.x;
}

#define COMPARE_STEP ((unsigned long long)gridDim.x * KP_COMPARE_THREADS)

__device__ inline long long place(const struct kp_matrix &matrix, unsigned long long row,
				  unsigned long long column)
{
	return (long long)row * matrix.row_stride + (long long)column * matrix.column_stride;
}

/* Both NaN, or the same infinity. */
__device__ inline bool same_mask(const element &a, const element &b)
{
	if (a.is_finite || b.is_finite)
		return a.is_finite && b.is_finite;
	return a.value == b.value || (a.value != a.value && b.value != b.value);
}

__device__ inline bool is_worse(const struct kp_compare_worst &a, const struct kp_compare_worst &b)
{
	if (a.difference != b.difference)
		return a.difference > b.difference;
	return a.row != b.row ? a.row < b.row : a.column < b.column;
}

__device__ inline void note_worst(struct kp_compare_part *part, double difference,
				  unsigned long long row, unsigned long long column,
				  const element &original, const element &candidate)
{
	struct kp_compare_worst worst;

	worst.row = row;
	worst.column = column;
	worst.original = original.value;
	worst.candidate = candidate.value;
	worst.difference = difference;
	if (is_worse(worst, part->worst))
		part->worst = worst;
}

__device__ inline void compare_one(const struct kp_compare_args &args, double allowed,
				   unsigned long long row, unsigned long long column,
				   struct kp_compare_part *part)
{
	element a = element_at(args.original, place(args.original, row, column));
	element b = element_at(args.candidate, place(args.candidate, row, column));
	long long order = a.order - b.order;
	unsigned long long ulps = (unsigned long long)(order < 0 ? -order : order);
	double difference = a.value - b.value;

	part->elements++;
	if (!a.is_finite || !b.is_finite) {
		if (!same_mask(a, b)) {
			part->mask_different++;
			part->mismatches++;
			note_worst(part, INFINITY, row, column, a, b);
		}
		return;
	}
	difference = difference < 0 ? -difference : difference;
	part->finite++;
	part->difference2 += difference * difference;
	part->original2 += a.value * a.value;
	part->candidate2 += b.value * b.value;
	part->product += a.value * b.value;
	if (difference > part->largest)
		part->largest = difference;
	if (ulps > part->ulps)
		part->ulps = ulps;
	if (ulps > args.free_ulps &&
	    difference > allowed + args.relative * (a.value < 0 ? -a.value : a.value))
		part->mismatches++;
	note_worst(part, difference, row, column, a, b);
}

__device__ inline void join(struct kp_compare_part *to, const struct kp_compare_part &from)
{
	to->difference2 += from.difference2;
	to->original2 += from.original2;
	to->candidate2 += from.candidate2;
	to->product += from.product;
	to->largest = from.largest > to->largest ? from.largest : to->largest;
	to->elements += from.elements;
	to->finite += from.finite;
	to->mismatches += from.mismatches;
	to->mask_different += from.mask_different;
	to->gaps += from.gaps;
	to->ulps = from.ulps > to->ulps ? from.ulps : to->ulps;
	if (is_worse(from.worst, to->worst))
		to->worst = from.worst;
}

/* What lies between the rows of the candidate must be as it was. */
__device__ inline unsigned long long gaps_of(const struct kp_compare_args &args)
{
	const struct kp_matrix &m = args.candidate;
	unsigned long long gap = m.column_stride == 1 && m.row_stride > (long long)m.columns
					 ? (unsigned long long)m.row_stride - m.columns
					 : 0;
	unsigned long long count = m.rows ? (m.rows - 1) * gap : 0, wrong = 0;
	unsigned poison = m.dtype == KP_DTYPE_FP32 ? args.poison : args.poison & 0xffffu;

	for (unsigned long long i = first_of_thread(); i < count; i += COMPARE_STEP)
		wrong += element_at(m, place(m, i / gap, m.columns + i % gap)).bits != poison;
	return wrong;
}

/* scaled · rms of the originals, by the parts of the first pass, which stay as they are. */
__device__ inline double allowed_by(const struct kp_compare_args &args)
{
	double sum = 0;
	unsigned long long count = 0;

	if (args.pass == 0)
		return 0;
	for (unsigned i = 0; i < gridDim.x; i++) {
		sum += args.parts[i].original2;
		count += args.parts[i].finite;
	}
	return count ? args.scaled * sqrt(sum / (double)count) : 0;
}

extern "C" __global__ void __launch_bounds__(KP_COMPARE_THREADS)
	kp_compare_pass_kernel(const __grid_constant__ struct kp_compare_args args)
{
	__shared__ struct kp_compare_part parts[KP_COMPARE_THREADS];
	unsigned long long columns = args.original.columns;
	unsigned long long count = args.original.rows * columns;
	double allowed = allowed_by(args);
	struct kp_compare_part part = {};

	part.worst.difference = -1;
	for (unsigned long long i = first_of_thread(); i < count; i += COMPARE_STEP)
		compare_one(args, allowed, i / columns, i % columns, &part);
	if (args.pass)
		part.gaps = gaps_of(args);
	parts[threadIdx.x] = part;
	for (unsigned half = KP_COMPARE_THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			join(&parts[threadIdx.x], parts[threadIdx.x + half]);
	}
	/* The first pass's parts are read by all blocks of the second: its own lie behind them. */
	if (threadIdx.x == 0)
		args.parts[args.pass * KP_COMPARE_BLOCKS + blockIdx.x] = parts[0];
}

/* Exact, on the bits: a half is one less in the exponent. */
__device__ inline unsigned changed(unsigned bits, unsigned change, unsigned mantissa,
				   unsigned exponents)
{
	unsigned exponent = bits >> mantissa & exponents;

	if (change == KP_COPY_NEGATED)
		return bits ^ (exponents + 1) << mantissa;
	if (change == KP_COPY_HALVED && exponent > 1 && exponent < exponents)
		return bits - (1u << mantissa);
	return bits;
}

extern "C" __global__ void __launch_bounds__(KP_COMPARE_THREADS)
	kp_compare_copy_kernel(const __grid_constant__ struct kp_copy_args args)
{
	unsigned long long columns = args.from.columns, count = args.from.rows * columns;

	for (unsigned long long i = first_of_thread(); i < count; i += COMPARE_STEP) {
		long long from = place(args.from, i / columns, i % columns);
		long long to = place(args.to, i / columns, i % columns);

		if (args.from.dtype == KP_DTYPE_FP32)
			((unsigned *)args.to.data)[to] = changed(
				((const unsigned *)args.from.data)[from], args.change, 23, 255);
		else
			((unsigned short *)args.to.data)[to] =
				changed(((const unsigned short *)args.from.data)[from], args.change,
					args.from.dtype == KP_DTYPE_BF16 ? 7 : 10,
					args.from.dtype == KP_DTYPE_BF16 ? 255 : 31);
	}
}

/* splitmix64's finish: spreads every bit. */
__device__ inline unsigned long long mixed(unsigned long long value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

__device__ inline void put_sum(unsigned long long sum, uint64_t *parts)
{
	__shared__ unsigned long long sums[KP_COMPARE_THREADS];

	sums[threadIdx.x] = sum;
	for (unsigned half = KP_COMPARE_THREADS / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sums[0];
}

extern "C" __global__ void __launch_bounds__(KP_COMPARE_THREADS)
	kp_compare_checksum_kernel(const __grid_constant__ struct kp_checksum_args args)
{
	unsigned long long columns = args.matrix.columns, count = args.matrix.rows * columns;
	unsigned long long sum = 0;

	for (unsigned long long i = first_of_thread(); i < count; i += COMPARE_STEP)
		sum += mixed(
			(i + 1) * 0x9e3779b97f4a7c15ull ^
			element_at(args.matrix, place(args.matrix, i / columns, i % columns)).bits);
	put_sum(sum, args.parts);
}

extern "C" __global__ void __launch_bounds__(KP_COMPARE_THREADS)
	kp_compare_guard_kernel(const __grid_constant__ struct kp_guard_args args)
{
	unsigned long long wrong = 0;

	for (int range = 0; range < 2; range++)
		for (unsigned long long i = first_of_thread(); i < args.words[range];
		     i += COMPARE_STEP)
			wrong += args.range[range][i] != args.poison;
	put_sum(wrong, args.part);
}
