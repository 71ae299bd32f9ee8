/* Where the program looks up the driver's functions; see hooks.h. */
#include "inject/hooks.h"

#include <dlfcn.h>
#include <string.h>

#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/cupti_hooks.h"
#include "inject/elf.h"
#include "inject/modules.h"

#define EXPORTED __attribute__((visibility("default")))
/* The tail calls below must be ones at every level of optimisation: see dlsym. */
#if defined(__clang__)
#define TAIL_CALL __attribute__((musttail)) return
#define TAIL_CALLING
#else
#define TAIL_CALL return
#define TAIL_CALLING __attribute__((optimize("O2")))
#endif

typedef void *(*dlsym_function)(void *, const char *);
typedef void *(*dlvsym_function)(void *, const char *, const char *);
typedef CUresult(CUDAAPI *proc_address_function)(const char *, void **, int, cuuint64_t);
typedef CUresult(CUDAAPI *proc_address_v2_function)(const char *, void **, int, cuuint64_t,
						    CUdriverProcAddressQueryResult *);

EXPORTED void *dlsym(void *restrict handle, const char *restrict name);
EXPORTED void *dlvsym(void *restrict handle, const char *restrict name,
		      const char *restrict version);

static const char *const names[KP_HOOK_COUNT] = {
#define NAME(name) #name,
	KP_DRIVER_HOOKS(NAME)
#undef NAME
};

static void *const *const wrappers[KP_HOOK_COUNT] = {
#define WRAPPER(name) &kp_wrapper_##name,
	KP_DRIVER_HOOKS(WRAPPER)
#undef WRAPPER
};

_Atomic(void *) kp_hook_real[KP_HOOK_COUNT];
_Atomic int kp_hooks_captures;

static _Atomic(dlsym_function) real_dlsym;
static _Atomic(dlvsym_function) real_dlvsym;
static _Atomic uintptr_t libcuda_begin, libcuda_end;
static _Atomic(struct kp_live_slot *) counting; /* where to count; NULL before the start */

/* ---- the real lookups ---- */

static int find_lookups(struct dl_phdr_info *info, size_t size, void *context)
{
	struct kp_module module;
	void *symbol, *versioned;

	(void)size;
	(void)context;
	if (!strstr(info->dlpi_name, "/libc.so.") && !strstr(info->dlpi_name, "/libdl.so."))
		return 0;
	if (!kp_module_describe(info, &module))
		return 0;
	symbol = kp_module_find(&module, "dlsym");
	versioned = kp_module_find(&module, "dlvsym");
	if (!symbol || !versioned)
		return 0;
	atomic_store(&real_dlvsym, (dlvsym_function)versioned);
	atomic_store(&real_dlsym, (dlsym_function)symbol);
	return 1;
}

static dlsym_function get_dlsym(void)
{
	if (!atomic_load(&real_dlsym))
		dl_iterate_phdr(find_lookups, NULL);
	return atomic_load(&real_dlsym);
}

/* ---- what is the driver's ---- */

static int find_libcuda(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *file = strrchr(info->dlpi_name, '/');
	struct kp_module module;

	(void)size;
	(void)context;
	if (!file || strncmp(file, "/libcuda.so", 11) != 0 || !kp_module_describe(info, &module))
		return 0;
	for (size_t i = 0; i < KP_HOOK_COUNT; i++)
		atomic_store(&kp_hook_real[i], kp_module_find(&module, names[i]));
	atomic_store(&libcuda_end, module.end);
	atomic_store(&libcuda_begin, module.begin);
	return 1;
}

static bool in_libcuda(const void *address)
{
	uintptr_t at = (uintptr_t)address;

	if (!atomic_load(&libcuda_begin))
		dl_iterate_phdr(find_libcuda, NULL);
	return at >= atomic_load(&libcuda_begin) && at < atomic_load(&libcuda_end);
}

/* The number of a hooked function; KP_HOOK_COUNT if the name is none. */
static size_t find_name(const char *name)
{
	size_t hook = 0;

	while (hook < KP_HOOK_COUNT && strcmp(names[hook], name) != 0)
		hook++;
	return hook;
}

static bool is_hooked(const char *name)
{
	return name[0] == 'c' && name[1] == 'u' &&
	       (find_name(name) != KP_HOOK_COUNT || kp_cupti_hooks_name(name));
}

/* The wrapper in the place of one of the driver's or CUPTI's addresses; the address itself if there
 * is none. */
static void *wrapped(void *address)
{
	if (!in_libcuda(address))
		return kp_cupti_hooks_wrapped(address);
	for (size_t hook = 0; hook < KP_HOOK_COUNT; hook++)
		if (atomic_load(&kp_hook_real[hook]) == address)
			return *wrappers[hook];
	return address;
}

