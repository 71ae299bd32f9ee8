/*
 * Hopper's asynchronous machinery (sm_90a), an instruction a function: mbarriers, the bulk tensor
 * copy engine (TMA), matrix instructions of a warpgroup (wgmma). For CUDA C without templates.
 *
 * Tiles lie in shared memory as the copy engine writes them with the 128-byte swizzle: rows of 128
 * bytes (64 elements of 16 bits), in groups of 8 rows, which are 1024 bytes and begin at a multiple
 * of 1024. A tile whose rows are longer is several such columns of 64 elements, one behind the
 * other.
 */
#ifndef KP_KERNELS_HOPPER_CUH
#define KP_KERNELS_HOPPER_CUH

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#define WARPGROUP 128
#define TILE_ROW_BYTES 128
#define TILE_COLUMN 64 /* elements */

typedef unsigned long long descriptor;

__device__ __forceinline__ unsigned shared_address(const void *pointer)
{
	return (unsigned)__cvta_generic_to_shared(pointer);
}

/* ---- mbarriers: `arrivals` arrivals, and all bytes expected, complete a phase ---- */

__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned arrivals)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
		     : "memory");
}

/* Makes barriers that were just set up known to the copy engine. */
__device__ __forceinline__ void barrier_init_done()
{
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
		     "r"(bytes)
		     : "memory");
}

/* Waits for the end of the phase of this parity. One that has not begun counts as ended. */
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity)
{
	asm volatile("{\n"
		     ".reg .pred done;\n"
		     "again:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
		     "@done bra over;\n"
		     "bra again;\n"
		     "over:\n"
		     "}" ::"r"(barrier),
		     "r"(parity)
		     : "memory");
}

/* Barriers among warpgroups by number (0 is __syncthreads): to wait, or just to be counted. */
__device__ __forceinline__ void named_sync(unsigned number, unsigned threads)
{
	asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(unsigned number, unsigned threads)
{
	asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

/* 16 bytes of zeros. */
__device__ __forceinline__ void clear_shared(unsigned to)
{
	asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(0) : "memory");
}

/* What this thread wrote to shared memory is seen by the copy engine and matrix instructions, after
 * a barrier. */
__device__ __forceinline__ void fence_shared()
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- the copy engine ---- */

/* A box of a tensor of four dimensions to shared memory. What lies outside of it becomes 0. */
__device__ __forceinline__ void load_box(unsigned to, const void *map, unsigned barrier, int c0,
					 int c1, int c2, int c3)
{
	asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
		     ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
		     "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
		     : "memory");
}

