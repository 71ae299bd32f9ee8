/* Reading in a thread; see scanner.h. */
#include "tui/scanner.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tui/background.h"

/* How long a view waits for the first of it, and from one time to the next. */
#define FIRST_NS 150000000U
#define NEXT_NS 100000000U
#define SECOND_NS 1000000000U

struct kp_scanner {
	pthread_t thread;
	const char *const *paths;
	size_t path_count;
	const struct kp_reader *opened; /* before; its tables do not change */
	atomic_uint_fast64_t wished;    /* number of the newest wish */
	atomic_bool quits;
	pthread_mutex_t lock; /* of what follows; nothing that takes time is done under it */
	pthread_cond_t wakes, ends;
	struct kp_scan wish;
	char *mangled;
	struct kp_scanned fresh;

	/* The thread's own. */
	struct kp_reader *reader;
	struct kp_tracks tracks;
	struct kp_history history;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void discard(struct kp_scanned *scanned)
{
	kp_tracks_free(scanned->tracks);
	free(scanned->history);
	scanned->tracks = NULL;
	scanned->history = NULL;
}

/* Hands over what there is so far of a wish; nothing where another one came meanwhile. */
static void publish(struct kp_scanner *scanner, uint64_t number, enum kp_scan_kind kind, bool ended,
		    enum kp_status status)
{
	struct kp_scanned fresh = {.ended = ended, .status = status}, older;

	if (ended && scanner->reader)
		fresh.damaged_chunks = kp_reader_damage(scanner->reader).damaged_chunks;
	if (status == KP_OK && kind == KP_SCAN_TRACKS)
		fresh.tracks = kp_tracks_copy(&scanner->tracks);
	else if (status == KP_OK)
		fresh.history = kp_history_copy(&scanner->history);
	if (!fresh.tracks && !fresh.history && status == KP_OK) {
		fresh.status = KP_NO_MEMORY;
		fresh.ended = true;
	}
	pthread_mutex_lock(&scanner->lock);
	bool counts = number == atomic_load(&scanner->wished);
	older = counts ? scanner->fresh : fresh;
	if (counts)
		scanner->fresh = fresh;
	pthread_cond_broadcast(&scanner->ends);
	pthread_mutex_unlock(&scanner->lock);
	discard(&older);
}

/* Whether all processes are there that were, with all launches; a trace that is being written has
 * more. */
static bool is_as_opened(const struct kp_reader *opened, const struct kp_reader *reader)
{
	size_t count = kp_reader_process_count(opened);

	if (kp_reader_process_count(reader) < count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct kp_process *before = kp_reader_process(opened, i);
		const struct kp_process *now = kp_reader_process(reader, i);
		if (now->id != before->id || now->promised_launches < before->promised_launches)
			return false;
	}
	return true;
}

static enum kp_status open_files(struct kp_scanner *scanner)
{
	size_t bad;
	enum kp_status status =
		kp_reader_open(scanner->paths, scanner->path_count, &scanner->reader, &bad);

	if (status != KP_OK || is_as_opened(scanner->opened, scanner->reader))
		return status;
	kp_reader_close(scanner->reader);
	scanner->reader = NULL;
	return KP_CHANGED;
}

static enum kp_status begin(struct kp_scanner *scanner, const struct kp_scan *scan)
{
	struct kp_reader_part part = {0};
	enum kp_status status = scanner->reader ? KP_OK : open_files(scanner);

	if (status != KP_OK)
		return status;
	if (scan->kind == KP_SCAN_TRACKS) {
		part = (struct kp_reader_part){.from_ns = scan->from_ns, .to_ns = scan->to_ns};
		status = kp_tracks_begin(&scanner->tracks, scanner->reader, part.from_ns,
					 part.to_ns, scan->columns);
	} else {
		status = kp_history_begin(&scanner->history, scanner->reader, scan->mangled,
					  scan->min_ns, scan->max_ns);
	}
	return status == KP_OK ? kp_reader_select(scanner->reader, &part) : status;
}

/* Reads one batch. Errors: KP_END: there is none left. */
static enum kp_status read_one(struct kp_scanner *scanner, enum kp_scan_kind kind)
{
	struct kp_event event;
	enum kp_status status = kp_reader_next(scanner->reader, &event);

