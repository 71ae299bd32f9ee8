/*
 * What kprof asks the dynamic loader, past whatever the program has put in between.
 *
 * A program, a sanitizer or another preloaded tool may define dlsym or dl_iterate_phdr itself, and
 * may not be ready when the first lookup comes. The C library's own are found by walking the
 * loader's list and the C library's symbols, with no call that could be anyone else's.
 */
#ifndef KP_INJECT_LOADER_H
#define KP_INJECT_LOADER_H

#include <link.h>

typedef void *(*kp_dlsym_function)(void *, const char *);
typedef void *(*kp_dlvsym_function)(void *, const char *, const char *);

kp_dlsym_function kp_loader_dlsym(void);
kp_dlvsym_function kp_loader_dlvsym(void);

/* dl_iterate_phdr: under the loader's lock. */
int kp_loader_iterate(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
		      void *context);

/*
 * Waits until no other thread loads or unloads a module, as dlsym does: the loader lists a module
 * before it has relocated it.
 */
void kp_loader_pass(void);

/* The first definition of a function in the order of loading, kprof's own library left out: what
 * the loader would bind a module of the program to. NULL if there is none. */
void *kp_loader_definition(const char *name);

#endif
