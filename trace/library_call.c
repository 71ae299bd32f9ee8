/* Names of the codes in calls of libraries; see library_call.h. */
#include "trace/library_call.h"

#include <stddef.h>

#include "trace/library_launch.h"

_Static_assert(sizeof(struct kp_library_node) == 44, "no padding: it is written member by member");

/* X(cudaDataType, name, bits) */
#define DATA_TYPES(X)                                                                              \
	X(0, "f32", 32)                                                                            \
	X(1, "f64", 64)                                                                            \
	X(2, "f16", 16)                                                                            \
	X(3, "s8", 8)                                                                              \
	X(4, "c32", 64)                                                                            \
	X(5, "c64", 128)                                                                           \
	X(6, "c16", 32)                                                                            \
	X(7, "cs8", 16)                                                                            \
	X(8, "u8", 8)                                                                              \
	X(9, "cu8", 16)                                                                            \
	X(10, "s32", 32)                                                                           \
	X(11, "cs32", 64)                                                                          \
	X(12, "u32", 32)                                                                           \
	X(13, "cu32", 64)                                                                          \
	X(14, "bf16", 16)                                                                          \
	X(15, "cbf16", 32)                                                                         \
	X(16, "s4", 4)                                                                             \
	X(17, "cs4", 8)                                                                            \
	X(18, "u4", 4)                                                                             \
	X(19, "cu4", 8)                                                                            \
	X(20, "s16", 16)                                                                           \
	X(21, "cs16", 32)                                                                          \
	X(22, "u16", 16)                                                                           \
	X(23, "cu16", 32)                                                                          \
	X(24, "s64", 64)                                                                           \
	X(25, "cs64", 128)                                                                         \
	X(26, "u64", 64)                                                                           \
	X(27, "cu64", 128)                                                                         \
	X(28, "e4m3", 8)                                                                           \
	X(29, "e5m2", 8)                                                                           \
	X(30, "ue8m0", 8)                                                                          \
	X(31, "e2m3", 6)                                                                           \
	X(32, "e3m2", 6)                                                                           \
	X(33, "e2m1", 4)

const struct kp_data_type *kp_data_type(uint64_t code)
{
#define ROW(number, name, bits) [(number) + 1] = {name, bits},
	static const struct kp_data_type types[] = {DATA_TYPES(ROW)};
#undef ROW

	return code < sizeof(types) / sizeof(types[0]) && types[code].name ? &types[code] : NULL;
}

/* X(cublasComputeType_t, name) */
#define COMPUTE_TYPES(X)                                                                           \
	X(64, "f16")                                                                               \
	X(65, "f16 pedantic")                                                                      \
	X(68, "f32")                                                                               \
	X(69, "f32 pedantic")                                                                      \
	X(70, "f64")                                                                               \
	X(71, "f64 pedantic")                                                                      \
	X(72, "s32")                                                                               \
	X(73, "s32 pedantic")                                                                      \
	X(74, "f32 fast f16")                                                                      \
	X(75, "f32 fast bf16")                                                                     \
	X(77, "f32 fast tf32")                                                                     \
	X(78, "f32 emulated 16bfx9")                                                               \
	X(79, "f64 emulated")

const char *kp_library_compute_name(uint64_t code)
{
#define ROW(number, name) [(number) + 1] = (name),
	static const char *const names[] = {COMPUTE_TYPES(ROW)};
#undef ROW

	return code < sizeof(names) / sizeof(names[0]) ? names[code] : NULL;
}

/* X(cublasLtEpilogue_t, name) */
#define EPILOGUES(X)                                                                               \
	X(1, "none")                                                                               \
	X(2, "relu")                                                                               \
	X(4, "bias")                                                                               \
	X(6, "bias+relu")                                                                          \
	X(32, "gelu")                                                                              \
	X(36, "bias+gelu")                                                                         \
	X(130, "relu+aux")                                                                         \
	X(134, "bias+relu+aux")                                                                    \
	X(136, "drelu")                                                                            \
	X(152, "drelu+bgrad")                                                                      \
	X(160, "gelu+aux")                                                                         \
	X(164, "bias+gelu+aux")                                                                    \
	X(192, "dgelu")                                                                            \
	X(208, "dgelu+bgrad")                                                                      \
	X(256, "bgrad a")                                                                          \
	X(512, "bgrad b")

const char *kp_library_epilogue_name(uint64_t code)
{
	switch (code) {
#define ROW(number, name)                                                                          \
	case (number):                                                                             \
		return name;
		EPILOGUES(ROW)
#undef ROW
	default:
		return NULL;
	}
}
