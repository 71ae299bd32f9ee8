/*
 * A rule for the product of matrices that a kernel is part of; see suggest.h. Sizes, types and
 * layouts are all known: what is open is the replacement.
 */
#include <inttypes.h>

#include "profiler/shapes.h"
#include "profiler/suggest.h"
#include "trace/ab_plan.h"

/* As trace/library_call.h has them. */
enum { BF16 = 15, FP16 = 3, FP32 = 1, COMPUTE_32F = 69 };
#define SKINNY_MOST 16U

/* As an expression: the name that rules have, else the code. */
static void write_type(FILE *file, const char *symbol, uint64_t code)
{
	const struct kp_data_type *type = kp_data_type(code);

	if (code == BF16 || code == FP16 || code == FP32)
		fprintf(file, "  - %s == %s\n", symbol,
			code == BF16   ? "bf16"
			: code == FP16 ? "fp16"
				       : "fp32");
	else if (code)
		fprintf(file, "  - %s == %" PRIu64 " # %s\n", symbol, code,
			type ? type->name : "a type that kprof has no name for");
}

static const char *transpose_name(uint64_t code)
{
	return code == KP_TRANSPOSE_YES         ? "transposed"
	       : code == KP_TRANSPOSE_CONJUGATE ? "conjugated"
						: "normal";
}

/* Whether kprof's own rules do it. */
static bool is_skinny(const struct kp_library_call *call)
{
	return call->n <= SKINNY_MOST && call->batch == 1 && call->row_major == 0 &&
	       call->transpose_a == KP_TRANSPOSE_YES && call->transpose_b == KP_TRANSPOSE_NONE &&
	       call->a_type == call->b_type && (call->a_type == BF16 || call->a_type == FP16) &&
	       call->compute_type == COMPUTE_32F;
}

static void write_conditions(FILE *file, const struct kp_library_call *call)
{
	const char *epilogue = kp_library_epilogue_name(call->epilogue);

	fprintf(file,
		"  when:\n  - m == %" PRIu64 " && n == %" PRIu64 " && k == %" PRIu64
		" && batch == %" PRIu64 "\n",
		call->m, call->n, call->k, call->batch);
	fprintf(file, "  - trans_a == %s && trans_b == %s && row_major == %" PRIu64 "\n",
		transpose_name(call->transpose_a), transpose_name(call->transpose_b),
		call->row_major);
	write_type(file, "a_type", call->a_type);
	write_type(file, "b_type", call->b_type);
	write_type(file, "d_type", call->d_type);
	fputs("  - alpha == 1 && beta == 0 # else C is read, too, and belongs to the inputs\n",
	      file);
	fprintf(file, "  - epilogue == %" PRIu64 "%s%s\n", call->epilogue, epilogue ? " # " : "",
		epilogue ? epilogue : "");
	fputs("  - 0 # ??? take this out at the end\n", file);
}

/* A matrix as it lies in memory: column-major, so that its columns are rows here. */
static void write_operand(FILE *file, const char *name, bool as_columns, const char *columns[2])
{
	fprintf(file,
		"  - {name: %s, address: %s, dtype: %s_type, rows: %s, columns: %s, "
		"row_stride: ld%s}\n",
		name, name, name, columns[as_columns], columns[!as_columns], name);
}

static void write_data(FILE *file, const struct kp_library_call *call)
{
	fputs("  outputs: # of one matrix; a batch is not declared here\n", file);
	write_operand(file, "d", true, (const char *[]){"m", "n"});
	if (call->d_type != BF16 && call->d_type != FP16 && call->d_type != FP32)
		fputs("  # ??? kprof compares bf16, fp16 and fp32 only\n", file);
	fputs("  inputs:\n", file);
	write_operand(file, "a", call->transpose_a == KP_TRANSPOSE_NONE,
		      (const char *[]){"m", "k"});
	write_operand(file, "b", call->transpose_b == KP_TRANSPOSE_NONE,
		      (const char *[]){"k", "n"});
	fputs("  repeatable: true # beta is 0\n", file);
}

void kp_suggest_call(FILE *file, const struct kp_kernel_row *kernel)
{
	const struct kp_stability *stability = kernel->stability;
	const struct kp_library_call *call = stability->shapes[0].use.call;
	char words[160];

	kp_suggest_name(file, kernel);
	fprintf(file, "  # %s\n", kernel->full);
	fprintf(file, "  # %.1f %% of kernel time: %" PRIu64 " launches of %.2f µs\n",
		kernel->shares.kernel_pct, kernel->calls, kernel->durations.mean_ns / 1e3);
	for (size_t i = 0; i < stability->shape_count && i < 4; i++) {
		kp_shapes_describe(words, sizeof words, &stability->shapes[i]);
		fprintf(file, "  # %.1f %% of its time: %s\n", stability->shapes[i].share_pct,
			words);
	}
	if (is_skinny(call))
		fputs("  # kprof has a rule for this: kprof ab --rule linear-skinny -- CMD\n",
		      file);
	fputs("  call: gemm\n", file);
	write_conditions(file, call);
	fputs("  replace:\n"
	      "    library: my_kernel.so # ??? nvcc -shared -Xcompiler -fPIC, with\n"
	      "    entry: my_product # int my_product(const int64_t *, uint32_t, void *stream)\n"
	      "    arguments:\n",
	      file);
	for (const char *const *name = (const char *const[]){"a", "b", "bias", "d", NULL}; *name;
	     name++)
		fprintf(file, "    - ptr: %s\n", *name);
	for (const char *const *name =
		     (const char *const[]){"m", "n", "k", "lda", "ldb", "ldd", NULL};
	     *name; name++)
		fprintf(file, "    - i64: %s\n", *name);
	write_data(file, call);
}
