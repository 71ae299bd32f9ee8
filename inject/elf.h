/*
 * The dynamic sections of loaded modules: what symbols they define, and which of their relocations
 * refer to a name. Walks of memory that the loader keeps; nothing here allocates, so that it may be
 * used inside dlsym.
 */
#ifndef KP_INJECT_ELF_H
#define KP_INJECT_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One loaded module. */
struct kp_module {
	const char *name; /* as the loader has it; empty for the program itself */
	uintptr_t base;
	uintptr_t begin, end;             /* of its segments in memory */
	uintptr_t relro_begin, relro_end; /* read-only once relocated; equal: none */
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const ElfW(Word) * sysv_hash;
	const ElfW(Rela) * relocations[2]; /* of data, and of calls */
	size_t relocation_count[2];
};

/* Describes a module from what dl_iterate_phdr gives. False where it has no dynamic section. */
bool kp_module_describe(const struct dl_phdr_info *info, struct kp_module *out);

/* The same from the loader's list, without the extent of its segments. */
bool kp_module_describe_map(const struct link_map *map, struct kp_module *out);

/* The address of a function that the module itself defines; NULL if it does not. */
void *kp_module_find(const struct kp_module *module, const char *name);

/*
 * An address slot that the loader fills for a symbol of another module. `call`: of a call through
 * the module's linkage table, which may still lead to the loader; else of data.
 */
struct kp_slot {
	const char *symbol;
	void **at;
	bool call;
};

/* Calls `visit` for each slot of a module whose symbol begins with `beginning`. */
void kp_module_slots(const struct kp_module *module, const char *beginning,
		     void (*visit)(void *context, const struct kp_module *module,
				   const struct kp_slot *slot),
		     void *context);

/*
 * Puts `wrapper` in the place of the function `real` where the slot leads to it, or would once the
 * loader had bound it: `definition` is what the loader would choose (kp_loader_definition). A slot
 * that leads elsewhere, to another tool's wrapper, stays. Memory that the loader has protected is
 * made writable meanwhile. Under the loader's lock, as in kp_loader_iterate.
 */
void kp_module_replace(const struct kp_module *module, const struct kp_slot *slot, void *real,
		       void *definition, void *wrapper);

/* Whether a module's calls are the program's: not kprof's own, not those among NVIDIA's tools. */
bool kp_module_is_program(const char *name);

#endif