	if (kind == KP_SCAN_HISTORY) {
		if (status == KP_OK)
			kp_history_take(&scanner->history, &event);
		return status;
	}
	if (status == KP_OK)
		status = kp_tracks_take(&scanner->tracks, &event);
	else if (status == KP_END)
		return kp_tracks_settle(&scanner->tracks, UINT64_MAX) == KP_OK ? KP_END
									       : KP_NO_MEMORY;
	return status == KP_OK ? kp_tracks_settle(&scanner->tracks, event.watermark_ns) : status;
}

static void scan(struct kp_scanner *scanner, const struct kp_scan *wish, uint64_t number)
{
	uint64_t next_ns = now_ns() + FIRST_NS;
	enum kp_status status = begin(scanner, wish);

	while (status == KP_OK && number == atomic_load(&scanner->wished) &&
	       !atomic_load(&scanner->quits)) {
		status = read_one(scanner, wish->kind);
		uint64_t now = now_ns();
		if (status != KP_OK || now < next_ns)
			continue;
		publish(scanner, number, wish->kind, false, KP_OK);
		next_ns = now + NEXT_NS;
	}
	if (status != KP_OK)
		publish(scanner, number, wish->kind, true, status == KP_END ? KP_OK : status);
}

static void *run(void *context)
{
	struct kp_scanner *scanner = context;
	uint64_t done = 0;

	for (;;) {
		struct kp_scan wish;
		char *mangled;
		pthread_mutex_lock(&scanner->lock);
		while (atomic_load(&scanner->wished) == done && !atomic_load(&scanner->quits))
			pthread_cond_wait(&scanner->wakes, &scanner->lock);
		done = atomic_load(&scanner->wished);
		wish = scanner->wish;
		mangled = scanner->mangled;
		scanner->mangled = NULL;
		pthread_mutex_unlock(&scanner->lock);
		if (atomic_load(&scanner->quits)) {
			free(mangled);
			return NULL;
		}
		wish.mangled = mangled;
		scan(scanner, &wish, done);
		free(mangled);
	}
}

enum kp_status kp_scanner_create(const char *const *paths, size_t count,
				 const struct kp_reader *opened, struct kp_scanner **out)
{
	struct kp_scanner *scanner = calloc(1, sizeof *scanner);
	enum kp_status status;

	*out = NULL;
	if (!scanner)
		return KP_NO_MEMORY;
	scanner->paths = paths;
	scanner->path_count = count;
	scanner->opened = opened;
	pthread_mutex_init(&scanner->lock, NULL);
	pthread_cond_init(&scanner->wakes, NULL);
	pthread_cond_init(&scanner->ends, NULL);
	status = kp_background_start(&scanner->thread, run, scanner);
	if (status == KP_OK) {
		*out = scanner;
		return KP_OK;
	}
	pthread_cond_destroy(&scanner->ends);
	pthread_cond_destroy(&scanner->wakes);
	pthread_mutex_destroy(&scanner->lock);
	free(scanner);
	return status;
}

void kp_scanner_destroy(struct kp_scanner *scanner)
{
	if (!scanner)
		return;
	pthread_mutex_lock(&scanner->lock);
	atomic_store(&scanner->quits, true);
	pthread_cond_signal(&scanner->wakes);
	pthread_mutex_unlock(&scanner->lock);
	pthread_join(scanner->thread, NULL);
	discard(&scanner->fresh);
	kp_tracks_fini(&scanner->tracks);
	kp_history_fini(&scanner->history);
	kp_reader_close(scanner->reader);
	free(scanner->mangled);
	pthread_cond_destroy(&scanner->ends);
	pthread_cond_destroy(&scanner->wakes);
	pthread_mutex_destroy(&scanner->lock);
	free(scanner);
}

enum kp_status kp_scanner_want(struct kp_scanner *scanner, const struct kp_scan *scan)
{
	char *mangled = scan->mangled ? strdup(scan->mangled) : NULL, *older;
	struct kp_scanned stale;

	if (scan->mangled && !mangled)
		return KP_NO_MEMORY;
	pthread_mutex_lock(&scanner->lock);
	older = scanner->mangled;
	stale = scanner->fresh;
	scanner->wish = *scan;
	scanner->mangled = mangled;
	scanner->fresh = (struct kp_scanned){0};
	atomic_fetch_add(&scanner->wished, 1);
	pthread_cond_signal(&scanner->wakes);
	pthread_mutex_unlock(&scanner->lock);
	free(older);
	discard(&stale);
	return KP_OK;
}

void kp_scanner_wait(struct kp_scanner *scanner)
{
	pthread_mutex_lock(&scanner->lock);
	while (!scanner->fresh.ended)
		pthread_cond_wait(&scanner->ends, &scanner->lock);
	pthread_mutex_unlock(&scanner->lock);
}

struct kp_scanned kp_scanner_take(struct kp_scanner *scanner)
{
	struct kp_scanned fresh;

	pthread_mutex_lock(&scanner->lock);
	fresh = scanner->fresh;
	scanner->fresh = (struct kp_scanned){.ended = fresh.ended,
					     .status = fresh.status,
					     .damaged_chunks = fresh.damaged_chunks};
	pthread_mutex_unlock(&scanner->lock);
	return fresh;
}
