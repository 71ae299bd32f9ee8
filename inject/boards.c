/* Publishing sums; see boards.h. */
#include "inject/boards.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/ab.h"
#include "inject/driver.h"
#include "inject/tally.h"

#define PUBLISH_NS 100000000ULL
#define DEVICES 64

struct kp_tally *kp_boards_tally;

struct watcher {
	struct kp_room *room; /* NULL: none */
	struct kp_board *board;
	uint64_t beat, beat_ns; /* the last that was seen, and when it had changed */
};

static struct {
	struct watcher watchers[KP_BOARDS_AT_ONCE];
	bool described[DEVICES];
	bool recording, ended;
	uint64_t settled_ns, published_ns;
} boards;

bool kp_boards_watched(void)
{
	return kp_boards_tally != NULL;
}

/* ---- rooms ---- */

/* A room that can never become shorter; NULL: it is none. */
static struct kp_room *map_room(int fd)
{
	struct stat about;
	struct kp_room *room;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &about) != 0 ||
	    about.st_size != (off_t)sizeof(*room))
		return NULL;
	room = mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (room == MAP_FAILED)
		return NULL;
	madvise(room, sizeof(*room), MADV_DONTFORK); /* a child is not watched */
	if (kp_room_is_valid(room, (uint64_t)about.st_size))
		return room;
	munmap(room, sizeof(*room));
	return NULL;
}

static struct watcher *free_watcher(void)
{
	for (size_t i = 0; i < KP_BOARDS_AT_ONCE; i++)
		if (!boards.watchers[i].room)
			return &boards.watchers[i];
	return NULL;
}

static void publish(struct watcher *watcher)
{
	struct kp_board_image *image = kp_tally_image(kp_boards_tally);
	struct kp_board_head *head = &image->head;
	const struct kp_live_slot *slot = kp_inject.slot;

	head->process = kp_inject.process;
	head->pid = (uint32_t)kp_inject.pid;
	head->state = boards.ended ? KP_BOARD_ENDED : KP_BOARD_RUNNING;
	head->published_ns = kp_clock_now();
	head->settled_ns = boards.settled_ns;
	head->kernels_issued = slot ? atomic_load(&slot->kernels_issued) : 0;
	head->issued_known = slot && atomic_load(&slot->issued_known) != 0;
	head->recording = boards.recording;
	kp_board_publish(watcher->board, image);
}

const char *kp_boards_attach(int fd)
{
	struct watcher *watcher = free_watcher();
	uint64_t now_ns = kp_clock_now();
	struct kp_room *room;
	struct kp_board *board;

	if (!watcher)
		return "it is watched by others already, as many as can be";
	room = map_room(fd);
	if (!room)
		return "the memory for its figures cannot be used: kprof top is of another version";
	if (!kp_boards_tally) {
		kp_boards_tally = kp_tally_create(now_ns);
		memset(boards.described, 0, sizeof(boards.described));
	}
	board = kp_boards_tally ? kp_room_take(room) : NULL;
	if (!board) {
		munmap(room, sizeof(*room));
		return kp_boards_tally ? "there are more processes than kprof top has room for"
				       : "out of memory";
	}
	*watcher = (struct watcher){room, board, atomic_load(&room->beat), now_ns};
	kp_ab_watch(kp_tally_image(kp_boards_tally), now_ns);
	publish(watcher);
	return NULL;
}

void kp_boards_start(void)
{
	const char *path = getenv("KPROF_BOARD");
	int fd = path && path[0] ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	boards.ended = false;
	kp_boards_attach(fd); /* where it cannot be, nobody watches */
	close(fd);
}

/* ---- sums ---- */

void kp_boards_kernel_on(const char *name, uint32_t device, uint64_t start_ns, uint64_t end_ns)
{
	if (device < DEVICES && !boards.described[device]) {
		struct kp_device_info info = {0};

		boards.described[device] = true;
		kp_driver_describe(device, &info);
		kp_tally_describe(kp_boards_tally, &info);
	}
	kp_tally_kernel(kp_boards_tally, name, device, start_ns, end_ns);
}

void kp_boards_range(const char *name, size_t bytes, uint64_t start_ns, uint64_t end_ns)
{
	if (kp_boards_tally)
		kp_tally_range(kp_boards_tally, name, bytes, start_ns, end_ns);
}

void kp_boards_settled(uint64_t settled_ns)
{
	boards.settled_ns = settled_ns;
}

/* ---- time ---- */

static bool is_gone(struct watcher *watcher, uint64_t now_ns)
{
	uint64_t beat = atomic_load(&watcher->room->beat);

	if (beat != watcher->beat) {
		watcher->beat = beat;
		watcher->beat_ns = now_ns;
	}
	return atomic_load(&watcher->room->closed) ||
	       now_ns > watcher->beat_ns + KP_ROOM_PATIENCE_NS;
}

static void let_go(struct watcher *watcher)
{
	munmap(watcher->room, sizeof(*watcher->room));
	*watcher = (struct watcher){0};
}

bool kp_boards_tick(bool recording)
{
	uint64_t now_ns = kp_clock_now();
	size_t left = 0;

	if (!kp_boards_tally)
		return false;
	kp_tally_set_now(kp_boards_tally, now_ns);
	if (now_ns < boards.published_ns + PUBLISH_NS)
		return false;
	boards.published_ns = now_ns;
	boards.recording = recording;
	kp_ab_watch(kp_tally_image(kp_boards_tally), now_ns);
	for (size_t i = 0; i < KP_BOARDS_AT_ONCE; i++) {
		struct watcher *watcher = &boards.watchers[i];

		if (watcher->room && is_gone(watcher, now_ns))
			let_go(watcher);
		if (!watcher->room)
			continue;
		publish(watcher);
		left++;
	}
	if (left)
		return false;
	kp_tally_destroy(kp_boards_tally);
	kp_boards_tally = NULL;
	return true;
}

void kp_boards_end(bool ended)
{
	boards.ended = ended;
	if (!kp_boards_tally)
		return;
	boards.settled_ns = kp_clock_now();
	kp_ab_watch(kp_tally_image(kp_boards_tally), boards.settled_ns);
	for (size_t i = 0; i < KP_BOARDS_AT_ONCE; i++)
		if (boards.watchers[i].room)
			publish(&boards.watchers[i]);
}

/* The sums are the parent's, as is their lock on memory: they stay where they are. */
void kp_boards_forget(void)
{
	kp_boards_tally = NULL;
	memset(&boards, 0, sizeof(boards));
}
