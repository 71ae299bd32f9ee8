/* Parameters of PyTorch's kernels that are not elementwise; see torch_decode.h. */
#include "analyzers/torch_decode.h"

#include <string.h>

#include "analyzers/torch_kernels.h"
#include "analyzers/torch_tensor.h"

static float load_float(const void *from)
{
	float value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static void set_tensor(struct kp_torch_tensor *tensor, uint64_t address, uint8_t type)
{
	tensor->address = address;
	tensor->type = type;
}

/* Rows of n elements, one behind the other. */
static bool set_rows(struct kp_torch_tensor *tensor, uint64_t n, uint64_t rows)
{
	if (n == 0 || rows == 0 || n > INT32_MAX || rows > INT32_MAX)
		return false;
	tensor->dims = 2;
	tensor->sizes[0] = (uint32_t)n;
	tensor->sizes[1] = (uint32_t)rows;
	tensor->strides[0] = kp_torch_type_bytes(tensor->type);
	tensor->strides[1] = n * tensor->strides[0];
	return true;
}

/*
 * ReduceOp: the operation's own bytes and the value to begin with, ReduceConfig, the calculators of
 * the input's reduced dimensions and of the others' (output and input), and addresses.
 */
enum {
	CONFIG_INPUTS = 4,
	CONFIG_OUTPUTS = 8,
	CONFIG_BLOCKS_AN_OUTPUT = 20,
	CONFIG_BYTES = 64,
	CALCULATOR_1 = KP_TORCH_CALCULATOR_STRIDES + 4 * KP_TORCH_CALCULATOR_DIMS,
	CALCULATOR_2 = KP_TORCH_CALCULATOR_STRIDES + 8 * KP_TORCH_CALCULATOR_DIMS,
	ENDS_SOURCE = 0,
	ENDS_OUTPUT = 8,
	ENDS_SECOND = 16, /* a second output, a buffer of sums, one of blocks, semaphores, base */
	ENDS_FLAGS = 56,  /* 4 bytes: whether it adds to its output; whether that is the last */
	ENDS_OUTPUTS = 60,
};

/* One output, one block each: nothing but the operands is read or written. */
static bool is_plain(const unsigned char *config, const unsigned char *ends)
{
	static const unsigned char nothing[ENDS_FLAGS - ENDS_SECOND];

	return kp_torch_load32(config, CONFIG_BLOCKS_AN_OUTPUT) == 1 &&
	       memcmp(ends + ENDS_SECOND, nothing, sizeof(nothing)) == 0 && ends[ENDS_FLAGS] == 0 &&
	       ends[ENDS_FLAGS + 1] == 1 && kp_torch_load32(ends, ENDS_OUTPUTS) == 1;
}

static bool decode_reduce(const struct kp_torch_kind *kind, const void *const *params,
			  struct kp_torch_launch *out)
{
	uint32_t at = kind->kernel->layout == KP_TORCH_LAYOUT_REDUCE_8 ? 8 : 4;
	uint32_t end = kp_torch_align(at + CONFIG_BYTES + CALCULATOR_1 + CALCULATOR_2, 8);
	const unsigned char *from = params[0], *ends = from + end;
	struct kp_torch_tensor *output = &out->tensors[0], *input = &out->tensors[1];
	struct kp_torch_tensor *both[2] = {output, input};
	uint64_t reduced;

	set_tensor(output, kp_torch_load64(ends, ENDS_OUTPUT), kind->types[0]);
	set_tensor(input, kp_torch_load64(ends, ENDS_SOURCE), kind->types[1]);
	out->outputs = out->inputs = 1;
	out->compute = kind->types[1];
	if (!is_plain(from + at, ends) ||
	    !kp_torch_decode_calculator(from, at + CONFIG_BYTES, 0, &both[1], 1))
		return false;
	reduced = kp_torch_tensor_elements(input);
	out->reduced = input->dims;
	output->dims = input->dims;
	memcpy(output->sizes, input->sizes, sizeof(output->sizes));
	if (!kp_torch_decode_calculator(from, at + CONFIG_BYTES + CALCULATOR_1, out->reduced, both,
					2))
		return false;
	if (out->op == KP_TORCH_MEAN)
		out->scalars[0] = load_float(from);
	return reduced == kp_torch_load32(from, at + CONFIG_INPUTS) &&
	       kp_torch_tensor_elements(input) ==
		       reduced * kp_torch_load32(from, at + CONFIG_OUTPUTS);
}

static bool decode_softmax_warp(const struct kp_torch_kind *kind, const void *const *params,
				struct kp_torch_launch *out)
{
	uint32_t rows = kp_torch_load32(params[2], 0), n = kp_torch_load32(params[4], 0);

	set_tensor(&out->tensors[0], kp_torch_load64(params[0], 0), kind->types[0]);
	set_tensor(&out->tensors[1], kp_torch_load64(params[1], 0), kind->types[1]);
	out->outputs = out->inputs = 1;
	out->compute = KP_TORCH_F32;
	return kp_torch_load32(params[3], 0) == n && kp_torch_load64(params[5], 0) == 0 &&
	       *(const unsigned char *)params[7] == 0 && set_rows(&out->tensors[0], n, rows) &&
	       set_rows(&out->tensors[1], n, rows);
}

static bool decode_softmax_block(const struct kp_torch_kind *kind, const void *const *params,
				 const uint32_t *grid, struct kp_torch_launch *out)
{
	uint64_t n = kind->kernel->sizes[2] == 4 ? kp_torch_load32(params[2], 0)
						 : kp_torch_load64(params[2], 0);

	set_tensor(&out->tensors[0], kp_torch_load64(params[0], 0), kind->types[0]);
	set_tensor(&out->tensors[1], kp_torch_load64(params[1], 0), kind->types[1]);
	out->outputs = out->inputs = 1;
	out->compute = KP_TORCH_F32;
	return grid && set_rows(&out->tensors[0], n, grid[0]) &&
	       set_rows(&out->tensors[1], n, grid[0]);
}

/* Results y, mean, 1 / deviation; operands x, weight, bias. What is at address 0 is absent. */
static bool decode_norm(const struct kp_torch_kind *kind, const void *const *params,
			const uint32_t *grid, struct kp_torch_launch *out)
{
	static const uint8_t params_of[KP_TORCH_TENSORS] = {7, 5, 6, 2, 3, 4};
	uint32_t n = kp_torch_load32(params[0], 0);

	out->outputs = out->inputs = 3;
	out->compute = KP_TORCH_F32;
	out->scalars[0] = load_float(params[1]);
	for (int i = 0; grid && i < KP_TORCH_TENSORS; i++) {
		struct kp_torch_tensor *tensor = &out->tensors[i];
		bool of_rows = i == 1 || i == 2, of_columns = i > 3;

		set_tensor(tensor, kp_torch_load64(params[params_of[i]], 0),
			   of_rows ? KP_TORCH_F32 : kind->types[0]);
		if (!set_rows(tensor, n, grid[0]))
			return false;
		if (of_columns)
			tensor->strides[1] = 0;
		if (!of_rows)
			continue;
		tensor->strides[1] = tensor->strides[0];
		tensor->strides[0] = 0;
	}
	return grid && out->tensors[0].address && out->tensors[3].address;
}

/* ---- CAT ---- */

/* Where CatArrInputTensorMetadata has what; of `most` inputs. Sizes and strides are row-major. */
struct cat {
	const unsigned char *inputs, *output;
	uint32_t most, bytes, dims, along, behind;
};

static bool set_row_major(struct kp_torch_tensor *tensor, const struct cat *cat,
			  const unsigned char *sizes)
{
	tensor->dims = (uint8_t)cat->dims;
	for (uint32_t i = 0; i < cat->dims; i++) {
		tensor->sizes[i] = kp_torch_load32(sizes, 4UL * (cat->dims - 1 - i));
		tensor->strides[i] = (uint64_t)cat->bytes *
				     kp_torch_load32(sizes, 16 + 4UL * (cat->dims - 1 - i));
	}
	return kp_torch_tensor_elements(tensor) != 0;
}

static void set_dense(struct kp_torch_tensor *tensor, uint64_t bytes)
{
	for (uint8_t i = 0; i < tensor->dims; i++) {
		tensor->strides[i] = bytes;
		bytes *= tensor->sizes[i];
	}
}

static bool set_cat_input(const struct cat *cat, uint32_t i, const struct kp_torch_tensor *output,
			  uint32_t along, struct kp_torch_tensor *tensor)
{
	const unsigned char *lists = cat->inputs + 8UL * cat->most;
	const unsigned char *own = lists + 13UL * cat->most + 32UL * i;
	uint64_t size = (uint64_t)kp_torch_load32(lists, 4UL * (cat->most + i)) * cat->behind;
	bool is_dense = lists[12UL * cat->most + i] != 0;

	set_tensor(tensor, kp_torch_load64(cat->inputs, 8UL * i),
		   (uint8_t)(KP_TORCH_OPAQUE + cat->bytes));
	tensor->dims = output->dims;
	memcpy(tensor->sizes, output->sizes, sizeof(tensor->sizes));
	if (size == 0 || size > INT32_MAX)
		return false;
	tensor->sizes[along] = (uint32_t)size;
	if (is_dense)
		set_dense(tensor, cat->bytes);
	else if (cat->behind != 1 || !set_row_major(tensor, cat, own) ||
		 tensor->sizes[along] != size)
		return false;
	return kp_torch_tensor_elements(tensor) ==
	       kp_torch_load32(lists, 4UL * (2UL * cat->most + i));
}

/* Inputs follow each other without gaps, to the end of the output. */
static bool set_cat_inputs(const struct cat *cat, uint32_t count, struct kp_torch_launch *out)
{
	uint64_t at = 0;

	if (count == 0 || count >= KP_TORCH_TENSORS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = kp_torch_load32(cat->inputs + 8UL * cat->most, 4UL * i);
		struct kp_torch_tensor *tensor = &out->tensors[1 + i];

		if (offset * cat->behind != at ||
		    !set_cat_input(cat, i, &out->tensors[0], out->along, tensor))
			return false;
		at += tensor->sizes[out->along];
	}
	out->inputs = (uint8_t)count;
	return at == out->tensors[0].sizes[out->along];
}

static bool decode_cat(const struct kp_torch_kind *kind, const void *const *params,
		       const uint32_t *grid, struct kp_torch_launch *out)
{
	struct cat cat = {params[1],
			  params[2],
			  64,
			  kind->numbers[0],
			  kind->numbers[1],
			  kp_torch_load32(params[3], 0),
			  1};

	set_tensor(&out->tensors[0], kp_torch_load64(params[0], 0),
		   (uint8_t)(KP_TORCH_OPAQUE + cat.bytes));
	if (!grid || cat.bytes > 16 || cat.dims == 0 || cat.dims > 4 || cat.along >= cat.dims ||
	    !set_row_major(&out->tensors[0], &cat, cat.output))
		return false;
	out->outputs = 1;
	out->along = (uint8_t)(cat.dims - 1 - cat.along);
	out->compute = out->tensors[0].type;
	return set_cat_inputs(&cat, grid[1], out);
}

/* All are dense; what is behind the dimension is joined with it, in units of 16 bytes. */
static bool decode_cat_vector(const struct kp_torch_kind *kind, const void *const *params,
			      const uint32_t *grid, struct kp_torch_launch *out)
{
	struct cat cat = {params[1],
			  params[2],
			  128,
			  kind->numbers[0],
			  kp_torch_load32(params[3], 0) + 1,
			  0,
			  kp_torch_load32(params[4], 0)};
	struct kp_torch_tensor *output = &out->tensors[0];
	uint64_t units;

	set_tensor(output, kp_torch_load64(params[0], 0), (uint8_t)(KP_TORCH_OPAQUE + cat.bytes));
	if (!grid || cat.bytes == 0 || cat.bytes > 16 || 16 % cat.bytes || cat.dims == 0 ||
	    cat.dims > kind->numbers[1] || cat.dims > 4 || cat.behind == 0 ||
	    !set_row_major(output, &cat, cat.output))
		return false;
	units = (uint64_t)output->sizes[0] * (16 / cat.bytes);
	if (units > INT32_MAX)
		return false;
	output->sizes[0] = (uint32_t)units;
	set_dense(output, cat.bytes);
	out->outputs = 1;
	out->along = 0;
	out->compute = output->type;
	out->vector = (uint8_t)(16 / cat.bytes);
	return set_cat_inputs(&cat, grid[1], out);
}

/* Rows are bytes. Which are read is known to the GPU alone: any of the table. */
static bool decode_gather(const void *const *params, struct kp_torch_launch *out)
{
	uint64_t bytes = kp_torch_load64(params[4], 0), stride = kp_torch_load64(params[6], 0);
	uint32_t count = kp_torch_load32(params[3], 0);

	out->outputs = 1;
	out->inputs = 2;
	out->compute = KP_TORCH_OPAQUE + 1;
	set_tensor(&out->tensors[0], kp_torch_load64(params[0], 0), KP_TORCH_OPAQUE + 1);
	set_tensor(&out->tensors[1], kp_torch_load64(params[1], 0), KP_TORCH_OPAQUE + 1);
	set_tensor(&out->tensors[2], kp_torch_load64(params[2], 0), KP_TORCH_I64);
	if (stride < bytes || kp_torch_load64(params[7], 0) < bytes ||
	    !set_rows(&out->tensors[0], bytes, count) ||
	    !set_rows(&out->tensors[1], bytes, kp_torch_load64(params[5], 0)) ||
	    !set_rows(&out->tensors[2], count, 1))
		return false;
	out->tensors[0].strides[1] = kp_torch_load64(params[7], 0);
	out->tensors[1].strides[1] = stride;
	return true;
}

bool kp_torch_decode_rows(const struct kp_torch_kind *kind, const void *const *params,
			  const uint32_t *grid, struct kp_torch_launch *out)
{
	switch (kind->kernel->layout) {
	case KP_TORCH_LAYOUT_REDUCE_4:
	case KP_TORCH_LAYOUT_REDUCE_8:
		return decode_reduce(kind, params, out);
	case KP_TORCH_LAYOUT_SOFTMAX_WARP:
		return decode_softmax_warp(kind, params, out);
	case KP_TORCH_LAYOUT_SOFTMAX_BLOCK:
		return decode_softmax_block(kind, params, grid, out);
	case KP_TORCH_LAYOUT_NORM:
		return decode_norm(kind, params, grid, out);
	case KP_TORCH_LAYOUT_CAT:
		return decode_cat(kind, params, grid, out);
	case KP_TORCH_LAYOUT_CAT_VECTOR:
		return decode_cat_vector(kind, params, grid, out);
	case KP_TORCH_LAYOUT_GATHER:
		return decode_gather(params, out);
	default:
		return false;
	}
}
