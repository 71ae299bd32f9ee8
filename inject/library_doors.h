/*
 * Where the program resolves the functions of NVIDIA's libraries.
 *
 * As for CUPTI (cupti_hooks.h): dlsym answers with a wrapper where the address that was found is
 * the library's own, and the address slots of modules that link the library are rewritten, at the
 * start and when modules are added. No symbol is exported, so that a weak reference or a probe in
 * a program without the library finds nothing. The libraries' own slots stay as they are: what
 * cuBLAS asks of cuBLASLt is its own affair. A library that is linked statically has no door; of
 * two copies of one in a process, the first is wrapped.
 */
#ifndef KP_INJECT_LIBRARY_DOORS_H
#define KP_INJECT_LIBRARY_DOORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* D(name): cuDNN's backend API; only the last begins a call. */
#define KP_LIBRARY_CUDNN(D)                                                                        \
	D(cudnnBackendCreateDescriptor)                                                            \
	D(cudnnBackendDestroyDescriptor)                                                           \
	D(cudnnBackendSetAttribute)                                                                \
	D(cudnnBackendGetAttribute)                                                                \
	D(cudnnBackendExecute)

enum kp_library_entry {
#define E(family, name, integer) KP_LIBRARY_##name,
#define T(family, name, integer, type) KP_LIBRARY_##name,
#include "inject/library_entries.def"
	KP_LIBRARY_cublasLtMatmul,
#define D(name) KP_LIBRARY_##name,
	KP_LIBRARY_CUDNN(D)
#undef D
		KP_LIBRARY_ENTRY_COUNT
};

/* The libraries' own functions, NULL where there is none. */
extern _Atomic(void *) kp_library_real[KP_LIBRARY_ENTRY_COUNT];
/* The wrapper of each function. */
extern void *const kp_library_cublas_wrappers[KP_LIBRARY_cublasLtMatmul];
extern void *const kp_library_lt_wrapper;
extern void *const kp_library_cudnn_wrappers[];
/* Those in their place where there are rules of replacement; NULL: none. */
extern void *const kp_library_ruled_wrappers[KP_LIBRARY_cublasLtMatmul];
extern void *const kp_library_lt_ruled_wrapper;

#define KP_LIBRARY_REAL(name, type)                                                                \
	((type)atomic_load_explicit(&kp_library_real[KP_LIBRARY_##name], memory_order_relaxed))

/* The name of a function, and of the library that it is of. Numbers behind the functions' are those
 * of rules for parameters: what a kernel does, and whose it is. */
const char *kp_library_doors_entry(uint64_t entry);
const char *kp_library_doors_library(uint64_t entry);

/* Looks at modules that were loaded since the last call: cheap where there are none. */
void kp_library_doors_watch(void);
/* Whether a name is one of the table's. */
bool kp_library_doors_name(const char *name);
/* The wrapper in the place of an address; the address itself if there is none. */
void *kp_library_doors_wrapped(void *address);
/* A function of the libcublasLt that is wrapped; NULL: it has none. */
void *kp_library_doors_lt_symbol(const char *name);
/* Likewise of the libcublas. */
void *kp_library_doors_symbol(const char *name);

#endif
