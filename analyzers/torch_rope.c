/*
 * Rotary embeddings among launches. Their views are cut differently in every launch, so that each
 * launch is proved as a relation between elements: CAT alone has the sizes of heads, positions and
 * batch, and the views of the others follow from operand to operand. See torch_sequence.h.
 */
#include <string.h>

#include "analyzers/torch_flow.h"
#include "analyzers/torch_tensor.h"

/* An operand of a launch: the number of the launch, and of its tensor. */
struct operand {
	uint8_t launch, tensor;
};

struct match {
	const struct kp_torch_launch *launches;
	size_t count;
};

static const struct kp_torch_tensor *at(const struct match *match, struct operand operand)
{
	return &match->launches[operand.launch].tensors[operand.tensor];
}

/* ---- operations and data flow ---- */

/* In: writer of each operand of a launch, or NOBODY for what comes from outside. */
enum { NOBODY = -1 };

struct step {
	uint8_t op;
	int8_t scalar; /* of ADD */
	int8_t from[2];
};

static bool flows(const struct match *match, size_t i, uint8_t tensor, int8_t from)
{
	return from == NOBODY ? kp_torch_flow_is_outside(match->launches, i, tensor)
			      : kp_torch_flow_feeds(match->launches, (size_t)from, i, tensor);
}

/* Whether launch `i` is the step; *swapped: its two operands have changed places. */
static bool is_step(const struct match *match, size_t i, const struct step *step, bool *swapped)
{
	const struct kp_torch_launch *launch = &match->launches[i];
	uint8_t inputs = step->op == KP_TORCH_NEG ? 1 : 2;
	bool commutes = step->op == KP_TORCH_MUL || (step->op == KP_TORCH_ADD && step->scalar == 1);

	*swapped = false;
	if (launch->op != step->op || launch->outputs != 1 || launch->inputs != inputs ||
	    (step->op == KP_TORCH_ADD && launch->scalars[0] != step->scalar))
		return false;
	if (flows(match, i, 1, step->from[0]) && (inputs == 1 || flows(match, i, 2, step->from[1])))
		return true;
	*swapped = true;
	return commutes && flows(match, i, 2, step->from[0]) && flows(match, i, 1, step->from[1]);
}

/* Steps that are matched, in order. */
static size_t count_steps(const struct match *match, const struct step *steps, size_t count,
			  bool *swapped)
{
	size_t i = 0;

	for (size_t k = 0; k < count && k < match->count; k++)
		if (match->launches[k].op != steps[k].op)
			return 0;
	while (i < count && i < match->count && is_step(match, i, &steps[i], &swapped[i]))
		i++;
	return i;
}

/* ---- views ---- */

/* The view of one operand that belongs to a view of another one of the same launch. */
static bool follow(const struct match *match, struct operand known, uint8_t other,
		   const struct kp_torch_tensor *view, struct kp_torch_tensor *out)
{
	const struct operand of_other = {known.launch, other};

	return kp_torch_tensor_follow(at(match, known), at(match, of_other), view, out);
}

/* Whether a launch's tensors, output first, are these views at every index. */
static bool is_relation(const struct match *match, uint8_t launch,
			const struct kp_torch_tensor *views, size_t count)
{
	return kp_torch_relation_is_same(match->launches[launch].tensors, views, count);
}

/*
 * MUL of x and a table: `x` is which operand it is. Sets the views of the table and of the product,
 * and proves the launch.
 */
static bool multiplies(const struct match *match, struct operand x,
		       const struct kp_torch_tensor *view, struct kp_torch_tensor *table,
		       struct kp_torch_tensor *product)
{
	uint8_t other = (uint8_t)(3 - x.tensor);
	struct kp_torch_tensor views[3];

	if (!follow(match, x, other, view, table) || !follow(match, x, 0, view, product))
		return false;
	views[0] = *product;
	views[x.tensor] = *view;
	views[other] = *table;
	return is_relation(match, x.launch, views, 3);
}

/* ADD of two products. */
static bool adds(const struct match *match, struct operand first,
		 const struct kp_torch_tensor *first_view,
		 const struct kp_torch_tensor *second_view, struct kp_torch_tensor *sum)
{
	struct kp_torch_tensor views[3];

	if (!follow(match, first, 0, first_view, sum))
		return false;
	views[0] = *sum;
	views[first.tensor] = *first_view;
	views[3 - first.tensor] = *second_view;
	return is_relation(match, first.launch, views, 3);
}

/* Along a dimension of one element no step is taken. */
static bool is_same_view(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b)
{
	if (a->address != b->address || a->type != b->type || a->dims != b->dims)
		return false;
	for (uint8_t i = 0; i < a->dims; i++)
		if (a->sizes[i] != b->sizes[i] ||
		    (a->sizes[i] > 1 && a->strides[i] != b->strides[i]))
			return false;
	return true;
}

static bool is_type(uint8_t type)
{
	return type == KP_TORCH_BF16 || type == KP_TORCH_F16 || type == KP_TORCH_F32;
}

