/* What program files are: crafted headers, scripts, rights, and the search for a command. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/program.h"

static char folder[] = "/tmp/kprof-program-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"elf", "script", "second", "loop", "text", "plain"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	rmdir("folder");
	return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void put(const char *name, const void *bytes, size_t length, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text), 0755);
}

/* An ELF file with one program header of the type PT_INTERP, or without any where that is NULL. */
static void put_elf(unsigned char class, unsigned machine, const char *loader)
{
	unsigned char bytes[4096] = {0};
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = (Elf64_Half)machine,
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = loader ? 1 : 0};
	Elf64_Phdr segment = {.p_type = PT_INTERP, .p_offset = sizeof(header) + sizeof(segment)};

	segment.p_filesz = loader ? strlen(loader) + 1 : 0;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &segment, sizeof(segment));
	if (loader)
		memcpy(bytes + segment.p_offset, loader, segment.p_filesz);
	put("elf", bytes, sizeof(bytes), 0755);
}

static enum kp_program_kind kind_of(const char *path)
{
	struct kp_program program;

	memset(&program, 0xa5, sizeof(program));
	kp_program_inspect(path, &program);
	return program.kind;
}

#if defined(__aarch64__)
#define OWN EM_AARCH64
#define OTHER EM_X86_64
#else
#define OWN EM_X86_64
#define OTHER EM_AARCH64
#endif

static void test_program_kinds(void **state)
{
	char long_loader[600];

	(void)state;
	put_elf(ELFCLASS64, OWN, "/lib64/ld-linux-x86-64.so.2");
	assert_int_equal(kind_of("elf"), KP_PROGRAM_TRACEABLE);
	put_elf(ELFCLASS64, OWN, "/lib/ld-musl-x86_64.so.1");
	assert_int_equal(kind_of("elf"), KP_PROGRAM_OTHER_LIBC);
	put_elf(ELFCLASS64, OWN, NULL);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_STATIC);
	put_elf(ELFCLASS32, EM_386, "/lib/ld-linux.so.2");
	assert_int_equal(kind_of("elf"), KP_PROGRAM_OTHER_CLASS);
	put_elf(ELFCLASS64, OTHER, "/lib/ld-linux-other.so.1");
	assert_int_equal(kind_of("elf"), KP_PROGRAM_OTHER_MACHINE);
	/* the loaders of conda, Nix and the like lie in deep folders */
	memset(long_loader, 'd', sizeof(long_loader));
	long_loader[0] = '/';
	strcpy(long_loader + 500, "/ld-linux-x86-64.so.2");
	put_elf(ELFCLASS64, OWN, long_loader);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_TRACEABLE);
	strcpy(long_loader + 500, "/ld-musl-x86_64.so.1");
	put_elf(ELFCLASS64, OWN, long_loader);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_OTHER_LIBC);
}

static void test_program_broken_files_are_the_systems_to_judge(void **state)
{
	static const char *const contents[] = {"", "#", "#!", "#!\n", "\177ELF", "text\n"};
	unsigned char bytes[120];

	(void)state;
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		put_text("text", contents[i]);
		assert_int_equal(kind_of("text"), KP_PROGRAM_TRACEABLE);
	}
	put_elf(ELFCLASS64, OWN, "/lib/ld-musl-x86_64.so.1");
	assert_int_equal(truncate("elf", 100), 0); /* within the program header */
	assert_int_equal(kind_of("elf"), KP_PROGRAM_TRACEABLE);
	memset(bytes, 0xff, sizeof(bytes));
	memcpy(bytes, (const char[7]){0x7f, 'E', 'L', 'F', 2, 1, 1}, 7);
	bytes[18] = (unsigned char)OWN;
	bytes[19] = OWN >> 8;
	put("elf", bytes, sizeof(bytes), 0755);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_TRACEABLE);
	assert_int_equal(kind_of("none"), KP_PROGRAM_TRACEABLE);
	assert_int_equal(kind_of("."), KP_PROGRAM_TRACEABLE);
}

