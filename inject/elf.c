/* Walks the dynamic sections of loaded modules; see elf.h. */
#include "inject/elf.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "inject/words.h"

#if defined(__x86_64__)
#define SLOT_OF_CALL R_X86_64_JUMP_SLOT
#define SLOT_OF_DATA R_X86_64_GLOB_DAT
#define SLOT_OF_TABLE R_X86_64_64
#elif defined(__aarch64__)
#define SLOT_OF_CALL R_AARCH64_JUMP_SLOT
#define SLOT_OF_DATA R_AARCH64_GLOB_DAT
#define SLOT_OF_TABLE R_AARCH64_ABS64
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

static uintptr_t page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

bool kp_module_describe_map(const struct link_map *map, struct kp_module *out)
{
	*out = (struct kp_module){0};
	out->name = map->l_name;
	out->base = map->l_addr;
	read_dynamic(out, map->l_ld);
	return out->symbols && out->strings;
}

bool kp_module_describe(const struct dl_phdr_info *info, struct kp_module *out)
{
	const ElfW(Dyn) *dynamic = NULL;

	*out = (struct kp_module){0};
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
			/* As the loader does: what shares a page with other data stays writable. */
			out->relro_begin = begin;
			out->relro_end = (begin + segment->p_memsz) & ~(page_bytes() - 1);
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
	    !kp_word_equal(module->strings + symbol->st_name, name))
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

void kp_module_slots(const struct kp_module *module, const char *beginning,
		     void (*visit)(void *context, const struct kp_module *module,
				   const struct kp_slot *slot),
		     void *context)
{
	for (size_t kind = 0; kind < 2; kind++) {
		const ElfW(Rela) *relocation = module->relocations[kind];

		for (size_t i = 0; relocation && i < module->relocation_count[kind];
		     i++, relocation++) {
			uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
			const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(relocation->r_info)];
			struct kp_slot slot = {.symbol = module->strings + symbol->st_name,
					       .at = (void **)(module->base + relocation->r_offset),
					       .call = type == SLOT_OF_CALL};

			if ((slot.call || type == SLOT_OF_DATA ||
			     (type == SLOT_OF_TABLE && relocation->r_addend == 0)) &&
			    symbol->st_shndx == SHN_UNDEF && kp_word_begins(slot.symbol, beginning))
				visit(context, module, &slot);
		}
	}
}

void kp_module_replace(const struct kp_module *module, const struct kp_slot *slot, void *real,
		       void *definition, void *wrapper)
{
	uintptr_t page = page_bytes();
	uintptr_t at = (uintptr_t)slot->at, begin = at & ~(page - 1);
	uintptr_t leads_to = (uintptr_t)*slot->at;
	bool read_only = at >= module->relro_begin && at < module->relro_end;
	/* Not bound yet: the slot leads back into the module, and from there to the loader. */
	bool unbound = slot->call && leads_to >= module->begin && leads_to < module->end;

	if (!real || (leads_to != (uintptr_t)real && !(unbound && definition == real)))
		return;
	if (read_only && mprotect((void *)begin, page, PROT_READ | PROT_WRITE) != 0)
		return;
	__atomic_store_n(slot->at, wrapper, __ATOMIC_RELAXED);
	if (read_only)
		mprotect((void *)begin, page, PROT_READ);
}

bool kp_module_is_program(const char *name)
{
	const char *file = kp_word_file(name);

	return !kp_word_begins(file, "libcuda.so") && !kp_word_begins(file, "libcupti.so") &&
	       !kp_word_begins(file, "libkprof_inject.so");
}
