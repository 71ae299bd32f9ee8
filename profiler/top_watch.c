/* Watching processes; see top_watch.h. */
#include "profiler/top_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profiler/control_client.h"
#include "trace/board_file.h"

#define REFRESH_NS 100000000ULL
/* A collector that has published nothing for so long has let go of this room. */
#define LOST_NS (KP_ROOM_PATIENCE_NS / 2)
#define ASK_AGAIN_NS 5000000000ULL
#define PATIENCE_S 3

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

bool kp_top_watch_open(struct kp_top_watch *watch)
{
	void *room = MAP_FAILED;

	*watch = (struct kp_top_watch){
		.fd = memfd_create("kprof-top", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
	if (watch->fd < 0)
		return false;
	if (ftruncate(watch->fd, sizeof *watch->room) == 0 &&
	    fcntl(watch->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		room = mmap(NULL, sizeof *watch->room, PROT_READ | PROT_WRITE, MAP_SHARED,
			    watch->fd, 0);
	if (room == MAP_FAILED) {
		close(watch->fd);
		return false;
	}
	watch->room = room;
	kp_room_init(watch->room);
	snprintf(watch->path, sizeof watch->path, "/proc/%ld/fd/%d", (long)getpid(), watch->fd);
	return true;
}

enum kp_status kp_top_watch_load(struct kp_top_watch *watch, const char *path)
{
	FILE *file = fopen(path, "re");
	enum kp_status status;

	*watch = (struct kp_top_watch){.fd = -1, .over = true};
	if (!file)
		return KP_IO;
	status = kp_board_file_read(file, watch->images, &watch->count);
	fclose(file);
	for (size_t i = 0; i < watch->count; i++) {
		watch->processes[i].image = watch->images[i];
		watch->processes[i].pid = watch->images[i]->head.pid;
	}
	return status;
}

void kp_top_watch_close(struct kp_top_watch *watch)
{
	if (watch->room)
		atomic_store(&watch->room->closed, 1);
}

void kp_top_watch_fini(struct kp_top_watch *watch)
{
	for (size_t i = 0; i < KP_ROOM_BOARDS; i++)
		free(watch->images[i]);
	kp_top_watch_close(watch);
	if (watch->room)
		munmap(watch->room, sizeof *watch->room);
	if (watch->fd >= 0)
		close(watch->fd);
	*watch = (struct kp_top_watch){.fd = -1};
}

/* ---- reading ---- */

static void read_command(struct kp_top_process *process)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%u/comm", process->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	size_t length = fread(process->command, 1, sizeof process->command - 1, file);
	process->command[length] = '\0';
	process->command[strcspn(process->command, "\n")] = '\0';
	fclose(file);
}

static bool is_alive(uint32_t pid)
{
	return pid && (kill((pid_t)pid, 0) == 0 || errno != ESRCH);
}

/* Reads a board that has changed; true: it has. */
static bool read_board(struct kp_top_watch *watch, size_t number)
{
	const struct kp_board *board = &watch->room->boards[number];
	struct kp_top_process *process = &watch->processes[number];
	uint64_t sequence = atomic_load(&board->sequence);
	bool alive = !process->image || (process->alive && is_alive(process->pid));
	bool died = process->image && process->alive && !alive;

	if (sequence == watch->sequences[number] && !died)
		return false;
	if (!watch->images[number])
		watch->images[number] = calloc(1, sizeof *watch->images[number]);
	if (!watch->images[number])
		return false;
	/* Once the process is gone, what it was in the midst of is all that is left. */
	enum kp_board_reading reading =
		kp_board_read(board, !alive || watch->over, watch->images[number]);
	if (reading == KP_BOARD_BROKEN) {
		process->image = NULL;
		snprintf(process->trouble, sizeof process->trouble,
			 "what a process says of itself makes no sense");
	}
	if (reading != KP_BOARD_READ)
		return died;
	watch->sequences[number] = sequence;
	const struct kp_board_head *head = &watch->images[number]->head;
	if (!process->image) {
		process->pid = head->pid;
		read_command(process);
	}
	process->image = watch->images[number];
	process->alive = head->state == KP_BOARD_RUNNING && is_alive(head->pid);
	return true;
}

/* A collector that lets go of the room, because kprof was stopped for long, is asked again. */
static void keep_in_touch(struct kp_top_watch *watch, size_t number, uint64_t now)
{
	const struct kp_top_process *process = &watch->processes[number];
	char complaint[KP_CONTROL_COMPLAINT_BYTES];
	struct kp_control_answer answer;

	if (!process->image || !process->alive ||
	    now < process->image->head.published_ns + LOST_NS ||
	    now < watch->asked_ns[number] + ASK_AGAIN_NS)
		return;
	watch->asked_ns[number] = now;
	kp_control_ask((long)process->pid, KP_CONTROL_WATCH, watch->fd, 1, &answer, complaint);
}

/* A process that has another board by now, or became another program, counts once. */
static bool is_replaced(const struct kp_top_watch *watch, size_t number)
{
	for (size_t i = number + 1; i < watch->count; i++)
		if (watch->processes[i].image &&
		    watch->processes[i].pid == watch->processes[number].pid)
			return true;
	return false;
}

static void make_view(struct kp_top_watch *watch)
{
	size_t shown = 0;

	watch->view.trouble = NULL;
	if (watch->view.placeless) {
		snprintf(watch->words, sizeof watch->words,
			 "%u more processes use the GPU: there is room for %d.",
			 watch->view.placeless, KP_ROOM_BOARDS);
		watch->view.trouble = watch->words;
	}
	for (size_t i = 0; i < watch->count; i++) {
		if (watch->processes[i].trouble[0])
			watch->view.trouble = watch->processes[i].trouble;
		if (watch->processes[i].image && !is_replaced(watch, i))
			watch->shown[shown++] = watch->processes[i];
	}
	watch->view.processes = watch->shown;
	watch->view.process_count = shown;
	watch->view.ended = watch->over;
}

bool kp_top_watch_refresh(struct kp_top_watch *watch)
{
	uint64_t now = now_ns();
	bool over_now = watch->over != watch->view.ended, changed = over_now;

	if (now < watch->refreshed_ns + REFRESH_NS && !over_now && watch->refreshed_ns)
		return false;
	changed |= !watch->refreshed_ns;
	watch->refreshed_ns = now;
	if (watch->room) {
		uint32_t taken = atomic_load(&watch->room->taken);
		atomic_fetch_add(&watch->room->beat, 1);
		watch->count = taken < KP_ROOM_BOARDS ? taken : KP_ROOM_BOARDS;
		watch->view.placeless = taken - (uint32_t)watch->count;
	}
	for (size_t i = 0; watch->room && i < watch->count; i++) {
		changed |= read_board(watch, i);
		keep_in_touch(watch, i, now);
	}
	if (changed)
		make_view(watch);
	return changed;
}

/* ---- recording ---- */

bool kp_top_watch_record(struct kp_top_watch *watch, bool on, char *words, size_t size)
{
	char complaint[KP_CONTROL_COMPLAINT_BYTES] = "No process runs that could be recorded.";
	static struct kp_control_answer answer;
	size_t done = 0, asked = 0;

	for (size_t i = 0; i < watch->view.process_count; i++) {
		const struct kp_top_process *process = &watch->shown[i];

		if (!process->alive || !watch->room)
			continue;
		asked++;
		if (kp_control_ask((long)process->pid, on ? KP_CONTROL_START : KP_CONTROL_STOP, -1,
				   PATIENCE_S, &answer, complaint))
			done++;
	}
	if (!done)
		snprintf(words, size, "%s", complaint);
	else
		snprintf(words, size,
			 on ? "Recording into %.200s." : "What was recorded is in %.200s.",
			 answer.trace);
	return asked > 0 && on;
}

/* ---- rules ---- */

static bool has_rule(const struct kp_board_image *image, const char *rule)
{
	for (uint32_t i = 0; i < image->head.rule_count; i++)
		if (strcmp(image->rules[i].name, rule) == 0)
			return true;
	return false;
}

void kp_top_watch_switch(struct kp_top_watch *watch, const char *rule, bool on, char *words,
			 size_t size)
{
	char complaint[KP_CONTROL_COMPLAINT_BYTES] = "No process runs that has that rule.";
	static struct kp_control_answer answer;
	size_t done = 0;

	for (size_t i = 0; i < watch->view.process_count; i++) {
		const struct kp_top_process *process = &watch->shown[i];

		if (!process->alive || !watch->room || !has_rule(process->image, rule))
			continue;
		done += kp_control_switch((long)process->pid, on, rule, PATIENCE_S, &answer,
					  complaint);
	}
	if (!done)
		snprintf(words, size, "%s", complaint);
	else
		snprintf(words, size, "%s is %s; what comes of it shows in a second or two.", rule,
			 on ? "on" : "off: the originals run");
}

enum kp_status kp_top_watch_save(const struct kp_top_watch *watch, FILE *file)
{
	const struct kp_board_image *images[KP_ROOM_BOARDS];

	for (size_t i = 0; i < watch->view.process_count; i++)
		images[i] = watch->shown[i].image;
	return kp_board_file_write(file, images, watch->view.process_count);
}
