/*
 * What only the order of kernels on a stream tells: attention written out as two matrix products
 * with a softmax between them; see «sequences» in operators.yaml. Private to report*.c.
 *
 * Soundness. The whole trace is looked at, before the ranking or, where its beginning has told what
 * to expect, along with it; and each stream is followed on its own. A run of launches counts only
 * if it holds all steps in order, if everything between them is of the kinds that the sequence
 * allows, and if launches are in order in time: with graphs, whose branches may share a stream's
 * number, none may begin before the one before it ended. What is labelled is a launch configuration
 * (name, grid, block, stream), and only if at least IN_PCT of its launches are part of such runs
 * and at least half of these are followed by what the sequence asks for. All else stays with what
 * its name says: a doubt costs a label, never makes one.
 *
 * Memory is bounded: a few counters a configuration and a short list a stream.
 */
#include "analyzers/report_build.h"
#include "analyzers/report_passes.h"

#include <stdlib.h>
#include <string.h>

#include "analyzers/operators_rules.h"

#define IN_PCT 95
/* Longer runs are no sequences. */
#define RUN_MAX 64

/* What a kernel can be in a sequence: bits of steps, and these. */
#define BETWEEN (1U << KP_SEQUENCE_STEPS_MAX)
#define THEN (1U << (KP_SEQUENCE_STEPS_MAX + 1))
#define HELPER (1U << (KP_SEQUENCE_STEPS_MAX + 2))

/* Launches that may become part of a sequence, or have, and wait for what follows. */
struct run {
	uint32_t configs[RUN_MAX];
	size_t count;
	size_t operator_index; /* of the last step, for helpers */
};

/* One sequence on one stream. */
struct track {
	unsigned step; /* the next; 0: none was seen */
	struct run open, waiting;
	bool extended; /* something follows what waits, so that no helper of it can come */
};

struct stream {
	uint64_t start_ns, end_ns; /* of its last launch */
	bool busy;                 /* one of its tracks has begun, or waits */
};

struct tally {
	uint64_t in, followed;
};

/* A launch configuration: of which stream it is, and whether a sequence begins with it. */
struct place {
	uint64_t launches;
	uint32_t stream_plus_one; /* 0: no launch yet */
	uint32_t operator_index;
	bool begins;
};

struct kp_build_finder {
	const struct kp_builder *builder;
	const struct kp_sequence *sequences;
	size_t sequence_count;
	unsigned *masks; /* [name][sequence] */
	struct kp_intern streams;
	struct stream *stream;
	struct track *tracks; /* [stream][sequence] */
	size_t stream_capacity;
	struct tally **tallies; /* [process]: [sequence][configuration]; NULL: it has none */
	struct place **places;  /* [process]: [configuration]; the same */
};

/* What a kernel is within a sequence. Where a rule of the user's own says of it what the sequence
 * would, its name says what it does there. */
static struct kp_label label_within(const struct kp_operators *operators,
				    const struct kp_sequence *sequence, struct kp_label label)
{
	size_t own = kp_operators_variant(operators, label.variant).operator_index;

	if (label.source == KP_LABEL_USER &&
	    own == kp_operators_variant(operators, sequence->variant).operator_index) {
		label.variant = label.named_variant;
		label.helper = label.named_helper;
	}
	return label;
}

static unsigned mask_of(const struct kp_build_finder *finder, const struct kp_sequence *sequence,
			const struct kp_label *of)
{
	const struct kp_operators *operators = finder->builder->operators;
	const struct kp_label within = label_within(operators, sequence, *of), *label = &within;
	unsigned mask = label->helper ? HELPER : 0;

	for (size_t i = 0; i < sequence->step_count && !label->helper; i++)
		mask |= kp_classes_hold(operators, &sequence->steps[i], label) ? 1U << i : 0;
	mask |= kp_classes_hold(operators, &sequence->between, label) ? BETWEEN : 0;
	if (!label->helper)
		mask |= kp_classes_hold(operators, &sequence->then, label) ? THEN : 0;
	return mask;
}

static enum kp_status make_masks(struct kp_build_finder *finder)
{
	const struct kp_builder *builder = finder->builder;

	finder->masks =
		calloc(builder->name_count * finder->sequence_count + 1, sizeof(*finder->masks));
	for (size_t i = 0; finder->masks && i < builder->name_count; i++)
		for (size_t k = 0; k < finder->sequence_count; k++)
			finder->masks[i * finder->sequence_count + k] =
				mask_of(finder, &finder->sequences[k], &builder->names[i].label);
	return finder->masks ? KP_OK : KP_NO_MEMORY;
}