/* ---- modules that link libcuda ---- */

static void rewrite_slot(void *context, const struct kp_module *module, const char *symbol,
			 void **slot)
{
	size_t hook;

	(void)context;
	if (symbol[0] != 'c' || symbol[1] != 'u')
		return;
	hook = find_name(symbol);
	if (hook != KP_HOOK_COUNT && atomic_load(&kp_hook_real[hook]))
		kp_module_write_slot(module, slot, *wrappers[hook]);
}

static void rewrite_module(const struct dl_phdr_info *info)
{
	struct kp_module module;

	if (kp_module_is_program(info->dlpi_name) && kp_module_describe(info, &module))
		kp_module_slots(&module, rewrite_slot, NULL);
}

/* Looks at modules that were loaded since the last time. */
static void rewrite_new_modules(void)
{
	static struct kp_modules_seen seen;

	kp_modules_visit_new(&seen, rewrite_module);
}

/* ---- the doors ---- */

/*
 * The real dlsym acts for its caller (RTLD_NEXT, RTLD_DEFAULT), whom it knows by the return
 * address. A tail call leaves that of the program in place.
 */
TAIL_CALLING void *dlsym(void *restrict handle, const char *restrict name)
{
	dlsym_function real = get_dlsym();

	if (atomic_load_explicit(&counting, memory_order_relaxed))
		rewrite_new_modules();
	kp_cupti_hooks_watch();
	if (!is_hooked(name))
		TAIL_CALL real(handle, name);
	return wrapped(real(handle, name));
}

TAIL_CALLING void *dlvsym(void *restrict handle, const char *restrict name,
			  const char *restrict version)
{
	dlvsym_function real;

	get_dlsym();
	real = atomic_load(&real_dlvsym);
	kp_cupti_hooks_watch();
	if (!is_hooked(name))
		TAIL_CALL real(handle, name, version);
	return wrapped(real(handle, name, version));
}

static CUresult CUDAAPI hook_cuGetProcAddress(const char *symbol, void **function, int version,
					      cuuint64_t flags)
{
	CUresult result =
		KP_REAL(cuGetProcAddress, proc_address_function)(symbol, function, version, flags);

	if (result == CUDA_SUCCESS && function && *function)
		*function = wrapped(*function);
	return result;
}

static CUresult CUDAAPI hook_cuGetProcAddress_v2(const char *symbol, void **function, int version,
						 cuuint64_t flags,
						 CUdriverProcAddressQueryResult *status)
{
	CUresult result = KP_REAL(cuGetProcAddress_v2, proc_address_v2_function)(
		symbol, function, version, flags, status);

	if (result == CUDA_SUCCESS && function && *function)
		*function = wrapped(*function);
	return result;
}

KP_WRAPPER(cuGetProcAddress);
KP_WRAPPER(cuGetProcAddress_v2);

void *kp_hooks_lookup(void *handle, const char *name)
{
	return get_dlsym()(handle, name);
}

struct wanted {
	const char *name;
	void *found;
};

static int find_symbol(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *file = strrchr(info->dlpi_name, '/');
	struct wanted *wanted = context;
	struct kp_module module;

	(void)size;
	if (!file || strncmp(file, "/libcuda.so", 11) != 0 || !kp_module_describe(info, &module))
		return 0;
	wanted->found = kp_module_find(&module, wanted->name);
	return 1;
}

void *kp_hooks_driver_symbol(const char *name)
{
	struct wanted wanted = {name, NULL};

	dl_iterate_phdr(find_symbol, &wanted);
	return wanted.found;
}

/* ---- counting ---- */

void kp_hooks_start(struct kp_inject *inject)
{
	bool preloaded = get_dlsym()(RTLD_DEFAULT, "dlsym") == (void *)dlsym;

	dl_iterate_phdr(find_libcuda, NULL);
	if (!preloaded || !atomic_load(&kp_hook_real[KP_HOOK_cuLaunchKernel]))
		return;
	atomic_store(&inject->slot->issued_known, 1);
	atomic_store(&counting, inject->slot);
	rewrite_new_modules();
}

void kp_hooks_issued(uint64_t kernels)
{
	struct kp_live_slot *slot = atomic_load_explicit(&counting, memory_order_relaxed);

	if (slot)
		atomic_fetch_add_explicit(&slot->kernels_issued, kernels, memory_order_relaxed);
}

void kp_hooks_lose_count(void)
{
	struct kp_live_slot *slot = atomic_load(&counting);

	if (slot)
		atomic_store(&slot->issued_known, 0);
}
