/* From operations to a call; see dnn_graph.h. */
#include "inject/dnn_graph.h"

#include <inttypes.h>
#include <stdio.h>

#include "inject/library_texts.h"

/* Tensors of operations: cudnnBackendAttributeName_t. */
enum {
	APPLY_X = 751,
	APPLY_B = 752,
	APPLY_Y = 753,
	MULTIPLY_A = 1520,
	MULTIPLY_B = 1521,
	MULTIPLY_C = 1522,
	ATTEND_Q = 2800,
	ATTEND_BACKWARD_Q = 2851 /* k, v and o follow */
};

/* cudnnPointwiseMode_t */
enum { MODE_ADD = 0, MODE_AT_LEAST = 303 };

/* X(mode, name): pointwise operations by name. */
#define MODES(X)                                                                                   \
	X(0, "add")                                                                                \
	X(1, "mul")                                                                                \
	X(2, "min")                                                                                \
	X(3, "max")                                                                                \
	X(4, "sqrt")                                                                               \
	X(5, "add square")                                                                         \
	X(6, "div")                                                                                \
	X(8, "pow")                                                                                \
	X(9, "sub")                                                                                \
	X(10, "abs")                                                                               \
	X(13, "exp")                                                                               \
	X(15, "log")                                                                               \
	X(16, "neg")                                                                               \
	X(17, "rsqrt")                                                                             \
	X(21, "identity")                                                                          \
	X(22, "reciprocal")                                                                        \
	X(100, "relu")                                                                             \
	X(101, "tanh")                                                                             \
	X(102, "sigmoid")                                                                          \
	X(103, "elu")                                                                              \
	X(104, "gelu")                                                                             \
	X(105, "softplus")                                                                         \
	X(106, "swish")                                                                            \
	X(107, "gelu tanh")                                                                        \
	X(200, "relu gradient")                                                                    \
	X(204, "gelu gradient")                                                                    \
	X(206, "swish gradient")                                                                   \
	X(601, "select")

/* X(cudnnBackendDescriptorType_t, name): other operations. */
#define OPERATIONS(X)                                                                              \
	X(10, "convolution")                                                                       \
	X(11, "convolution gradient of weights")                                                   \
	X(12, "convolution gradient of data")                                                      \
	X(14, "statistics")                                                                        \
	X(19, "product")                                                                           \
	X(20, "batch norm statistics")                                                             \
	X(22, "reduction")                                                                         \
	X(23, "batch norm gradient of weights")                                                    \
	X(25, "resampling")                                                                        \
	X(26, "resampling gradient")                                                               \
	X(27, "concatenation")                                                                     \
	X(28, "signal")                                                                            \
	X(29, "norm")                                                                              \
	X(30, "norm gradient")                                                                     \
	X(31, "reshape")                                                                           \
	X(33, "random numbers")                                                                    \
	X(35, "paged cache load")                                                                  \
	X(36, "quantisation")                                                                      \
	X(37, "dequantisation")                                                                    \
	X(41, "attention")                                                                         \
	X(42, "grouped product")                                                                   \
	X(43, "attention backward")

struct named {
	uint32_t number;
	const char *name;
};
#define NAMED(number, name) {number, name},
static const struct named modes[] = {MODES(NAMED)}, others[] = {OPERATIONS(NAMED)};
#undef NAMED
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

uint32_t kp_dnn_type_code(int64_t type)
{
	/* By cudnnDataType_t; int8x4, uint8x4, int8x32 are of 8 bits each; bool and the fast float
	 * are none of cudaDataType's. */
	static const unsigned char codes[] = {1, 2,  3,  4, 11, 4,  9,  9,  4,  15, 25,
					      0, 29, 30, 0, 31, 34, 17, 19, 13, 5,  6};

	return type >= 0 && (size_t)type < sizeof(codes) ? codes[type] : 0;
}

/* ---- words ---- */

struct words {
	char text[KP_LIBRARY_TEXT_BYTES];
	size_t length;
};

static void say(struct words *words, const char *text)
{
	while (*text && words->length + 1 < sizeof(words->text))
		words->text[words->length++] = *text++;
	words->text[words->length] = '\0';
}

static void say_number(struct words *words, int64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, number);
	say(words, digits);
}

static const char *name_of(const struct named *table, size_t count, uint32_t number,
			   const char *unknown)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].number == number)
			return table[i].name;
	return unknown;
}

/* ", stride 1x2", unless all are as usual. */
static void say_extents(struct words *words, const char *what, const int64_t *values,
			uint32_t count, int64_t usual)
{
	bool as_usual = true;

	for (uint32_t i = 0; i < count; i++)
		as_usual &= values[i] == usual;
	if (as_usual)
		return;
	say(words, ", ");
	say(words, what);
	for (uint32_t i = 0; i < count; i++) {
		say(words, i ? "x" : " ");
		say_number(words, values[i]);
	}
}

