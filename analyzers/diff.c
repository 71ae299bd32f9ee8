/* A comparison: sides, parts, and what moved; see diff.h. Pure. */
#include "analyzers/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/diff_build.h"

/* So that differences of differences stay within 64 bits: 13 days. */
#define MOST_PS (INT64_MAX / 8)

static const char *const match_names[KP_DIFF_MATCH_COUNT] = {
#define X(NAME, key) key,
	KP_DIFF_MATCHES(X)
#undef X
};

const char *kp_diff_match_name(enum kp_diff_match match)
{
	return match_names[match];
}

int64_t kp_diff_ps(int64_t sum_ns, uint64_t count)
{
	int64_t number = count && count <= INT64_MAX ? (int64_t)count : 1, whole = sum_ns / number;

	if (whole > MOST_PS / 1000 - 1 || whole < 1 - MOST_PS / 1000)
		return whole > 0 ? MOST_PS : -MOST_PS;
	/* What is left is below `number`, which no trace brings near 2^53. */
	return whole * 1000 + (int64_t)((double)(sum_ns % number) * 1000 / (double)number);
}

/* ---- sides ---- */

/* The number of a kernel: equal for what is the same in two runs. */
static enum kp_status number_of(struct kp_intern *keys, const struct kp_run_row *row,
				uint32_t *number)
{
	const char *const parts[] = {row->mangled, row->operator_name,
				     row->variant ? row->variant : ""};
	size_t lengths[3], length = 0;
	enum kp_status status;
	char *bytes;

	for (unsigned i = 0; i < 3; i++) {
		lengths[i] = strlen(parts[i]) + 1;
		length += lengths[i];
	}
	bytes = malloc(length);
	if (!bytes)
		return KP_NO_MEMORY;
	length = 0;
	for (unsigned i = 0; i < 3; i++) {
		memcpy(bytes + length, parts[i], lengths[i]);
		length += lengths[i];
	}
	status = kp_intern_put(keys, bytes, length, number, NULL);
	free(bytes);
	return status;
}

/* The numbers of the rows of each run, one after another; *out is the caller's to free. */
static enum kp_status number_rows(struct kp_differ *differ, const struct kp_diff_total *total,
				  uint32_t **out)
{
	size_t count = 0;
	enum kp_status status;
	uint32_t *numbers;

	for (size_t i = 0; i < total->run_count; i++)
		count += total->runs[i]->row_count;
	numbers = malloc((count + 1) * sizeof(*numbers));
	*out = numbers;
	status = numbers ? KP_OK : KP_NO_MEMORY;
	for (size_t i = 0; i < total->run_count; i++)
		for (size_t k = 0; status == KP_OK && k < total->runs[i]->row_count; k++)
			status = number_of(&differ->keys, &total->runs[i]->rows[k], numbers++);
	return status;
}

static void add_row(struct kp_diff_leaf *leaves, enum kp_run_unit unit, const struct kp_run *run,
		    const uint32_t *numbers, size_t place)
{
	const struct kp_run_row *row = &run->rows[place];
	struct kp_diff_leaf *leaf = &leaves[numbers[place]];

	if (!leaf->row || row->part_ns[unit] > leaf->row->part_ns[unit]) {
		leaf->row = row;
		leaf->before = row->before == KP_RUN_NONE ? KP_LEAF_NONE : numbers[row->before];
		leaf->behind = row->behind == KP_RUN_NONE ? KP_LEAF_NONE : numbers[row->behind];
	}
	leaf->part_ns += row->part_ns[unit];
	leaf->calls += row->calls[unit];
	leaf->calls_all += row->calls[KP_UNIT_RUN];
	leaf->total_ns += row->total_ns;
	if (!isnan(row->bytes)) {
		leaf->bytes += row->bytes;
		leaf->known_ns += row->total_ns;
	}
}

static enum kp_status add_side(struct kp_differ *differ, unsigned side, const uint32_t *numbers)
{
	const struct kp_diff_total *total = &differ->diff->totals[side];
	struct kp_diff_leaf *leaves = calloc(differ->keys.count + 1, sizeof(*leaves));

	differ->sides[side] = leaves;
	if (!leaves)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < differ->keys.count; i++)
		leaves[i].before = leaves[i].behind = leaves[i].other = KP_LEAF_NONE;
	for (size_t i = 0; i < total->run_count; i++) {
		for (size_t k = 0; k < total->runs[i]->row_count; k++)
			add_row(leaves, differ->diff->unit, total->runs[i], numbers, k);
		numbers += total->runs[i]->row_count;
	}
	return KP_OK;
}

static enum kp_status add_sides(struct kp_differ *differ)
{
	uint32_t *numbers[2] = {NULL, NULL};
	enum kp_status status = number_rows(differ, &differ->diff->totals[0], &numbers[0]);

