/*
 * What a collector tells a watcher («kprof top») while the program runs: sums, not records.
 *
 * The watcher makes a room in memory (a memfd, sealed so that it cannot shrink) and each process
 * that is watched takes one board of it. The collector keeps its sums in memory of its own and
 * copies them to the board now and then; it reads nothing from the room but the watcher's beat, so
 * that whatever stands there cannot harm the program. A board is copied by words, atomically, under
 * a sequence number that is odd meanwhile: a reader that finds it odd, or changed, tries again, and
 * nobody ever waits for a reader. A collector stops where the beat stops for KP_ROOM_PATIENCE_NS.
 *
 * A room may also be a file that was saved. Readers trust nothing in it: kp_board_read checks all
 * numbers by which others are found.
 */
#ifndef KP_TRACE_BOARD_H
#define KP_TRACE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/board_rules.h"

#define KP_ROOM_MAGIC 0x32444f4f4252504bULL /* «KPRBOOD2» */
#define KP_ROOM_BOARDS 32
#define KP_ROOM_PATIENCE_NS 10000000000ULL
#define KP_BOARD_ROWS 1024
#define KP_BOARD_RANGE_ROWS 128 /* at most so many of these are of ranges */
#define KP_BOARD_GPUS 16
#define KP_BOARD_NAMES_BYTES (1U << 19)
#define KP_BOARD_NAME_BYTES 16384 /* longer names are cut */
#define KP_BOARD_TRAIL 8192       /* the latest launches */
#define KP_BOARD_SECOND_NS 1000000000ULL

enum kp_board_kind { KP_BOARD_KERNEL, KP_BOARD_RANGE, KP_BOARD_KINDS };
/* The first rows stand for what found no row of its own, one of each kind; the device is nobody's.
 */
#define KP_BOARD_OTHER(kind) ((uint32_t)(kind))
#define KP_BOARD_NO_DEVICE UINT32_MAX

enum kp_board_state { KP_BOARD_RUNNING = 1, KP_BOARD_ENDED = 2 };

/* A second of history: [n % KP_BOARD_SECONDS] is that of second n of the trace's clock. */
struct kp_board_second {
	uint64_t total_ns;
	uint64_t calls;
};

/* A kernel on a GPU, or the ranges of one name. */
struct kp_board_row {
	uint32_t kind, device;
	uint32_t name, name_bytes; /* where in the names */
	uint64_t calls, timed;     /* timed: of the calls, those whose length is known */
	uint64_t total_ns, least_ns, most_ns;
	uint64_t second; /* the latest with history; older than KP_BOARD_SECONDS before: none */
	struct kp_board_second seconds[KP_BOARD_SECONDS];
};

struct kp_board_gpu {
	uint32_t device, known; /* known: name and uuid are set */
	char uuid[48];
	char name[64];    /* both end in NUL */
	uint64_t busy_ns; /* time in which any kernel ran */
	uint64_t second;
	uint64_t seconds[KP_BOARD_SECONDS]; /* busy_ns of each */
};

/* One launch of late. */
struct kp_board_step {
	uint64_t start_ns;
	uint32_t row;
	uint32_t duration_ns; /* at most UINT32_MAX */
};

struct kp_board_head {
	uint64_t process; /* identity, as in the trace */
	uint32_t pid, state;
	uint64_t begun_ns;     /* sums are of what ended from here on */
	uint64_t published_ns; /* when this was copied */
	uint64_t settled_ns;   /* what ended before has mostly been counted */
	uint64_t kernels_issued, issued_known;
	uint64_t recording; /* 1: records go into the trace */
	uint64_t clockless; /* records whose time is not of this clock: placed by their arrival */
	uint32_t row_count, gpu_count, names_bytes, range_rows;
	uint32_t rule_count, reserved; /* 0 rules: there is no A/B */
	uint64_t trail; /* launches so far: the latest is [(trail - 1) % KP_BOARD_TRAIL] */
	struct kp_board_gpu gpus[KP_BOARD_GPUS];
};

struct kp_board_image {
	struct kp_board_head head;
	struct kp_board_rule rules[KP_BOARD_RULES];
	struct kp_board_row rows[KP_BOARD_ROWS];
	struct kp_board_step steps[KP_BOARD_TRAIL];
	char names[KP_BOARD_NAMES_BYTES];
};

_Static_assert(sizeof(struct kp_board_image) % 8 == 0, "boards are copied by words");
_Static_assert(offsetof(struct kp_board_image, rules) % 8 == 0 &&
		       offsetof(struct kp_board_image, rows) % 8 == 0 &&
		       offsetof(struct kp_board_image, steps) % 8 == 0 &&
		       offsetof(struct kp_board_image, names) % 8 == 0,
	       "and so are their parts");

struct kp_board {
	_Atomic uint64_t sequence; /* odd: it is being copied; 0: nothing was */
	_Atomic uint64_t words[sizeof(struct kp_board_image) / 8];
};

struct kp_room {
	uint64_t magic, bytes;   /* of the room: another layout has another size */
	_Atomic uint64_t beat;   /* the watcher's: changes while it lives */
	_Atomic uint32_t taken;  /* boards; may exceed KP_ROOM_BOARDS */
	_Atomic uint32_t closed; /* the watcher has gone */
	struct kp_board boards[KP_ROOM_BOARDS];
};

/* A new room of zeroes becomes one. */
void kp_room_init(struct kp_room *room);
/* Whether `bytes` of memory hold a room of this layout. */
bool kp_room_is_valid(const struct kp_room *room, uint64_t bytes);
/* A board of the room; NULL: all are taken. */
struct kp_board *kp_room_take(struct kp_room *room);

/* Copies what is used of the image. One writer a board. */
void kp_board_publish(struct kp_board *board, const struct kp_board_image *image);
enum kp_board_reading {
	KP_BOARD_READ,
	KP_BOARD_EMPTY,    /* nothing was published so far */
	KP_BOARD_CHANGING, /* all the time: later, perhaps */
	KP_BOARD_BROKEN    /* its numbers fit nothing */
};
/*
 * Copies the board to `out`, of which only what is used is set. `torn`: the writer is gone, so what
 * it left half copied is all there will be. Any number of readers at once.
 */
enum kp_board_reading kp_board_read(const struct kp_board *board, bool torn,
				    struct kp_board_image *out);

/* How many of the image's steps are set. */
static inline size_t kp_board_steps(const struct kp_board_head *head)
{
	return head->trail < KP_BOARD_TRAIL ? (size_t)head->trail : KP_BOARD_TRAIL;
}
/* Whether its counts lie within their bounds. */
bool kp_board_head_fits(const struct kp_board_head *head);
/* Whether an image may be believed; texts and steps are mended where that does no harm. */
bool kp_board_image_check(struct kp_board_image *image);

#endif