__device__ __forceinline__ void prefetch_map(const void *map)
{
	asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* ---- registers: what one role gives up, another can take; all warps of a warpgroup ---- */

#define GIVE_REGISTERS(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 " #n ";")
#define TAKE_REGISTERS(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 " #n ";")

/* ---- matrix instructions ---- */

/* Registers that earlier instructions wrote may be used by those that follow. */
__device__ __forceinline__ void wgmma_fence()
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit()
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until at most so many groups are under way. */
#define WGMMA_WAIT(groups) asm volatile("wgmma.wait_group.sync.aligned " #groups ";" ::: "memory")

/* Keeps the compiler from moving uses of registers over this place. */
#define HOLD(registers, count)                                                                     \
	_Pragma("unroll") for (int hold_i = 0; hold_i < (count);                                   \
			       hold_i++) asm volatile("" : "+f"((registers)[hold_i])::"memory")

/* A tile whose rows run along the sum: A, or B stored like Bᵀ. */
__device__ __forceinline__ descriptor describe_rows(unsigned tile)
{
	return (descriptor)((tile & 0x3ffff) >> 4) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

/* A tile B whose rows are steps of the sum; its columns of 64 elements lie `column_bytes` apart. */
__device__ __forceinline__ descriptor describe_columns(unsigned tile, unsigned column_bytes)
{
	return (descriptor)((tile & 0x3ffff) >> 4) | (descriptor)(column_bytes >> 4) << 16 |
	       (1024ull >> 4) << 32 | 1ull << 62;
}

#define WG_TEN(t)                                                                                  \
	"%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t     \
	"8, %" #t "9"
#define WG_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
#define WG_TEXT_32 WG_0 WG_TEN(1) ", " WG_TEN(2) ", %30, %31"
#define WG_TEXT_64                                                                                 \
	WG_0 WG_TEN(1) ", " WG_TEN(2) ", " WG_TEN(3) ", " WG_TEN(4) ", " WG_TEN(5) ", %60, %61, "  \
										   "%62, %63"
#define WG_TEXT_80                                                                                 \
	WG_0 WG_TEN(1) ", " WG_TEN(2) ", " WG_TEN(3) ", " WG_TEN(4) ", " WG_TEN(5) ", " WG_TEN(    \
		6) ", " WG_TEN(7)
#define WG_TEXT_88 WG_TEXT_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define WG_TEXT_96 WG_TEXT_80 ", " WG_TEN(8) ", %90, %91, %92, %93, %94, %95"

#define WG_4(c, i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define WG_8(c, i) WG_4(c, i), WG_4(c, i + 4)
#define WG_SUMS_32(c) WG_8(c, 0), WG_8(c, 8), WG_8(c, 16), WG_8(c, 24)
#define WG_SUMS_64(c) WG_SUMS_32(c), WG_8(c, 32), WG_8(c, 40), WG_8(c, 48), WG_8(c, 56)
#define WG_SUMS_80(c) WG_SUMS_64(c), WG_8(c, 64), WG_8(c, 72)
#define WG_SUMS_88(c) WG_SUMS_80(c), WG_8(c, 80)
#define WG_SUMS_96(c) WG_SUMS_88(c), WG_8(c, 88)

/* The numbers of the operands behind the sums. */
#define WG_MORE_32 "%32", "%33", "%34", "%35", "%36", "%37"
#define WG_MORE_64 "%64", "%65", "%66", "%67", "%68", "%69"
#define WG_MORE_80 "%80", "%81", "%82", "%83", "%84", "%85"
#define WG_MORE_88 "%88", "%89", "%90", "%91", "%92", "%93"
#define WG_MORE_96 "%96", "%97", "%98", "%99", "%100", "%101"

#define WG_SS(n, type, text, sums, m0, m1, m2, m3, m4, m5, c, a, b, add)                           \
	asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " m2 ", 0;\n"                               \
		     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" text     \
		     "}, " m0 ", " m1 ", p, 1, 1, 0, 0;\n}"                                        \
		     : sums(c)                                                                     \
		     : "l"(a), "l"(b), "r"((int)(add)))
#define WG_RS(n, type, text, sums, m0, m1, m2, m3, m4, m5, c, a, b, add)                           \
	asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " m5 ", 0;\n"                               \
		     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" text     \
		     "}, {" m0 ", " m1 ", " m2 ", " m3 "}, " m4 ", p, 1, 1, 1;\n}"                 \
		     : sums(c)                                                                     \
		     : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b),                 \
		       "r"((int)(add)))
#define WG_EXPAND(how, ...) how(__VA_ARGS__)

/*
 * c = A · B, or c += A · B where `add` is not 0: 64 rows a warpgroup, `n` columns, 16 steps.
 * SS: A and B by descriptors, both with rows along the sum. RS: A from registers (four words), B
 * with rows as steps of the sum. (n, half = n / 2: the
 * registers c, type, c, a, b, add); `type`: "bf16" or "f16".
 */
#define WGMMA_SS(...) WG_CALL(WG_SS, __VA_ARGS__)
#define WGMMA_RS(...) WG_CALL(WG_RS, __VA_ARGS__)
#define WG_CALL(how, ...) WG_CALL_(how, __VA_ARGS__)
#define WG_CALL_(how, n, half, type, c, a, b, add)                                                 \
	WG_EXPAND(how, n, type, WG_TEXT_##half, WG_SUMS_##half, WG_MORE_##half, c, a, b, add)

#endif

#endif