/* Makes counters for the processes in which all steps of a sequence occur; *any: there is one. */
static enum kp_status make_tallies(struct kp_build_finder *finder, bool *any)
{
	size_t processes = kp_reader_process_count(finder->builder->reader);

	finder->tallies = calloc(processes + 1, sizeof(*finder->tallies));
	finder->places = calloc(processes + 1, sizeof(*finder->places));
	if (!finder->tallies || !finder->places)
		return KP_NO_MEMORY;
	*any = false;
	for (size_t p = 0; p < processes; p++) {
		size_t configs = kp_build_process_at(finder->builder, p)->config_count;
		const uint32_t *names = finder->builder->processes[p].names;
		bool possible = false;

		for (size_t k = 0; k < finder->sequence_count; k++) {
			unsigned seen = 0, all = (1U << finder->sequences[k].step_count) - 1;

			for (size_t i = 0; i < configs; i++)
				seen |= finder->masks[names[i] * finder->sequence_count + k];
			possible |= (seen & all) == all;
		}
		if (!possible)
			continue;
		*any = true;
		finder->tallies[p] =
			calloc(configs * finder->sequence_count + 1, sizeof(**finder->tallies));
		finder->places[p] = calloc(configs + 1, sizeof(**finder->places));
		if (!finder->tallies[p] || !finder->places[p])
			return KP_NO_MEMORY;
	}
	return KP_OK;
}

/* ---- while reading ---- */

static enum kp_status find_stream(struct kp_build_finder *finder, const struct kp_process *process,
				  const struct kp_launch_config *config, uint32_t *number)
{
	const uint32_t key[4] = {process->index, config->device, config->context, config->stream};
	size_t capacity = finder->stream_capacity ? finder->stream_capacity * 2 : 16;
	enum kp_status status;
	struct track *tracks;
	struct stream *streams;
	bool added;

	status = kp_intern_put(&finder->streams, key, sizeof(key), number, &added);
	if (status != KP_OK || *number < finder->stream_capacity)
		return status;
	streams = realloc(finder->stream, capacity * sizeof(*streams));
	if (streams)
		finder->stream = streams;
	tracks = realloc(finder->tracks, capacity * finder->sequence_count * sizeof(*tracks));
	if (tracks)
		finder->tracks = tracks;
	if (!streams || !tracks)
		return KP_NO_MEMORY;
	memset(streams + finder->stream_capacity, 0,
	       (capacity - finder->stream_capacity) * sizeof(*streams));
	memset(tracks + finder->stream_capacity * finder->sequence_count, 0,
	       (capacity - finder->stream_capacity) * finder->sequence_count * sizeof(*tracks));
	finder->stream_capacity = capacity;
	return KP_OK;
}

static void append(struct run *run, uint32_t config)
{
	run->configs[run->count++] = config;
}

/* What waits has been followed, or not. */
static void resolve(struct track *track, struct tally *tallies, bool followed)
{
	for (size_t i = 0; i < track->waiting.count; i++)
		tallies[track->waiting.configs[i]].followed += followed;
	track->waiting.count = 0;
}

static void complete(struct track *track, struct tally *tallies)
{
	for (size_t i = 0; i < track->open.count; i++)
		tallies[track->open.configs[i]].in++;
	track->waiting = track->open;
	track->extended = false;
	track->open.count = 0;
	track->step = 0;
}

/* The run of launches that may become a sequence. */
static void follow_open(struct track *track, const struct kp_sequence *sequence, unsigned mask,
			uint32_t config, size_t operator_index, struct tally *tallies)
{
	struct run *run = &track->open;
	bool room = run->count < RUN_MAX;

	if (track->step && room && (mask & HELPER) && run->operator_index == operator_index) {
		append(run, config);
	} else if (track->step && room && (mask & 1U << track->step)) {
		append(run, config);
		run->operator_index = operator_index;
		if (++track->step == sequence->step_count) {
			resolve(track, tallies, false);
			complete(track, tallies);
		}
	} else if (track->step > 1 && room && (mask & 1U << (track->step - 1))) {
		append(run, config); /* a step may take several launches */
	} else if (mask & 1U) {
		run->count = 0;
		run->operator_index = operator_index;
		append(run, config);
		track->step = 1;
	} else if (track->step && room && (mask & BETWEEN)) {
		append(run, config);
	} else {
		track->step = 0;
		run->count = 0;
	}
}