	if (status == KP_OK)
		status = number_rows(differ, &differ->diff->totals[1], &numbers[1]);
	for (unsigned side = 0; status == KP_OK && side < 2; side++)
		status = add_side(differ, side, numbers[side]);
	free(numbers[0]);
	free(numbers[1]);
	return status;
}

/* All units of all runs of a side together. */
static struct kp_run_length length_of(const struct kp_diff *diff, unsigned side)
{
	const struct kp_diff_total *total = &diff->totals[side];
	struct kp_run_length sum = {0};

	for (size_t i = 0; i < total->run_count; i++) {
		const struct kp_run_length *length = &total->runs[i]->lengths[diff->unit];

		sum.count += length->count;
		sum.length_ns += length->length_ns;
		sum.others_ns += length->others_ns;
		sum.rest_ns += length->rest_ns;
		for (unsigned k = 0; k < KP_GAP_CAUSE_COUNT; k++)
			sum.cause_ns[k] += length->cause_ns[k];
	}
	return sum;
}

/* Iterations where all runs have them. */
static enum kp_run_unit unit_of(const struct kp_diff *diff)
{
	enum kp_run_unit unit = KP_UNIT_STEP;

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->totals[side].run_count; i++)
			if (!diff->totals[side].runs[i]->lengths[KP_UNIT_STEP].count)
				unit = KP_UNIT_RUN;
	return unit;
}

static void put_totals(struct kp_diff *diff)
{
	diff->unit = unit_of(diff);
	for (unsigned side = 0; side < 2; side++) {
		struct kp_diff_total *total = &diff->totals[side];
		struct kp_run_length length = length_of(diff, side);

		total->units = length.count;
		total->length_ps = kp_diff_ps((int64_t)length.length_ns, length.count);
		for (size_t i = 0; i < total->run_count; i++) {
			total->kernel_ns += total->runs[i]->kernel_ns;
			total->busy_ns += total->runs[i]->busy_ns;
			total->span_ns += total->runs[i]->span_ns;
			total->launches += total->runs[i]->launches;
		}
	}
	diff->change_ps = diff->totals[1].length_ps - diff->totals[0].length_ps;
}

/* ---- parts ---- */

/* Where parts are put down one after another, so that they add up. */
struct ledger {
	const struct kp_diff *diff;
	int64_t told_ns[2]; /* so far, of all units */
	struct kp_diff_row *rows;
	size_t count;
};

static void tell(struct ledger *ledger, struct kp_diff_row *row, unsigned side, int64_t part_ns)
{
	uint64_t units = ledger->diff->totals[side].units;
	int64_t before_ps = kp_diff_ps(ledger->told_ns[side], units);
	int64_t length_ps = ledger->diff->totals[side].length_ps;

	/* Files that cannot be may have times that no 64 bits hold. */
	ledger->told_ns[side] = (int64_t)((uint64_t)ledger->told_ns[side] + (uint64_t)part_ns);
	row->sides[side].time_ps = kp_diff_ps(ledger->told_ns[side], units) - before_ps;
	row->sides[side].share_pct =
		length_ps > 0 ? 100 * (double)row->sides[side].time_ps / (double)length_ps : 0;
}

double kp_diff_gbps(const struct kp_diff_side *side)
{
	return side->bytes_ns > 0 && side->bytes_ns >= 0.9 * side->total_ns
		       ? side->bytes / side->bytes_ns
		       : NAN;
}

static void settle_side(struct kp_diff_side *side)
{
	side->mean_ns =
		side->launches > 0 && side->total_ns > 0 ? side->total_ns / side->launches : NAN;
	side->gbps = kp_diff_gbps(side);
}

/* What a leaf says besides its time; NULL: nothing. */
static void put_leaf(const struct kp_diff_leaf *leaf, uint64_t units, struct kp_diff_side *side)
{
	side->median_ns = NAN;
	if (leaf && leaf->row) {
		side->calls = (double)leaf->calls / (double)(units ? units : 1);
		side->median_ns = leaf->row->median_ns;
		side->launches = (double)leaf->calls_all;
		side->total_ns = (double)leaf->total_ns;
		side->bytes = leaf->bytes;
		side->bytes_ns = (double)leaf->known_ns;
	}
	settle_side(side);
}