static bool have_one_type(const struct match *match)
{
	uint8_t type = match->launches[0].tensors[0].type;

	for (size_t i = 0; i < match->count; i++) {
		const struct kp_torch_launch *launch = &match->launches[i];

		if (!kp_torch_flow_has_own_type(launch))
			return false;
		for (uint8_t k = 0; k < launch->outputs + launch->inputs; k++)
			if (launch->op != KP_TORCH_CAT && launch->tensors[k].type != type)
				return false;
	}
	return is_type(type);
}

/* What CAT puts together: two halves of heads, along the first dimension. */
static bool joins_halves(const struct kp_torch_launch *cat, uint8_t type)
{
	const struct kp_torch_tensor *whole = &cat->tensors[0];
	uint32_t bytes = kp_torch_type_bytes(type);

	if (cat->along != 0 || whole->dims == 0 || kp_torch_type_bytes(whole->type) != bytes ||
	    cat->tensors[2].strides[0] != bytes)
		return false;
	for (uint8_t k = 1; k < 3; k++) {
		const struct kp_torch_tensor *half = &cat->tensors[k];

		if (half->dims != whole->dims || half->sizes[0] < 2 ||
		    whole->sizes[0] != 2 * (uint64_t)half->sizes[0] ||
		    memcmp(&half->sizes[1], &whole->sizes[1],
			   (whole->dims - 1U) * sizeof(whole->sizes[0])) != 0)
			return false;
	}
	return true;
}

static struct kp_torch_tensor typed(const struct kp_torch_tensor *tensor, uint8_t type)
{
	struct kp_torch_tensor out = *tensor;

	out.type = type;
	return out;
}

static void put(const struct match *match, uint8_t kind, const struct kp_torch_tensor inputs[3],
		const struct kp_torch_tensor *output, struct kp_torch_sequence *out)
{
	memset(out, 0, sizeof(*out));
	out->kind = kind;
	out->columns = output->sizes[0];
	out->rows = kp_torch_tensor_elements(output) / output->sizes[0];
	out->scale = 1;
	memcpy(out->inputs, inputs, 3 * sizeof(inputs[0]));
	out->outputs[0] = *output;
	out->input_count = 3;
	out->output_count = 1;
	kp_torch_flow_finish(match->launches, match->count, out);
}

/* ---- x cos + cat(-x's second half, x's first half) sin ---- */

static const struct step whole_steps[] = {
	{KP_TORCH_MUL, 0, {NOBODY, NOBODY}}, {KP_TORCH_NEG, 0, {NOBODY, NOBODY}},
	{KP_TORCH_CAT, 0, {1, NOBODY}},      {KP_TORCH_MUL, 0, {2, NOBODY}},
	{KP_TORCH_ADD, 1, {0, 3}},
};

/* Of the first MUL, which operand is x: that which begins where CAT's second does. */
static bool find_x(const struct match *match, const struct kp_torch_tensor *x, uint8_t *tensor)
{
	for (*tensor = 1; *tensor < 3; ++*tensor)
		if (match->launches[0].tensors[*tensor].address == x->address)
			return true;
	return false;
}

static bool negates(const struct match *match, const struct kp_torch_tensor *x,
		    const struct kp_torch_tensor *negated)
{
	struct kp_torch_tensor views[2] = {*negated, *x};

	views[1].sizes[0] /= 2;
	views[1].address += views[1].sizes[0] * views[1].strides[0];
	return is_relation(match, 1, views, 2);
}

static bool is_whole_rope(const struct match *match, const bool *swapped,
			  struct kp_torch_sequence *out)
{
	const struct kp_torch_launch *cat = &match->launches[2];
	uint8_t type = match->launches[0].tensors[0].type;
	struct kp_torch_tensor inputs[3], product, other, sum, rotated, negated;
	struct operand x = {0, 0}, turned = {3, swapped[3] ? 2 : 1},
		       first = {4, swapped[4] ? 2 : 1};

	if (!have_one_type(match) || !joins_halves(cat, type))
		return false;
	rotated = typed(&cat->tensors[0], type);
	negated = typed(&cat->tensors[1], type);
	inputs[0] = typed(&cat->tensors[2], type);
	inputs[0].sizes[0] *= 2;
	if (!find_x(match, &inputs[0], &x.tensor) || !negates(match, &inputs[0], &negated) ||
	    !multiplies(match, x, &inputs[0], &inputs[1], &product) ||
	    !multiplies(match, turned, &rotated, &inputs[2], &other) ||
	    !adds(match, first, &product, &other, &sum))
		return false;
	put(match, KP_TORCH_SEQUENCE_ROPE, inputs, &sum, out);
	return true;
}

/* ---- cat(a cos - b sin, a sin + b cos), a and b the halves of x ---- */

