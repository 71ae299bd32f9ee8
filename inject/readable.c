/* Whether texts of the program's can be read; see readable.h. */
#include "inject/readable.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The smallest that there are. */
#define PAGE_BYTES ((uintptr_t)4096)

/* The system reads a set of signals there before it looks at what is to be done with it: nothing
 * that there is. Not at the beginning of the page: the first page's is NULL, which is no set. */
static bool is_readable(uintptr_t page)
{
	void *set = (void *)(page + sizeof(uint64_t));
	int saved = errno;
	bool readable = syscall(SYS_rt_sigprocmask, -1, set, NULL, sizeof(uint64_t)) == 0 ||
			errno != EFAULT;

	errno = saved;
	return readable;
}

/* The page of an address, if it is not the one that was asked about last. */
static bool look(const void *address, uintptr_t *last)
{
	uintptr_t page = (uintptr_t)address & ~(PAGE_BYTES - 1);

	if (page == *last)
		return true;
	*last = page;
	return is_readable(page);
}

static bool read_text(const char *text, uintptr_t *last)
{
	do {
		if (!look(text, last))
			return false;
	} while (*text++);
	return true;
}

bool kp_readable_text(const char *text)
{
	uintptr_t last = 1; /* no page */

	return read_text(text, &last);
}

/* A pointer may lie across two pages. */
static bool read_pointer(char *const *at, uintptr_t *last)
{
	return look(at, last) && look((const char *)(at + 1) - 1, last);
}

bool kp_readable_texts(char *const *texts)
{
	uintptr_t list = 1, text = 1;

	if (!texts)
		return true;
	for (; read_pointer(texts, &list); texts++) {
		if (!*texts)
			return true;
		if (!read_text(*texts, &text))
			return false;
	}
	return false;
}
