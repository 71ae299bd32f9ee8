/* What a program file is, before it is started; see program.h. */
#include "trace/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_SCRIPT_DEPTH 4 /* as the kernel has it */
#define MAX_PROGRAM_HEADERS 512

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

/* Whether the base name of a dynamic loader is that of the GNU C library. */
static bool is_gnu_loader(const char *loader)
{
	const char *slash = strrchr(loader, '/');

	return strncmp(slash ? slash + 1 : loader, "ld-linux", 8) == 0;
}

/* By its dynamic loader; `at` is where the file names it. */
static enum kp_program_kind judge_loader(int fd, const Elf64_Phdr *at)
{
	char loader[KP_PROGRAM_HEAD_BYTES];
	size_t length = at->p_filesz;
	uint64_t offset = at->p_offset;
	ssize_t got;

	if (at->p_filesz >= sizeof loader) { /* the last part tells */
		length = sizeof loader - 1;
		offset += at->p_filesz - length;
	}
	if (offset > INT64_MAX / 2)
		return KP_PROGRAM_TRACEABLE;
	got = pread(fd, loader, length, (off_t)offset);
	if (got <= 0)
		return KP_PROGRAM_TRACEABLE;
	loader[got] = '\0';
	return is_gnu_loader(loader) ? KP_PROGRAM_TRACEABLE : KP_PROGRAM_OTHER_LIBC;
}

static enum kp_program_kind judge_elf(int fd, const char *head, size_t length)
{
	Elf64_Ehdr header;

	if (length > EI_CLASS && head[EI_CLASS] == ELFCLASS32)
		return KP_PROGRAM_OTHER_CLASS;
	if (length < sizeof header)
		return KP_PROGRAM_TRACEABLE; /* the system will say what is wrong with it */
	memcpy(&header, head, sizeof header);
	if (header.e_machine != OWN_MACHINE)
		return KP_PROGRAM_OTHER_MACHINE;
	if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > MAX_PROGRAM_HEADERS ||
	    header.e_phoff > INT64_MAX / 2)
		return KP_PROGRAM_TRACEABLE;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;
		off_t offset = (off_t)(header.e_phoff + i * sizeof segment);

		if (pread(fd, &segment, sizeof segment, offset) != (ssize_t)sizeof segment)
			return KP_PROGRAM_TRACEABLE;
		if (segment.p_type == PT_INTERP)
			return judge_loader(fd, &segment);
	}
	return KP_PROGRAM_STATIC; /* a static-pie has PT_DYNAMIC, but no loader either */
}

/* Whether starting it changes its rights, so that the loader drops LD_PRELOAD. */
static bool is_privileged(int fd)
{
	struct stat facts;

	if (fstat(fd, &facts) != 0)
		return false;
	if ((facts.st_mode & S_ISUID) && facts.st_uid != geteuid())
		return true;
	if ((facts.st_mode & S_ISGID) && (facts.st_mode & S_IXGRP) && facts.st_gid != getegid())
		return true;
	return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* Reads the interpreter of a script from its first line; false: it names none. */
static bool read_shebang(const char *head, size_t length, char out[KP_PROGRAM_HEAD_BYTES])
{
	size_t start = 2, end;

	while (start < length && (head[start] == ' ' || head[start] == '\t'))
		start++;
	for (end = start; end < length && !strchr(" \t\r\n", head[end]); end++)
		;
	memcpy(out, head + start, end - start);
	out[end - start] = '\0';
	return end > start;
}

/* Looks at one file; true: it is a script, and out->interpreter names what runs it. */
static bool inspect_file(const char *path, bool is_first, struct kp_program *out)
{
	char head[KP_PROGRAM_HEAD_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got = fd >= 0 ? pread(fd, head, sizeof head - 1, 0) : -1;
	size_t length = got > 0 ? (size_t)got : 0;
	bool is_elf = length >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
	bool is_script = length > 2 && head[0] == '#' && head[1] == '!';

	if (is_first) {
		out->is_readable = got >= 0;
		out->is_elf = is_elf;
		out->is_script = is_script;
	}
	if (is_elf)
		out->kind = judge_elf(fd, head, length);
	if (is_elf && out->kind == KP_PROGRAM_TRACEABLE && is_privileged(fd))
		out->kind = KP_PROGRAM_PRIVILEGED;
	if (fd >= 0)
		close(fd);
	return is_script && read_shebang(head, length, out->interpreter);
}

void kp_program_inspect(const char *path, struct kp_program *out)
{
	out->kind = KP_PROGRAM_TRACEABLE;
	out->interpreter[0] = '\0';
	if (!inspect_file(path, true, out))
		return;
	for (int depth = 0; depth < MAX_SCRIPT_DEPTH; depth++)
		if (!inspect_file(out->interpreter, false, out))
			break;
}

/* Whether this file could be executed: a regular file with a right to execute. */
static bool can_execute(const char *path, int *error)
{
	struct stat facts;

	if (stat(path, &facts) != 0) {
		*error = errno;
		return false;
	}
	*error = S_ISDIR(facts.st_mode) ? EISDIR : EACCES;
	return S_ISREG(facts.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

/* DIRECTORY/NAME, or NAME where the directory is empty; false: it does not fit. */
static bool join(char path[PATH_MAX], const char *directory, size_t length, const char *name)
{
	size_t name_length = strlen(name), slash = length ? 1 : 0;

	if (length + slash + name_length >= PATH_MAX)
		return false;
	memcpy(path, directory, length);
	path[length] = '/'; /* or overwritten by the name */
	memcpy(path + length + slash, name, name_length + 1);
	return true;
}

static void copy_name(char path[PATH_MAX], const char *name)
{
	size_t length = strnlen(name, PATH_MAX - 1);

	memcpy(path, name, length);
	path[length] = '\0';
}

bool kp_program_resolve(const char *name, const char *search, char path[PATH_MAX], int *error)
{
	int denied = 0;

	copy_name(path, name);
	*error = ENOENT;
	if (!*name)
		return false;
	if (strchr(name, '/'))
		return can_execute(path, error);
	for (const char *at = search ? search : "/bin:/usr/bin";; at++) {
		size_t length = strcspn(at, ":");

		if (join(path, at, length, name) && can_execute(path, error))
			return true;
		if (*error == EACCES || *error == EISDIR)
			denied = EACCES;
		at += length;
		if (!*at)
			break;
	}
	copy_name(path, name);
	*error = denied ? denied : ENOENT;
	return false;
}

static const struct {
	bool takes_preload;
	const char *reason;
} kinds[KP_PROGRAM_KIND_COUNT] = {
#define ROW(name, takes_preload, reason) [KP_PROGRAM_##name] = {takes_preload, reason},
	KP_PROGRAM_KINDS(ROW)
#undef ROW
};

bool kp_program_takes_preload(enum kp_program_kind kind)
{
	return (size_t)kind < KP_PROGRAM_KIND_COUNT && kinds[kind].takes_preload;
}

const char *kp_program_reason(enum kp_program_kind kind)
{
	return (size_t)kind < KP_PROGRAM_KIND_COUNT ? kinds[kind].reason : NULL;
}
