/*
 * libkprof_kernels: small fused kernels for the inference of language models, behind a C ABI.
 *
 * An operator has a header (norm.h, activation.h, rope.h, softmax.h, linear_skinny.h,
 * attention_decode.h, attention_prefill.h, argmax.h, topk_topp_sample.h) with its formula and
 *
 *   kp_OP_supports(args, &reason)   whether these arguments can be computed, and why not
 *   kp_OP_workspace(args)           bytes of device memory that the caller lends it
 *   kp_OP_plan(args, device, plan)  which version would run, and how it is launched; pure
 *   kp_OP(kernels, args)            enqueues it on args->stream
 *
 * linear_skinny and attention_decode may split their work: then they have two launches, two plans,
 * and a workspace whose size depends on the device. So may argmax and topk_topp_sample, whose
 * workspace is enough for every device.
 *
 * Storage is bf16 or fp16 (logits also fp32), arithmetic fp32. Pointers are device pointers;
 * strides count elements and may be negative; dimensions that are not named by a stride are packed.
 * Any alignment works: versions with vectors of 16 bytes are chosen where every pointer and stride
 * allows it. Outputs may be the input that they replace (same pointer, same strides), and must not
 * overlap otherwise.
 *
 * Nothing allocates, waits or loads code once kp_kernels_create is done, so that every call can be
 * captured into a graph. The same arguments on the same GPU give the same bits each time: no
 * floating-point atomics, splits fixed by the shapes. Kernels are not mutable state: calls from
 * several threads are fine.
 *
 * dependent_launch: the launch may begin before the one in front of it in the stream has ended
 * (programmatic dependent launch; compute capability 9.0 and later, ignored before). Everything but
 * weights, biases and tables of cosines is read after that one's end. So those three must not be
 * written by the launch in front.
 */
#ifndef KP_KERNELS_KERNELS_H
#define KP_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kp_dtype {
	KP_DTYPE_BF16,
	KP_DTYPE_FP16,
	KP_DTYPE_FP32,
	KP_DTYPE_E4M3,
	KP_DTYPE_INT8,
	KP_DTYPE_COUNT
};

/* Bytes of an element; 0: there is no such type. */
size_t kp_dtype_bytes(enum kp_dtype dtype);
const char *kp_dtype_name(enum kp_dtype dtype);

/* Every version of every kernel: one number each, by kernels.def. */
enum kp_kernel_id {
#define KERNEL(image, name) KP_KERNEL_##name,
#include "kernels/kernels.def"
	KP_KERNEL_COUNT
};

/* What the choice of a version depends on. */
struct kp_kernel_device {
	uint32_t sm_count;
	uint32_t compute_capability; /* 10 * major + minor */
};

/* One launch. */
struct kp_kernel_plan {
	enum kp_kernel_id kernel;
	enum kp_dtype dtype; /* of the storage: bf16 or fp16; of logits also fp32 */
	uint32_t grid_x, grid_y, threads;
	uint32_t team;    /* threads that work on a row together, where that varies; else 0 */
	uint32_t vectors; /* of 16 bytes a thread holds of a row; 0: it goes by single elements */
	uint32_t shared_bytes; /* of shared memory, besides what the kernel declares */
};

/* The name of a version in its fatbin, as in kp_rmsnorm_block_4_bf16; size ≥ 64. */
void kp_kernel_symbol(enum kp_kernel_id kernel, enum kp_dtype dtype, char *out, size_t size);

/* cuTensorMapEncodeTiled. */
typedef int (*kp_encode_map)(void *map, int type, unsigned rank, void *address,
			     const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
			     const uint32_t *element_strides, int interleave, int swizzle,
			     int promotion, int fill);

/*
 * The driver functions that are used: results are CUresult, handles pointers. Fill it to go round
 * dlopen, as an interposing library must.
 */
struct kp_kernels_driver {
	int (*library_load)(void **library, const void *code, void *jit_options, void **jit_values,
			    unsigned jit_count, void *options, void **values, unsigned count);
	int (*library_unload)(void *library);
	int (*library_kernel)(void **kernel, void *library, const char *name);
	int (*kernel_function)(void **function, void *kernel);
	int (*launch)(const void *config, void *function, void **arguments, void **extra);
	int (*context_device)(int *device);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*function_attribute)(void *function, int attribute, int value);
	kp_encode_map encode_map; /* NULL: kernels that need it are not chosen */
};

struct kp_kernels; /* code that is loaded for the context that was current */

/*
 * Loads all code for the current context. `driver` NULL: that of libcuda.so.1. `driver_error`
 * becomes the CUresult of a call that failed, else 0. Errors: KP_UNSUPPORTED (built without nvcc,
 * or a GPU before compute capability 8.0), KP_NOT_FOUND (no driver), KP_IO (a driver call failed),
 * KP_NO_MEMORY.
 */
enum kp_status kp_kernels_create(const struct kp_kernels_driver *driver, struct kp_kernels **out,
				 int *driver_error);
void kp_kernels_destroy(struct kp_kernels *kernels);
const struct kp_kernel_device *kp_kernels_device(const struct kp_kernels *kernels);

#ifdef __cplusplus
}
#endif

#endif
