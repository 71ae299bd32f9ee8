/* Shapes as text and back; see bench_shapes.h. */
#include "profiler/bench_shapes.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTS_MOST (1ULL << 40) /* the product of all sizes: no sum of bytes overflows */

const struct kp_bench_form kp_bench_rows = {
	.words = "ROWSxCOLUMNS",
	.sizes = {{"rows", offsetof(struct kp_bench_shape, rows)},
		  {"columns", offsetof(struct kp_bench_shape, columns)}},
	.unit_word = "row",
	.samples = 5,
};

uint32_t kp_bench_size_get(const struct kp_bench_form *form, const struct kp_bench_shape *shape,
			   size_t which)
{
	uint32_t value;

	memcpy(&value, (const char *)shape + form->sizes[which].offset, sizeof(value));
	return value;
}

void kp_bench_size_set(const struct kp_bench_form *form, struct kp_bench_shape *shape, size_t which,
		       uint32_t value)
{
	memcpy((char *)shape + form->sizes[which].offset, &value, sizeof(value));
}

uint32_t kp_bench_units(const struct kp_bench_form *form, const struct kp_bench_shape *shape)
{
	return kp_bench_size_get(form, shape, form->unit);
}

/* A decimal number between 1 and KP_BENCH_SIZE_MOST, all of the text. */
static bool parse_size(const char *text, size_t length, uint32_t *out)
{
	uint32_t value = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint32_t)(text[i] - '0');
		if (value > KP_BENCH_SIZE_MOST)
			return false;
	}
	*out = value;
	return value > 0;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && memcmp(text, word, length) == 0;
}

static bool parse_word(const struct kp_bench_form *form, const char *text, size_t length,
		       struct kp_bench_shape *out)
{
	static const char page[] = "page=";
	size_t before = sizeof(page) - 1;

	if (form->is_narrow && is_word(text, length, "e4m3")) {
		out->narrow = KP_DTYPE_E4M3;
		return true;
	}
	if (form->takes_int8 && is_word(text, length, "int8")) {
		out->narrow = KP_DTYPE_INT8;
		return true;
	}
	if (form->is_paged && is_word(text, length, "varied")) {
		out->varied = true;
		return true;
	}
	if (form->is_causal && is_word(text, length, "causal")) {
		out->causal = true;
		return true;
	}
	return form->is_paged && length > before && memcmp(text, page, before) == 0 &&
	       parse_size(text + before, length - before, &out->page_tokens);
}

/* Whether all sizes were there, and are small enough together. */
static bool is_whole(const struct kp_bench_form *form, const struct kp_bench_shape *shape,
		     size_t sizes)
{
	uint64_t elements = 1;

	if (form->sizes[sizes].key)
		return false;
	for (size_t i = 0; i < sizes; i++) {
		uint32_t value = kp_bench_size_get(form, shape, i);

		if (elements > ELEMENTS_MOST / value)
			return false;
		elements *= value;
	}
	return shape->page_tokens == 0 || shape->keys % shape->page_tokens == 0;
}

bool kp_bench_shape_parse(const struct kp_bench_form *form, const char *text, size_t length,
			  struct kp_bench_shape *out)
{
	size_t sizes = 0, at = 0, end;
	uint32_t value;

	*out = (struct kp_bench_shape){0};
	do {
		bool is_size = form->sizes[sizes].key != NULL;

		for (end = at; end < length && text[end] != ',' && !(is_size && text[end] == 'x');)
			end++;
		if (is_size && !parse_size(text + at, end - at, &value))
			return false;
		if (is_size)
			kp_bench_size_set(form, out, sizes++, value);
		else if (!parse_word(form, text + at, end - at, out))
			return false;
		at = end + 1;
	} while (end < length);
	return is_whole(form, out, sizes);
}

void kp_bench_shape_write(const struct kp_bench_form *form, const struct kp_bench_shape *shape,
			  char out[KP_BENCH_SHAPE_TEXT])
{
	size_t at = 0;

	for (size_t i = 0; form->sizes[i].key; i++)
		at += (size_t)snprintf(out + at, KP_BENCH_SHAPE_TEXT - at, "%s%u", i ? "x" : "",
				       kp_bench_size_get(form, shape, i));
	if (shape->page_tokens)
		at += (size_t)snprintf(out + at, KP_BENCH_SHAPE_TEXT - at, ",page=%u",
				       shape->page_tokens);
	snprintf(out + at, KP_BENCH_SHAPE_TEXT - at, "%s%s%s%s", shape->varied ? ",varied" : "",
		 shape->causal ? ",causal" : "", shape->narrow ? "," : "",
		 shape->narrow ? kp_dtype_name(shape->narrow) : "");
}

uint32_t kp_bench_length(const struct kp_bench_shape *shape, uint32_t sequence)
{
	/* The first is as long as can be; others are spread evenly (Knuth's multiplier). */
	uint32_t mixed = sequence * 2654435761U;

	if (!shape->varied)
		return shape->keys;
	return shape->keys - (uint32_t)((uint64_t)mixed * shape->keys >> 32);
}

uint64_t kp_bench_lengths(const struct kp_bench_shape *shape)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < shape->batch; i++)
		sum += kp_bench_length(shape, i);
	return sum;
}
