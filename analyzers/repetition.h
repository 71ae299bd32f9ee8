/*
 * Which kernel begins each iteration: what repeats, found in one pass.
 *
 * The launches of a process on a GPU are a sequence; a symbol is a kernel in it, or the beginning
 * of a graph launch. A symbol that comes once an iteration comes at nearly the same distance again
 * and again, counted in launches, however long each takes; strays between them do no harm. Each
 * symbol keeps the distances that it had most often. A level is a distance at which symbols repeat
 * that way: layers within a step, steps, requests of equal length. From the innermost outwards, a
 * level is taken if it explains more than the one before: kernels (by time or by launches) that
 * come at least once an iteration. So the iteration is the largest unit that repeats, and a kernel
 * that comes every eighth step does not make eight steps one. A level at which
 * graphs are launched is taken as it is: the program itself made that a unit. Pure; nothing is
 * guessed from names.
 */
#ifndef KP_ANALYZERS_REPETITION_H
#define KP_ANALYZERS_REPETITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KP_REPETITION_DISTANCES 4
/* At least so many iterations, in a row or not; */
#define KP_REPETITION_LEAST 5
/* of a symbol's distances so much is the same; the iterations hold so much of all launches. */
#define KP_REPETITION_SAME 0.7
#define KP_REPETITION_COVERS 0.3
/* An outer level explains so much more, of time or of launches. */
#define KP_REPETITION_EXPLAINS 0.003
/* So much of the hits and waits of an anchor another kernel has that may as well be it. */
#define KP_REPETITION_AS_GOOD 0.99

struct kp_symbol {
	uint64_t count;
	uint64_t first, last; /* positions in the sequence */
	double total_ns;      /* of its kernels */
	double waited_ns;     /* gaps before it */
	bool graph;           /* the beginning of a graph launch */
	struct {
		uint32_t distance, hits;
	} seen[KP_REPETITION_DISTANCES]; /* hits = 0: free */
};

/* Notes that the symbol comes at another distance than the first of those seen, or as the first. */
void kp_symbol_see(struct kp_symbol *symbol, uint64_t position);

/* Notes that the symbol comes at `position`, after a gap. Times are below 2^63. */
static inline void kp_symbol_add(struct kp_symbol *symbol, uint64_t position, uint64_t duration_ns,
				 uint64_t waited_ns)
{
	if (position - symbol->last == symbol->seen[0].distance && symbol->seen[0].hits &&
	    symbol->seen[0].hits < UINT32_MAX)
		symbol->seen[0].hits++;
	else
		kp_symbol_see(symbol, position);
	symbol->last = position;
	symbol->count++;
	symbol->total_ns += (double)(int64_t)duration_ns;
	symbol->waited_ns += (double)(int64_t)waited_ns;
}

struct kp_repetition {
	size_t anchor;   /* place among the symbols */
	uint32_t period; /* launches an iteration */
	uint64_t count;  /* distances of that length */
};

/* Whether two distances are as good as the same. */
bool kp_repetition_same(uint64_t a, uint64_t b);

/*
 * Finds what repeats among the symbols of a sequence of `length` launches; false: nothing does.
 * `scratch` has room for `count` numbers.
 */
bool kp_repetition_find(const struct kp_symbol *const *symbols, size_t count, uint64_t length,
			size_t *scratch, struct kp_repetition *out);
/* Whether iterations may as well begin with another symbol than the anchor that was found. */
bool kp_repetition_as_good(const struct kp_symbol *symbol, const struct kp_symbol *anchor,
			   uint64_t length);
/* A symbol, at a place, taken as the anchor. */
struct kp_repetition kp_repetition_of(const struct kp_symbol *symbol, size_t place);

#endif
