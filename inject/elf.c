/* Walks the dynamic sections of loaded modules; see elf.h. */
#include "inject/elf.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define SLOT_OF_CALL R_X86_64_JUMP_SLOT
#define SLOT_OF_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define SLOT_OF_CALL R_AARCH64_JUMP_SLOT
#define SLOT_OF_DATA R_AARCH64_GLOB_DAT
#else
#error "kprof's collector knows the relocations of x86-64 and aarch64"
#endif

/* The loader of glibc leaves absolute addresses in the dynamic section, the vDSO's relative ones.
 */
static uintptr_t absolute(const struct kp_module *module, uintptr_t address)
{
	return address < module->base ? address + module->base : address;
}

static void read_dynamic(struct kp_module *module, const ElfW(Dyn) * dynamic)
{
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t at = absolute(module, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			module->symbols = (const ElfW(Sym) *)at;
			break;
		case DT_STRTAB:
			module->strings = (const char *)at;
			break;
		case DT_GNU_HASH:
			module->gnu_hash = (const uint32_t *)at;
			break;
		case DT_HASH:
			module->sysv_hash = (const ElfW(Word) *)at;
			break;
		case DT_RELA:
			module->relocations[0] = (const ElfW(Rela) *)at;
			break;
		case DT_RELASZ:
			module->relocation_count[0] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_JMPREL:
			module->relocations[1] = (const ElfW(Rela) *)at;
			break;
		case DT_PLTRELSZ:
			module->relocation_count[1] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
}

bool kp_module_describe(const struct dl_phdr_info *info, struct kp_module *out)
{
	const ElfW(Dyn) *dynamic = NULL;

	memset(out, 0, sizeof(*out));
	out->name = info->dlpi_name ? info->dlpi_name : "";
	out->base = info->dlpi_addr;
	out->begin = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD) {
			out->begin = begin < out->begin ? begin : out->begin;
			out->end = begin + segment->p_memsz > out->end ? begin + segment->p_memsz
								       : out->end;
		} else if (segment->p_type == PT_DYNAMIC) {
			dynamic = (const ElfW(Dyn) *)begin;
		} else if (segment->p_type == PT_GNU_RELRO) {
			out->relro_begin = begin;
			out->relro_end = begin + segment->p_memsz;
		}
	}
	if (!dynamic)
		return false;
	read_dynamic(out, dynamic);
	return out->symbols && out->strings;
}

static void *defined(const struct kp_module *module, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &module->symbols[index];

	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
	    strcmp(module->strings + symbol->st_name, name) != 0)
		return NULL;
	return (void *)(module->base + symbol->st_value);
}

static void *find_by_gnu_hash(const struct kp_module *module, const char *name)
{
	const uint32_t *table = module->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1], bloom_words = table[2];
	const uint32_t *buckets = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381, index;
	void *found = NULL;

	for (const char *at = name; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	index = bucket_count ? buckets[hash % bucket_count] : 0;
	if (index < first || !index)
		return NULL;
	for (;; index++) {
		uint32_t entry = chain[index - first];

		if ((entry | 1) == (hash | 1))
			found = defined(module, index, name);
		if (found || (entry & 1))
			return found;
	}
}

void *kp_module_find(const struct kp_module *module, const char *name)
{
	void *found = NULL;

	if (module->gnu_hash)
		return find_by_gnu_hash(module, name);
	if (!module->sysv_hash)
		return NULL;
	for (ElfW(Word) i = 0; i < module->sysv_hash[1] && !found; i++)
		found = defined(module, i, name);
	return found;
}

void kp_module_slots(const struct kp_module *module,
		     void (*visit)(void *context, const struct kp_module *module,
				   const char *symbol, void **slot),
		     void *context)
{
	for (size_t kind = 0; kind < 2; kind++) {
		const ElfW(Rela) *relocation = module->relocations[kind];

		for (size_t i = 0; relocation && i < module->relocation_count[kind];
		     i++, relocation++) {
			uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
			const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];

			if ((type == SLOT_OF_CALL || type == SLOT_OF_DATA) &&
			    symbol->st_shndx == SHN_UNDEF)
				visit(context, module, module->strings + symbol->st_name,
				      (void **)(module->base + relocation->r_offset));
		}
	}
}

void kp_module_write_slot(const struct kp_module *module, void **slot, void *value)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = (uintptr_t)slot & ~(page - 1);
	bool read_only =
		(uintptr_t)slot >= module->relro_begin && (uintptr_t)slot < module->relro_end;

	if (*slot == value ||
	    (read_only && mprotect((void *)begin, page, PROT_READ | PROT_WRITE) != 0))
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELAXED);
	if (read_only)
		mprotect((void *)begin, page, PROT_READ);
}

bool kp_module_is_program(const char *name)
{
	const char *file = strrchr(name, '/');

	return !file ||
	       (strncmp(file, "/libcuda.so", 11) != 0 && strncmp(file, "/libcupti.so", 12) != 0 &&
		strncmp(file, "/libkprof_inject.so", 19) != 0);
}
