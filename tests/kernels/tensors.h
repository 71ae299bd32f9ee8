/*
 * Test data for kernels that run on the CPU: random numbers in strided arrays, each an allocation
 * of its own that ends with its last element, and the comparison of results.
 */
#ifndef KP_TESTS_KERNELS_TENSORS_H
#define KP_TESTS_KERNELS_TENSORS_H

#include "kernels/kernels.h"
#include "kernels/reference/number.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pattern that no result has, and a NaN as an input: what lies between rows. */
#define KP_POISON_BYTE 0xff

enum kp_fill { KP_FILL_NORMAL, KP_FILL_LARGE, KP_FILL_SMALL, KP_FILL_SPECIAL, KP_FILLS };

/* An array of planes × rows × columns; strides count elements. */
struct kp_tensor {
	enum kp_dtype dtype;
	uint32_t planes, rows, columns;
	int64_t plane, row;
	void *data; /* of the first element */
	void *block;
	size_t bytes;
};

/*
 * Rows with `gap` elements between them, planes too; the first element `shift` elements behind a
 * multiple of 16 bytes. Poisoned. `row` may come out as a multiple of 8 or not: gap and columns
 * say.
 */
struct kp_tensor kp_tensor_make(enum kp_dtype dtype, uint32_t planes, uint32_t rows,
				uint32_t columns, uint32_t gap, uint32_t shift);
void kp_tensor_free(struct kp_tensor *tensor);
/* Fills what is no gap: normally distributed; 2^13 or 2^-12 times that; with NaN and infinities
 * here and there. */
void kp_tensor_fill(struct kp_tensor *tensor, enum kp_fill fill, double scale);
double kp_tensor_get(const struct kp_tensor *tensor, uint32_t plane, uint32_t row, uint32_t column);
struct kp_tensor kp_tensor_copy(const struct kp_tensor *tensor);
/* An index a row, as words: one, or two where they are of 64 bits, with a gap of as many. */
struct kp_tensor kp_tensor_make_indices(uint32_t rows, bool is_64);
int64_t kp_tensor_index(const struct kp_tensor *indices, uint32_t row);

double kp_random_normal(void);
uint32_t kp_random_below(uint32_t limit);

/* So many cases of a grid, or those that KP_TEST_CASES allows at most (for slow tools). */
unsigned kp_test_cases(unsigned wanted);

/* What is being tested, as printf has it: failures are printed with it. */
void kp_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Counts a failure, and prints it unless there were many. */
void kp_expect(bool is_so, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Whether a stored result is the reference's within `slack` and half a unit in the last place,
 * `units` more of them, and NaN or infinite where that is.
 */
bool kp_is_close(double stored, double reference, enum kp_dtype dtype, double units, double slack);
/* Whether the gaps are as they were. */
void kp_expect_gaps(const struct kp_tensor *tensor, const char *name);
/* Whether two arrays hold the same bytes. */
void kp_expect_same(const struct kp_tensor *a, const struct kp_tensor *b, const char *name);
/* The exit status: 0, or 1 where something failed. Prints how many were checked. */
int kp_checks_end(void);

#ifdef __cplusplus
}
#endif

#endif