/* A row of two leaves, either of which may be NULL. */
static void add_kernel(struct ledger *ledger, const struct kp_diff_leaf *base,
		       const struct kp_diff_leaf *fresh)
{
	const struct kp_diff_leaf *const leaves[2] = {base, fresh};
	struct kp_diff_row *row = &ledger->rows[ledger->count++];

	row->kind = KP_DIFF_KERNEL;
	row->cause = KP_GAP_CAUSE_COUNT;
	row->match = !base            ? KP_MATCH_NEW
		     : !fresh         ? KP_MATCH_GONE
		     : base->replaced ? KP_MATCH_REPLACED
				      : KP_MATCH_SAME;
	for (unsigned side = 0; side < 2; side++) {
		put_leaf(leaves[side], ledger->diff->totals[side].units, &row->sides[side]);
		row->kernels[side] = leaves[side] ? leaves[side]->row : NULL;
		tell(ledger, row, side, leaves[side] ? (int64_t)leaves[side]->part_ns : 0);
	}
	row->change_ps = row->sides[1].time_ps - row->sides[0].time_ps;
}

static void add_other(struct ledger *ledger, enum kp_diff_kind kind, unsigned cause,
		      int64_t base_ns, int64_t fresh_ns)
{
	struct kp_diff_row *row = &ledger->rows[ledger->count];

	if (!base_ns && !fresh_ns)
		return;
	row->kind = kind;
	row->cause = cause;
	put_leaf(NULL, 0, &row->sides[0]);
	put_leaf(NULL, 0, &row->sides[1]);
	tell(ledger, row, 0, base_ns);
	tell(ledger, row, 1, fresh_ns);
	row->change_ps = row->sides[1].time_ps - row->sides[0].time_ps;
	ledger->count++;
}

static enum kp_status put_rows(struct kp_differ *differ, struct ledger *ledger)
{
	const struct kp_diff_leaf *base = differ->sides[0], *fresh = differ->sides[1];
	struct kp_run_length lengths[2] = {length_of(differ->diff, 0), length_of(differ->diff, 1)};
	size_t room = 2 * differ->keys.count + KP_GAP_CAUSE_COUNT + 2;

	ledger->diff = differ->diff;
	ledger->rows = kp_arena_alloc(differ->diff->arena, room * sizeof(*ledger->rows));
	if (!ledger->rows)
		return KP_NO_MEMORY;
	for (size_t i = 0; i < differ->keys.count; i++) {
		if (kp_leaf_has_part(&base[i]))
			add_kernel(ledger, &base[i],
				   base[i].other == KP_LEAF_NONE ? NULL : &fresh[base[i].other]);
		if (kp_leaf_has_part(&fresh[i]) && fresh[i].other == KP_LEAF_NONE)
			add_kernel(ledger, NULL, &fresh[i]);
	}
	for (unsigned side = 0; side < 2; side++) {
		struct kp_diff_total *total = &differ->diff->totals[side];

		total->busy_ps =
			kp_diff_ps(ledger->told_ns[side] + lengths[side].others_ns, total->units);
		for (size_t i = 0; i < ledger->count; i++)
			total->calls += ledger->rows[i].sides[side].calls;
	}
	add_other(ledger, KP_DIFF_OTHERS, KP_GAP_CAUSE_COUNT, lengths[0].others_ns,
		  lengths[1].others_ns);
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		add_other(ledger, KP_DIFF_IDLE, i, (int64_t)lengths[0].cause_ns[i],
			  (int64_t)lengths[1].cause_ns[i]);
	add_other(ledger, KP_DIFF_IDLE, KP_GAP_CAUSE_COUNT, lengths[0].rest_ns, lengths[1].rest_ns);
	return KP_OK;
}

/* ---- groups ---- */

static const char *operator_of(const struct kp_diff_row *row)
{
	return row->kernels[0] ? row->kernels[0]->operator_name : row->kernels[1]->operator_name;
}

static int compare_owners(const struct kp_diff_row *a, const struct kp_diff_row *b)
{
	int order = (a->kind > b->kind) - (a->kind < b->kind);

	return order || a->kind != KP_DIFF_KERNEL ? order : strcmp(operator_of(a), operator_of(b));
}

static uint64_t size_of(int64_t change_ps)
{
	return change_ps < 0 ? 0 - (uint64_t)change_ps : (uint64_t)change_ps;
}

/* What moved most first; of equals what took more time. */
static int compare_changes(int64_t a_ps, const struct kp_diff_side *a, int64_t b_ps,
			   const struct kp_diff_side *b)
{
	int64_t a_time = a[0].time_ps + a[1].time_ps, b_time = b[0].time_ps + b[1].time_ps;

	if (size_of(a_ps) != size_of(b_ps))
		return size_of(a_ps) > size_of(b_ps) ? -1 : 1;
	return (a_time < b_time) - (a_time > b_time);
}

/* By owner, and within by how much they moved; rows were put down in an order that does not depend
 * on chance, and their places break ties. */
static int compare_rows(const void *left, const void *right)
{
	const struct kp_diff_row *a = left, *b = right;
	int order = compare_owners(a, b);

	if (!order)
		order = compare_changes(a->change_ps, a->sides, b->change_ps, b->sides);
	return order ? order : (a->group > b->group) - (a->group < b->group);
}

