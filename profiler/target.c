/* What a command is, before it is started; see target.h. Threading: no shared state. */
#include "profiler/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
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

/* What the program headers of an ELF file say. */
struct elf_facts {
	bool has_interpreter, has_dynamic;
	char interpreter[PATH_MAX];
};

static const char *const explanations[] = {
	[KP_TARGET_STATIC] =
		"is statically linked: kprof cannot see inside it, only the programs that "
		"it starts",
	[KP_TARGET_OTHER_CLASS] =
		"is a 32-bit program: it runs untraced; kprof traces 64-bit programs",
	[KP_TARGET_OTHER_MACHINE] = "is a program for another processor: it runs untraced",
	[KP_TARGET_OTHER_LIBC] =
		"uses another C library than kprof: it runs untraced; kprof traces "
		"programs that use the GNU C library",
	[KP_TARGET_PRIVILEGED] =
		"runs with the rights of another user, so the loader ignores kprof: it "
		"runs untraced; start kprof itself with those rights instead, as in "
		"«sudo kprof -- CMD»",
};

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

/*
 * Finds what execvp would run: a name with a slash as it is, another in each directory of `search`,
 * past those where it cannot be executed.
 */
static bool resolve(const char *name, const char *search, char path[PATH_MAX], int *error)
{
	int denied = 0;

	snprintf(path, PATH_MAX, "%s", name);
	*error = ENOENT;
	if (!*name)
		return false;
	if (strchr(name, '/'))
		return can_execute(path, error);
	for (const char *at = search ? search : "/bin:/usr/bin";; at++) {
		size_t length = strcspn(at, ":");
		int written = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at,
				       length ? "/" : "", name);
		if (written < PATH_MAX && can_execute(path, error))
			return true;
		if (*error == EACCES || *error == EISDIR)
			denied = EACCES;
		at += length;
		if (!*at)
			break;
	}
	snprintf(path, PATH_MAX, "%s", name);
	*error = denied ? denied : ENOENT;
	return false;
}

/* Reads the interpreter of a script from its first line; false: it names none. */
static bool read_shebang(const char *head, size_t length, char interpreter[PATH_MAX])
{
	size_t start = 2;

	while (start < length && (head[start] == ' ' || head[start] == '\t'))
		start++;
	size_t end = start;
	while (end < length && !strchr(" \t\r\n", head[end]))
		end++;
	snprintf(interpreter, PATH_MAX, "%.*s", (int)(end - start), head + start);
	return end > start;
}

/* Reads the program headers of a 64-bit file; false: they are not readable. */
static bool read_elf(int fd, const Elf64_Ehdr *header, struct elf_facts *facts)
{
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > MAX_PROGRAM_HEADERS ||
	    header->e_phoff > INT64_MAX / 2)
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		off_t offset = (off_t)(header->e_phoff + i * sizeof segment);
		if (pread(fd, &segment, sizeof segment, offset) != (ssize_t)sizeof segment)
			return false;
		facts->has_dynamic |= segment.p_type == PT_DYNAMIC;
		if (segment.p_type != PT_INTERP || segment.p_filesz >= PATH_MAX ||
		    segment.p_offset > INT64_MAX / 2)
			continue;
		ssize_t got =
			pread(fd, facts->interpreter, segment.p_filesz, (off_t)segment.p_offset);
		facts->has_interpreter = got > 0;
		facts->interpreter[got > 0 ? got : 0] = '\0';
	}
	return true;
}

static enum kp_target_kind classify_elf(int fd, const unsigned char *head, size_t length)
{
	struct elf_facts facts = {0};
	Elf64_Ehdr header;

	if (length > EI_CLASS && head[EI_CLASS] == ELFCLASS32)
		return KP_TARGET_OTHER_CLASS;
	if (length < sizeof header)
		return KP_TARGET_TRACEABLE; /* the system will say what is wrong with it */
	memcpy(&header, head, sizeof header);
	if (header.e_machine != OWN_MACHINE)
		return KP_TARGET_OTHER_MACHINE;
	if (!read_elf(fd, &header, &facts))
		return KP_TARGET_TRACEABLE;
	if (!facts.has_interpreter)
		return KP_TARGET_STATIC; /* a static-pie has PT_DYNAMIC, but no loader either */
	const char *slash = strrchr(facts.interpreter, '/');
	const char *loader = slash ? slash + 1 : facts.interpreter;
	return strncmp(loader, "ld-linux", 8) == 0 ? KP_TARGET_TRACEABLE : KP_TARGET_OTHER_LIBC;
}

/* Whether starting it changes its rights, so that the loader drops LD_PRELOAD. */
static bool is_privileged(const char *path)
{
	struct stat facts;

	if (stat(path, &facts) != 0)
		return false;
	if ((facts.st_mode & S_ISUID) && facts.st_uid != geteuid())
		return true;
	if ((facts.st_mode & S_ISGID) && (facts.st_mode & S_IXGRP) && facts.st_gid != getegid())
		return true;
	return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Looks at one file; true: it is a script, and target->program now names its interpreter. */
static bool inspect_file(struct kp_target *target, bool is_first)
{
	unsigned char head[256];
	int fd = open(target->program, O_RDONLY | O_CLOEXEC);

	if (fd < 0) /* executable, but not readable: leave it to the system */
		return false;
	ssize_t got = pread(fd, head, sizeof head, 0);
	size_t length = got > 0 ? (size_t)got : 0;
	bool is_elf = length >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
	bool is_script = length > 2 && head[0] == '#' && head[1] == '!';
	if (is_first) {
		target->is_elf = is_elf;
		target->is_script = is_script;
	}
	if (is_elf)
		target->kind = classify_elf(fd, head, length);
	if (is_elf && target->kind == KP_TARGET_TRACEABLE && is_privileged(target->program))
		target->kind = KP_TARGET_PRIVILEGED;
	if (is_script)
		is_script = read_shebang((const char *)head, length, target->program);
	close(fd);
	return is_script;
}

void kp_target_inspect(const char *name, const char *search, struct kp_target *out)
{
	memset(out, 0, sizeof *out);
	if (!resolve(name, search, out->path, &out->error)) {
		bool missing = out->error == ENOENT || out->error == ENOTDIR;
		out->kind = missing ? KP_TARGET_NOT_FOUND : KP_TARGET_NOT_EXECUTABLE;
		return;
	}
	out->error = 0;
	out->kind = KP_TARGET_TRACEABLE;
	memcpy(out->program, out->path, sizeof out->program);
	for (int depth = 0; depth <= MAX_SCRIPT_DEPTH; depth++) {
		if (!inspect_file(out, depth == 0))
			break;
	}
}

const char *kp_target_explain(const struct kp_target *target)
{
	size_t kind = (size_t)target->kind;

	if (target->kind == KP_TARGET_NOT_FOUND)
		return strchr(target->path, '/') ? "no such file" : "command not found";
	if (target->kind == KP_TARGET_NOT_EXECUTABLE && target->error == EISDIR)
		return "is a directory, not a program";
	if (target->kind == KP_TARGET_NOT_EXECUTABLE && target->error == EACCES)
		return "is not executable, or you may not execute it";
	if (target->kind == KP_TARGET_NOT_EXECUTABLE)
		return strerror(target->error);
	return kind < sizeof explanations / sizeof *explanations ? explanations[kind] : NULL;
}

bool kp_target_takes_preload(const struct kp_target *target)
{
	return target->kind == KP_TARGET_TRACEABLE || target->kind == KP_TARGET_STATIC;
}
