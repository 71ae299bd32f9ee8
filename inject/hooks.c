/* Where the program looks up the driver's functions; see hooks.h. */
#include "inject/hooks.h"

#include <dlfcn.h>

#define __CUDA_API_VERSION_INTERNAL
#include "inject/cuda_api.h"

#include "inject/ab.h"
#include "inject/ab_sequence.h"
#include "inject/cupti_hooks.h"
#include "inject/elf.h"
#include "inject/hooks_gates.h"
#include "inject/hooks_number.h"
#include "inject/host.h"
#include "inject/library_doors.h"
#include "inject/loader.h"
#include "inject/modules.h"
#include "inject/windows.h"
#include "inject/words.h"

#define EXPORTED __attribute__((visibility("default")))
/* The tail calls below must be ones at every level of optimisation: see dlsym. */
#if defined(__clang__)
#define TAIL_CALL __attribute__((musttail)) return
#define TAIL_CALLING
#else
#define TAIL_CALL return
#define TAIL_CALLING __attribute__((optimize("O2")))
#endif

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

/* What stands in the place of a driver's function; NULL: nothing. */
static void *wrapper_of(size_t hook)
{
	void *other = kp_ab_asked()     ? kp_ab_wrapper(hook)
		      : kp_host_asked() ? kp_host_wrapper(hook)
					: NULL;

	void *found = other ? other : *wrappers[hook];

	/* A launch knows of what is held; all else passes through a door first. */
	return found && kp_ab_sequence_asked() &&
			       !(kp_ab_asked() && kp_ab_wrapper(hook) &&
				 !kp_ab_wrapper_of_modules(hook))
		       ? kp_ab_sequence_door(names[hook], found)
		       : found;
}

_Atomic(void *) kp_hook_real[KP_HOOK_COUNT];
_Atomic int kp_hooks_captures;
struct kp_gate kp_hooks_capture_gate = {.passage = KP_PASSAGE_CAPTURE};
_Thread_local unsigned kp_hooks_before __attribute__((tls_model("initial-exec")));

static _Atomic uintptr_t libcuda_begin, libcuda_end;
static struct kp_module libcuda; /* once libcuda_begin is set; under the loader's lock */
static _Atomic(struct kp_live_slot *) counting; /* where to count; NULL before the start */

/* ---- what is the driver's ---- */

static bool is_libcuda(const char *path)
{
	return kp_word_begins(kp_word_file(path), "libcuda.so");
}

static int find_libcuda(struct dl_phdr_info *info, size_t size, void *context)
{
	struct kp_module module;

	(void)size;
	(void)context;
	if (!is_libcuda(info->dlpi_name) || !kp_module_describe(info, &module))
		return 0;
	for (size_t i = 0; i < KP_HOOK_COUNT; i++)
		atomic_store(&kp_hook_real[i], kp_module_find(&module, names[i]));
	libcuda = module;
	atomic_store(&libcuda_end, module.end);
	atomic_store(&libcuda_begin, module.begin);
	return 1;
}

/* How often the loader has taken modules away; 0 where it does not tell. */
static int count_subs(struct dl_phdr_info *info, size_t size, void *subs)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(unsigned long long *)subs = info->dlpi_subs;
	return 1;
}

/* Programs that only look whether there is a driver take it away again: it comes back elsewhere. */
static bool in_libcuda(const void *address)
{
	static _Atomic unsigned long long seen;
	unsigned long long subs = 0;
	uintptr_t at = (uintptr_t)address;

	kp_loader_iterate(count_subs, &subs);
	if (!atomic_load(&libcuda_begin) || atomic_load(&seen) != subs) {
		if (!kp_loader_iterate(find_libcuda, NULL))
			atomic_store(&libcuda_end, 0);
		atomic_store(&seen, subs);
	}
	return at >= atomic_load(&libcuda_begin) && at < atomic_load(&libcuda_end);
}

