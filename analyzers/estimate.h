/*
 * Totals of a whole run from windows of it: the ratio estimator.
 *
 * Windows i = 1…n are a sample. In window i a row has y_i (its nanoseconds, or calls), and the
 * window's size is x_i, whose total X over the run is known exactly: launches issued, else time.
 *
 *   estimate   T = X · R,  R = Σy / Σx
 *   variance   V = X² · (1 − f) · n · s² / (Σx)²,  s² = Σ(y_i − R·x_i)² / (n − 1),  f = Σx / X
 *   interval   T ± t(0.975; n − 1) · √V
 *
 * after W. G. Cochran, Sampling Techniques, 3rd edition (1977), sections 2.11, 6.3 and 6.4. Windows
 * lie one in each period at a random place, which makes V too large rather than too small where
 * neighbouring periods are alike. Estimates of
 * several processes are independent: T and V add up, and the degrees of freedom follow
 * Satterthwaite, (ΣV)² / Σ(V² / (n − 1)).
 *
 * Only sums are kept, so memory does not grow with the windows. Pure.
 */
#ifndef KP_ANALYZERS_ESTIMATE_H
#define KP_ANALYZERS_ESTIMATE_H

#include <stdint.h>

/* What the windows of a process have in common. */
struct kp_sample {
	uint64_t n;     /* windows, those with nothing in them included */
	double x, xx;   /* Σx, Σx² */
	double whole_x; /* X; at least x */
};

/* One row in these windows. */
struct kp_sample_row {
	double y, yy, xy; /* Σy, Σy², Σxy */
};

/* A sum of estimates. */
struct kp_estimation {
	double total, variance;
	double satterthwaite; /* Σ V² / (n − 1) */
};

/* Adds what a process's windows say; of fewer than two it is what they hold, not scaled. */
void kp_estimation_add(struct kp_estimation *sum, const struct kp_sample *sample,
		       const struct kp_sample_row *row);
/* Adds what is known exactly. */
void kp_estimation_add_exact(struct kp_estimation *sum, double total);
/* Half the width of the 95 % confidence interval. */
double kp_estimation_ci95(const struct kp_estimation *sum);

/* The 0.975 quantile of Student's t, for 1 or more degrees of freedom: within 0.1 %. */
double kp_student_t975(double freedom);

#endif
