/*
 * The roofline of a GPU: what memory and tensor pipes can do, and where kernels are beneath it.
 *
 * A kernel's place is its operations for each byte and its operations a second; both need counters
 * of tensor pipes, and operations are modelled as those of 16-bit floats. A kernel without them has
 * a bandwidth only, and stands in the list, but not in the picture. No state.
 */
#ifndef KP_PROFILER_ROOFLINE_H
#define KP_PROFILER_ROOFLINE_H

#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/print.h"

#define KP_ROOF_POINTS_MAX 26
#define KP_ROOF_OTHERS "The roof is that of the first GPU; another one here has another."
/* What is said where no kernel has a place beneath the roof. */
#define KP_ROOF_EMPTY                                                                              \
	"No kernel is beneath the roof: too little evidence. Longer runs or a shorter "            \
	"--counter-interval give more."

struct kp_roof_point {
	const struct kp_kernel_row *kernel;
	char letter;          /* a, b, …, by time */
	double flop_per_byte; /* NaN: no place in the picture */
	double tflops;
};

struct kp_roof {
	const struct kp_gpu_row *gpu;
	struct kp_ceiling memory, tensor; /* GB/s of reading; TFLOP/s of 16-bit floats */
	double ridge;                     /* FLOP/byte from which on memory does not limit; NaN */
	struct kp_roof_point points[KP_ROOF_POINTS_MAX];
	bool others;          /* a further GPU has another roof */
	size_t count, placed; /* placed: those that have a place in the picture */
	double low, high;     /* FLOP/byte at both edges of the picture */
	double bottom, top;   /* TFLOP/s at both edges */
};

/* The roof of the first GPU with samples, and the kernels with most time that have traffic; false
 * where there are none, or no ceiling of memory is known. */
bool kp_roof_of(const struct kp_report *report, struct kp_roof *out);
/* What the roof allows at an intensity, TFLOP/s. */
double kp_roof_at(const struct kp_roof *roof, double flop_per_byte);

/* print_roofline.c: text. Errors: KP_NO_MEMORY. */
enum kp_status kp_print_roofline(FILE *file, const struct kp_report *report,
				 const struct kp_view *view);
/* What the columns of traffic mean, and what was found that cannot be. */
void kp_print_traffic_notes(FILE *file, const struct kp_report *report, const struct kp_view *view);
/* print_svg.c. Errors: KP_NO_MEMORY. */
enum kp_status kp_print_svg(FILE *file, const struct kp_report *report);

#endif
