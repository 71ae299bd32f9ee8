/* What iterations are made of; see step_parts.h and step_parts_build.h. */
#include "analyzers/step_parts_build.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

enum kp_status kp_steps_create(size_t symbols, size_t uses, size_t gpus, struct kp_steps **out)
{
	struct kp_steps *steps = calloc(1, sizeof(*steps));

	*out = steps;
	if (!steps)
		return KP_NO_MEMORY;
	steps->symbol_count = symbols;
	steps->use_count = uses;
	steps->gpu_count = gpus;
	steps->symbols = calloc(symbols + 1, sizeof(*steps->symbols));
	steps->uses = calloc(uses + 1, sizeof(*steps->uses));
	steps->gpus = calloc(gpus + 1, sizeof(*steps->gpus));
	return steps->symbols && steps->uses && steps->gpus ? KP_OK : KP_NO_MEMORY;
}

void kp_steps_destroy(struct kp_steps *steps)
{
	if (!steps)
		return;
	for (size_t i = 0; steps->uses && i < steps->use_count; i++) {
		free(steps->uses[i].touched);
		free(steps->uses[i].early);
		free(steps->uses[i].items);
		free(steps->uses[i].walls_ns);
	}
	free(steps->symbols);
	free(steps->uses);
	free(steps->gpus);
	free(steps);
}

/* ---- whose time it is ---- */

/* What a running kernel has had since the clock was looked at goes to its iteration. */
static void credit(struct kp_steps *steps, struct kp_step_gpu *gpu, struct kp_step_running *running)
{
	struct kp_step_symbol *symbol = &steps->symbols[running->symbol];

	if (steps->uses[running->use].open && symbol->touched)
		symbol->open_ns += gpu->clock - running->since;
	running->since = gpu->clock;
}

static size_t first_to_end(const struct kp_step_gpu *gpu)
{
	size_t first = 0;

	for (size_t i = 1; i < gpu->count; i++)
		if (gpu->running[i].end_ns < gpu->running[first].end_ns)
			first = i;
	return first;
}

static void pass(struct kp_step_gpu *gpu, uint64_t until_ns)
{
	if (until_ns <= gpu->now_ns)
		return;
	if (gpu->count)
		gpu->clock += (double)(until_ns - gpu->now_ns) / (double)gpu->count;
	gpu->now_ns = until_ns;
}

static void finish_one(struct kp_steps *steps, struct kp_step_gpu *gpu, size_t number)
{
	credit(steps, gpu, &gpu->running[number]);
	gpu->running[number] = gpu->running[--gpu->count];
}

/* Lets time pass; what ends meanwhile ends. */
static void advance(struct kp_steps *steps, struct kp_step_gpu *gpu, uint64_t until_ns)
{
	while (gpu->count) {
		size_t first = first_to_end(gpu);

		if (gpu->running[first].end_ns > until_ns)
			break;
		pass(gpu, gpu->running[first].end_ns);
		finish_one(steps, gpu, first);
	}
	pass(gpu, until_ns);
}

/* ---- kernels ---- */

static void vote(struct kp_step_neighbour *neighbour, uint32_t symbol)
{
	if (neighbour->symbol_plus_one == symbol + 1) {
		neighbour->votes += neighbour->votes < UINT32_MAX;
	} else if (!neighbour->votes) {
		*neighbour = (struct kp_step_neighbour){symbol + 1, 1};
	} else {
		neighbour->votes--;
	}
}

/* Takes a symbol into the open iteration. */
static enum kp_status touch(struct kp_step_use *use, struct kp_step_symbol *symbol, uint32_t number)
{
	if (symbol->touched)
		return KP_OK;
	if (!kp_vector_grow((void **)&use->touched, use->touched_count, &use->touched_capacity,
			    sizeof(*use->touched)))
		return KP_NO_MEMORY;
	use->touched[use->touched_count++] = number;
	symbol->touched = true;
	return KP_OK;
}

