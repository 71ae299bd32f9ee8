/* Non-negative least squares on normal equations; see least_squares.h. */
#include "analyzers/least_squares.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void kp_least_add(double *matrix, double *right, size_t n, const struct kp_least_term *terms,
		  size_t count, double value, double weight)
{
	for (size_t i = 0; i < count; i++) {
		double weighted = weight * terms[i].value;

		right[terms[i].column] += weighted * value;
		for (size_t j = 0; j <= i; j++) {
			size_t a = terms[i].column, b = terms[j].column;

			matrix[a > b ? a * n + b : b * n + a] += weighted * terms[j].value;
		}
	}
}

double kp_least_element(const double *matrix, size_t n, size_t i, size_t j)
{
	return i >= j ? matrix[i * n + j] : matrix[j * n + i];
}

/* Cholesky of the scaled matrix in `lower`, row by row: rows are read in sequence. */
static void factor_in_place(double *lower, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double *row = &lower[i * n];

		for (size_t j = 0; j <= i; j++) {
			const double *other = &lower[j * n];
			double sum = row[j];

			for (size_t k = 0; k < j; k++)
				sum -= row[k] * other[k];
			if (j < i)
				row[j] = sum / other[j];
			else
				row[i] = sqrt(fmax(sum, KP_LEAST_RIDGE));
		}
	}
}

enum kp_status kp_least_factor(const double *matrix, size_t n, struct kp_least *out)
{
	*out = (struct kp_least){.n = n};
	out->lower = malloc((n * n + 1) * sizeof(*out->lower));
	out->scale = malloc((n + 1) * sizeof(*out->scale));
	if (!out->lower || !out->scale) {
		kp_least_fini(out);
		return KP_NO_MEMORY;
	}
	for (size_t i = 0; i < n; i++)
		out->scale[i] = sqrt(fmax(matrix[i * n + i], 0));
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < i; j++) {
			double by = out->scale[i] * out->scale[j];
			out->lower[i * n + j] = by > 0 ? matrix[i * n + j] / by : 0;
		}
		out->lower[i * n + i] = 1 + KP_LEAST_RIDGE;
	}
	factor_in_place(out->lower, n);
	return KP_OK;
}

void kp_least_fini(struct kp_least *least)
{
	free(least->lower);
	free(least->scale);
	*least = (struct kp_least){0};
}

void kp_least_solve(const struct kp_least *least, double *vector)
{
	size_t n = least->n;
	const double *lower = least->lower;

	for (size_t i = 0; i < n; i++) {
		double sum = least->scale[i] > 0 ? vector[i] / least->scale[i] : 0;

		for (size_t k = 0; k < i; k++)
			sum -= lower[i * n + k] * vector[k];
		vector[i] = sum / lower[i * n + i];
	}
	for (size_t i = n; i-- > 0;) {
		vector[i] /= lower[i * n + i];
		for (size_t k = 0; k < i; k++)
			vector[k] -= lower[i * n + k] * vector[i];
	}
	for (size_t i = 0; i < n; i++)
		vector[i] = least->scale[i] > 0 ? vector[i] / least->scale[i] : 0;
}

enum kp_status kp_least_inflation(const struct kp_least *least, double *inflation)
{
	size_t n = least->n;
	double *column = malloc((n + 1) * sizeof(*column));

	if (!column)
		return KP_NO_MEMORY;
	memset(inflation, 0, n * sizeof(*inflation));
	/* The diagonal of (L Lᵀ)⁻¹ is the sum of squares of the columns of L⁻¹. */
	for (size_t at = 0; at < n; at++) {
		double squares = 0;

		for (size_t i = at; i < n; i++) {
			const double *row = &least->lower[i * n];
			double sum = i == at;

			for (size_t k = at; k < i; k++)
				sum -= row[k] * column[k];
			column[i] = sum / row[i];
			squares += column[i] * column[i];
		}
		inflation[at] = squares;
	}
	free(column);
	return KP_OK;
}

/* ---- x >= 0 ---- */

#define ROUNDS 100 /* few are needed; what is left then is cut off at 0 */

