/*
 * How long the explorer takes over a trace: to its first screen with rows, to all that is known,
 * and for every key in every view, while the trace is read and afterwards.
 *
 *	bench_tui FILE [WIDTHxHEIGHT]
 *
 * A key's time is what its user waits for: the key's work, one turn of work as between two keys,
 * and the drawing of the screen, without a terminal. Between keys there is a pause, as between
 * those of a finger that stays on one: a program that sleeps gets the processor at once when it
 * wakes, one that never does waits for its turn. The slowest key of each view is named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tui/keys.h"
#include "tui/live.h"
#include "tui/state.h"

/* Rounds over the keys of a view. */
#define ROUNDS 3
#define PAUSE_NS 20000000 /* between keys */

struct slowest {
	double ms, processor_ms; /* processor: of this thread */
	char key[16];
	unsigned keys;
};

static double read_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double now_s(void)
{
	return read_s(CLOCK_MONOTONIC);
}

static void check(enum kp_status status, const char *what)
{
	if (status == KP_OK)
		return;
	fprintf(stderr, "bench_tui: %s: %s\n", what, kp_status_message(status));
	exit(1);
}

static double peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/* What comes between two keys on a terminal. */
static void turn(struct kp_tui *tui)
{
	kp_tui_work(tui);
	check(kp_tui_draw(tui), "drawing");
}

/* ---- keys ---- */

static bool leaves(uint32_t code)
{
	return code == 'q' || code == 'Q' || code == 3;
}

static void press(struct kp_tui *tui, uint32_t code, struct slowest *slowest)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
	double begin_s = now_s(), processor_s = read_s(CLOCK_THREAD_CPUTIME_ID), took_ms;

	kp_tui_key(tui, code);
	turn(tui);
	took_ms = 1e3 * (now_s() - begin_s);
	slowest->keys++;
	if (took_ms > slowest->ms) {
		slowest->ms = took_ms;
		slowest->processor_ms = 1e3 * (read_s(CLOCK_THREAD_CPUTIME_ID) - processor_s);
		snprintf(slowest->key, sizeof slowest->key, code > 32 && code < 127 ? "%c" : "0x%x",
			 code);
	}
	if (tui->prompt.open) {
		kp_tui_key(tui, KP_KEY_ESCAPE);
		check(kp_tui_draw(tui), "drawing");
	}
	tui->closed = false;
}

/* All keys of a view, each in that view; those of the rows that it has selected. */
static void press_all(struct kp_tui *tui, enum kp_page_id page, struct slowest *slowest)
{
	for (size_t i = 0; i < kp_key_count; i++) {
		char name[16];
		uint32_t code;

		kp_key_first_name(&kp_keys[i], name, sizeof name);
		code = kp_key_code(name, strlen(name));
		if (!(kp_keys[i].pages & 1U << page) || leaves(code))
			continue;
		if (tui->page != page)
			kp_tui_show(tui, page);
		turn(tui);
		press(tui, code, slowest);
	}
}

static void press_in_views(struct kp_tui *tui, const char *when)
{
	for (unsigned page = 0; page < KP_PAGE_COUNT; page++) {
		struct slowest slowest = {0};

		if (!kp_tui_has_tab(tui, (enum kp_page_id)page))
			continue;
		for (unsigned round = 0; round < ROUNDS; round++)
			press_all(tui, (enum kp_page_id)page, &slowest);
		printf("%-10s %-10s %4u keys, the slowest %-8s %5.1f ms, %5.1f of processor\n",
		       when, kp_page_title((enum kp_page_id)page), slowest.keys, slowest.key,
		       slowest.ms, slowest.processor_ms);
		fflush(stdout);
	}
}

/* ---- opening ---- */

static void wait_for(struct kp_tui *tui, bool complete)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	while (!tui->report || (complete && !tui->part.complete)) {
		if (tui->trouble != KP_OK || kp_loader_progress(tui->loader).ended)
			check(tui->trouble, "reading");
		turn(tui);
		nanosleep(&pause, NULL);
	}
	turn(tui);
}

int main(int argc, char **argv)
{
	struct kp_tui_settings settings = {.rows = 24, .columns = 80};
	const char *paths[] = {argc > 1 ? argv[1] : NULL};
	struct kp_tui_source source = {
		.paths = paths,
		.path_count = 1,
		.options = {.threshold_pct = 30,
			    .busy_shares = true,
			    .ranges = true,
			    .timeline = true},
	};
	double begin_s = now_s();
	struct kp_tui tui;
	size_t bad;

	if (argc < 2 || argc > 3 ||
	    (argc == 3 && !kp_tui_read_size(argv[2], &settings.columns, &settings.rows)))
		return 2;
	check(kp_reader_open(paths, 1, &source.reader, &bad), "opening");
	check(kp_tui_init(&tui, &source, &settings), "beginning");
	check(kp_tui_draw(&tui), "drawing");
	printf("screen without rows after %.3f s\n", now_s() - begin_s);
	wait_for(&tui, false);
	printf("first rows after %.3f s, from %.2g %% of the trace\n", now_s() - begin_s,
	       tui.part.pct);
	press_in_views(&tui, "meanwhile");
	wait_for(&tui, true);
	printf("all after %.3f s\n", now_s() - begin_s);
	press_in_views(&tui, "afterwards");
	printf("peak memory %.0f MiB\n", peak_mib());
	kp_tui_fini(&tui);
	kp_reader_close(source.reader);
	return 0;
}
