/*
 * What a GPU can do at most: bytes to and from its memory and arithmetic, in each second.
 *
 * A ceiling is measured on that GPU (kprof bench ceilings), or stands in the vendor's datasheet, or
 * is computed from the device's own clocks and widths, or is absent; it always says which. Absent
 * is not zero. Rates are dense (no sparsity) and the highest that a type has on the chip, whatever
 * it accumulates in, so that no honest result lies above a datasheet's. Pure functions.
 */
#ifndef KP_ANALYZERS_CEILINGS_H
#define KP_ANALYZERS_CEILINGS_H

#include <stdbool.h>

#include "trace/records.h"

/*
 * X(NAME, key, unit, about): each ceiling there is. Keys are those of YAML and of the cache and end
 * in the unit: gbps is 1e9 bytes a second, tflops and tops are 1e12 operations a second, a fused
 * multiply-add being two.
 */
#define KP_CEILINGS(X)                                                                             \
	X(READ, "read_gbps", "GB/s", "device memory, reading only")                                \
	X(WRITE, "write_gbps", "GB/s", "device memory, writing only")                              \
	X(COPY, "copy_gbps", "GB/s", "device memory, bytes read plus bytes written")               \
	X(FP64, "fp64_tflops", "TFLOP/s", "64-bit fused multiply-add")                             \
	X(FP32, "fp32_tflops", "TFLOP/s", "32-bit fused multiply-add")                             \
	X(TENSOR_FP64, "tensor_fp64_tflops", "TFLOP/s", "tensor cores, fp64")                      \
	X(TENSOR_TF32, "tensor_tf32_tflops", "TFLOP/s", "tensor cores, tf32")                      \
	X(TENSOR_FP16, "tensor_fp16_tflops", "TFLOP/s", "tensor cores, fp16")                      \
	X(TENSOR_BF16, "tensor_bf16_tflops", "TFLOP/s", "tensor cores, bf16")                      \
	X(TENSOR_FP8, "tensor_fp8_tflops", "TFLOP/s", "tensor cores, fp8")                         \
	X(TENSOR_INT8, "tensor_int8_tops", "TOP/s", "tensor cores, int8")

enum kp_ceiling_kind {
#define KP_CEILING_ROW(NAME, key, unit, about) KP_CEILING_##NAME,
	KP_CEILINGS(KP_CEILING_ROW)
#undef KP_CEILING_ROW
		KP_CEILING_COUNT
};

/* X(NAME, name): where a ceiling comes from, the better the later. */
#define KP_CEILING_SOURCES(X)                                                                      \
	X(ABSENT, "absent")       /* not known; the value means nothing */                         \
	X(COMPUTED, "computed")   /* from the device's clocks and widths */                        \
	X(DATASHEET, "datasheet") /* the vendor's, by the chip's name */                           \
	X(MEASURED, "measured")   /* on this GPU or one of the same model */

enum kp_ceiling_source {
#define KP_CEILING_SOURCE_ROW(NAME, name) KP_CEILING_##NAME,
	KP_CEILING_SOURCES(KP_CEILING_SOURCE_ROW)
#undef KP_CEILING_SOURCE_ROW
		KP_CEILING_SOURCE_COUNT
};

struct kp_ceiling {
	enum kp_ceiling_source source;
	double value;     /* in the unit of its kind; measured: the median */
	double low, high; /* measured: least and most of the repetitions; else equal to value */
};

/* All absent when zeroed. */
struct kp_ceilings {
	struct kp_ceiling of[KP_CEILING_COUNT];
};

/* What a kind is called, in what unit, and what it is; never NULL. */
const char *kp_ceiling_key(enum kp_ceiling_kind kind);
const char *kp_ceiling_unit(enum kp_ceiling_kind kind);
const char *kp_ceiling_about(enum kp_ceiling_kind kind);
const char *kp_ceiling_source_name(enum kp_ceiling_source source);

/*
 * What is known of a device without measuring: the datasheet's by its name, the rest computed where
 * that is sound. Nothing of a MIG slice is known so. NULL is a device of which nothing is known.
 */
void kp_ceilings_of_device(const struct kp_device_info *device, struct kp_ceilings *out);

/* Takes over each ceiling of `other` whose source is better. */
void kp_ceilings_merge(struct kp_ceilings *ceilings, const struct kp_ceilings *other);

/*
 * The most GB/s that memory gives to a mix of so many bytes read and written: between reading only,
 * copying (half and half) and writing only, time a byte is interpolated by the share of writes.
 * *source is the worst of those used. Absent (false) where the ceilings it needs are, or there are
 * no bytes.
 */
bool kp_ceilings_memory(const struct kp_ceilings *ceilings, double read_bytes, double write_bytes,
			struct kp_ceiling *out);

/*
 * How an analysis, which reads no files of its own, asks for all that is known of a device: the
 * profiler answers with what was measured before (profiler/ceilings_cache.h). Without `find` it is
 * kp_ceilings_of_device. driver_name is the NVIDIA driver's release, NULL where it is not known.
 */
struct kp_ceilings_finder {
	void (*find)(void *context, const struct kp_device_info *device,
		     const struct kp_text *driver_name, struct kp_ceilings *out);
	void *context;
};
void kp_ceilings_find(const struct kp_ceilings_finder *finder, const struct kp_device_info *device,
		      const struct kp_text *driver_name, struct kp_ceilings *out);

#endif