/* What was complete before this launch: a helper of its last step, what must follow, or neither. */
static void follow_waiting(struct track *track, const struct kp_sequence *sequence, unsigned mask,
			   uint32_t config, size_t operator_index, struct tally *tallies)
{
	struct run *run = &track->waiting;

	if (!run->count)
		return;
	if ((mask & HELPER) && !track->extended && run->count < RUN_MAX &&
	    run->operator_index == operator_index) {
		append(run, config);
		tallies[config].in++;
		return;
	}
	track->extended = true;
	if (!sequence->then.count || (mask & THEN))
		resolve(track, tallies, true);
	else if (!(mask & BETWEEN))
		resolve(track, tallies, false);
}

/* Whether a launch comes after all that was seen of its stream. */
static bool in_order(struct stream *stream, const struct kp_launch *launch)
{
	bool serial = launch->graph || launch->graph_node ? launch->start_ns >= stream->end_ns
							  : launch->start_ns >= stream->start_ns;

	serial &= kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID;
	stream->start_ns = launch->start_ns;
	stream->end_ns = launch->end_ns;
	return serial;
}

/* The first launch of a configuration. */
static enum kp_status fill_place(struct kp_build_finder *finder, const struct kp_process *process,
				 uint32_t config, struct place *place)
{
	const struct kp_builder *builder = finder->builder;
	uint32_t name = builder->processes[process->index].names[config], number = 0;
	struct kp_label label = builder->names[name].label;
	enum kp_status status = find_stream(finder, process, &process->configs[config], &number);

	for (size_t k = 0; k < finder->sequence_count; k++)
		label = label_within(builder->operators, &finder->sequences[k], label);
	for (size_t k = 0; k < finder->sequence_count; k++)
		place->begins |= finder->masks[name * finder->sequence_count + k] & 1U;
	place->operator_index =
		(uint32_t)kp_operators_variant(builder->operators, label.variant).operator_index;
	if (status == KP_OK)
		place->stream_plus_one = number + 1;
	return status;
}

/* Along all sequences. */
static void follow_tracks(struct kp_build_finder *finder, const struct kp_process *process,
			  const struct place *place, const struct kp_launch *launch, bool ordered)
{
	struct tally *counts = finder->tallies[process->index];
	uint32_t name = finder->builder->processes[process->index].names[launch->config];
	const unsigned *masks = &finder->masks[name * finder->sequence_count];
	struct track *track =
		&finder->tracks[(place->stream_plus_one - 1) * finder->sequence_count];
	bool busy = false;

	for (size_t k = 0; k < finder->sequence_count;
	     k++, track++, counts += process->config_count) {
		if (!ordered) {
			resolve(track, counts, false);
			track->step = 0;
			track->open.count = 0;
		}
		/* Where nothing has begun, nothing but a first step matters. */
		if (!track->step && !track->waiting.count && !(masks[k] & 1U))
			continue;
		follow_waiting(track, &finder->sequences[k], masks[k], launch->config,
			       place->operator_index, counts);
		follow_open(track, &finder->sequences[k], masks[k], launch->config,
			    place->operator_index, counts);
		busy |= track->step || track->waiting.count;
	}
	finder->stream[place->stream_plus_one - 1].busy = busy;
}

static enum kp_status follow(struct kp_build_finder *finder, const struct kp_process *process,
			     const struct kp_launch *launch)
{
	struct place *place = &finder->places[process->index][launch->config];
	enum kp_status status = KP_OK;
	struct stream *stream;
	bool ordered;

	if (!place->stream_plus_one)
		status = fill_place(finder, process, launch->config, place);
	if (status != KP_OK)
		return status;
	place->launches++;
	stream = &finder->stream[place->stream_plus_one - 1];
	ordered = in_order(stream, launch);
	if (stream->busy || place->begins)
		follow_tracks(finder, process, place, launch, ordered);
	return KP_OK;
}

enum kp_status kp_build_sequences_take(void *context, const struct kp_event *event)
{
	const struct kp_builder *builder = context;
	struct kp_build_finder *finder = builder->finder;
	enum kp_status status = KP_OK;

	if (event->kind != KP_EVENT_LAUNCHES || !finder->tallies[event->process->index])
		return KP_OK;
	for (size_t i = 0; status == KP_OK && i < event->count; i++)
		status = follow(finder, event->process, &event->launches[i]);
	return status;
}

/* ---- results ---- */

static bool belongs(const struct tally *tally, uint64_t launches)
{
	/* Counters stay far below 2^57: a launch takes a byte of the file at least. */
	return tally->in && tally->in * 100 >= launches * IN_PCT &&
	       tally->followed * 2 >= tally->in;
}

