/* Sums while the program runs; see tally.h. */
#include "inject/tally.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "inject/tally_busy.h"
#include "trace/board_history.h"
#include "trace/times.h"

/* Rows by hash, open addressing; never more than half full. */
#define PLACES (2 * KP_BOARD_ROWS)
/* Rows by the pointer of CUPTI's name, which all records of a kernel share. */
#define POINTERS 1024
/* A record may be so much later than the clock said when records were last taken. */
#define EARLY_NS 5000000000ULL

struct pointer {
	const char *name;
	uint32_t device, row;
};

struct kp_tally {
	struct kp_board_image image;
	uint64_t now_ns;
	uint64_t hashes[KP_BOARD_ROWS];
	uint16_t places[PLACES]; /* row + 1; 0: free */
	struct pointer pointers[POINTERS];
	struct kp_busy *busy[KP_BOARD_GPUS]; /* NULL: nothing is known of it */
};

struct kp_tally *kp_tally_create(uint64_t now_ns)
{
	struct kp_tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return NULL;
	tally->now_ns = now_ns;
	tally->image.head.begun_ns = now_ns;
	tally->image.head.row_count = KP_BOARD_KINDS;
	for (uint32_t kind = 0; kind < KP_BOARD_KINDS; kind++) {
		tally->image.rows[kind].kind = kind;
		tally->image.rows[kind].device = KP_BOARD_NO_DEVICE;
	}
	return tally;
}

void kp_tally_destroy(struct kp_tally *tally)
{
	for (size_t i = 0; tally && i < KP_BOARD_GPUS; i++)
		free(tally->busy[i]);
	free(tally);
}

void kp_tally_set_now(struct kp_tally *tally, uint64_t now_ns)
{
	tally->now_ns = now_ns;
}

/* ---- rows ---- */

static bool is_of(const struct kp_board_image *image, const struct kp_board_row *row,
		  const char *name, size_t bytes)
{
	return row->name_bytes == bytes && memcmp(image->names + row->name, name, bytes) == 0;
}

static bool has_room(const struct kp_board_head *head, enum kp_board_kind kind, size_t bytes)
{
	return head->row_count < KP_BOARD_ROWS &&
	       bytes <= KP_BOARD_NAMES_BYTES - head->names_bytes &&
	       (kind != KP_BOARD_RANGE || head->range_rows < KP_BOARD_RANGE_ROWS);
}

static uint32_t add_row(struct kp_tally *tally, enum kp_board_kind kind, uint32_t device,
			const char *name, size_t bytes)
{
	struct kp_board_head *head = &tally->image.head;
	struct kp_board_row *row = &tally->image.rows[head->row_count];

	row->kind = kind;
	row->device = device;
	row->name = head->names_bytes;
	row->name_bytes = (uint32_t)bytes;
	memcpy(tally->image.names + head->names_bytes, name, bytes);
	head->names_bytes += (uint32_t)bytes;
	head->range_rows += kind == KP_BOARD_RANGE;
	return head->row_count++;
}

static uint32_t find_row(struct kp_tally *tally, enum kp_board_kind kind, uint32_t device,
			 const char *name, size_t bytes)
{
	uint64_t hash = XXH3_64bits_withSeed(name, bytes, (uint64_t)device << 8 | kind);
	size_t at = hash % PLACES;

	for (; tally->places[at]; at = (at + 1) % PLACES) {
		uint32_t number = tally->places[at] - 1U;
		const struct kp_board_row *row = &tally->image.rows[number];

		if (tally->hashes[number] == hash && row->kind == kind && row->device == device &&
		    is_of(&tally->image, row, name, bytes))
			return number;
	}
	if (!has_room(&tally->image.head, kind, bytes))
		return KP_BOARD_OTHER(kind);
	tally->places[at] = (uint16_t)(tally->image.head.row_count + 1);
	tally->hashes[tally->image.head.row_count] = hash;
	return add_row(tally, kind, device, name, bytes);
}

/* The row of a kernel: mostly the one that its name's pointer had before. */
static uint32_t find_kernel(struct kp_tally *tally, const char *name, uint32_t device)
{
	uintptr_t place = (uintptr_t)name;
	struct pointer *known = &tally->pointers[(place ^ place >> 12 ^ device) % POINTERS];
	const struct kp_board_row *row = &tally->image.rows[known->row];
	size_t bytes;

	if (known->name == name && known->device == device && known->row >= KP_BOARD_KINDS &&
	    strncmp(tally->image.names + row->name, name, row->name_bytes) == 0 &&
	    (name[row->name_bytes] == '\0' || row->name_bytes == KP_BOARD_NAME_BYTES))
		return known->row;
	bytes = strnlen(name, KP_BOARD_NAME_BYTES);
	*known = (struct pointer){name, device,
				  find_row(tally, KP_BOARD_KERNEL, device, name, bytes)};
	return known->row;
}