static void test_program_scripts_are_judged_by_their_interpreter(void **state)
{
	struct kp_program program;

	(void)state;
	put_elf(ELFCLASS64, OWN, NULL);
	put_text("script", "#! \t./elf -x\n");
	kp_program_inspect("script", &program);
	assert_int_equal(program.kind, KP_PROGRAM_STATIC);
	assert_true(program.is_script && !program.is_elf && program.is_readable);
	assert_string_equal(program.interpreter, "./elf");
	put_text("second", "#!./script\n");
	assert_int_equal(kind_of("second"), KP_PROGRAM_STATIC);
	put_text("loop", "#!./loop\n");
	assert_int_equal(kind_of("loop"), KP_PROGRAM_TRACEABLE);
	put_text("script", "#!/no/such/interpreter\n");
	kp_program_inspect("script", &program);
	assert_int_equal(program.kind, KP_PROGRAM_TRACEABLE);
	assert_string_equal(program.interpreter, "/no/such/interpreter");
}

static void test_program_rights_of_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	put_elf(ELFCLASS64, OWN, "/lib64/ld-linux-x86-64.so.2");
	assert_int_equal(chown("elf", 65534, 65534), 0);
	assert_int_equal(chmod("elf", 0755), 0);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_TRACEABLE);
	assert_int_equal(chmod("elf", 04755), 0);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_PRIVILEGED);
	assert_int_equal(chmod("elf", 02755), 0);
	assert_int_equal(kind_of("elf"), KP_PROGRAM_PRIVILEGED);
	assert_int_equal(chmod("elf", 02745),
			 0); /* without the group's right to execute: locking */
	assert_int_equal(kind_of("elf"), KP_PROGRAM_TRACEABLE);
	unlink("elf");
}

static void test_program_search(void **state)
{
	char path[PATH_MAX], long_name[PATH_MAX + 10], search[PATH_MAX * 2];
	int error;

	(void)state;
	mkdir("folder", 0755);
	put_text("text", "");
	put("plain", "", 0, 0644);
	snprintf(search, sizeof(search), "/no/such/folder:%s:/bin", folder);
	assert_true(kp_program_resolve("sh", search, path, &error));
	assert_string_equal(path, "/bin/sh");
	assert_true(kp_program_resolve("text", search, path, &error));
	assert_int_equal(strncmp(path, folder, strlen(folder)), 0);
	assert_true(kp_program_resolve("text", "::/bin", path, &error));
	assert_string_equal(path, "text"); /* an empty element is the working directory */
	assert_true(kp_program_resolve("./text", NULL, path, &error));
	assert_true(kp_program_resolve("sh", NULL, path, &error));
	assert_false(kp_program_resolve("plain", search, path, &error));
	assert_int_equal(error, EACCES);
	assert_false(kp_program_resolve("./folder", search, path, &error));
	assert_int_equal(error, EISDIR);
	assert_false(kp_program_resolve("no-such-command", search, path, &error));
	assert_int_equal(error, ENOENT);
	assert_string_equal(path, "no-such-command");
	assert_false(kp_program_resolve("", search, path, &error));
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_false(kp_program_resolve(long_name, search, path, &error));
	assert_int_equal(strlen(path), PATH_MAX - 1);
}

static void test_program_reasons(void **state)
{
	(void)state;
	assert_null(kp_program_reason(KP_PROGRAM_TRACEABLE));
	for (int kind = KP_PROGRAM_TRACEABLE + 1; kind < KP_PROGRAM_KIND_COUNT; kind++)
		assert_non_null(kp_program_reason((enum kp_program_kind)kind));
	assert_null(kp_program_reason(KP_PROGRAM_KIND_COUNT));
	assert_true(kp_program_takes_preload(KP_PROGRAM_STATIC));
	assert_false(kp_program_takes_preload(KP_PROGRAM_OTHER_LIBC));
	assert_false(kp_program_takes_preload(KP_PROGRAM_KIND_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_kinds),
		cmocka_unit_test(test_program_broken_files_are_the_systems_to_judge),
		cmocka_unit_test(test_program_scripts_are_judged_by_their_interpreter),
		cmocka_unit_test(test_program_rights_of_another_user),
		cmocka_unit_test(test_program_search),
		cmocka_unit_test(test_program_reasons),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