/* The labels of a process's configurations, on the heap; NULL without memory. */
static uint32_t *label_process(const struct kp_build_finder *finder, size_t index)
{
	const struct kp_process *process = kp_build_process_at(finder->builder, index);
	const struct kp_build_process *reading = &finder->builder->processes[index];
	const struct tally *tallies = finder->tallies[index];
	uint32_t *sequences = calloc(process->config_count + 1, sizeof(*sequences));

	for (size_t i = 0; sequences && i < process->config_count; i++) {
		const struct kp_label *label = &finder->builder->names[reading->names[i]].label;

		for (size_t k = finder->sequence_count; k-- > 0;)
			if (label->source != KP_LABEL_USER &&
			    belongs(&tallies[k * process->config_count + i],
				    finder->places[index][i].launches))
				sequences[i] = (uint32_t)finder->sequences[k].variant;
	}
	return sequences;
}

void kp_build_sequences_end(struct kp_builder *builder)
{
	struct kp_build_finder *finder = builder->finder;
	size_t processes = kp_reader_process_count(builder->reader);

	if (!finder)
		return;
	for (size_t i = 0; finder->tallies && i < processes; i++)
		free(finder->tallies[i]);
	for (size_t i = 0; finder->places && i < processes; i++)
		free(finder->places[i]);
	free(finder->tallies);
	free(finder->places);
	free(finder->masks);
	free(finder->stream);
	free(finder->tracks);
	kp_intern_fini(&finder->streams);
	free(finder);
	builder->finder = NULL;
}

/* Labels by what a guess says, of processes that have them. */
static enum kp_status apply_guess(struct kp_builder *builder)
{
	const struct kp_guess *guess = builder->guess;

	for (size_t i = 0; i < guess->process_count; i++) {
		size_t bytes =
			kp_build_process_at(builder, i)->config_count * sizeof(**guess->sequences);
		uint32_t **out = &builder->processes[i].sequences;

		if (!guess->sequences[i])
			continue;
		*out = malloc(bytes + 1);
		if (!*out)
			return KP_NO_MEMORY;
		memcpy(*out, guess->sequences[i], bytes);
	}
	return KP_OK;
}

static enum kp_status read_all(struct kp_builder *builder)
{
	struct kp_relay relay = {
		.context = builder, .takers = {kp_build_sequences_take}, .taker_count = 1};
	size_t processes = kp_reader_process_count(builder->reader);
	enum kp_status status;

	builder->passes++;
	status = kp_build_read(builder, &relay);
	for (size_t i = 0; status == KP_OK && i < processes; i++) {
		if (!builder->finder->tallies[i])
			continue;
		builder->processes[i].sequences = label_process(builder->finder, i);
		status = builder->processes[i].sequences ? KP_OK : KP_NO_MEMORY;
	}
	kp_build_sequences_end(builder);
	return status;
}

static enum kp_status make_finder(struct kp_builder *builder)
{
	struct kp_build_finder *finder = calloc(1, sizeof(*finder));
	enum kp_status status;
	bool any = false;

	builder->finder = finder;
	if (!finder)
		return KP_NO_MEMORY;
	finder->builder = builder;
	finder->sequences = builder->operators->sequences;
	finder->sequence_count = builder->operators->sequence_count;
	status = make_masks(finder);
	if (status == KP_OK)
		status = make_tallies(finder, &any);
	if (status == KP_OK && !any)
		kp_build_sequences_end(builder);
	return status;
}

enum kp_status kp_build_sequences(struct kp_builder *builder)
{
	const struct kp_guess *guess = builder->guess;
	enum kp_status status = KP_OK;

	if (builder->operators->sequence_count && !(guess->made && guess->is_known))
		status = make_finder(builder);
	if (status == KP_OK && guess->made)
		return apply_guess(builder);
	return status == KP_OK && builder->finder ? read_all(builder) : status;
}

enum kp_status kp_build_sequences_check(struct kp_builder *builder, struct kp_guess *guess,
					bool *wrong)
{
	*wrong = false;
	for (size_t i = 0; builder->finder && i < guess->process_count; i++) {
		size_t bytes =
			kp_build_process_at(builder, i)->config_count * sizeof(**guess->sequences);
		uint32_t *sequences;

		if (!builder->finder->tallies[i])
			continue;
		sequences = label_process(builder->finder, i);
		if (!sequences)
			return KP_NO_MEMORY;
		*wrong |=
			!guess->sequences[i] || memcmp(sequences, guess->sequences[i], bytes) != 0;
		free(guess->sequences[i]);
		guess->sequences[i] = sequences;
	}
	guess->is_known = true;
	return KP_OK;
}