static int compare_groups(const void *left, const void *right)
{
	const struct kp_diff_group *a = left, *b = right;
	int order = compare_changes(a->change_ps, a->sides, b->change_ps, b->sides);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->first_row > b->first_row) - (a->first_row < b->first_row);
}

static void add_to_group(struct kp_diff_group *group, const struct kp_diff_row *row)
{
	group->row_count++;
	group->change_ps += row->change_ps;
	for (unsigned side = 0; side < 2; side++) {
		const struct kp_diff_side *from = &row->sides[side];
		struct kp_diff_side *to = &group->sides[side];

		to->time_ps += from->time_ps;
		to->share_pct += from->share_pct;
		to->calls += from->calls;
		to->launches += from->launches;
		to->total_ns += from->total_ns;
		to->bytes += from->bytes;
		to->bytes_ns += from->bytes_ns;
		to->median_ns = NAN;
		settle_side(to);
	}
}

static const char *group_name(const struct kp_diff_row *row)
{
	switch (row->kind) {
	case KP_DIFF_IDLE:
		return "idle";
	case KP_DIFF_OTHERS:
		return "other processes";
	case KP_DIFF_KERNEL:
		break;
	}
	return operator_of(row);
}

/* Gathers sorted rows into groups; *count of them. NULL without memory. */
static struct kp_diff_group *gather(struct kp_diff *diff, const struct kp_diff_row *rows,
				    size_t row_count)
{
	struct kp_diff_group *groups =
		kp_arena_alloc(diff->arena, (row_count + 1) * sizeof(*groups));

	for (size_t i = 0; groups && i < row_count; i++) {
		if (i == 0 || compare_owners(&rows[i - 1], &rows[i]) != 0) {
			groups[diff->group_count].kind = rows[i].kind;
			groups[diff->group_count].name = group_name(&rows[i]);
			groups[diff->group_count++].first_row = i;
		}
		add_to_group(&groups[diff->group_count - 1], &rows[i]);
	}
	return groups;
}

/* Puts the rows in the order of the groups. */
static enum kp_status put_groups(struct kp_diff *diff, struct kp_diff_row *rows, size_t row_count)
{
	struct kp_diff_row *out = kp_arena_alloc(diff->arena, (row_count + 1) * sizeof(*out));
	struct kp_diff_group *groups;
	size_t placed = 0;

	for (size_t i = 0; i < row_count; i++)
		rows[i].group = i; /* the order in which they were put down, until they have one */
	qsort(rows, row_count, sizeof(*rows), compare_rows);
	groups = gather(diff, rows, row_count);
	if (!groups || !out)
		return KP_NO_MEMORY;
	qsort(groups, diff->group_count, sizeof(*groups), compare_groups);
	for (size_t i = 0; i < diff->group_count; i++) {
		memcpy(out + placed, rows + groups[i].first_row,
		       groups[i].row_count * sizeof(*out));
		groups[i].first_row = placed;
		for (size_t k = 0; k < groups[i].row_count; k++)
			out[placed++].group = i;
	}
	diff->groups = groups;
	diff->rows = out;
	diff->row_count = row_count;
	return KP_OK;
}

static void differ_fini(struct kp_differ *differ)
{
	kp_intern_fini(&differ->keys);
	free(differ->sides[0]);
	free(differ->sides[1]);
}

enum kp_status kp_diff_build(const struct kp_run *const *base, size_t base_count,
			     const struct kp_run *const *fresh, size_t fresh_count,
			     const struct kp_diff_options *options, struct kp_diff **out)
{
	struct kp_diff *diff = calloc(1, sizeof(*diff));
	struct kp_differ differ = {.diff = diff};
	struct ledger ledger = {0};
	enum kp_status status = KP_NO_MEMORY;

	if (diff)
		diff->arena = kp_arena_create();
	if (!diff || !diff->arena)
		goto out;
	diff->margin_pct = options->margin_pct;
	diff->totals[0] = (struct kp_diff_total){.runs = base, .run_count = base_count};
	diff->totals[1] = (struct kp_diff_total){.runs = fresh, .run_count = fresh_count};
	put_totals(diff);
	status = add_sides(&differ);
	if (status == KP_OK)
		status = kp_diff_match(&differ);
	if (status == KP_OK)
		status = put_rows(&differ, &ledger);
	if (status == KP_OK)
		status = put_groups(diff, ledger.rows, ledger.count);
	if (status == KP_OK)
		status = kp_diff_judge(&differ, options);
out:
	differ_fini(&differ);
	if (status != KP_OK) {
		kp_diff_destroy(diff);
		diff = NULL;
	}
	*out = diff;
	return status;
}

void kp_diff_destroy(struct kp_diff *diff)
{
	if (!diff)
		return;
	kp_arena_destroy(diff->arena);
	free(diff);
}
