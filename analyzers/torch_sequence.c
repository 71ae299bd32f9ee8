/*
 * Sequences by the patterns of torch_sequences.def. First operations and data flow are matched;
 * shapes follow from the step that has rows, and are then proved for every launch. See
 * torch_sequence.h.
 */
#include "analyzers/torch_sequence.h"

#include <string.h>

#include "analyzers/torch_flow.h"
#include "analyzers/torch_tensor.h"

/* What a scalar of a step is. */
enum scalar { NONE, EPS, SCALE, ONE, TWO, INVERSE };

struct step {
	uint8_t op, group;
	const char *values, *shapes, *types;
	uint8_t scalar;
};

#define GROUPS 3
#define CASTS 1
static const struct pattern {
	uint8_t kind, rows_of;
	const char *inputs, *outputs;
	struct step steps[KP_TORCH_SEQUENCE_MOST];
} patterns[] = {
#define STEP(op, group, values, shapes, types, scalar)                                             \
	{KP_TORCH_##op, group, values, shapes, types, scalar},
#define PATTERN(kind, rows_of, inputs, outputs, steps)                                             \
	{KP_TORCH_SEQUENCE_##kind, rows_of, inputs, outputs, {steps}},
#define MARK(kind, seen)
#include "analyzers/torch_sequences.def"
#undef STEP
#undef PATTERN
#undef MARK
};
#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* Values have letters. */
#define VALUES 26
enum { UNKNOWN = -2, OUTSIDE = -1 };

/* One attempt: a pattern without some of its groups. */
struct attempt {
	const struct kp_torch_launch *launches;
	size_t count;
	const struct pattern *pattern;
	uint8_t steps[KP_TORCH_SEQUENCE_MOST], step_count; /* that are there */
	uint8_t alias[VALUES];
	int8_t writer[VALUES]; /* a launch, OUTSIDE or UNKNOWN */
	struct kp_torch_tensor tensors[VALUES];
	bool swapped[KP_TORCH_SEQUENCE_MOST]; /* operands have changed places */
	bool casts;
	uint64_t columns, rows;
	double eps, scale;
};

static uint8_t value_of(const struct attempt *attempt, char letter)
{
	return attempt->alias[letter - 'a'];
}

/* `groups`: bits of those that are there. */
static void begin(struct attempt *attempt, const struct pattern *pattern, unsigned groups)
{
	attempt->pattern = pattern;
	attempt->step_count = 0;
	attempt->casts = groups & 1U << CASTS;
	attempt->scale = 1;
	attempt->eps = 0;
	for (uint8_t i = 0; i < VALUES; i++) {
		attempt->alias[i] = i;
		attempt->writer[i] = UNKNOWN;
	}
	for (uint8_t i = 0; i < KP_TORCH_SEQUENCE_MOST && pattern->steps[i].values; i++) {
		const struct step *step = &pattern->steps[i];

		if (step->group == 0 || groups & 1U << step->group)
			attempt->steps[attempt->step_count++] = i;
		else
			attempt->alias[step->values[0] - 'a'] = value_of(attempt, step->values[1]);
	}
}

static const struct step *step_of(const struct attempt *attempt, size_t launch)
{
	return &attempt->pattern->steps[attempt->steps[launch]];
}

/* Whether launch `i` has a value as its tensor `input`; what no launch has written is now known. */
static bool reads(struct attempt *attempt, size_t i, uint8_t input, uint8_t value)
{
	const struct kp_torch_tensor *tensor = &attempt->launches[i].tensors[input];

	if (attempt->writer[value] >= 0)
		return kp_torch_flow_feeds(attempt->launches, (size_t)attempt->writer[value], i,
					   input);
	if (!kp_torch_flow_is_outside(attempt->launches, i, input))
		return false;
	if (attempt->writer[value] == OUTSIDE)
		return kp_torch_tensor_is_same(&attempt->tensors[value], tensor);
	attempt->writer[value] = OUTSIDE;
	attempt->tensors[value] = *tensor;
	return true;
}

static bool reads_all(struct attempt *attempt, size_t i, bool swapped)
{
	const struct step *step = step_of(attempt, i);
	int8_t before[VALUES];

	memcpy(before, attempt->writer, sizeof(before));
	attempt->swapped[i] = swapped;
	for (uint8_t k = 1; step->values[k]; k++) {
		uint8_t input = swapped ? (uint8_t)(3 - k) : k;

		if (reads(attempt, i, input, value_of(attempt, step->values[k])))
			continue;
		memcpy(attempt->writer, before, sizeof(before));
		return false;
	}
	return true;
}

static bool takes_launch(struct attempt *attempt, size_t i)
{
	const struct kp_torch_launch *launch = &attempt->launches[i];
	const struct step *step = step_of(attempt, i);
	bool commutes = step->op == KP_TORCH_MUL || step->op == KP_TORCH_ADD;

	if (launch->op != step->op || launch->outputs != 1 ||
	    launch->inputs != strlen(step->values) - 1 ||
	    (!reads_all(attempt, i, false) && (!commutes || !reads_all(attempt, i, true))))
		return false;
	attempt->writer[value_of(attempt, step->values[0])] = (int8_t)i;
	return true;
}

/* ---- shapes ---- */

static bool find_rows(struct attempt *attempt)
{
	const struct kp_torch_tensor *tensor = NULL;
	uint64_t all;

	for (uint8_t i = 0; i < attempt->step_count; i++) {
		if (attempt->steps[i] != attempt->pattern->rows_of)
			continue;
		tensor = &attempt->launches[i].tensors[1];
		if (attempt->launches[i].reduced > 1)
			return false;
	}
	if (!tensor || tensor->dims == 0)
		return false;
	all = kp_torch_tensor_elements(tensor);
	attempt->columns = tensor->sizes[0];
	if (all == 0)
		return false;
	attempt->rows = all / attempt->columns;
	return attempt->columns <= UINT32_MAX && attempt->rows <= UINT32_MAX;
}

/* The bytes from one row to the next, of a tensor whose rows have all columns in line. */
static bool find_step(const struct attempt *attempt, const struct kp_torch_tensor *tensor,
		      uint64_t *step)
{
	struct kp_torch_tensor normal;

	if (!kp_torch_tensor_normal(tensor, &normal))
		return false;
	if (normal.dims == 2 && normal.sizes[0] == attempt->columns)
		*step = normal.strides[1];
	else
		*step = attempt->columns * kp_torch_type_bytes(tensor->type);
	return normal.dims < 3;
}

/* What a tensor must be, over [columns, rows], for its shape. */
static bool expect(const struct attempt *attempt, const struct kp_torch_tensor *tensor, char shape,
		   struct kp_torch_tensor *out)
{
	uint64_t bytes = kp_torch_type_bytes(tensor->type), step = attempt->columns * bytes;

	if (shape == 'B')
		return false;
	memset(out, 0, sizeof(*out));
	out->address = tensor->address;
	out->type = tensor->type;
	out->dims = 2;
	out->sizes[0] = shape == 'J' ? 1 : (uint32_t)attempt->columns;
	out->sizes[1] = shape == 'K' ? 1 : (uint32_t)attempt->rows;
	if (shape == 'S' && !find_step(attempt, tensor, &step))
		return false;
	out->strides[0] = shape == 'C' ? 0 : bytes;
	out->strides[1] = shape == 'C' || shape == 'J' ? bytes : step;
	if (shape == 'R')
		out->strides[1] = 0;
	return true;
}

/* What is broadcast has the indices of the result, whose elements must be in line with them. */
static bool is_along(const struct kp_torch_tensor *tensor, const struct kp_torch_tensor *result)
{
	uint64_t stride = kp_torch_type_bytes(result->type);

	if (tensor->dims != result->dims)
		return false;
	for (uint8_t i = 0; i < result->dims; i++) {
		if (tensor->sizes[i] != result->sizes[i] ||
		    (result->sizes[i] > 1 && result->strides[i] != stride))
			return false;
		stride *= result->sizes[i];
	}
	return true;
}

static bool has_shapes(struct attempt *attempt, size_t i)
{
	const struct kp_torch_launch *launch = &attempt->launches[i];
	const struct step *step = step_of(attempt, i);
	struct kp_torch_tensor is[3], expected[3];
	uint8_t count = 0;

	for (uint8_t k = 0; step->values[k]; k++) {
		uint8_t at = attempt->swapped[i] && k > 0 ? (uint8_t)(3 - k) : k;
		const struct kp_torch_tensor *tensor = &launch->tensors[at];

		if (step->shapes[k] == 'B' && is_along(tensor, &launch->tensors[0]))
			continue;
		is[count] = *tensor;
		if (!expect(attempt, tensor, step->shapes[k], &expected[count]))
			return false;
		attempt->tensors[value_of(attempt, step->values[k])] = expected[count++];
	}
	if (launch->reduced) { /* its output has a place for many elements of its input */
		struct kp_torch_tensor first = is[0], expected_first = expected[0];

		is[0] = is[1];
		is[1] = first;
		expected[0] = expected[1];
		expected[1] = expected_first;
	}
	return kp_torch_relation_is_same(is, expected, count);
}

static bool is_near(double value, double wanted)
{
	double off = value - wanted;

	return off < 1e-6 && off > -1e-6;
}

static bool has_scalars(struct attempt *attempt, size_t i)
{
	const struct kp_torch_launch *launch = &attempt->launches[i];
	double value = launch->scalars[0];
	bool plain = launch->op != KP_TORCH_ADD_SCALAR || launch->scalars[1] == 1;

	switch (step_of(attempt, i)->scalar) {
	case EPS:
		attempt->eps = value;
		return plain && value >= 0 && value < 1;
	case SCALE:
		attempt->scale = value;
		return value > -__FLT_MAX__ && value < __FLT_MAX__;
	case ONE:
		return plain && value == 1;
	case TWO:
		return value == 2;
	case INVERSE:
		return is_near(value * (double)attempt->columns, 1);
	default:
		return true;
	}
}

static bool is_narrow(uint8_t type)
{
	return type == KP_TORCH_BF16 || type == KP_TORCH_F16;
}

/* Types of a class are one; with casts there are two. Of the launches that are there. */
static bool has_types(const struct attempt *attempt)
{
	uint8_t narrow = UINT8_MAX, wide = UINT8_MAX;

	for (uint8_t i = 0; i < attempt->count; i++) {
		const struct step *step = step_of(attempt, i);

		for (uint8_t k = 0; step->values[k]; k++) {
			uint8_t at = attempt->swapped[i] && k > 0 ? (uint8_t)(3 - k) : k;
			uint8_t type = attempt->launches[i].tensors[at].type;
			uint8_t *of_class = step->types[k] == 'w' ? &wide : &narrow;

			if (*of_class == UINT8_MAX)
				*of_class = type;
			if (*of_class != type)
				return false;
		}
	}
	if (attempt->casts)
		return (wide == UINT8_MAX || wide == KP_TORCH_F32) &&
		       (narrow == UINT8_MAX || is_narrow(narrow));
	if (attempt->count < attempt->step_count)
		return true;
	if (wide == UINT8_MAX)
		return narrow == KP_TORCH_F32 || is_narrow(narrow);
	/* Norms without casts are those of f32; a softmax may be of any. */
	return narrow == wide && (narrow == KP_TORCH_F32 || attempt->eps == 0) &&
	       (narrow == KP_TORCH_F32 || is_narrow(narrow));
}

static bool is_proved(struct attempt *attempt)
{
	if (!find_rows(attempt))
		return false;
	for (uint8_t i = 0; i < attempt->step_count; i++)
		if (!kp_torch_flow_has_own_type(&attempt->launches[i]) ||
		    !has_scalars(attempt, i) || !has_shapes(attempt, i))
			return false;
	return has_types(attempt);
}

static void put(const struct attempt *attempt, struct kp_torch_sequence *out)
{
	const struct pattern *pattern = attempt->pattern;

	memset(out, 0, sizeof(*out));
	out->kind = pattern->kind;
	out->columns = attempt->columns;
	out->rows = attempt->rows;
	out->eps = attempt->eps;
	out->scale = attempt->scale;
	for (const char *letter = pattern->inputs; *letter; letter++)
		out->inputs[out->input_count++] = attempt->tensors[value_of(attempt, *letter)];
	for (const char *letter = pattern->outputs; *letter; letter++)
		out->outputs[out->output_count++] = attempt->tensors[value_of(attempt, *letter)];
	kp_torch_flow_finish(attempt->launches, attempt->count, out);
}

/* The groups that a pattern has, as bits. */
static inline unsigned groups_of(const struct pattern *pattern)
{
	unsigned groups = 0;

	for (size_t i = 0; i < KP_TORCH_SEQUENCE_MOST && pattern->steps[i].values; i++)
		groups |= 1U << pattern->steps[i].group;
	return groups & ~1U;
}

/*
 * Whether these are the operations by which the pattern begins, with the steps of these groups.
 * Most attempts end here, before they are begun.
 */
static inline bool has_operations(const struct pattern *pattern, unsigned groups,
				  const struct kp_torch_launch *launches, size_t count)
{
	const struct step *step = pattern->steps, *end = step + KP_TORCH_SEQUENCE_MOST;
	size_t i = 0;

	for (; i < count && step < end && step->values; step++) {
		if (step->group && !(groups & 1U << step->group))
			continue;
		if (launches[i++].op != step->op)
			return false;
	}
	return i == count;
}

static enum kp_torch_match try(struct attempt *attempt, struct kp_torch_sequence *out)
{
	for (size_t i = 0; i < attempt->count; i++)
		if (!takes_launch(attempt, i))
			return KP_TORCH_MATCH_NO;
	if (attempt->count < attempt->step_count)
		return has_types(attempt) ? KP_TORCH_MATCH_MORE : KP_TORCH_MATCH_NO;
	if (!is_proved(attempt))
		return KP_TORCH_MATCH_NO;
	put(attempt, out);
	return KP_TORCH_MATCH_WHOLE;
}

/* The patterns of one kind; NONE: all. */
static enum kp_torch_match match_kind(const struct kp_torch_launch *launches, size_t count,
				      uint8_t kind, struct kp_torch_sequence *out)
{
	enum kp_torch_match best = KP_TORCH_MATCH_NO;
	struct attempt attempt;

	attempt.launches = launches;
	attempt.count = count;
	if (count == 0 || count > KP_TORCH_SEQUENCE_MOST)
		return KP_TORCH_MATCH_NO;
	for (size_t i = 0; i < PATTERNS; i++) {
		unsigned all;

		if (kind && patterns[i].kind != kind)
			continue;
		all = groups_of(&patterns[i]);
		for (unsigned groups = 0; groups <= all; groups += 2) {
			enum kp_torch_match match;

			if ((groups & ~all) ||
			    !has_operations(&patterns[i], groups, launches, count))
				continue;
			begin(&attempt, &patterns[i], groups);
			match = try(&attempt, out);
			if (match == KP_TORCH_MATCH_WHOLE)
				return match;
			if (match > best)
				best = match;
		}
	}
	return best;
}

enum kp_torch_match kp_torch_sequence_match(const struct kp_torch_launch *launches, size_t count,
					    struct kp_torch_sequence *out)
{
	enum kp_torch_match best = match_kind(launches, count, KP_TORCH_SEQUENCE_NONE, out), rope;

	if (best == KP_TORCH_MATCH_WHOLE || count == 0 || count > KP_TORCH_SEQUENCE_MOST)
		return best;
	rope = kp_torch_rope_match(launches, count, out);
	return rope > best ? rope : best;
}

enum kp_torch_match kp_torch_sequence_is(uint8_t kind, const struct kp_torch_launch *launches,
					 size_t count, struct kp_torch_sequence *out)
{
	return kind == KP_TORCH_SEQUENCE_NONE ? KP_TORCH_MATCH_NO
					      : match_kind(launches, count, kind, out);
}

/* A pattern, with the steps of these groups. */
static bool has_all(const struct pattern *pattern, unsigned groups, const uint8_t *ops,
		    size_t count)
{
	struct attempt attempt;

	begin(&attempt, pattern, groups);
	for (size_t i = 0; i < count && i < attempt.step_count; i++)
		if (step_of(&attempt, i)->op != ops[i])
			return false;
	return count == attempt.step_count;
}

uint8_t kp_torch_sequence_of(const uint8_t *ops, size_t count)
{
	for (size_t i = 0; i < PATTERNS; i++)
		for (unsigned groups = 0; groups < 1U << GROUPS; groups += 2)
			if (has_all(&patterns[i], groups, ops, count))
				return patterns[i].kind;
	return KP_TORCH_SEQUENCE_NONE;
}

uint8_t kp_torch_sequence_place(uint8_t kind, uint8_t op)
{
	uint8_t found = KP_TORCH_PLACE_NONE;

	for (size_t i = 0; i < PATTERNS; i++) {
		bool first = true;

		for (size_t k = 0; patterns[i].kind == kind && k < KP_TORCH_SEQUENCE_MOST &&
				   patterns[i].steps[k].values;
		     k++) {
			if (patterns[i].steps[k].op == op)
				found |= first ? KP_TORCH_PLACE_FIRST | KP_TORCH_PLACE_ANY
					       : KP_TORCH_PLACE_ANY;
			first &= patterns[i].steps[k].group != 0;
		}
	}
	return found;
}