/* ---- GPUs ---- */

/* The place of a GPU among those of the board; KP_BOARD_GPUS: there is none. */
static size_t find_gpu(struct kp_tally *tally, uint32_t device)
{
	struct kp_board_head *head = &tally->image.head;
	size_t at = 0;

	while (at < head->gpu_count && head->gpus[at].device != device)
		at++;
	if (at < head->gpu_count || at == KP_BOARD_GPUS)
		return at;
	tally->busy[at] = calloc(1, sizeof(*tally->busy[at]));
	if (!tally->busy[at])
		return KP_BOARD_GPUS;
	head->gpus[at].device = device;
	head->gpu_count++;
	return at;
}

static void copy_text(char *out, size_t size, struct kp_text text)
{
	size_t bytes = text.length < size - 1 ? text.length : size - 1;

	memcpy(out, text.bytes, bytes);
	out[bytes] = '\0';
}

void kp_tally_describe(struct kp_tally *tally, const struct kp_device_info *info)
{
	size_t at = find_gpu(tally, (uint32_t)info->device);
	struct kp_board_gpu *gpu;

	if (at == KP_BOARD_GPUS)
		return;
	gpu = &tally->image.head.gpus[at];
	if (KP_HAS(info, DEVICE, name))
		copy_text(gpu->name, sizeof(gpu->name), info->name);
	if (KP_HAS(info, DEVICE, uuid))
		copy_text(gpu->uuid, sizeof(gpu->uuid), info->uuid);
	gpu->known = 1;
}

/* ---- sums ---- */

/* Time goes to the seconds in which it was, the call to the last of them. */
static void add_history(struct kp_board_row *row, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t last = end_ns / KP_BOARD_SECOND_NS, second = start_ns / KP_BOARD_SECOND_NS;

	if (last - second >= KP_BOARD_SECONDS) {
		second = last - KP_BOARD_SECONDS + 1;
		start_ns = second * KP_BOARD_SECOND_NS;
	}
	for (; second < last; second++) {
		uint64_t next_ns = (second + 1) * KP_BOARD_SECOND_NS;

		kp_board_row_add(row, second, 0, next_ns - start_ns);
		start_ns = next_ns;
	}
	kp_board_row_add(row, last, 1, end_ns - start_ns);
}

/* Adds a call to a row. True: its time is of this clock. */
static bool add_call(struct kp_tally *tally, uint32_t number, uint64_t start_ns, uint64_t end_ns)
{
	struct kp_board_row *row = &tally->image.rows[number];
	bool timed = kp_time_quality(start_ns, end_ns) == KP_TIME_VALID;
	uint64_t length_ns = timed ? end_ns - start_ns : 0;
	bool placed = timed && end_ns <= tally->now_ns + EARLY_NS;

	row->calls++;
	if (timed) {
		row->least_ns =
			!row->timed || length_ns < row->least_ns ? length_ns : row->least_ns;
		row->most_ns = length_ns > row->most_ns ? length_ns : row->most_ns;
		row->total_ns += length_ns;
		row->timed++;
	}
	tally->image.head.clockless += !placed;
	if (placed)
		add_history(row, start_ns, end_ns);
	else
		kp_board_row_add(row, tally->now_ns / KP_BOARD_SECOND_NS, 1, length_ns);
	return placed;
}

void kp_tally_kernel(struct kp_tally *tally, const char *name, uint32_t device, uint64_t start_ns,
		     uint64_t end_ns)
{
	struct kp_board_head *head = &tally->image.head;
	uint32_t row = find_kernel(tally, name ? name : "", device);
	bool placed = add_call(tally, row, start_ns, end_ns);
	size_t gpu = find_gpu(tally, device);
	uint64_t length_ns = end_ns - start_ns;

	if (!placed)
		return;
	if (gpu < KP_BOARD_GPUS && length_ns)
		kp_busy_add(tally->busy[gpu], &head->gpus[gpu], start_ns, end_ns);
	tally->image.steps[head->trail++ % KP_BOARD_TRAIL] = (struct kp_board_step){
		start_ns, row, length_ns < UINT32_MAX ? (uint32_t)length_ns : UINT32_MAX};
}

void kp_tally_range(struct kp_tally *tally, const char *name, size_t bytes, uint64_t start_ns,
		    uint64_t end_ns)
{
	if (bytes > KP_BOARD_NAME_BYTES)
		bytes = KP_BOARD_NAME_BYTES;
	add_call(tally, find_row(tally, KP_BOARD_RANGE, 0, name, bytes), start_ns, end_ns);
}

struct kp_board_image *kp_tally_image(struct kp_tally *tally)
{
	for (size_t i = 0; i < tally->image.head.gpu_count; i++)
		kp_busy_settle(tally->busy[i], &tally->image.head.gpus[i]);
	return &tally->image;
}
