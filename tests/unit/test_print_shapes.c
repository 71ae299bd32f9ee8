/* Shapes for people: of launches and of library calls, with what is modelled called that. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/shapes.h"
#include "profiler/text.h"

#define BF16 15 /* cudaDataType + 1 */
#define F32 1

static const struct kp_launch_config config = {
	.grid = {4, 8, 1}, .block = {32, 1, 2}, .dynamic_shared_bytes = 2048};

static void expect(const struct kp_shape *shape, const char *words)
{
	char out[160];

	kp_shapes_describe(out, sizeof out, shape);
	assert_string_equal(out, words);
}

static void test_words_of_launches(void **state)
{
	struct kp_launch_config plain = {.grid = {7, 1, 1}, .block = {128, 1, 1}};
	struct kp_shape shape = {.use = {.config = &config}};

	(void)state;
	expect(&shape, "grid 4x8, block 32x1x2, shared 2.05kB");
	shape.use.config = &plain;
	expect(&shape, "grid 7, block 128");
}

static void test_words_of_calls(void **state)
{
	struct kp_library_call call = {.kind = KP_LIBRARY_GEMM,
				       .m = 2048,
				       .n = 4,
				       .k = 5632,
				       .batch = 1,
				       .a_type = BF16,
				       .b_type = BF16,
				       .d_type = BF16,
				       .transpose_a = KP_TRANSPOSE_YES,
				       .transpose_b = KP_TRANSPOSE_NONE,
				       .epilogue = 1};
	struct kp_shape shape = {.use = {.config = &config, .call = &call}, .detail = {"", 0}};
	char tiny[8];

	(void)state;
	expect(&shape, "m 2048 n 4 k 5632, bf16 to bf16, TN");
	call.batch = 64;
	call.b_type = F32;
	call.d_type = 0;
	call.c_type = F32;
	call.epilogue = 36;
	expect(&shape, "m 2048 n 4 k 5632 batch 64, bf16 by f32 to f32, TN, bias+gelu");
	call = (struct kp_library_call){.kind = KP_LIBRARY_GEMV,
					.m = 8,
					.n = 9,
					.batch = 1,
					.a_type = UINT64_MAX,
					.transpose_a = UINT64_MAX};
	expect(&shape, "m 8 n 9, ? to ?, ?");
	call.kind = UINT64_MAX;
	expect(&shape, "library call");
	shape.detail = (struct kp_text){"conv\x1b fwd", 9};
	expect(&shape, "conv\\x1b fwd");
	kp_shapes_describe(tiny, sizeof tiny, &shape);
	assert_int_equal(strlen(tiny), 7);
}

static void test_words_of_sizes(void **state)
{
	struct kp_library_call call = {.kind = KP_LIBRARY_ATTENTION,
				       .a_type = BF16,
				       .b_type = BF16,
				       .d_type = BF16,
				       .causal = 1,
				       .size1 = 3,
				       .size2 = 12,
				       .size3 = 0};
	struct kp_shape shape = {
		.use = {.config = &config, .call = &call, .sizes = {"b,h,\x1b", 5}},
		.detail = {"flash 2", 7}};

	(void)state;
	expect(&shape, "attention b 3 h 12 \\x1b 0, causal, bf16, flash 2");
	call = (struct kp_library_call){.kind = KP_LIBRARY_CONVOLUTION,
					.a_type = BF16,
					.d_type = F32,
					.groups = 4,
					.size1 = 2};
	shape.use.sizes = (struct kp_text){"n", 1};
	shape.detail = (struct kp_text){"", 0};
	expect(&shape, "convolution n 2, groups 4, bf16 to f32");
	call = (struct kp_library_call){
		.from = KP_LIBRARY_FROM_PARAMETERS, .size1 = 1237, .size2 = 4096};
	shape.use.sizes = (struct kp_text){"rows,n", 6};
	shape.detail = (struct kp_text){"norm", 4};
	expect(&shape, "norm rows 1237 n 4096");
	/* More names than there is room for sizes. */
	shape.use.sizes = (struct kp_text){"a,b,c,d,e,f,g,h,i,j,k,l,m,n", 27};
	expect(&shape, "norm a 1237 b 4096 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 k 0 l 0");
}

