/*
 * What a program file is, before it is started: the launcher asks for CMD, the collector for what
 * CMD and its children start.
 *
 * Nothing here allocates, locks, keeps state or calls what is not async-signal-safe, and the stack
 * that is needed stays small, because the collector asks between fork and exec. A file that cannot
 * be read, or changes before it is started, is the system's to judge: it counts as traceable.
 */
#ifndef KP_TRACE_PROGRAM_H
#define KP_TRACE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* X(name, takes the preload, why kprof cannot see into it) */
#define KP_PROGRAM_KINDS(X)                                                                        \
	X(TRACEABLE, true, NULL) /* dynamically linked, of this machine and libc; or unknown */    \
	X(STATIC, true,          /* no loader that would see the preload, but its children do */   \
	  "is statically linked: kprof cannot see inside it, only the programs that it starts")    \
	X(OTHER_CLASS, false,                                                                      \
	  "is a 32-bit program: it runs untraced; kprof traces 64-bit programs")                   \
	X(OTHER_MACHINE, false, "is a program for another processor: it runs untraced")            \
	X(OTHER_LIBC, false,                                                                       \
	  "uses another C library than kprof: it runs untraced; kprof traces programs that use "   \
	  "the GNU C library")                                                                     \
	X(PRIVILEGED, false,                                                                       \
	  "runs with the rights of another user, so the loader ignores kprof: it runs untraced; "  \
	  "start kprof itself with those rights instead, as in «sudo kprof -- CMD»")               \
	X(OUT_OF_REACH, false,                                                                     \
	  "is started where kprof's library is not to be found (another root folder, or another "  \
	  "user): it runs untraced; install kprof where that finds it, too")

enum kp_program_kind {
#define KP_PROGRAM_ENUM(name, takes_preload, reason) KP_PROGRAM_##name,
	KP_PROGRAM_KINDS(KP_PROGRAM_ENUM)
#undef KP_PROGRAM_ENUM
		KP_PROGRAM_KIND_COUNT
};

/* The kernel reads no more of a file to tell what runs it. */
#define KP_PROGRAM_HEAD_BYTES 256

struct kp_program {
	enum kp_program_kind kind; /* of what will really run: scripts are followed */
	bool is_readable;          /* the file could be opened and read */
	bool is_elf, is_script;    /* the file itself: an ELF file; begins with «#!» */
	char interpreter[KP_PROGRAM_HEAD_BYTES]; /* of a script: what runs in the end; else empty */
};

/* Looks at the file `path`. */
void kp_program_inspect(const char *path, struct kp_program *out);

/*
 * Finds what execvp would run: a name with a slash as it is, another in each directory of `search`
 * (NULL: the system's default), past those where it cannot be executed. Where nothing is found,
 * `path` is the name (cut to its size) and *error is errno.
 */
bool kp_program_resolve(const char *name, const char *search, char path[PATH_MAX], int *error);

/* Whether such a program can be started with kprof's preload in its environment. */
bool kp_program_takes_preload(enum kp_program_kind kind);
/* Why kprof cannot see into it, to be read behind its name; NULL: it can, or the kind is none. */
const char *kp_program_reason(enum kp_program_kind kind);

#endif