enum kp_status kp_steps_kernel(struct kp_steps *steps, size_t gpu, const struct kp_activity *kernel)
{
	struct kp_step_gpu *line = &steps->gpus[gpu];
	struct kp_step_use *use = &steps->uses[kernel->use];
	struct kp_step_symbol *symbol = &steps->symbols[kernel->symbol];
	enum kp_status status = use->open ? touch(use, symbol, kernel->symbol) : KP_OK;

	if (use->last_symbol_plus_one) {
		vote(&symbol->before, use->last_symbol_plus_one - 1);
		vote(&steps->symbols[use->last_symbol_plus_one - 1].behind, kernel->symbol);
	}
	use->last_symbol_plus_one = kernel->symbol + 1;
	symbol->open_calls += use->open;
	advance(steps, line, kernel->start_ns);
	if (line->count == KP_STEP_RUNNING_MAX)
		finish_one(steps, line, first_to_end(line));
	line->running[line->count++] = (struct kp_step_running){
		.end_ns = kernel->end_ns,
		.since = line->clock,
		.symbol = kernel->symbol,
		.use = kernel->use,
	};
	return status;
}

void kp_steps_gap(struct kp_steps *steps, size_t number, const struct kp_gap *gap)
{
	struct kp_step_use *use = &steps->uses[number];

	if (!use->open || gap->begin_ns < use->begin_ns)
		return;
	use->open_cause_ns[KP_GAP_MEMORY] += gap->memory_ns;
	use->open_cause_ns[gap->cause] += gap->end_ns - gap->begin_ns - gap->memory_ns;
}

/* ---- iterations ---- */

/* At a border of a use's iterations: gives its running kernels what they have had so far. */
static void cut(struct kp_steps *steps, size_t gpu, size_t number, uint64_t at_ns)
{
	struct kp_step_gpu *line = &steps->gpus[gpu];

	advance(steps, line, at_ns);
	for (size_t i = 0; i < line->count; i++)
		if (line->running[i].use == number)
			credit(steps, line, &line->running[i]);
}

enum kp_status kp_steps_begin(struct kp_steps *steps, size_t gpu, size_t number,
			      const struct kp_iteration_mark *mark)
{
	struct kp_step_gpu *line = &steps->gpus[gpu];
	struct kp_step_use *use = &steps->uses[number];
	enum kp_status status = KP_OK;

	cut(steps, gpu, number, mark->at_ns);
	use->open = true;
	use->begin_ns = mark->at_ns;
	use->begin_busy_ns = mark->busy_ns;
	memset(use->open_cause_ns, 0, sizeof(use->open_cause_ns));
	for (size_t i = 0; status == KP_OK && i < line->count; i++) {
		uint32_t symbol = line->running[i].symbol;

		if (line->running[i].use == number)
			status = touch(use, &steps->symbols[symbol], symbol);
	}
	return status;
}

static uint64_t span_between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* Adds what an iteration was made of, and forgets it. */
static void add_open(struct kp_steps *steps, struct kp_step_use *use, uint64_t wall_ns,
		     uint64_t busy_ns)
{
	for (size_t i = 0; i < use->touched_count; i++) {
		struct kp_step_symbol *symbol = &steps->symbols[use->touched[i]];

		symbol->total_ns += symbol->open_ns;
		symbol->calls += symbol->open_calls;
	}
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		use->cause_ns[i] += use->open_cause_ns[i];
	use->count++;
	use->wall_ns += wall_ns;
	use->busy_ns += busy_ns;
}

/* Keeps it until it is known whether it was warm-up. */
static enum kp_status keep_early(struct kp_steps *steps, struct kp_step_use *use, uint64_t wall_ns,
				 uint64_t busy_ns)
{
	struct kp_step_early *early;

	if (use->item_count + use->touched_count > KP_STEP_EARLY_MAX)
		use->too_much = true;
	if (use->too_much)
		return KP_OK;
	if (!use->early)
		use->early = calloc(KP_WARMUP_MAX, sizeof(*use->early));
	if (!use->early ||
	    !kp_vector_reserve((void **)&use->items, use->item_count + use->touched_count,
			       &use->item_capacity, sizeof(*use->items)))
		return KP_NO_MEMORY;
	early = &use->early[use->early_count++];
	*early = (struct kp_step_early){.first = use->item_count,
					.count = use->touched_count,
					.wall_ns = wall_ns,
					.busy_ns = busy_ns};
	memcpy(early->cause_ns, use->open_cause_ns, sizeof(early->cause_ns));
	for (size_t i = 0; i < use->touched_count; i++) {
		const struct kp_step_symbol *symbol = &steps->symbols[use->touched[i]];

		use->items[use->item_count++] =
			(struct kp_step_item){use->touched[i], symbol->open_ns, symbol->open_calls};
	}
	return KP_OK;
}

