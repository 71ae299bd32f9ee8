/* What iterations are made of, into the report; see step_parts.h and timeline_build.h. */
#include <stdlib.h>
#include <string.h>

#include "analyzers/timeline_build.h"

/* Use and row of a symbol; false: it is the beginning of graphs, and no kernel. */
static bool kernel_of(const struct kp_builder *builder, uint32_t symbol, uint32_t *use,
		      size_t *kernel)
{
	uint32_t key[2];
	size_t length;

	memcpy(key, kp_intern_bytes(&builder->timeline->symbol_keys, symbol, &length), sizeof(key));
	*use = key[0];
	if (key[1] >= builder->row_count)
		return false;
	*kernel = builder->kernel_of_row[key[1]];
	return true;
}

static size_t neighbour(const struct kp_builder *builder, const struct kp_step_neighbour *from)
{
	size_t kernel = KP_STEP_NONE;
	uint32_t use;

	if (from->symbol_plus_one && !kernel_of(builder, from->symbol_plus_one - 1, &use, &kernel))
		return KP_STEP_NONE;
	return kernel;
}

/* Tells of the others and the kernels what is a whole number of nanoseconds. */
static void settle_rows(struct kp_step_parts *parts, struct kp_step_row *rows,
			const double *exact_ns)
{
	double sum_ns = 0;
	uint64_t told_ns = 0;

	for (size_t i = 0; i < parts->row_count; i++) {
		uint64_t until_ns;

		sum_ns += exact_ns[i];
		until_ns = (uint64_t)(sum_ns + 0.5);
		/* What is lost in adding up many small parts is nobody else's time. */
		if (i + 1 == parts->row_count && sum_ns > (1 - 1e-6) * (double)parts->busy_ns &&
		    sum_ns < (1 + 1e-6) * (double)parts->busy_ns && parts->busy_ns >= told_ns)
			until_ns = parts->busy_ns;
		rows[i].part_ns = until_ns - told_ns;
		told_ns = until_ns;
	}
	parts->others_ns = (int64_t)(parts->busy_ns - told_ns);
}

/* A symbol on its way into the rows of its use. */
struct entry {
	uint32_t use;
	struct kp_step_row row;
	double exact_ns;
};

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = kp_build_order(a->use, b->use);

	return order ? order : kp_build_order(a->row.kernel, b->row.kernel);
}

static size_t collect(const struct kp_builder *builder, struct entry *entries)
{
	const struct kp_steps *steps = builder->timeline->steps;
	size_t count = 0;

	for (size_t i = 0; i < steps->symbol_count; i++) {
		const struct kp_step_symbol *symbol = &steps->symbols[i];
		struct entry *entry = &entries[count];

		if (!kernel_of(builder, (uint32_t)i, &entry->use, &entry->row.kernel))
			continue;
		entry->row.calls = symbol->calls;
		entry->row.before = neighbour(builder, &symbol->before);
		entry->row.behind = neighbour(builder, &symbol->behind);
		entry->exact_ns = symbol->total_ns;
		count++;
	}
	qsort(entries, count, sizeof(*entries), compare);
	return count;
}

/* The rows of one use, of `count` entries. */
static enum kp_status put_rows(const struct kp_builder *builder, const struct entry *entries,
			       size_t count, struct kp_step_parts *parts)
{
	struct kp_step_row *rows =
		kp_arena_alloc(builder->report->arena, (count + 1) * sizeof(*rows));
	double *exact_ns = malloc((count + 1) * sizeof(*exact_ns));

	if (!rows || !exact_ns) {
		free(exact_ns);
		return KP_NO_MEMORY;
	}
	for (size_t i = 0; i < count; i++) {
		rows[i] = entries[i].row;
		exact_ns[i] = entries[i].exact_ns;
	}
	parts->rows = rows;
	parts->row_count = count;
	settle_rows(parts, rows, exact_ns);
	free(exact_ns);
	return KP_OK;
}

/* All but the rows; iterations stand in the order of the uses that have them. */
static enum kp_status put_totals(const struct kp_builder *builder, const struct kp_timeline *out,
				 size_t number, size_t *iteration, struct kp_step_parts *parts)
{
	const struct kp_build_timeline *line = builder->timeline;
	enum kp_status status = KP_OK;

	*parts = (struct kp_step_parts){0};
	if (line->uses[number].iterations)
		status = kp_steps_finish(line->steps, number, out->iterations[*iteration].warmup,
					 builder->report->arena, parts);
	parts->iteration = line->uses[number].iterations ? (*iteration)++ : KP_STEP_NONE;
	return status;
}

enum kp_status kp_line_put_steps(const struct kp_builder *builder, struct kp_timeline *out)
{
	const struct kp_build_timeline *line = builder->timeline;
	struct kp_step_parts *parts;
	struct entry *entries;
	size_t count, first = 0, iteration = 0;
	enum kp_status status = KP_OK;

	if (!line->steps)
		return KP_OK;
	parts = kp_arena_alloc(builder->report->arena, (line->use_count + 1) * sizeof(*parts));
	entries = malloc((line->steps->symbol_count + 1) * sizeof(*entries));
	if (!parts || !entries) {
		free(entries);
		return KP_NO_MEMORY;
	}
	/* Totals first: they settle what was early. */
	for (size_t i = 0; status == KP_OK && i < line->use_count; i++)
		status = put_totals(builder, out, i, &iteration, &parts[i]);
	count = collect(builder, entries);
	for (size_t i = 0; status == KP_OK && i < line->use_count; i++) {
		size_t end = first;

		while (end < count && entries[end].use == i)
			end++;
		status = put_rows(builder, entries + first, end - first, &parts[i]);
		first = end;
	}
	free(entries);
	out->parts = parts;
	out->part_count = line->use_count;
	return status;
}
