/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014): numbers by chance that are the same each time.
 */
#ifndef KP_TRACE_SCATTER_H
#define KP_TRACE_SCATTER_H

#include <stdint.h>

/* Spreads every bit of a value over all. */
static inline uint64_t kp_scatter(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* The next number of a row; `state` begins anywhere. */
static inline uint64_t kp_scatter_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return kp_scatter(*state);
}

#endif
