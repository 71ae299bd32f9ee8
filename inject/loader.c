/* The loader's own functions; see loader.h. */
#include "inject/loader.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "inject/elf.h"
#include "inject/words.h"

typedef int (*iterate_function)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
typedef int (*address_function)(const void *, Dl_info *);

static _Atomic(kp_dlsym_function) real_dlsym;
static _Atomic(kp_dlvsym_function) real_dlvsym;
static _Atomic(iterate_function) real_iterate;
static _Atomic(address_function) real_dladdr;

/* Takes from a module what it defines of these. */
static void take(const struct link_map *map)
{
	const char *file = kp_word_file(map->l_name);
	struct kp_module module;
	void *found;

	if (!kp_word_begins(file, "libc.so.") && !kp_word_begins(file, "libdl.so."))
		return;
	if (!kp_module_describe_map(map, &module))
		return;
	if ((found = kp_module_find(&module, "dlvsym")))
		atomic_store(&real_dlvsym, (kp_dlvsym_function)found);
	if ((found = kp_module_find(&module, "dl_iterate_phdr")))
		atomic_store(&real_iterate, (iterate_function)found);
	if ((found = kp_module_find(&module, "dladdr")))
		atomic_store(&real_dladdr, (address_function)found);
	if ((found = kp_module_find(&module, "dlsym")))
		atomic_store(&real_dlsym, (kp_dlsym_function)found);
}

/* The list is complete for what was there at the start, and the C library never goes. */
static void find_all(void)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		take(map);
}

kp_dlsym_function kp_loader_dlsym(void)
{
	if (!atomic_load(&real_dlsym))
		find_all();
	return atomic_load(&real_dlsym);
}

kp_dlvsym_function kp_loader_dlvsym(void)
{
	if (!atomic_load(&real_dlvsym))
		find_all();
	return atomic_load(&real_dlvsym);
}

int kp_loader_iterate(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
		      void *context)
{
	iterate_function iterate = atomic_load(&real_iterate);

	if (!iterate) {
		find_all();
		iterate = atomic_load(&real_iterate);
	}
	return iterate ? iterate(visit, context) : 0;
}

void kp_loader_pass(void)
{
	address_function ask = atomic_load(&real_dladdr);
	Dl_info info;

	if (ask)
		ask((const void *)&kp_loader_pass, &info);
}

struct wanted {
	const char *name;
	void *found;
};

static int find_definition(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted *wanted = context;
	struct kp_module module;

	(void)size;
	if (kp_word_begins(kp_word_file(info->dlpi_name), "libkprof_inject.so") ||
	    !kp_module_describe(info, &module))
		return 0;
	wanted->found = kp_module_find(&module, wanted->name);
	return wanted->found != NULL;
}

void *kp_loader_definition(const char *name)
{
	struct wanted wanted = {name, NULL};

	kp_loader_iterate(find_definition, &wanted);
	return wanted.found;
}
