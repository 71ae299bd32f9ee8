/* Boards in a file; see board_file.h. */
#include "trace/board_file.h"

#include <stdlib.h>

#define FILE_MAGIC 0x32504f544650524bULL /* «KRPFTOP2» */

struct file_head {
	uint64_t magic, count;
};

/* The parts of an image and how much of each is used. */
struct part {
	size_t offset, bytes;
};

#define PARTS 5

static void parts_of(const struct kp_board_head *head, struct part out[PARTS])
{
	out[0] = (struct part){0, sizeof(*head)};
	out[1] = (struct part){offsetof(struct kp_board_image, rules),
			       head->rule_count * sizeof(struct kp_board_rule)};
	out[2] = (struct part){offsetof(struct kp_board_image, rows),
			       head->row_count * sizeof(struct kp_board_row)};
	out[3] = (struct part){offsetof(struct kp_board_image, steps),
			       kp_board_steps(head) * sizeof(struct kp_board_step)};
	out[4] = (struct part){offsetof(struct kp_board_image, names), head->names_bytes};
}

enum kp_status kp_board_file_write(FILE *file, const struct kp_board_image *const *images,
				   size_t count)
{
	const struct file_head head = {FILE_MAGIC, count};

	if (fwrite(&head, sizeof(head), 1, file) != 1)
		return KP_IO;
	for (size_t i = 0; i < count; i++) {
		struct part parts[PARTS];

		parts_of(&images[i]->head, parts);
		for (size_t k = 0; k < PARTS; k++)
			if (fwrite((const char *)images[i] + parts[k].offset, 1, parts[k].bytes,
				   file) != parts[k].bytes)
				return KP_IO;
	}
	return KP_OK;
}

static enum kp_status read_image(FILE *file, struct kp_board_image *image)
{
	struct part parts[PARTS];

	if (fread(&image->head, sizeof(image->head), 1, file) != 1 ||
	    !kp_board_head_fits(&image->head))
		return KP_CORRUPT;
	parts_of(&image->head, parts);
	for (size_t i = 1; i < PARTS; i++)
		if (fread((char *)image + parts[i].offset, 1, parts[i].bytes, file) !=
		    parts[i].bytes)
			return KP_CORRUPT;
	return kp_board_image_check(image) ? KP_OK : KP_CORRUPT;
}

enum kp_status kp_board_file_read(FILE *file, struct kp_board_image *images[KP_ROOM_BOARDS],
				  size_t *count)
{
	enum kp_status status = KP_OK;
	struct file_head head;

	*count = 0;
	if (fread(&head, sizeof(head), 1, file) != 1 || head.magic != FILE_MAGIC)
		return KP_INVALID;
	if (head.count > KP_ROOM_BOARDS)
		return KP_CORRUPT;
	for (; *count < head.count && status == KP_OK; (*count)++) {
		images[*count] = calloc(1, sizeof(*images[0]));
		status = images[*count] ? read_image(file, images[*count]) : KP_NO_MEMORY;
	}
	while (status != KP_OK && *count > 0) {
		free(images[--*count]);
		images[*count] = NULL;
	}
	return status;
}
