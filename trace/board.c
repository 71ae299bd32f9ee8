/* Boards in memory that processes share; see board.h. */
#include "trace/board.h"

#include <string.h>

#define TRIES 64

void kp_room_init(struct kp_room *room)
{
	room->magic = KP_ROOM_MAGIC;
	room->bytes = sizeof(*room);
}

bool kp_room_is_valid(const struct kp_room *room, uint64_t bytes)
{
	return bytes == sizeof(*room) && room->magic == KP_ROOM_MAGIC && room->bytes == bytes;
}

struct kp_board *kp_room_take(struct kp_room *room)
{
	uint32_t number = atomic_fetch_add(&room->taken, 1);

	return number < KP_ROOM_BOARDS ? &room->boards[number] : NULL;
}

/* ---- the writer ---- */

/*
 * Each word with release: then who sees one of them sees the odd number as well, and no fence is
 * needed, which thread sanitizers do not know.
 */
static void put(struct kp_board *board, size_t offset, const void *from, size_t bytes)
{
	const char *at = from;
	size_t word = offset / 8, count = (bytes + 7) / 8;

	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		memcpy(&value, at + 8 * i, sizeof(value));
		atomic_store_explicit(&board->words[word + i], value, memory_order_release);
	}
}

#define PUT(board, image, member, bytes)                                                           \
	put(board, offsetof(struct kp_board_image, member), (image)->member, bytes)

void kp_board_publish(struct kp_board *board, const struct kp_board_image *image)
{
	const struct kp_board_head *head = &image->head;
	uint64_t sequence = atomic_load_explicit(&board->sequence, memory_order_relaxed);

	atomic_store_explicit(&board->sequence, sequence | 1, memory_order_relaxed);
	put(board, 0, head, sizeof(*head));
	PUT(board, image, rules, head->rule_count * sizeof(image->rules[0]));
	PUT(board, image, rows, head->row_count * sizeof(image->rows[0]));
	PUT(board, image, steps, kp_board_steps(head) * sizeof(image->steps[0]));
	PUT(board, image, names, head->names_bytes);
	atomic_store_explicit(&board->sequence, (sequence | 1) + 1, memory_order_release);
}

/* ---- readers ---- */

static void get(const struct kp_board *board, size_t offset, void *to, size_t bytes)
{
	char *at = to;
	size_t word = offset / 8, count = (bytes + 7) / 8;

	for (size_t i = 0; i < count; i++) {
		uint64_t value =
			atomic_load_explicit(&board->words[word + i], memory_order_acquire);

		memcpy(at + 8 * i, &value, sizeof(value));
	}
}

#define GET(board, image, member, bytes)                                                           \
	get(board, offsetof(struct kp_board_image, member), (image)->member, bytes)

bool kp_board_head_fits(const struct kp_board_head *head)
{
	return head->row_count >= KP_BOARD_KINDS && head->row_count <= KP_BOARD_ROWS &&
	       head->gpu_count <= KP_BOARD_GPUS && head->rule_count <= KP_BOARD_RULES &&
	       head->names_bytes <= KP_BOARD_NAMES_BYTES;
}

static bool rows_fit(const struct kp_board_image *image)
{
	for (uint32_t i = 0; i < image->head.row_count; i++) {
		const struct kp_board_row *row = &image->rows[i];

		if (row->kind >= KP_BOARD_KINDS || row->name > image->head.names_bytes ||
		    row->name_bytes > image->head.names_bytes - row->name)
			return false;
	}
	return true;
}

static void end_texts(struct kp_board_gpu *gpu)
{
	gpu->name[sizeof(gpu->name) - 1] = '\0';
	gpu->uuid[sizeof(gpu->uuid) - 1] = '\0';
}

bool kp_board_image_check(struct kp_board_image *image)
{
	if (!kp_board_head_fits(&image->head) || !rows_fit(image))
		return false;
	for (uint32_t i = 0; i < image->head.gpu_count; i++)
		end_texts(&image->head.gpus[i]);
	for (uint32_t i = 0; i < image->head.rule_count; i++)
		image->rules[i].name[KP_BOARD_RULE_NAME_BYTES - 1] = '\0';
	for (size_t i = 0; i < kp_board_steps(&image->head); i++)
		if (image->steps[i].row >= image->head.row_count)
			image->steps[i].row = KP_BOARD_OTHER(KP_BOARD_KERNEL);
	return true;
}

enum kp_board_reading kp_board_read(const struct kp_board *board, bool torn,
				    struct kp_board_image *out)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint64_t before = atomic_load_explicit(&board->sequence, memory_order_acquire);
		bool fits;

		if (before == 0)
			return KP_BOARD_EMPTY;
		if (before % 2 && !torn)
			continue;
		get(board, 0, &out->head, sizeof(out->head));
		fits = kp_board_head_fits(&out->head);
		if (fits) {
			GET(board, out, rules, out->head.rule_count * sizeof(out->rules[0]));
			GET(board, out, rows, out->head.row_count * sizeof(out->rows[0]));
			GET(board, out, steps, kp_board_steps(&out->head) * sizeof(out->steps[0]));
			GET(board, out, names, out->head.names_bytes);
		}
		if (atomic_load_explicit(&board->sequence, memory_order_relaxed) != before)
			continue;
		return kp_board_image_check(out) ? KP_BOARD_READ : KP_BOARD_BROKEN;
	}
	return KP_BOARD_CHANGING;
}
