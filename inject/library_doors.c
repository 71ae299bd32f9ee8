/* The wrappers' places; see library_doors.h. */
#include "inject/library_doors.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

#include "inject/ab.h"
#include "inject/elf.h"
#include "inject/library.h"
#include "inject/loader.h"
#include "inject/modules.h"
#include "inject/parameters.h"
#include "inject/words.h"

static const char *const names[KP_LIBRARY_ENTRY_COUNT] = {
#define E(family, name, integer) #name,
#define T(family, name, integer, type) #name,
#include "inject/library_entries.def"
	"cublasLtMatmul",
#define D(name) #name,
	KP_LIBRARY_CUDNN(D)
#undef D
};

_Atomic(void *) kp_library_real[KP_LIBRARY_ENTRY_COUNT];

#define CUDNN_FIRST (KP_LIBRARY_cublasLtMatmul + 1)

/* X(NAME, beginning of the file's name, first entry, the one behind the last) */
#define LIBRARIES(X)                                                                               \
	X(CUBLAS, "libcublas.so", 0, KP_LIBRARY_cublasLtMatmul)                                    \
	X(LT, "libcublasLt.so", KP_LIBRARY_cublasLtMatmul, CUDNN_FIRST)                            \
	X(CUDNN, "libcudnn.so", CUDNN_FIRST, KP_LIBRARY_ENTRY_COUNT)

enum library {
#define ENUM(name, file, first, end) name,
	LIBRARIES(ENUM)
#undef ENUM
		LIBRARY_COUNT
};

static const struct {
	const char *file;
	size_t first, end;
} libraries[LIBRARY_COUNT] = {
#define ROW(name, file, first, end) {file, first, end},
	LIBRARIES(ROW)
#undef ROW
};

/* Where each one lies; begin is 0 while it is not there. */
static struct {
	_Atomic uintptr_t begin, end;
} places[LIBRARY_COUNT];

static _Atomic pid_t home; /* the process that the library was loaded in */

const char *kp_library_doors_entry(uint64_t entry)
{
	return entry < KP_LIBRARY_ENTRY_COUNT
		       ? names[entry]
		       : kp_parameters_detail(entry - KP_LIBRARY_ENTRY_COUNT);
}

const char *kp_library_doors_library(uint64_t entry)
{
	return entry < KP_LIBRARY_cublasLtMatmul ? "cuBLAS"
	       : entry < CUDNN_FIRST             ? "cuBLASLt"
	       : entry < KP_LIBRARY_ENTRY_COUNT
		       ? "cuDNN"
		       : kp_parameters_from(entry - KP_LIBRARY_ENTRY_COUNT);
}

static void *wrapper_of(size_t entry)
{
	bool ruled = kp_ab_asked();

	if (entry >= CUDNN_FIRST)
		return kp_library_cudnn_wrappers[entry - CUDNN_FIRST];
	if (entry == KP_LIBRARY_cublasLtMatmul)
		return ruled ? kp_library_lt_ruled_wrapper : kp_library_lt_wrapper;
	return ruled && kp_library_ruled_wrappers[entry] ? kp_library_ruled_wrappers[entry]
							 : kp_library_cublas_wrappers[entry];
}

/* The number of a function; KP_LIBRARY_ENTRY_COUNT if the name is none. */
static size_t find_name(const char *name)
{
	bool cudnn = kp_word_begins(name, "cudnnBackend");
	size_t entry = cudnn ? CUDNN_FIRST : 0, end = cudnn ? KP_LIBRARY_ENTRY_COUNT : CUDNN_FIRST;

	if (!cudnn && !kp_word_begins(name, "cublas"))
		return KP_LIBRARY_ENTRY_COUNT;
	while (entry < end && !kp_word_equal(names[entry] + 6, name + 6))
		entry++;
	return entry < end ? entry : KP_LIBRARY_ENTRY_COUNT;
}

bool kp_library_doors_name(const char *name)
{
	return find_name(name) != KP_LIBRARY_ENTRY_COUNT && kp_library_asked();
}

void *kp_library_doors_wrapped(void *address)
{
	uintptr_t at = (uintptr_t)address;

	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		if (at < atomic_load(&places[i].begin) || at >= atomic_load(&places[i].end))
			continue;
		for (size_t entry = libraries[i].first; entry < libraries[i].end; entry++)
			if (atomic_load(&kp_library_real[entry]) == address)
				return wrapper_of(entry);
	}
	return address;
}