/* ---- tensors ---- */

static const struct kp_dnn_tensor *tensor_of(const struct kp_dnn_operation *operation,
					     uint32_t attribute)
{
	for (uint32_t i = 0; i < operation->tensor_count; i++)
		if (operation->attributes[i] == attribute)
			return &operation->tensors[i];
	return NULL;
}

/* From the end: the last is 0. What is not there, or not known, is 0. */
static uint64_t extent(const struct kp_dnn_tensor *tensor, uint32_t from_end)
{
	int64_t value = from_end < tensor->rank ? tensor->extents[tensor->rank - 1 - from_end] : 0;

	return value > 0 ? (uint64_t)value : 0;
}

/* All but the last two, multiplied. */
static uint64_t batch_of(const struct kp_dnn_tensor *tensor)
{
	uint64_t batch = 1;

	for (uint32_t i = 2; i < tensor->rank; i++)
		batch *= extent(tensor, i);
	return batch;
}

static double elements_of(const struct kp_dnn_tensor *tensor)
{
	double elements = tensor->rank ? 1 : 0;

	for (uint32_t i = 0; i < tensor->rank; i++)
		elements *= (double)extent(tensor, i);
	return elements;
}

static bool is_transposed(const struct kp_dnn_tensor *tensor)
{
	return tensor->rank >= 2 && tensor->strides[tensor->rank - 1] != 1 &&
	       tensor->strides[tensor->rank - 2] == 1;
}

/* Whether it is one number a channel: 1 c 1 1. */
static bool is_bias(const struct kp_dnn_tensor *tensor)
{
	return tensor && tensor->rank > 2 && !tensor->scalar && extent(tensor, tensor->rank - 2) &&
	       elements_of(tensor) == (double)extent(tensor, tensor->rank - 2);
}

/* ---- operations behind a product or convolution ---- */

static const char *words_of(const struct kp_dnn_operation *operation)
{
	if (operation->type == KP_DNN_APPLY && operation->mode == MODE_ADD + 1 &&
	    is_bias(tensor_of(operation, APPLY_B)))
		return "bias";
	if (operation->type == KP_DNN_APPLY)
		return name_of(modes, COUNT(modes), operation->mode - 1, "pointwise");
	return name_of(others, COUNT(others), operation->type, "operation");
}

/* " + bias + relu": all but one. */
static void say_others(struct words *words, const struct kp_dnn_operation *const *operations,
		       size_t count, const struct kp_dnn_operation *but)
{
	for (size_t i = 0; i < count; i++) {
		if (operations[i] == but)
			continue;
		say(words, words->length ? " + " : "");
		say(words, words_of(operations[i]));
	}
}

/* The type of what is written in the end: of `own`, or of what the operations behind it make of it.
 */
static uint32_t result_type(const struct kp_dnn_operation *const *operations, size_t count,
			    const struct kp_dnn_tensor *own)
{
	for (size_t i = count; own->internal && i > 0; i--) {
		const struct kp_dnn_tensor *y = tensor_of(operations[i - 1], APPLY_Y);

		if (y && !y->internal)
			return y->type;
	}
	return own->type;
}

static const struct kp_dnn_operation *find_type(const struct kp_dnn_operation *const *operations,
						size_t count, uint32_t first, uint32_t last)
{
	for (size_t i = 0; i < count; i++)
		if (operations[i]->type >= first && operations[i]->type <= last)
			return operations[i];
	return NULL;
}

static void put_texts(struct kp_library_call *call, const char *detail, const char *names)
{
	call->detail = kp_library_texts_put(detail);
	call->names = kp_library_texts_put(names);
}

/* ---- convolutions ---- */

/* Where x, w and y stand among the attributes of each of the three. */
static const struct convolution_kind {
	uint32_t type, x, w, y;
	const char *words;
} convolution_kinds[] = {
	{KP_DNN_CONVOLVE, 704, 703, 705, "forward"},
	{KP_DNN_CONVOLVE_DATA, 710, 709, 711, "gradient of data"},
	{KP_DNN_CONVOLVE_WEIGHTS, 716, 715, 717, "gradient of weights"},
};

static void put_extents(uint64_t **out, const struct kp_dnn_tensor *tensor, uint32_t spatial)
{
	for (uint32_t i = spatial; i > 0; i--)
		*(*out)++ = extent(tensor, i - 1);
}

