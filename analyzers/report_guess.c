/* Guesses from the beginning of a trace; see report_guess.h. */
#include "analyzers/report_guess.h"

#include <stdlib.h>

#include "analyzers/report_build.h"
#include "analyzers/timeline_build.h"

/* Of all batches one in so many, but at least and at most these. */
#define PART 20
#define BATCHES_LEAST 3
#define BATCHES_MOST 24
/* With fewer launches, or fewer for each configuration, it is not worth it. */
#define LAUNCHES_LEAST 400000
#define LAUNCHES_A_CONFIG 200

size_t kp_guess_batches(struct kp_reader *reader)
{
	size_t processes = kp_reader_process_count(reader), batches;
	uint64_t launches = 0, configs = 0;

	for (size_t i = 0; i < processes; i++) {
		const struct kp_process *process = kp_reader_process(reader, i);

		launches += process->promised_launches;
		configs += process->config_count;
	}
	if (launches < LAUNCHES_LEAST || launches / LAUNCHES_A_CONFIG < configs)
		return 0;
	batches = kp_reader_place(reader).of / PART;
	batches = batches < BATCHES_MOST ? batches : BATCHES_MOST;
	return batches > BATCHES_LEAST ? batches : BATCHES_LEAST;
}

enum kp_status kp_guess_take(struct kp_guess *guess, struct kp_builder *sample)
{
	const struct kp_build_timeline *line = sample->timeline;
	size_t processes = kp_reader_process_count(sample->reader);

	guess->sequences = calloc(processes + 1, sizeof(*guess->sequences));
	guess->anchors = calloc(sample->use_count + 1, sizeof(*guess->anchors));
	if (!guess->sequences || !guess->anchors)
		return KP_NO_MEMORY;
	guess->process_count = processes;
	for (size_t i = 0; i < processes; i++) {
		guess->sequences[i] = sample->processes[i].sequences;
		sample->processes[i].sequences = NULL;
	}
	for (size_t i = 0; line && i < line->use_count; i++)
		guess->anchors[guess->anchor_count++] = (struct kp_guess_anchor){
			line->uses[i].found, line->uses[i].anchor, line->uses[i].repetition.period};
	guess->made = true;
	return KP_OK;
}

void kp_guess_fini(struct kp_guess *guess)
{
	for (size_t i = 0; i < guess->process_count; i++)
		free(guess->sequences[i]);
	free(guess->sequences);
	free(guess->anchors);
	*guess = (struct kp_guess){0};
}
