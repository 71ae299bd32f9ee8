/* Elements of host memory as float64, whatever their type, and back. Not installed. */
#ifndef KP_KERNELS_REFERENCE_NUMBER_H
#define KP_KERNELS_REFERENCE_NUMBER_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The element `at` of an array. Exact. */
double kp_number_load(const void *array, enum kp_dtype dtype, int64_t at);
/* Rounds to nearest, ties to even; e4m3 saturates at 448, int8 at its ends (NaN: 0),
 * other types become infinite. */
void kp_number_store(void *array, enum kp_dtype dtype, int64_t at, double value);
/* The value that is stored. */
double kp_number_rounded(enum kp_dtype dtype, double value);
/* The distance of neighbours in the type around a value: what its last place is worth. */
double kp_number_ulp(enum kp_dtype dtype, double value);

#ifdef __cplusplus
}
#endif

#endif
