/* What merged traces had lost already; see merge_losses.h. */
#include "profiler/merge_losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyzers/report_losses.h"

#define WORDS_BYTES 256

bool kp_merge_losses_describe(const struct kp_reader *reader, char *out, size_t size)
{
	struct kp_damage damage = kp_reader_damage(reader);

	if (!damage.torn_tail && !damage.damaged_chunks && !damage.missing_chunks)
		return false;
	snprintf(out, size, "the traces are damaged: %" PRIu64 " launches are lost%s",
		 kp_losses_promised(reader),
		 damage.torn_tail ? "; one ends in the middle of a chunk" : "");
	return true;
}

bool kp_merge_copies_describe(const struct kp_reader *reader, char *out, size_t size)
{
	uint64_t repeated = kp_reader_damage(reader).repeated_chunks;

	if (repeated)
		snprintf(out, size,
			 "%" PRIu64 " chunks were there more than once, and are there once now",
			 repeated);
	return repeated > 0;
}

/* What was true of the traces stands in the first process. */
static enum kp_status put_notes(const struct kp_reader *reader, struct kp_writer *writer)
{
	char words[WORDS_BYTES];
	enum kp_status status = KP_OK;

	if (kp_merge_losses_describe(reader, words, sizeof words))
		status = kp_writer_note(writer, KP_NOTE_WARNING, words);
	if (status == KP_OK && kp_merge_copies_describe(reader, words, sizeof words))
		status = kp_writer_note(writer, KP_NOTE_INFO, words);
	return status;
}

enum kp_status kp_merge_losses_put(const struct kp_reader *reader, const struct kp_process *process,
				   struct kp_writer *writer)
{
	struct kp_counts counts = process->counts;
	uint64_t chunks = process->missing_chunks + process->lost_chunks;
	enum kp_status status = KP_OK;

	if (chunks) {
		KP_SET(&counts, COUNTS, kernels_lost, counts.kernels_lost + process->lost_launches);
		kp_writer_skip(writer, chunks);
		status = kp_writer_counts(writer, &counts);
	}
	return status == KP_OK && process->index == 0 ? put_notes(reader, writer) : status;
}
