/* The telling part of a kernel name; see telling.h. Pure. */
#include "analyzers/telling.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Types, and wrappers around the functor that matters. */
static const char *const silent[] = {
	"bool",
	"char",
	"short",
	"int",
	"long",
	"float",
	"double",
	"half",
	"void",
	"unsigned",
	"signed",
	"const",
	"true",
	"false",
	"lambda",
	"size_t",
	"uint32_t",
	"int32_t",
	"int64_t",
	"uint64_t",
	"uint8_t",
	"int8_t",
	"uint4",
	"float2",
	"float4",
	"BFloat16",
	"Half",
	"Float8_e4m3fn",
	"Float8_e5m2",
	"__half",
	"__nv_bfloat16",
	"bfloat16_t",
	"half_t",
	"complex",
	"array",
	"tuple",
	"OpaqueType",
	"UnaryFunctor",
	"AUnaryFunctor",
	"BUnaryFunctor",
	"BinaryFunctor",
	"ReduceOp",
	"TensorIterator",
	"Array",
	"integral_constant",
	"CUDAGeneratorImpl",
};

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_silent(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		if (strlen(silent[i]) == length && memcmp(silent[i], word, length) == 0)
			return true;
	return isdigit((unsigned char)word[0]) || length < 4;
}

struct kp_word kp_name_telling(const char *shortened)
{
	struct kp_word telling = {shortened, 0};
	const char *at = strchr(shortened, '<');

	while (at && *at) {
		size_t length = 0;

		while (in_word(at[length]))
			length++;
		if (length && !is_silent(at, length))
			telling = (struct kp_word){at, length};
		at += length ? length : 1;
	}
	return telling;
}
