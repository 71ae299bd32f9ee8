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

/* The address of a function that the module itself defines; NULL if it does not. */
void *kp_module_find(const struct kp_module *module, const char *name);

/* Calls `visit` for each address slot (of data or of a call) that the loader fills for a symbol of
 * another module. */
void kp_module_slots(const struct kp_module *module,
		     void (*visit)(void *context, const struct kp_module *module,
				   const char *symbol, void **slot),
		     void *context);

/* Writes an address slot, made writable meanwhile where the loader has protected it. Under the
 * loader's lock, as in dl_iterate_phdr: another's writing must not end the protection's pause. */
void kp_module_write_slot(const struct kp_module *module, void **slot, void *value);

/* Whether a module's calls are the program's: not kprof's own, not those among NVIDIA's tools. */
bool kp_module_is_program(const char *name);

#endif