/* «cuMemAlloc», not «cublas…» or «cuda…». */
static bool is_driver_name(const char *name)
{
	return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* The number of a hooked function; KP_HOOK_COUNT if the name is none. */
static size_t find_name(const char *name)
{
	size_t hook = 0;

	while (hook < KP_HOOK_COUNT && !kp_word_equal(names[hook], name))
		hook++;
	return hook;
}

/* The wrapper in the place of one of the driver's or CUPTI's addresses; the address itself if there
 * is none. */
static void *wrapped(void *address, const char *name)
{
	if (!in_libcuda(address))
		return kp_library_doors_wrapped(kp_cupti_hooks_wrapped(address));
	for (size_t hook = 0; hook < KP_HOOK_COUNT; hook++)
		if (atomic_load(&kp_hook_real[hook]) == address)
			return wrapper_of(hook) ? wrapper_of(hook) : address;
	return is_driver_name(name) && kp_ab_sequence_asked() ? kp_ab_sequence_door(name, address)
							      : address;
}

/* ---- modules that link libcuda ---- */

static void *definitions[KP_HOOK_COUNT]; /* what the loader would bind each name to */

/* A function of the driver that has no wrapper, where all are to have doors. */
static void rewrite_other(const struct kp_module *module, const struct kp_slot *slot)
{
	void *real = is_driver_name(slot->symbol) ? kp_module_find(&libcuda, slot->symbol) : NULL;

	if (real)
		kp_module_replace(module, slot, real, kp_loader_definition(slot->symbol),
				  kp_ab_sequence_door(slot->symbol, real));
}

static void rewrite_slot(void *context, const struct kp_module *module, const struct kp_slot *slot)
{
	size_t hook = find_name(slot->symbol);

	(void)context;
	if (hook != KP_HOOK_COUNT && wrapper_of(hook))
		kp_module_replace(module, slot, atomic_load(&kp_hook_real[hook]), definitions[hook],
				  wrapper_of(hook));
	else if (hook == KP_HOOK_COUNT && kp_ab_sequence_asked() && atomic_load(&libcuda_begin))
		rewrite_other(module, slot);
}

static void rewrite_module(const struct dl_phdr_info *info)
{
	struct kp_module module;

	if (kp_module_is_program(info->dlpi_name) && kp_module_describe(info, &module))
		kp_module_slots(&module, "cu", rewrite_slot, NULL);
}

/* Another tool's library may have come, or be there from the start, that stands before libcuda. */
static void find_definitions(void)
{
	for (size_t i = 0; i < KP_HOOK_COUNT; i++)
		definitions[i] = kp_loader_definition(names[i]);
}

/* Looks at modules that were loaded since the last time. */
static void rewrite_new_modules(void)
{
	static struct kp_modules_seen seen;

	kp_modules_visit_new(&seen, find_definitions, rewrite_module);
}

/* ---- the doors ---- */

/*
 * The real dlsym acts for its caller, whom it knows by the return address. A tail call leaves that
 * of the program in place. It is needed wherever the answer depends on the caller (RTLD_NEXT, which
 * other tools' wrappers use, and RTLD_DEFAULT); these are never answered with a hook.
 */
static bool is_hooked(void *handle, const char *name)
{
	return name[0] == 'c' && name[1] == 'u' && handle != RTLD_NEXT && handle != RTLD_DEFAULT &&
	       (find_name(name) != KP_HOOK_COUNT || kp_cupti_hooks_name(name) ||
		kp_library_doors_name(name) || (is_driver_name(name) && kp_ab_sequence_asked()));
}

/* What is looked up without an answer of kprof's is called past all that is held. */
static void notice(void *handle, const char *name)
{
	if (is_driver_name(name) && (handle == RTLD_NEXT || handle == RTLD_DEFAULT) &&
	    kp_ab_sequence_asked())
		kp_ab_sequence_passed_by(name);
}

TAIL_CALLING void *dlsym(void *restrict handle, const char *restrict name)
{
	kp_dlsym_function real = kp_loader_dlsym();

	if (atomic_load_explicit(&counting, memory_order_relaxed))
		rewrite_new_modules();
	kp_cupti_hooks_watch();
	kp_library_doors_watch();
	notice(handle, name);
	if (!is_hooked(handle, name))
		TAIL_CALL real(handle, name);
	return wrapped(real(handle, name), name);
}

TAIL_CALLING void *dlvsym(void *restrict handle, const char *restrict name,
			  const char *restrict version)
{
	kp_dlvsym_function real = kp_loader_dlvsym();

	kp_cupti_hooks_watch();
	kp_library_doors_watch();
	notice(handle, name);
	if (!is_hooked(handle, name))
		TAIL_CALL real(handle, name, version);
	return wrapped(real(handle, name, version), name);
}

static CUresult CUDAAPI hook_cuGetProcAddress(const char *symbol, void **function, int version,
					      cuuint64_t flags)
{
	CUresult result =
		KP_REAL(cuGetProcAddress, proc_address_function)(symbol, function, version, flags);

	if (result == CUDA_SUCCESS && function && *function)
		*function = wrapped(*function, symbol);
	return result;
}

static CUresult CUDAAPI hook_cuGetProcAddress_v2(const char *symbol, void **function, int version,
						 cuuint64_t flags,
						 CUdriverProcAddressQueryResult *status)
{
	CUresult result = KP_REAL(cuGetProcAddress_v2, proc_address_v2_function)(
		symbol, function, version, flags, status);

	if (result == CUDA_SUCCESS && function && *function)
		*function = wrapped(*function, symbol);
	return result;
}

KP_WRAPPER(cuGetProcAddress);
KP_WRAPPER(cuGetProcAddress_v2);

void *kp_hooks_lookup(void *handle, const char *name)
{
	return kp_loader_dlsym()(handle, name);
}

struct wanted {
	const char *name;
	void *found;
};

static int find_symbol(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted *wanted = context;
	struct kp_module module;

	(void)size;
	if (!is_libcuda(info->dlpi_name) || !kp_module_describe(info, &module))
		return 0;
	wanted->found = kp_module_find(&module, wanted->name);
	return 1;
}

void *kp_hooks_driver_symbol(const char *name)
{
	struct wanted wanted = {name, NULL};

	kp_loader_iterate(find_symbol, &wanted);
	return wanted.found;
}

/* ---- counting ---- */

/* The loader lists modules in the order in which it looks for symbols in them. */
static int find_first_dlsym(struct dl_phdr_info *info, size_t size, void *first)
{
	struct kp_module module;

	(void)size;
	if (kp_module_describe(info, &module))
		*(void **)first = kp_module_find(&module, "dlsym");
	return *(void **)first != NULL;
}

void kp_hooks_start(struct kp_inject *inject)
{
	void *first = NULL;
	bool preloaded;

	/* Not asked of dlsym, which would look in this library first: it is linked -Bsymbolic. */
	kp_loader_iterate(find_first_dlsym, &first);
	preloaded = first == (void *)dlsym;
	kp_loader_iterate(find_libcuda, NULL);
	if (!preloaded || !atomic_load(&kp_hook_real[KP_HOOK_cuLaunchKernel]))
		return;
	atomic_store(&inject->slot->issued_known, 1);
	atomic_store(&counting, inject->slot);
	rewrite_new_modules();
	kp_library_doors_watch();
}

uint64_t kp_hooks_issued(uint64_t kernels)
{
	struct kp_live_slot *slot = atomic_load_explicit(&counting, memory_order_relaxed);
	uint64_t before;

	if (!slot)
		return UINT64_MAX;
	before = atomic_fetch_add_explicit(&slot->kernels_issued, kernels, memory_order_relaxed);
	/* Afterwards: who reads the counts in between must not find fewer issued than outside. */
	kp_windows_count(slot, kernels, kp_hooks_before);
	return before;
}

uint64_t kp_hooks_unnumbered(void)
{
	return kp_windows_unnumbered();
}

uint64_t kp_hooks_number(uint64_t issued)
{
	uint64_t unnumbered = kp_windows_unnumbered();

	return issued > unnumbered ? issued - unnumbered : 0;
}

uint64_t kp_hooks_numbered(void)
{
	struct kp_live_slot *slot = atomic_load_explicit(&counting, memory_order_relaxed);

	return slot ? kp_hooks_number(
			      atomic_load_explicit(&slot->kernels_issued, memory_order_relaxed))
		    : 0;
}

bool kp_hooks_see_all(void)
{
	struct kp_live_slot *slot = atomic_load(&counting);

	return slot && atomic_load(&slot->issued_known);
}

void kp_hooks_lose_count(void)
{
	struct kp_live_slot *slot = atomic_load(&counting);

	if (slot)
		atomic_store(&slot->issued_known, 0);
}

void kp_hooks_forget(void)
{
	atomic_store(&counting, NULL);
	kp_hooks_capture_forget();
}