/* ---- the libraries ---- */

/* What is looked for in the loader's list, and what of it is there. */
struct look {
	bool found[LIBRARY_COUNT];
};

/* Every time: another build of it may lie where one lay that has gone. */
static void take(size_t library, const struct kp_module *module)
{
	for (size_t i = libraries[library].first; i < libraries[library].end; i++)
		atomic_store(&kp_library_real[i], kp_module_find(module, names[i]));
	atomic_store(&places[library].end, module->end);
	atomic_store(&places[library].begin, module->begin);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *file = kp_word_file(info->dlpi_name);
	struct look *look = context;
	struct kp_module module;

	(void)size;
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		if (look->found[i] || !kp_word_begins(file, libraries[i].file) ||
		    !kp_module_describe(info, &module))
			continue;
		look->found[i] = true;
		take(i, &module);
	}
	return 0;
}

/* Where a library has gone, its place is nobody's; it may come back elsewhere. */
static bool look_for_libraries(void)
{
	struct look look = {{false}};
	bool any = false;

	kp_loader_iterate(look_at, &look);
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		if (!look.found[i])
			atomic_store(&places[i].begin, 0);
		any |= look.found[i];
	}
	return any;
}

struct wanted {
	size_t library;
	const char *name;
	void *found;
};

static int find_library_symbol(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted *wanted = context;
	struct kp_module module;

	(void)size;
	if (!kp_word_begins(kp_word_file(info->dlpi_name), libraries[wanted->library].file) ||
	    !kp_module_describe(info, &module) ||
	    module.begin != atomic_load(&places[wanted->library].begin))
		return 0;
	wanted->found = kp_module_find(&module, wanted->name);
	return 1;
}

void *kp_library_doors_lt_symbol(const char *name)
{
	struct wanted wanted = {LT, name, NULL};

	kp_loader_iterate(find_library_symbol, &wanted);
	return wanted.found;
}

void *kp_library_doors_symbol(const char *name)
{
	struct wanted wanted = {CUBLAS, name, NULL};

	kp_loader_iterate(find_library_symbol, &wanted);
	return wanted.found;
}

/* ---- modules that link them ---- */

/* What the loader would bind a name to is asked only for a slot that it has not bound yet. */
static void rewrite_slot(void *context, const struct kp_module *module, const struct kp_slot *slot)
{
	size_t entry = find_name(slot->symbol);
	void *real;

	(void)context;
	if (entry == KP_LIBRARY_ENTRY_COUNT)
		return;
	real = atomic_load(&kp_library_real[entry]);
	kp_module_replace(module, slot, real,
			  *slot->at == real ? real : kp_loader_definition(names[entry]),
			  wrapper_of(entry));
}

static void rewrite_module(const struct dl_phdr_info *info)
{
	const char *file = kp_word_file(info->dlpi_name);
	struct kp_module module;

	if (!kp_word_begins(file, "libcublas") && !kp_word_begins(file, "libcudnn") &&
	    kp_module_is_program(info->dlpi_name) && kp_module_describe(info, &module))
		kp_module_slots(&module, "cu", rewrite_slot, NULL);
}

static void nothing(void)
{
}

struct counts {
	unsigned long long adds, subs;
};

static int read_counts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct counts *counts = context;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*counts = (struct counts){info->dlpi_adds, info->dlpi_subs};
	return 1;
}

void kp_library_doors_watch(void)
{
	static struct kp_modules_seen seen;
	static _Atomic unsigned long long adds_seen, subs_seen;
	struct counts counts = {0, 0};
	int error = errno;

	/* In a forked child the loader's lock may be held by a thread that is not there. */
	if (!kp_library_asked() || getpid() != atomic_load(&home))
		return;
	kp_loader_iterate(read_counts, &counts);
	if (counts.adds == atomic_load(&adds_seen) && counts.subs == atomic_load(&subs_seen))
		return;
	if (look_for_libraries())
		kp_modules_visit_new(&seen, nothing, rewrite_module);
	/* Last: another thread must not think that it is done before it is. */
	atomic_store(&adds_seen, counts.adds);
	atomic_store(&subs_seen, counts.subs);
	errno = error;
}

/* Modules that the program itself links, before it runs. */
__attribute__((constructor)) static void watch_first(void)
{
	atomic_store(&home, getpid());
	kp_library_doors_watch();
}