static bool describe_convolution(const struct kp_dnn_operation *operation,
				 const struct kp_dnn_operation *const *operations, size_t count,
				 struct kp_library_call *call)
{
	static const char *const names[] = {"n,c,w,k,s,q", "n,c,h,w,k,r,s,p,q",
					    "n,c,d,h,w,k,t,r,s,o,p,q"};
	const struct convolution_kind *kind = &convolution_kinds[0];
	const struct kp_dnn_convolution *how = &operation->convolution;
	struct words words = {"", 0};
	uint64_t *size = kp_library_sizes_to_set(call);

	while (kind->type != operation->type)
		kind++;
	const struct kp_dnn_tensor *x = tensor_of(operation, kind->x);
	const struct kp_dnn_tensor *w = tensor_of(operation, kind->w);
	const struct kp_dnn_tensor *y = tensor_of(operation, kind->y);
	uint32_t spatial = x && x->rank > 2 ? x->rank - 2 : 0;
	if (!w || !y || spatial < 1 || spatial > KP_DNN_SPATIAL || w->rank != x->rank ||
	    y->rank != x->rank)
		return false;
	uint64_t group = extent(w, spatial); /* channels of one */
	*size++ = extent(x, spatial + 1);
	*size++ = extent(x, spatial);
	put_extents(&size, x, spatial);
	*size++ = extent(w, spatial + 1);
	put_extents(&size, w, spatial);
	put_extents(&size, y, spatial);
	call->kind = KP_LIBRARY_CONVOLUTION;
	call->groups = group ? extent(x, spatial) / group : 0;
	call->a_type = x->type;
	call->b_type = w->type;
	call->d_type = result_type(operations, count, y);
	say(&words, kind->words);
	say(&words, x->strides[1] == 1 ? ", channels last" : ", channels first");
	say_extents(&words, "stride", how->strides, how->rank, 1);
	say_extents(&words, "padding", how->before, how->rank, 0);
	say_extents(&words, "dilation", how->dilations, how->rank, 1);
	say_others(&words, operations, count, operation);
	put_texts(call, words.text, names[spatial - 1]);
	return true;
}

/* ---- attention ---- */

#define ATTENTION_NAMES "b,h,hk,sq,sk,d,dv"

/* q b h sq d, k b hk sk d, v b hk sk dv. */
static void put_attention(struct kp_library_call *call, const struct kp_dnn_tensor *q,
			  uint64_t k_heads, uint64_t keys, const struct kp_dnn_tensor *v)
{
	call->kind = KP_LIBRARY_ATTENTION;
	call->size1 = extent(q, 3);
	call->size2 = extent(q, 2);
	call->size3 = k_heads;
	call->size4 = extent(q, 1);
	call->size5 = keys;
	call->size6 = extent(q, 0);
	call->size7 = extent(v, 0);
	call->a_type = q->type;
	call->b_type = v->type;
}

static bool describe_attention(const struct kp_dnn_operation *operation,
			       struct kp_library_call *call)
{
	bool forward = operation->type == KP_DNN_ATTEND;
	uint32_t first = forward ? ATTEND_Q : ATTEND_BACKWARD_Q;
	const struct kp_dnn_tensor *q = tensor_of(operation, first);
	const struct kp_dnn_tensor *k = tensor_of(operation, first + 1);
	const struct kp_dnn_tensor *v = tensor_of(operation, first + 2);
	const struct kp_dnn_tensor *o = tensor_of(operation, first + 3);

	if (!q || !k || !v || !o)
		return false;
	put_attention(call, q, extent(k, 2), extent(v, 1), v);
	call->d_type = o->type;
	put_texts(call, forward ? "forward" : "backward", ATTENTION_NAMES);
	return true;
}

/* Scores compared with each other's places, «query at least key», are a causal mask; against a
 * length, a padding mask. */
static bool is_causal(const struct kp_dnn_operation *const *operations, size_t count, uint64_t keys)
{
	for (size_t i = 0; i < count; i++) {
		const struct kp_dnn_tensor *x = tensor_of(operations[i], APPLY_X);
		const struct kp_dnn_tensor *b = tensor_of(operations[i], APPLY_B);

		if (operations[i]->type == KP_DNN_APPLY &&
		    operations[i]->mode == MODE_AT_LEAST + 1 && x && b && extent(x, 0) == keys &&
		    extent(b, 0) == keys)
			return true;
	}
	return false;
}

