/*
 * Times as a GPU gives them: alike neighbours, drift, warming up, what the order of two does,
 * outliers, steps of the clock. The same numbers everywhere, by seed.
 */
#ifndef KP_TESTS_AB_NOISE_H
#define KP_TESTS_AB_NOISE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct noise {
	uint64_t state;  /* not 0 */
	double alike;    /* of neighbouring times */
	double spread;   /* standard deviation, relative */
	double drift;    /* from beginning to end, relative */
	double warming;  /* what the first times take more; gone after a tenth */
	double second;   /* what the second of a pair takes more */
	double outliers; /* part of times that take up to six times as long */
	unsigned steps;  /* of the clock, each by 5 % */
	double now;
};

/* xorshift64 */
static inline double noise_uniform(struct noise *noise)
{
	noise->state ^= noise->state << 13;
	noise->state ^= noise->state >> 7;
	noise->state ^= noise->state << 17;
	return ((double)(noise->state >> 11) + 0.5) / 9007199254740992.0;
}

static inline double noise_normal(struct noise *noise)
{
	double radius = sqrt(-2 * log(noise_uniform(noise)));

	return radius * cos(6.283185307179586 * noise_uniform(noise));
}

static inline void noise_begin(struct noise *noise, uint64_t seed)
{
	noise->state = 0x9e3779b97f4a7c15ULL * (seed + 1);
	for (int i = 0; i < 8; i++)
		noise_uniform(noise);
	noise->now = noise_normal(noise);
}

/* The time of place `i` of `count`, of an arm that takes `level` µs. */
static inline double noise_time(struct noise *noise, size_t i, size_t count, double level)
{
	double place = (double)i / (double)count, more = noise->drift * place;

	noise->now = noise->alike * noise->now +
		     sqrt(1 - noise->alike * noise->alike) * noise_normal(noise);
	more += noise->spread * noise->now + noise->warming * exp(-place * 30);
	more += i % 2 ? noise->second : 0;
	for (unsigned k = 1; k <= noise->steps; k++)
		more += place > (double)k / (noise->steps + 1.0) ? (k % 2 ? 0.05 : -0.05) : 0;
	if (noise_uniform(noise) < noise->outliers)
		more += 5 * noise_uniform(noise);
	return level * (1 + more);
}

#endif
