/*
 * Which loaded modules have been looked at, so that each is looked at once.
 *
 * A program with PyTorch loads hundreds of modules with millions of relocations: walking all of
 * them again whenever one is added would be felt. The loader's lock serialises the visits.
 *
 * The loader lists a module before it has relocated it: one that another thread is just loading
 * must not be touched yet. So new modules are noted first; then the loader's other lock is passed,
 * which is held for as long as modules are being loaded; then those that were noted are visited.
 */
#ifndef KP_INJECT_MODULES_H
#define KP_INJECT_MODULES_H

#include <link.h>

#define KP_MODULES_SEEN 4096

/* Zero-initialised: nothing has been seen. */
struct kp_modules_seen {
	const ElfW(Phdr) * headers[KP_MODULES_SEEN]; /* by the address of the module's own */
	unsigned noted[KP_MODULES_SEEN]; /* by which call, where it is not visited yet; else 0 */
	unsigned count, calls, waiting;  /* waiting: modules that are noted */
	unsigned long long adds, subs;   /* the loader's counts at the last visit */
};

/*
 * If modules were loaded or unloaded since the last call: calls `prepare`, then `visit` for each
 * module that is new since the last call with the same `seen`. When modules were unloaded
 * meanwhile, all are visited again: an address may be another module's now.
 */
void kp_modules_visit_new(struct kp_modules_seen *seen, void (*prepare)(void),
			  void (*visit)(const struct dl_phdr_info *info));

#endif
