/*
 * What is left to do when the program has ended; see aftermath.h. Slots of processes that still run
 * may change while they are read: each counter is read once, each message is copied first.
 */
#include "profiler/aftermath.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "profiler/followers.h"
#include "profiler/say.h"
#include "trace/writer.h"

#define PATIENCE_MS 1000
#define POLL_MS 10
#define UNKNOWN UINT64_MAX /* a counter that its owner could not count */

static uint64_t counter(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* Whether a process still runs; one that has ended and was not reaped does not. */
static bool is_alive(uint32_t pid)
{
	char path[64], line[512];

	if (pid == 0)
		return false;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t length = fread(line, 1, sizeof line - 1, file);
	fclose(file);
	line[length] = '\0';
	const char *state = strrchr(line, ')'); /* the name before may hold anything */
	return !state || strlen(state) < 3 || (state[2] != 'Z' && state[2] != 'X');
}

/*
 * In another namespace the number is another process's here: it may run as long as anyone does who
 * has this recording in his environment.
 */
static bool is_running(const struct kp_live_slot *slot, const struct kp_recording *recording)
{
	uint64_t of = counter(&slot->pid_namespace);
	struct stat own;

	if (of && stat("/proc/self/ns/pid", &own) == 0 && own.st_ino != of)
		return kp_followers_count(recording->live_path) > 0;
	return is_alive(slot->pid);
}

static bool is_taken(const struct kp_live_slot *slot)
{
	return atomic_load_explicit(&slot->process, memory_order_acquire) != 0;
}

static enum kp_live_state state_of(const struct kp_live_slot *slot)
{
	return (enum kp_live_state)atomic_load_explicit(&slot->state, memory_order_acquire);
}

static bool is_recording(const struct kp_live_slot *slot, const struct kp_recording *recording)
{
	return is_taken(slot) && state_of(slot) == KP_LIVE_RUNNING && is_running(slot, recording);
}

/* Processes end a little after the one that started them: their last records are worth waiting for.
 */
static void wait_for_stragglers(const struct kp_recording *recording)
{
	const struct timespec pause = {0, POLL_MS * 1000000L};

	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += POLL_MS) {
		bool any = false;
		for (size_t i = 0; i < KP_LIVE_SLOTS && !any; i++)
			any = is_recording(&recording->live->slots[i], recording);
		if (!any)
			return;
		nanosleep(&pause, NULL);
	}
}

/* What was issued while nothing was recorded, as the collector itself would say it. */
static void append_outside(const struct kp_live_slot *slot, uint64_t recorded,
			   struct kp_counts *counts)
{
	uint64_t out = counter(&slot->kernels_out_of_window);
	uint64_t edges = counter(&slot->kernels_at_edges);
	uint64_t unsampled = counter(&slot->kernels_unsampled);
	uint64_t delivered = recorded + counter(&slot->kernels_filtered) + counts->records_dropped;

	if (!counter(&slot->issued_known) || out + edges == 0)
		return;
	uint64_t missed = edges - kp_live_edges_recorded(counter(&slot->kernels_issued), out, edges,
							 delivered);
	KP_SET(counts, COUNTS, kernels_out_of_window, out + missed);
	if (unsampled > 0)
		KP_SET(counts, COUNTS, kernels_unsampled, unsampled + missed);
}

static void put_message(struct kp_writer *writer, const struct kp_live_slot *slot)
{
	char message[KP_LIVE_MESSAGE_BYTES] = "";

	memcpy(message, slot->message, sizeof message - 1);
	if (message[0])
		kp_writer_note(writer, KP_NOTE_WARNING, message);
}

/*
 * Appends what a process had counted and could not write: exact, since counting does not wait for
 * writing. `ended`: it did end, and its file may have taken no more.
 */
static enum kp_status append_counts(const struct kp_live_slot *slot, int fd, bool ended)
{
	struct kp_end end = {0};
	uint64_t recorded = counter(&slot->kernels_recorded);
	uint64_t written = counter(&slot->kernels_written);
	uint64_t write_errno = counter(&slot->write_errno);
	struct kp_counts counts = {0};
	struct kp_writer *writer;
	enum kp_status status = kp_writer_create(fd, counter(&slot->process), &writer);