/* Two products, of which the first's result is the way to the second's operand. */
static bool describe_products(const struct kp_dnn_operation *const *operations, size_t count,
			      const struct kp_dnn_operation *first,
			      const struct kp_dnn_operation *second, struct kp_library_call *call)
{
	const struct kp_dnn_tensor *q = tensor_of(first, MULTIPLY_A);
	const struct kp_dnn_tensor *k = tensor_of(first, MULTIPLY_B);
	const struct kp_dnn_tensor *scores = tensor_of(first, MULTIPLY_C);
	const struct kp_dnn_tensor *weights = tensor_of(second, MULTIPLY_A);
	const struct kp_dnn_tensor *v = tensor_of(second, MULTIPLY_B);
	const struct kp_dnn_tensor *o = tensor_of(second, MULTIPLY_C);

	if (!q || !k || !scores || !weights || !v || !o || !scores->internal ||
	    !weights->internal || q->rank < 4 || v->rank < 4 || k->rank < 4)
		return false;
	put_attention(call, q, extent(k, 2), extent(k, 0), v);
	call->d_type = o->type;
	call->causal = is_causal(operations, count, extent(k, 0));
	put_texts(call, "forward", ATTENTION_NAMES);
	return true;
}

/* ---- the rest ---- */

static bool describe_product(const struct kp_dnn_operation *operation,
			     const struct kp_dnn_operation *const *operations, size_t count,
			     struct kp_library_call *call)
{
	const struct kp_dnn_tensor *a = tensor_of(operation, MULTIPLY_A);
	const struct kp_dnn_tensor *b = tensor_of(operation, MULTIPLY_B);
	const struct kp_dnn_tensor *c = tensor_of(operation, MULTIPLY_C);
	struct words words = {"", 0};

	if (!a || !b || !c || a->rank < 2 || b->rank < 2)
		return false;
	call->kind = KP_LIBRARY_GEMM;
	call->m = extent(a, 1);
	call->n = extent(b, 0);
	call->k = extent(a, 0);
	call->batch = batch_of(a) > batch_of(b) ? batch_of(a) : batch_of(b);
	call->stride_a = call->batch > 1 && batch_of(a) == 1; /* 1: the same for all */
	call->stride_b = call->batch > 1 && batch_of(b) == 1;
	call->transpose_a = is_transposed(a) ? KP_TRANSPOSE_YES : KP_TRANSPOSE_NONE;
	call->transpose_b = is_transposed(b) ? KP_TRANSPOSE_YES : KP_TRANSPOSE_NONE;
	call->row_major = 15;
	call->a_type = a->type;
	call->b_type = b->type;
	call->c_type = call->d_type = result_type(operations, count, c);
	say_others(&words, operations, count, operation);
	put_texts(call, words.text, "");
	return true;
}

static bool describe_rest(const struct kp_dnn_operation *const *operations, size_t count,
			  struct kp_library_call *call)
{
	const struct kp_dnn_tensor *largest = NULL;
	struct words words = {"", 0};
	uint64_t *size = kp_library_sizes_to_set(call);

	for (size_t i = 0; i < count; i++)
		for (uint32_t t = 0; t < operations[i]->tensor_count; t++) {
			const struct kp_dnn_tensor *tensor = &operations[i]->tensors[t];

			if (!tensor->internal &&
			    (!largest || elements_of(tensor) > elements_of(largest)))
				largest = tensor;
		}
	say_others(&words, operations, count, NULL);
	for (uint32_t i = 0; largest && i < largest->rank; i++)
		*size++ = extent(largest, largest->rank - 1 - i);
	call->a_type = largest ? largest->type : 0;
	static const char names[] = "d1,d2,d3,d4,d5,d6,d7,d8";
	char own[sizeof(names)];
	snprintf(own, sizeof(own), "%.*s",
		 largest && largest->rank ? (int)largest->rank * 3 - 1 : 0, names);
	put_texts(call, words.text, own);
	return true;
}

bool kp_dnn_describe(const struct kp_dnn_operation *const *operations, size_t count,
		     struct kp_library_call *call)
{
	const struct kp_dnn_operation *found, *products[2] = {NULL, NULL};
	size_t product_count = 0;

	*call = (struct kp_library_call){.kind = KP_LIBRARY_OTHER};
	if (count == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (operations[i]->type == KP_DNN_MULTIPLY && product_count++ < 2)
			products[product_count - 1] = operations[i];
	found = find_type(operations, count, KP_DNN_ATTEND, KP_DNN_ATTEND);
	if (!found)
		found = find_type(operations, count, KP_DNN_ATTEND_BACKWARD,
				  KP_DNN_ATTEND_BACKWARD);
	if (found && describe_attention(found, call))
		return true;
	found = find_type(operations, count, KP_DNN_CONVOLVE, KP_DNN_CONVOLVE_DATA);
	if (found && describe_convolution(found, operations, count, call))
		return true;
	if (product_count == 2 &&
	    describe_products(operations, count, products[0], products[1], call))
		return true;
	if (product_count == 1 && describe_product(products[0], operations, count, call))
		return true;
	return describe_rest(operations, count, call);
}
