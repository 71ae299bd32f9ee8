/* How far a long analysis is; see progress.h. Trouble with stderr is ignored. */
#include "profiler/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 1.0
#define EVERY_S 0.1
#define BAR 40

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One write, so that it does not mix with what others print. */
static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

struct kp_progress kp_progress_begin(void)
{
	const char *terminal = getenv("TERM");
	double begin_s = now_s();

	return (struct kp_progress){
		.wanted = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0,
		.begin_s = begin_s,
		.next_s = begin_s + PATIENCE_S,
	};
}

enum kp_status kp_progress_at(void *context, struct kp_reader_place place)
{
	struct kp_progress *progress = context;
	double at_s = progress->wanted ? now_s() : 0;
	char bar[BAR + 1], line[BAR + 64];
	int done, percent;

	if (!progress->wanted || at_s < progress->next_s || !place.of)
		return KP_OK;
	progress->next_s = at_s + EVERY_S;
	progress->shown = true;
	done = (int)(place.done * BAR / place.of);
	percent = (int)(place.done * 100 / place.of);
	memset(bar, '.', BAR);
	memset(bar, '#', (size_t)done);
	bar[BAR] = '\0';
	snprintf(line, sizeof line, "\r\033[Kkprof: reading [%s] %d%%", bar, percent);
	put(line);
	return KP_OK;
}

void kp_progress_end(struct kp_progress *progress)
{
	if (progress->shown)
		put("\r\033[K");
	progress->shown = false;
}
