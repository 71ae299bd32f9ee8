/* Hashes of device code; see image_hash.h. */
#include "trace/image_hash.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FATBIN_MAGIC 0xba55ed50U
#define WRAPPER_MAGIC 0x466243b1U
#define BYTES_MOST ((uint64_t)4 << 30)

/* What nvcc puts in front of a fatbin, and what it hands to the runtime: a pointer to it. */
struct fatbin {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* behind the header */
};
struct wrapper {
	uint32_t magic, version;
	const void *fatbin;
	const void *file;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* To the end of the last table or section. 0: it is not one of 64 bits. */
static uint64_t elf_bytes(const unsigned char *image)
{
	uint64_t end;
	Elf64_Ehdr head;

	memcpy(&head, image, sizeof(head));
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    head.e_shoff > BYTES_MOST || head.e_phoff > BYTES_MOST ||
	    (head.e_shnum && head.e_shentsize != sizeof(Elf64_Shdr)))
		return 0;
	end = larger(sizeof(head), head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize);
	end = larger(end, head.e_phoff + (uint64_t)head.e_phnum * head.e_phentsize);
	for (unsigned i = 0; i < head.e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, image + head.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
			continue;
		if (section.sh_offset > BYTES_MOST || section.sh_size > BYTES_MOST)
			return 0;
		end = larger(end, section.sh_offset + section.sh_size);
	}
	return end;
}

/* By its first four bytes, which are there: what is shorter is no PTX. */
static bool is_text(const unsigned char *image)
{
	for (int i = 0; i < 4; i++)
		if ((image[i] < ' ' || image[i] >= 0x7f) && image[i] != '\n' && image[i] != '\r' &&
		    image[i] != '\t')
			return false;
	return true;
}

static uint64_t hash(const void *image, uint64_t bytes)
{
	uint64_t sum;

	if (bytes == 0 || bytes > BYTES_MOST)
		return 0;
	sum = XXH3_64bits(image, bytes);
	return sum + (sum == 0);
}

uint64_t kp_image_hash(const void *image)
{
	struct wrapper wrapper;
	struct fatbin fatbin;

	if (!image)
		return 0;
	memcpy(&wrapper.magic, image, sizeof(wrapper.magic));
	if (wrapper.magic == WRAPPER_MAGIC) {
		memcpy(&wrapper, image, sizeof(wrapper));
		image = wrapper.fatbin;
		if (!image)
			return 0;
	}
	memcpy(&fatbin.magic, image, sizeof(fatbin.magic));
	if (fatbin.magic == FATBIN_MAGIC) {
		memcpy(&fatbin, image, sizeof(fatbin));
		return fatbin.bytes <= BYTES_MOST ? hash(image, fatbin.header_bytes + fatbin.bytes)
						  : 0;
	}
	if (memcmp(image, ELFMAG, SELFMAG) == 0)
		return hash(image, elf_bytes(image));
	return is_text(image) ? hash(image, strlen(image)) : 0;
}

uint64_t kp_image_hash_of(const void *image, size_t length)
{
	const unsigned char *bytes = image;

	while (length >= 4 && bytes[length - 1] == '\0' && is_text(bytes))
		length--;
	return hash(image, length);
}
