/*
 * Boards in a file: what a watcher saw at one moment, to look at later («kprof top FILE»).
 *
 * A number that says what it is, the number of boards, and of each board what is used: the head,
 * the rows, the latest launches and the names, in the layout of trace/board.h and its byte order.
 * Another layout has another number. Readers trust nothing.
 */
#ifndef KP_TRACE_BOARD_FILE_H
#define KP_TRACE_BOARD_FILE_H

#include <stdio.h>

#include "trace/board.h"
#include "trace/status.h"

/* Errors: KP_IO. */
enum kp_status kp_board_file_write(FILE *file, const struct kp_board_image *const *images,
				   size_t count);
/*
 * The images of a file, `*count` of them, at most KP_ROOM_BOARDS; free() each (NULL where there is
 * none). Errors: KP_INVALID (it is no such file), KP_CORRUPT, KP_NO_MEMORY; then there are none.
 */
enum kp_status kp_board_file_read(FILE *file, struct kp_board_image *images[KP_ROOM_BOARDS],
				  size_t *count);

#endif