	if (status != KP_OK)
		return status;
#define COPY(field)                                                                                \
	do {                                                                                       \
		uint64_t value = counter(&slot->field);                                            \
		if (value != UNKNOWN)                                                              \
			KP_SET(&counts, COUNTS, field, value);                                     \
	} while (0)
	if (counter(&slot->issued_known))
		COPY(kernels_issued);
	COPY(kernels_recorded);
	COPY(records_dropped);
	COPY(kernels_invalid);
	COPY(kernels_untimed);
	COPY(kernels_filtered);
	if (counter(&slot->host_calls) || counter(&slot->host_calls_lost)) {
		COPY(host_calls);
		COPY(host_calls_lost);
	}
#undef COPY
	append_outside(slot, recorded, &counts);
	if (recorded != UNKNOWN && written != UNKNOWN)
		KP_SET(&counts, COUNTS, kernels_unwritten,
		       recorded > written ? recorded - written : 0);
	if (write_errno != 0)
		KP_SET(&counts, COUNTS, write_errno, write_errno);
	put_message(writer, slot);
	status = kp_writer_counts(writer, &counts);
	KP_SET(&end, END, way, KP_END_EXIT);
	if (ended && write_errno && status == KP_OK) /* else it has said so itself, and when */
		status = kp_writer_end(writer, &end);
	kp_writer_destroy(writer);
	return status;
}

struct message {
	uint32_t pid;
	char text[KP_LIVE_MESSAGE_BYTES];
};

static int compare_messages(const void *a, const void *b)
{
	const struct message *left = a, *right = b;
	int order = strcmp(left->text, right->text);

	return order ? order : (left->pid > right->pid) - (left->pid < right->pid);
}

/* Prints each message once, however many processes had it. */
static void print_messages(const struct kp_live *live)
{
	struct message *messages = calloc(KP_LIVE_SLOTS, sizeof *messages);
	size_t count = 0;

	if (!messages)
		return;
	for (size_t i = 0; i < KP_LIVE_SLOTS; i++) {
		struct message *message = &messages[count];
		if (!is_taken(&live->slots[i]))
			continue;
		memcpy(message->text, live->slots[i].message, sizeof message->text - 1);
		message->pid = live->slots[i].pid;
		count += message->text[0] != '\0';
	}
	qsort(messages, count, sizeof *messages, compare_messages);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count; next++) {
			if (strcmp(messages[i].text, messages[next].text) != 0)
				break;
		}
		if (next - i > 1)
			kp_say("process %" PRIu32 " and %zu more: %s", messages[i].pid,
			       next - i - 1, messages[i].text);
		else
			kp_say("process %" PRIu32 ": %s", messages[i].pid, messages[i].text);
	}
	free(messages);
}

static void settle_slot(const struct kp_live_slot *slot, const struct kp_recording *recording,
			struct kp_aftermath *out)
{
	enum kp_live_state state = state_of(slot);
	bool ended = state == KP_LIVE_ENDED;
	bool running = !ended && is_running(slot, recording);

	out->processes++;
	/* What was launched after the end, by handlers that ran later, is not in its own counts. */
	bool complete = !counter(&slot->issued_known) ||
			counter(&slot->kernels_issued) == counter(&slot->kernels_told);
	if (ended && complete && counter(&slot->write_errno) == 0)
		return;
	out->running += running && state == KP_LIVE_RUNNING;
	/* One that never recorded has nothing to be counted. */
	if (running || (state == KP_LIVE_DISABLED && counter(&slot->kernels_recorded) == 0))
		return;
	out->killed += state == KP_LIVE_RUNNING;
	enum kp_status status = append_counts(slot, recording->fd, ended);
	if (status != KP_OK)
		kp_say("warning: process %" PRIu32
		       ": its counts could not be appended to the trace: %s",
		       (uint32_t)slot->pid, kp_status_message(status));
}

void kp_aftermath_settle(struct kp_recording *recording, struct kp_aftermath *out)
{
	struct kp_live *live = recording->live;
	uint32_t taken = atomic_load(&live->slots_taken);

	*out = (struct kp_aftermath){0};
	out->slotless = taken > KP_LIVE_SLOTS ? taken - KP_LIVE_SLOTS : 0;
	wait_for_stragglers(recording);
	kp_recording_spend_spare(recording);
	for (size_t i = 0; i < KP_LIVE_SLOTS; i++) {
		if (is_taken(&live->slots[i]))
			settle_slot(&live->slots[i], recording, out);
	}
	print_messages(live);
}
