/*
 * Non-negative least squares on normal equations, G x = g with G = AᵀA and g = Aᵀy.
 *
 * Matrices are square, dense, row by row; only the lower triangle is read. Unknowns without any
 * evidence (a zero on the diagonal) come out as 0. A relative ridge of KP_LEAST_RIDGE keeps
 * singular systems solvable; what it decides is told by kp_least_inflation. Pure.
 */
#ifndef KP_ANALYZERS_LEAST_SQUARES_H
#define KP_ANALYZERS_LEAST_SQUARES_H

#include <stddef.h>

#include "trace/status.h"

#define KP_LEAST_RIDGE 1e-10

/* One entry of a row of A. */
struct kp_least_term {
	size_t column;
	double value;
};

/* Adds a row of A, weighted, to the lower triangle of G and to g; its columns differ. */
void kp_least_add(double *matrix, double *right, size_t n, const struct kp_least_term *terms,
		  size_t count, double value, double weight);
/* An element of a symmetric matrix by its lower triangle. */
double kp_least_element(const double *matrix, size_t n, size_t i, size_t j);

/* A factored system: G = D (L Lᵀ) D with D the roots of the diagonal. */
struct kp_least {
	size_t n;
	double *lower; /* L */
	double *scale; /* D; 0: no evidence */
};

/* Errors: KP_NO_MEMORY. */
enum kp_status kp_least_factor(const double *matrix, size_t n, struct kp_least *out);
void kp_least_fini(struct kp_least *least);
/* Solves in place: right side in, solution out. */
void kp_least_solve(const struct kp_least *least, double *vector);
/*
 * Variance inflation of each unknown, inflation[n]: how much less is known of it than if it stood
 * alone, 1 or more. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_least_inflation(const struct kp_least *least, double *inflation);

/* Minimises xᵀGx − 2xᵀg over x >= 0, by block principal pivoting. Errors: KP_NO_MEMORY. */
enum kp_status kp_least_nonnegative(const double *matrix, const double *right, size_t n,
				    double *solution);

#endif