/* One operator of one kernel: a product whose bytes were measured, and a launch. */
static char *print_one(const char *format)
{
	static const struct kp_library_call call = {.kind = KP_LIBRARY_GEMM,
						    .m = 64,
						    .n = 8,
						    .k = 64,
						    .batch = 1,
						    .a_type = BF16,
						    .b_type = BF16,
						    .c_type = BF16,
						    .d_type = BF16,
						    .transpose_a = KP_TRANSPOSE_YES,
						    .transpose_b = KP_TRANSPOSE_NONE,
						    .epilogue = 1};
	const struct kp_shape shapes[] = {
		{.use = {.config = &config,
			 .call = &call,
			 .launches = 30,
			 .total_ns = 3000,
			 .bytes_source = KP_TRAFFIC_MEASURED},
		 .share_pct = 75,
		 .work = {65536, 10240},
		 .bytes_per_call = 20480,
		 .waste = 2},
		{.use = {.config = &config, .launches = 10, .total_ns = 1000},
		 .share_pct = 25,
		 .work = {NAN, NAN},
		 .bytes_per_call = NAN,
		 .waste = NAN}};
	const struct kp_stability stability = {.verdict = KP_SHAPES_FEW_VERSIONS,
					       .reason = "a reason",
					       .count = 3,
					       .versions = 2,
					       .shapes = shapes,
					       .shape_count = 2};
	const struct kp_kernel_row kernel = {
		.full = "gemm_kernel<1>", .shortened = "gemm_kernel", .stability = &stability};
	const struct kp_operator_row operator= {
		.name = "gemm", .kernel_count = 1, .stability = &stability};
	const struct kp_report report = {.kernels = &kernel,
					 .kernel_count = 1,
					 .operators = &operator,
					 .operator_count = 1,
					 .library_any = true,
					 .library = {.launches = 40, .launches_tied = 30}};
	const struct kp_view view = {.width = 80};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	if (strcmp(format, "csv") == 0)
		assert_int_equal(kp_print_shapes_csv(file, &report, &view), KP_OK);
	else
		kp_print_shapes(file, &report, &view);
	fclose(file);
	return text;
}

static void test_text_calls_modelled_what_is(void **state)
{
	char *text = print_one("text");

	(void)state;
	assert_non_null(strstr(text, "a few versions with dispatch\n  a reason\n"));
	assert_non_null(
		strstr(text, " 75.0%   3.00\u00b5s       30 m 64 n 8 k 64, bf16 to bf16, TN"));
	assert_non_null(strstr(text, "modelled: 65.5kFLOP, at least 10.2kB a call"));
	assert_non_null(strstr(text, "2.00 times that"));
	assert_non_null(strstr(text, "measured: 20.5kB"));
	assert_non_null(strstr(text, "and 1 more"));
	assert_non_null(strstr(text, "30 of 40 launches whose sizes are known are tied"));
	free(text);
}

static void test_csv_of_shapes(void **state)
{
	char *text = print_one("csv");

	(void)state;
	assert_non_null(
		strstr(text, "\r\ngemm,gemm_kernel,library call,\"m 64 n 8 k 64, bf16 to bf16, TN\""
			     ",30,0,3000,75.0000,65536,10240,20480,2.000\r\n"));
	assert_non_null(strstr(text, "\r\ngemm,gemm_kernel,launch,\"grid 4x8, block 32x1x2, shared "
				     "2.05kB\",10,0,1000,25.0000,,,,\r\n"));
	free(text);
}

static void expect_wrapped(const char *text, size_t at, size_t indent, size_t width,
			   const char *lines)
{
	char *out = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&out, &size);

	assert_non_null(file);
	kp_text_wrap(file, text, at, indent, width);
	fclose(file);
	assert_string_equal(out, lines);
	free(out);
}

/* A word that no line holds, as the names of kernels can be, goes on in the next one. */
static void test_long_words_are_wrapped(void **state)
{
	(void)state;
	expect_wrapped("a bc def", 0, 2, 12, "a bc def\n");
	expect_wrapped("one two three", 0, 2, 8, "one two\n  three\n");
	expect_wrapped("in cudnn_generated_sdpa_x keeps", 4, 4, 14,
		       "in\n    cudnn_gene\n    rated_sdpa\n    _x keeps\n");
	expect_wrapped("abcdefghijkl m", 0, 0, 12, "abcdefghijkl\nm\n");
	expect_wrapped("abcdefghijklm n", 0, 0, 12, "abcdefghijkl\nm n\n");
	expect_wrapped("éééééééééééé", 0, 1, 9, "ééééééééé\n ééé\n");
	expect_wrapped("abcdefghijkl", 0, 6, 7, "abcdefghijkl\n"); /* no room to speak of */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_launches),
		cmocka_unit_test(test_words_of_calls),
		cmocka_unit_test(test_words_of_sizes),
		cmocka_unit_test(test_text_calls_modelled_what_is),
		cmocka_unit_test(test_csv_of_shapes),
		cmocka_unit_test(test_long_words_are_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