static enum kp_status keep_wall(struct kp_step_use *use, uint64_t wall_ns)
{
	if (use->wall_count == KP_STEP_WALLS_MAX)
		return KP_OK;
	if (!kp_vector_grow((void **)&use->walls_ns, use->wall_count, &use->wall_capacity,
			    sizeof(*use->walls_ns)))
		return KP_NO_MEMORY;
	use->walls_ns[use->wall_count++] = wall_ns;
	return KP_OK;
}

enum kp_status kp_steps_end(struct kp_steps *steps, size_t gpu, size_t number,
			    const struct kp_iteration_mark *mark, bool regular)
{
	struct kp_step_use *use = &steps->uses[number];
	uint64_t wall_ns = span_between(use->begin_ns, mark->at_ns);
	uint64_t busy_ns = span_between(use->begin_busy_ns, mark->busy_ns);
	enum kp_status status = KP_OK;

	if (!use->open)
		return KP_OK;
	cut(steps, gpu, number, mark->at_ns);
	use->open = false;
	if (regular) {
		status = keep_wall(use, wall_ns);
		if (use->found++ < KP_WARMUP_MAX && status == KP_OK)
			status = keep_early(steps, use, wall_ns, busy_ns);
		else
			add_open(steps, use, wall_ns, busy_ns);
	}
	for (size_t i = 0; i < use->touched_count; i++) {
		struct kp_step_symbol *symbol = &steps->symbols[use->touched[i]];

		symbol->open_ns = 0;
		symbol->open_calls = 0;
		symbol->touched = false;
	}
	use->touched_count = 0;
	return status;
}

/* ---- the result ---- */

static void add_early(struct kp_steps *steps, struct kp_step_use *use,
		      const struct kp_step_early *early)
{
	for (size_t i = early->first; i < early->first + early->count; i++) {
		steps->symbols[use->items[i].symbol].total_ns += use->items[i].ns;
		steps->symbols[use->items[i].symbol].calls += use->items[i].calls;
	}
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		use->cause_ns[i] += early->cause_ns[i];
	use->count++;
	use->wall_ns += early->wall_ns;
	use->busy_ns += early->busy_ns;
}

enum kp_status kp_steps_finish(struct kp_steps *steps, size_t number, uint64_t warmup,
			       struct kp_arena *arena, struct kp_step_parts *out)
{
	struct kp_step_use *use = &steps->uses[number];
	uint64_t *walls_ns, idle_ns = 0;

	*out = (struct kp_step_parts){0};
	if (use->too_much)
		return KP_OK;
	for (size_t i = warmup; i < use->early_count; i++)
		add_early(steps, use, &use->early[i]);
	if (!use->count)
		return KP_OK;
	out->wall_count = use->wall_count - warmup;
	walls_ns = kp_arena_alloc(arena, (out->wall_count + 1) * sizeof(*walls_ns));
	if (!walls_ns)
		return KP_NO_MEMORY;
	memcpy(walls_ns, use->walls_ns + warmup, out->wall_count * sizeof(*walls_ns));
	out->walls_ns = walls_ns;
	out->count = use->count;
	out->wall_ns = use->wall_ns;
	out->busy_ns = use->busy_ns;
	memcpy(out->cause_ns, use->cause_ns, sizeof(out->cause_ns));
	for (unsigned i = 0; i < KP_GAP_CAUSE_COUNT; i++)
		idle_ns += use->cause_ns[i];
	out->rest_ns = (int64_t)(out->wall_ns - out->busy_ns - idle_ns);
	return KP_OK;
}
