/*
 * The few questions about strings that are asked before anything else works.
 *
 * dlsym may be called before the program's own code, or a sanitizer's, is ready; and strcmp and its
 * kin may be theirs. So the lookups use these, and are compiled so that no loop of theirs becomes a
 * call of the C library.
 */
#ifndef KP_INJECT_WORDS_H
#define KP_INJECT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

static inline bool kp_word_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static inline bool kp_word_begins(const char *text, const char *beginning)
{
	while (*beginning && *text == *beginning) {
		text++;
		beginning++;
	}
	return !*beginning;
}

/* The file's name in a path: what follows the last slash, or all of it. */
static inline const char *kp_word_file(const char *path)
{
	const char *file = path;

	for (; *path; path++)
		if (*path == '/')
			file = path + 1;
	return file;
}

#endif