static const struct step halves_steps[] = {
	{KP_TORCH_MUL, 0, {NOBODY, NOBODY}}, {KP_TORCH_MUL, 0, {NOBODY, NOBODY}},
	{KP_TORCH_ADD, -1, {0, 1}},          {KP_TORCH_MUL, 0, {NOBODY, NOBODY}},
	{KP_TORCH_MUL, 0, {NOBODY, NOBODY}}, {KP_TORCH_ADD, 1, {3, 4}},
	{KP_TORCH_CAT, 0, {2, 5}},
};

/*
 * The operands of MUL `launch`, as the operand that is x has it: `which` says which one that is.
 * `product` is the view of its output.
 */
static bool splits(const struct match *match, uint8_t launch, uint8_t which,
		   const struct kp_torch_tensor *product, struct kp_torch_tensor *x,
		   struct kp_torch_tensor *table)
{
	const struct operand output = {launch, 0}, is_x = {launch, which};
	struct kp_torch_tensor again;

	return follow(match, output, which, product, x) &&
	       multiplies(match, is_x, x, table, &again) && is_same_view(&again, product);
}

/* A sum's view has those of its operands. */
static bool splits_sum(const struct match *match, uint8_t launch, bool swapped,
		       const struct kp_torch_tensor *sum, struct kp_torch_tensor products[2])
{
	const struct operand output = {launch, 0}, first = {launch, swapped ? 2 : 1};
	struct kp_torch_tensor again;

	return follow(match, output, first.tensor, sum, &products[0]) &&
	       follow(match, output, (uint8_t)(3 - first.tensor), sum, &products[1]) &&
	       adds(match, first, &products[0], &products[1], &again) && is_same_view(&again, sum);
}

/* The halves of x lie behind each other. */
static bool are_halves(const struct kp_torch_tensor *a, const struct kp_torch_tensor *b)
{
	struct kp_torch_tensor second = *a;

	second.address += a->sizes[0] * a->strides[0];
	return is_same_view(&second, b);
}

/* `which`: bit i, whether the table comes first in MUL i. */
static bool is_halves_rope_as(const struct match *match, const bool *swapped, unsigned which,
			      struct kp_torch_sequence *out)
{
	static const uint8_t muls[4] = {0, 1, 3, 4};
	uint8_t type = match->launches[0].tensors[0].type;
	const struct kp_torch_launch *cat = &match->launches[6];
	struct kp_torch_tensor sums[2], products[4], x[4], tables[4], inputs[3], output;

	for (int i = 0; i < 2; i++) {
		sums[i] = typed(&cat->tensors[1 + i], type);
		if (!splits_sum(match, i ? 5 : 2, swapped[i ? 5 : 2], &sums[i], &products[2 * i]))
			return false;
	}
	for (int i = 0; i < 4; i++)
		if (!splits(match, muls[i], which >> i & 1 ? 2 : 1, &products[i], &x[i],
			    &tables[i]))
			return false;
	if (!are_halves(&x[0], &x[1]) || !is_same_view(&x[0], &x[2]) ||
	    !is_same_view(&x[1], &x[3]) || !is_same_view(&tables[0], &tables[3]) ||
	    !is_same_view(&tables[1], &tables[2]))
		return false;
	inputs[0] = x[0];
	inputs[0].sizes[0] *= 2;
	inputs[1] = tables[0];
	inputs[2] = tables[1];
	output = typed(&cat->tensors[0], type);
	put(match, KP_TORCH_SEQUENCE_ROPE_HALVES, inputs, &output, out);
	return true;
}

/* ADD of a sin and b cos commutes: PyTorch keeps the order in which they were computed. */
static bool is_halves_rope(const struct match *match, const bool *swapped,
			   struct kp_torch_sequence *out)
{
	const struct kp_torch_launch *cat = &match->launches[6];

	if (!have_one_type(match) || !joins_halves(cat, match->launches[0].tensors[0].type))
		return false;
	return is_halves_rope_as(match, swapped, 0, out) ||
	       is_halves_rope_as(match, swapped, 15, out);
}

enum kp_torch_match kp_torch_rope_match(const struct kp_torch_launch *launches, size_t count,
					struct kp_torch_sequence *out)
{
	const struct match match = {launches, count};
	const size_t whole = sizeof(whole_steps) / sizeof(whole_steps[0]);
	const size_t halves = sizeof(halves_steps) / sizeof(halves_steps[0]);
	bool swapped[KP_TORCH_SEQUENCE_MOST];
	enum kp_torch_match found = KP_TORCH_MATCH_NO;

	if (count_steps(&match, whole_steps, whole, swapped) == count) {
		if (count == whole && is_whole_rope(&match, swapped, out))
			return KP_TORCH_MATCH_WHOLE;
		if (count < whole)
			found = KP_TORCH_MATCH_MORE;
	}
	if (count_steps(&match, halves_steps, halves, swapped) == count) {
		if (count == halves && is_halves_rope(&match, swapped, out))
			return KP_TORCH_MATCH_WHOLE;
		if (count < halves)
			found = KP_TORCH_MATCH_MORE;
	}
	return found;
}
