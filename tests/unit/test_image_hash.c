/* Hashes of device code: how long an image is, it says itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "trace/image_hash.h"

/* Where the image lies at the end of its memory, what is read beyond it is found by sanitizers. */
static void *copy_of(const void *bytes, size_t length)
{
	void *copy = malloc(length);

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	return copy;
}

static const uint32_t fatbin[] = {0xba55ed50, 0x00100001, 12, 0, 1, 2, 3};

static void test_image_hash_fatbin(void **state)
{
	uint32_t *copy = copy_of(fatbin, sizeof(fatbin));
	const struct {
		uint32_t magic, version;
		const void *data, *file;
	} wrapper = {0x466243b1, 1, copy, NULL}, empty = {0x466243b1, 1, NULL, NULL};
	uint64_t hash = kp_image_hash(copy);

	(void)state;
	assert_int_not_equal(hash, 0);
	assert_int_equal(kp_image_hash(&wrapper), hash);
	assert_int_equal(kp_image_hash(&empty), 0);
	assert_int_equal(kp_image_hash_of(copy, sizeof(fatbin)), hash);
	copy[6]++; /* its last word */
	assert_int_not_equal(kp_image_hash(copy), hash);
	copy[3] = 0xffffffff; /* too long to be true */
	assert_int_equal(kp_image_hash(copy), 0);
	free(copy);
}

static void test_image_hash_cubin(void **state)
{
	struct {
		Elf64_Ehdr head;
		char code[16];
		Elf64_Shdr sections[3];
	} image = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			    .e_shoff = offsetof(__typeof__(image), sections),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = 3},
		   .sections = {{.sh_type = SHT_NULL},
				{.sh_type = SHT_PROGBITS, .sh_offset = 64, .sh_size = 16},
				{.sh_type = SHT_NOBITS, .sh_offset = 1, .sh_size = 1 << 20}}};
	void *copy = copy_of(&image, sizeof(image));
	uint64_t hash = kp_image_hash(copy);

	(void)state;
	assert_int_not_equal(hash, 0);
	assert_int_equal(kp_image_hash_of(copy, sizeof(image)), hash);
	((char *)copy)[offsetof(__typeof__(image), code) + 15] = 1;
	assert_int_not_equal(kp_image_hash(copy), hash);
	((char *)copy)[EI_CLASS] = ELFCLASS32;
	assert_int_equal(kp_image_hash(copy), 0);
	free(copy);
}

static void test_image_hash_ptx(void **state)
{
	static const char text[] = ".version 8.0\n.target sm_90\n";
	char *copy = copy_of(text, sizeof(text));

	(void)state;
	assert_int_not_equal(kp_image_hash(copy), 0);
	/* With the NUL in the file, or without. */
	assert_int_equal(kp_image_hash_of(copy, sizeof(text)), kp_image_hash(copy));
	assert_int_equal(kp_image_hash_of(copy, sizeof(text) - 1), kp_image_hash(copy));
	free(copy);
	assert_int_equal(kp_image_hash("\x01\x02\x03\x04 nothing that is known"), 0);
	assert_int_equal(kp_image_hash(NULL), 0);
	assert_int_equal(kp_image_hash_of("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_image_hash_fatbin),
		cmocka_unit_test(test_image_hash_cubin),
		cmocka_unit_test(test_image_hash_ptx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
