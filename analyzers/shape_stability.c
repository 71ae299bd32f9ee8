/*
 * How stable shapes are; see shapes.h for the words and shape_stability.h for what is told apart.
 *
 * Uses are copied and sorted by shape, equal ones merged; then families (the shapes of one kernel,
 * or all of library calls) say what varies; then all are sorted by time. Growth is found on the
 * uses as they came, for merging forgets who was first.
 */
#include "analyzers/shape_stability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/shape_growth.h"

struct item {
	struct kp_shape_use use;
	uint64_t most_ns; /* of its row */
	uint32_t ignored; /* dimensions in which it may differ and still be the same */
};

struct work {
	const struct kp_shapes_input *input;
	struct item *items;
	size_t count;
	double total_ns;
	struct kp_growth_value *values;
	uint64_t *scratch;
	/* By size by name: whose it is, and how much time differs in it. */
	struct kp_text size_names[KP_LIBRARY_SIZES];
	double size_ns[KP_LIBRARY_SIZES];
};

static int order_of(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Shapes of launches, and of parameters, belong to a kernel; those of calls to all that have sizes
 * of the same names. */
static int compare_family(const struct kp_shape_use *a, const struct kp_shape_use *b)
{
	enum kp_shape_source source = kp_shape_source(a);
	int order = order_of(source, kp_shape_source(b));

	if (!order)
		order = order_of(a->names, b->names);
	return order || source == KP_SHAPE_FROM_CALL ? order : order_of(a->row, b->row);
}

/* By all dimensions of a launch, the fast way: hostile traces have millions of grids. */
static int compare_launch(const struct kp_launch_config *a, const struct kp_launch_config *b)
{
	int order = 0;

	for (int i = 0; !order && i < 3; i++)
		order = order_of(a->grid[i], b->grid[i]);
	for (int i = 0; !order && i < 3; i++)
		order = order_of(a->block[i], b->block[i]);
	if (!order)
		order = order_of(a->static_shared_bytes, b->static_shared_bytes);
	return order ? order : order_of(a->dynamic_shared_bytes, b->dynamic_shared_bytes);
}

static int compare_shape(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	int order = compare_family(&a->use, &b->use);

	if (order || (!a->use.call && !a->ignored))
		return order ? order : compare_launch(a->use.config, b->use.config);
	uint32_t dims = kp_shape_dims_of(kp_shape_source(&a->use)) & ~a->ignored;
	for (enum kp_shape_dim dim = 0; !order && dims >> dim; dim++)
		if (dims >> dim & 1U)
			order = order_of(kp_shape_dim(&a->use, dim), kp_shape_dim(&b->use, dim));
	return order;
}

static int compare_time(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	int order = order_of(b->use.total_ns, a->use.total_ns);

	if (!order)
		order = order_of(b->use.launches, a->use.launches);
	return order ? order : compare_shape(a, b);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void join(struct item *into, const struct item *from)
{
	struct kp_shape_use *use = &into->use;

	if (from->most_ns > into->most_ns) {
		use->row = from->use.row;
		use->config = from->use.config;
		into->most_ns = from->most_ns;
	}
	use->launches = add(use->launches, from->use.launches);
	use->graph_launches = add(use->graph_launches, from->use.graph_launches);
	use->calls = add(use->calls, from->use.calls);
	use->total_ns = add(use->total_ns, from->use.total_ns);
	use->bytes += from->use.bytes;
	if (from->use.bytes_source < use->bytes_source)
		use->bytes_source = from->use.bytes_source;
}

/* Sorts by shape and joins equal ones. */
static void merge(struct work *work)
{
	size_t kept = 0;

	qsort(work->items, work->count, sizeof(*work->items), compare_shape);
	for (size_t i = 0; i < work->count; i++) {
		if (kept && compare_shape(&work->items[kept - 1], &work->items[i]) == 0)
			join(&work->items[kept - 1], &work->items[i]);
		else
			work->items[kept++] = work->items[i];
	}
	work->count = kept;
}

/* Of families with a size in one place, that names it of which more time differs. */
static void note_size(struct work *work, unsigned size, struct kp_text names, double varying_ns)
{
	struct kp_text name = kp_shape_size_name(names, size);

	if (!name.length || (work->size_names[size].length && varying_ns <= work->size_ns[size]))
		return;
	work->size_names[size] = name;
	work->size_ns[size] = varying_ns;
}

/* The time of shapes of a family that differ from its top shape, by dimension. */
static void add_varying(struct work *work, const struct item *family, size_t count,
			double *varying_ns)
{
	const struct item *top = family;
	uint32_t dims = kp_shape_dims_of(kp_shape_source(&family->use));

	for (size_t i = 1; i < count; i++)
		top = compare_time(&family[i], top) < 0 ? &family[i] : top;
	for (enum kp_shape_dim dim = 0; dims >> dim; dim++) {
		uint64_t usual = kp_shape_dim(&top->use, dim);
		double own_ns = 0;

		for (size_t i = 0; i < count && (dims >> dim & 1U); i++)
			if (kp_shape_dim(&family[i].use, dim) != usual)
				own_ns += (double)family[i].use.total_ns;
		varying_ns[dim] += own_ns;
		if (dim >= KP_SHAPE_SIZE_1)
			note_size(work, dim - KP_SHAPE_SIZE_1, top->use.sizes, own_ns);
	}
}

/* The items are sorted by shape. */
static uint32_t find_varying(struct work *work)
{
	double varying_ns[KP_SHAPE_DIM_COUNT] = {0};
	uint32_t varies = 0;

	for (size_t i = 0, end; i < work->count; i = end) {
		const struct kp_shape_use *first = &work->items[i].use;

		for (end = i + 1;
		     end < work->count && compare_family(first, &work->items[end].use) == 0; end++)
			;
		add_varying(work, &work->items[i], end - i, varying_ns);
	}
	for (enum kp_shape_dim dim = 0; dim < KP_SHAPE_DIM_COUNT; dim++)
		if (varying_ns[dim] * 100 > KP_SHAPES_VARIES_PCT * work->total_ns)
			varies |= 1U << dim;
	return varies;
}

/* A number for the process and the values of these dimensions (FNV-1a). */
static uint64_t group_of(const struct kp_shape_use *use, uint32_t dims)
{
	uint64_t hash = 0xcbf29ce484222325 ^ use->process;

	for (enum kp_shape_dim dim = 0; dims >> dim; dim++)
		hash = hash * 0x100000001b3 ^ (dims >> dim & 1U ? kp_shape_dim(use, dim) : 0);
	return hash;
}

/* What has to be the same for values to follow each other: all that has no order; for memory that a
 * grid goes with, also the grid as far as it does not grow itself. */
static uint32_t fixed_dims(enum kp_shape_source source, enum kp_shape_dim dim, uint32_t grows)
{
	const uint32_t grid = 1U << KP_SHAPE_GRID_X | 1U << KP_SHAPE_GRID_Y | 1U << KP_SHAPE_GRID_Z;
	uint32_t fixed = kp_shape_dims_of(source) & ~kp_shape_dims_ordered();

	return dim == KP_SHAPE_DYNAMIC_SHARED ? fixed | (grid & ~grows) : fixed;
}

static bool dim_grows(const struct work *work, enum kp_shape_dim dim, uint32_t grows)
{
	const struct kp_shapes_input *input = work->input;
	size_t most = input->count < KP_SHAPES_GROWTH_USES ? input->count : KP_SHAPES_GROWTH_USES;
	size_t count = 0;

	for (size_t i = 0; i < most; i++) {
		const struct kp_shape_use *use = &input->uses[i];

		enum kp_shape_source source = kp_shape_source(use);
		if (!(kp_shape_dims_of(source) >> dim & 1U) || !use->launches)
			continue;
		work->values[count++] =
			(struct kp_growth_value){group_of(use, fixed_dims(source, dim, grows)),
						 kp_shape_dim(use, dim), use->first};
	}
	return kp_growth_found(work->values, count, work->scratch);
}

static uint32_t find_growth(const struct work *work, uint32_t varies)
{
	const struct kp_shapes_input *input = work->input;
	uint32_t candidates = varies & kp_shape_dims_ordered(), grows = 0;

	if (input->grows_of_row) {
		candidates &= kp_shape_dims_of(KP_SHAPE_FROM_CALL);
		for (size_t i = 0; i < input->count; i++)
			if (!input->uses[i].call && input->uses[i].launches)
				grows |= input->grows_of_row[input->uses[i].row] & varies;
	}
	for (enum kp_shape_dim dim = 0; candidates >> dim; dim++)
		if ((candidates >> dim & 1U) && dim_grows(work, dim, grows))
			grows |= 1U << dim;
	return grows;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static enum kp_status put_names(const struct work *work, struct kp_arena *arena,
				struct kp_stability *out)
{
	for (unsigned i = 0; i < KP_LIBRARY_SIZES; i++) {
		const struct kp_text *name = &work->size_names[i];

		if (!name->length)
			continue;
		out->sizes[i] = kp_arena_copy(arena, name->bytes, name->length);
		if (!out->sizes[i])
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

static enum kp_status put_list(const struct work *work, struct kp_arena *arena,
			       struct kp_stability *out)
{
	size_t count = work->count < KP_SHAPES_LISTED ? work->count : KP_SHAPES_LISTED;
	struct kp_shape *shapes = kp_arena_alloc(arena, (count + 1) * sizeof(*shapes));

	if (!shapes)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		struct kp_shape *shape = &shapes[i];
		const struct kp_shape_use *use = &work->items[i].use;

		shape->use = *use;
		shape->share_pct = percent((double)use->total_ns, work->total_ns);
		shape->work = use->call ? kp_call_work(use->call) : (struct kp_work){NAN, NAN};
		shape->bytes_per_call =
			use->bytes_source && use->calls ? use->bytes / (double)use->calls : NAN;
		shape->waste = shape->bytes_per_call / shape->work.least_bytes;
		out->top_five_pct += i < 5 ? shape->share_pct : 0;
	}
	out->top_pct = count ? shapes[0].share_pct : 0;
	out->top_five_pct = fmin(out->top_five_pct, 100);
	out->shapes = shapes;
	out->shape_count = count;
	return KP_OK;
}

/* The first `count` items belong to so many kernels; calls count by themselves. */
static enum kp_status count_kernels(const struct work *work, size_t count, uint64_t *kernels)
{
	uint32_t most = 0;
	bool *seen;

	for (size_t i = 0; i < count; i++)
		most = work->items[i].use.row > most ? work->items[i].use.row : most;
	seen = calloc((size_t)most + 1, sizeof(*seen));
	if (!seen)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		const struct kp_shape_use *use = &work->items[i].use;
		bool called = kp_shape_source(use) == KP_SHAPE_FROM_CALL;

		*kernels += called || !seen[use->row];
		seen[use->row] |= !called;
	}
	free(seen);
	return KP_OK;
}

/* How many of the items, sorted by time, hold enough of it, once those that only grew are one. */
static enum kp_status count_versions(struct work *work, struct kp_stability *out)
{
	const uint32_t *grows_of_row = work->input->grows_of_row;
	double held_ns = 0;
	size_t versions = 0;
	uint32_t ignored = 0;

	for (size_t i = 0; i < work->count; i++) {
		const struct kp_shape_use *use = &work->items[i].use;
		work->items[i].ignored =
			grows_of_row && !use->call ? grows_of_row[use->row] : out->grows;
		ignored |= work->items[i].ignored;
	}
	if (ignored) {
		merge(work);
		qsort(work->items, work->count, sizeof(*work->items), compare_time);
	}
	while (versions < work->count && held_ns * 100 < KP_SHAPES_HELD_PCT * work->total_ns)
		held_ns += (double)work->items[versions++].use.total_ns;
	out->versions = out->versions_each = versions;
	return count_kernels(work, versions, &out->kernels);
}

/* By kernel (all calls are one), most time first in each. */
static int compare_in_family(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	int order = compare_family(&a->use, &b->use);

	return order ? order : compare_time(a, b);
}

/* A kernel of an operator: its time, and how many shapes hold enough of that. */
struct family {
	double ns;
	uint64_t versions;
};

static int compare_families(const void *left, const void *right)
{
	const struct family *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return order_of(a->versions, b->versions);
}

static struct family family_of(const struct item *items, size_t count)
{
	struct family family = {0};
	double held_ns = 0;

	for (size_t i = 0; i < count; i++)
		family.ns += (double)items[i].use.total_ns;
	while (family.versions < count && held_ns * 100 < KP_SHAPES_HELD_PCT * family.ns)
		held_ns += (double)items[family.versions++].use.total_ns;
	return family;
}

/* The most versions that one kernel needs, of those with most time that hold enough of all. Sorts
 * the items by kernel. */
static enum kp_status count_versions_each(struct work *work, struct kp_stability *out)
{
	struct family *families = malloc((work->count + 1) * sizeof(*families));
	size_t count = 0;
	double held_ns = 0;

	if (!families)
		return KP_NO_MEMORY;
	out->versions_each = 0;
	qsort(work->items, work->count, sizeof(*work->items), compare_in_family);
	for (size_t i = 0, end; i < work->count; i = end) {
		for (end = i + 1; end < work->count &&
				  compare_family(&work->items[i].use, &work->items[end].use) == 0;
		     end++)
			;
		families[count++] = family_of(&work->items[i], end - i);
	}
	qsort(families, count, sizeof(*families), compare_families);
	for (size_t i = 0; i < count && held_ns * 100 < KP_SHAPES_HELD_PCT * work->total_ns; i++) {
		held_ns += families[i].ns;
		if (families[i].versions > out->versions_each)
			out->versions_each = families[i].versions;
	}
	free(families);
	return KP_OK;
}

static enum kp_shapes_verdict judge(const struct kp_stability *stability, uint64_t launches)
{
	if (!stability->versions || launches < KP_SHAPES_LEAST)
		return KP_SHAPES_UNKNOWN;
	if (stability->versions_each == 1)
		return KP_SHAPES_SINGLE;
	return stability->versions_each <= KP_SHAPES_FEW_MOST ? KP_SHAPES_FEW_VERSIONS
							      : KP_SHAPES_NOT_WORTH;
}

static enum kp_status summarise(struct work *work, struct kp_arena *arena, struct kp_stability *out)
{
	uint64_t launches = 0, launched = 0, graph_launches = 0;
	double source_ns[] = {[KP_SHAPE_FROM_LAUNCH] = 0,
			      [KP_SHAPE_FROM_CALL] = 0,
			      [KP_SHAPE_FROM_PARAMETERS] = 0};
	enum kp_status status;

	for (size_t i = 0; i < work->count; i++) {
		const struct kp_shape_use *use = &work->items[i].use;

		launches = add(launches, use->launches);
		work->total_ns += (double)use->total_ns;
		source_ns[kp_shape_source(use)] += (double)use->total_ns;
		launched += use->call ? 0 : use->launches;
		graph_launches += use->call ? 0 : use->graph_launches;
	}
	merge(work);
	out->count = work->count;
	out->steady_ns = work->total_ns;
	out->called_pct = percent(source_ns[KP_SHAPE_FROM_CALL], work->total_ns);
	out->parameters_pct = percent(source_ns[KP_SHAPE_FROM_PARAMETERS], work->total_ns);
	out->varies = find_varying(work);
	out->grows = find_growth(work, out->varies);
	qsort(work->items, work->count, sizeof(*work->items), compare_time);
	status = put_list(work, arena, out);
	if (status == KP_OK)
		status = put_names(work, arena, out);
	if (status == KP_OK)
		status = count_versions(work, out);
	if (status == KP_OK && work->input->grows_of_row)
		status = count_versions_each(work, out);
	if (status != KP_OK)
		return status;
	out->verdict = judge(out, launches);
	out->hidden = out->called_pct + out->parameters_pct < 50 && !out->grows &&
		      (2 * graph_launches > launched ||
		       (out->count == 1 && work->input->spread > KP_SHAPES_SPREAD));
	out->reason = kp_shapes_reason(out, launches, work->input->spread, arena);
	return out->reason ? KP_OK : KP_NO_MEMORY;
}

enum kp_status kp_shapes_summarise(const struct kp_shapes_input *input, struct kp_arena *arena,
				   struct kp_stability *out)
{
	struct work work = {.input = input, .count = input->count};
	enum kp_status status = KP_NO_MEMORY;

	*out = (struct kp_stability){0};
	work.items = calloc(input->count + 1, sizeof(*work.items));
	work.values = malloc((input->count + 1) * sizeof(*work.values));
	work.scratch = malloc((input->count + 1) * sizeof(*work.scratch));
	if (work.items && work.values && work.scratch) {
		work.count = 0;
		for (size_t i = 0; i < input->count; i++) {
			const struct kp_shape_use *use = &input->uses[i];

			out->trials = add(out->trials, use->trials);
			out->trial_ns = add(out->trial_ns, use->trial_ns);
			if (use->launches)
				work.items[work.count++] =
					(struct item){.use = *use, .most_ns = use->total_ns};
		}
		status = summarise(&work, arena, out);
	}
	free(work.items);
	free(work.values);
	free(work.scratch);
	return status;
}