/* Block principal pivoting: H. Kim and J. Park, SIAM J. Sci. Comput. 33(6), 2011, section 3. */
struct pivoting {
	const double *matrix, *right;
	size_t n;
	bool *free_now;   /* is an unknown, not held at 0 */
	double *x, *y;    /* solution; gradient of those that are held */
	double *part;     /* scratch: the matrix of the free ones */
	size_t *index;    /* of the free ones */
	double tolerance; /* relative */
};

static enum kp_status solve_free(struct pivoting *p)
{
	struct kp_least least;
	size_t count = 0;
	enum kp_status status;

	for (size_t i = 0; i < p->n; i++) {
		if (p->free_now[i])
			p->index[count++] = i;
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j <= i; j++)
			p->part[i * count + j] =
				kp_least_element(p->matrix, p->n, p->index[i], p->index[j]);
		p->y[i] = p->right[p->index[i]];
	}
	status = kp_least_factor(p->part, count, &least);
	if (status != KP_OK)
		return status;
	kp_least_solve(&least, p->y);
	kp_least_fini(&least);
	memset(p->x, 0, p->n * sizeof(*p->x));
	for (size_t i = 0; i < count; i++)
		p->x[p->index[i]] = p->y[i];
	for (size_t i = 0; i < p->n; i++) {
		p->y[i] = -p->right[i];
		for (size_t k = 0; k < count && !p->free_now[i]; k++)
			p->y[i] += kp_least_element(p->matrix, p->n, i, p->index[k]) *
				   p->x[p->index[k]];
	}
	return KP_OK;
}

static bool is_infeasible(const struct pivoting *p, size_t i)
{
	double root = sqrt(fmax(p->matrix[i * p->n + i], 0));

	if (!(root > 0))
		return false;
	return p->free_now[i] ? p->x[i] * root < -p->tolerance : p->y[i] / root < -p->tolerance;
}

/* How many are infeasible, and the last of them. */
static size_t count_infeasible(const struct pivoting *p, size_t *last)
{
	size_t infeasible = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (is_infeasible(p, i)) {
			infeasible++;
			*last = i;
		}
	}
	return infeasible;
}

/* Exchanges all that are infeasible, or, where that does not converge, only the last of them. */
static enum kp_status pivot(struct pivoting *p)
{
	size_t best = p->n + 1, patience = 3;

	for (size_t round = 0; round < ROUNDS; round++) {
		enum kp_status status = solve_free(p);
		size_t last = 0;

		if (status != KP_OK)
			return status;
		size_t infeasible = count_infeasible(p, &last);
		if (!infeasible)
			return KP_OK;
		if (infeasible < best) {
			best = infeasible;
			patience = 3;
		} else if (patience > 0) {
			patience--;
		}
		for (size_t i = patience ? 0 : last; i <= last; i++) {
			if (is_infeasible(p, i))
				p->free_now[i] = !p->free_now[i];
		}
	}
	return KP_OK;
}

enum kp_status kp_least_nonnegative(const double *matrix, const double *right, size_t n,
				    double *solution)
{
	struct pivoting p = {.matrix = matrix, .right = right, .n = n, .x = solution};
	double largest = 0;
	enum kp_status status = KP_NO_MEMORY;

	p.free_now = malloc(n + 1);
	p.y = malloc((n + 1) * sizeof(*p.y));
	p.part = malloc((n * n + 1) * sizeof(*p.part));
	p.index = malloc((n + 1) * sizeof(*p.index));
	if (p.free_now && p.y && p.part && p.index) {
		for (size_t i = 0; i < n; i++) {
			double root = sqrt(fmax(matrix[i * n + i], 0));

			p.free_now[i] = root > 0;
			largest = root > 0 ? fmax(largest, fabs(right[i]) / root) : largest;
		}
		p.tolerance = 1e-9 * largest;
		status = pivot(&p);
		for (size_t i = 0; i < n; i++)
			solution[i] = fmax(solution[i], 0);
	}
	free(p.free_now);
	free(p.y);
	free(p.part);
	free(p.index);
	return status;
}
