/* Boards: sums of kernels and ranges, copied to memory that others read while it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "inject/tally.h"
#include "inject/tally_busy.h"
#include "trace/board_file.h"
#include "trace/board_history.h"

#define NOW_NS 1000000000000ULL
#define SECOND KP_BOARD_SECOND_NS
#define ROUNDS 3000

static struct kp_board *map_board(void)
{
	struct kp_board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(board != MAP_FAILED);
	return board;
}

static struct kp_board_image *new_image(void)
{
	struct kp_board_image *image = calloc(1, sizeof(*image));

	assert_non_null(image);
	return image;
}

static void name_of(unsigned number, char out[32])
{
	snprintf(out, 32, "kernel_%u", number);
}

/* Each round writes one number everywhere; a reader never sees two. */
static void write_rounds(struct kp_board *board)
{
	struct kp_board_image *image = new_image();

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		image->head.row_count = 64;
		image->head.kernels_issued = round;
		image->head.names_bytes = 64;
		memset(image->names, (int)(round % 251), 64);
		for (size_t i = 0; i < 64; i++)
			image->rows[i].calls = image->rows[i].total_ns = round;
		kp_board_publish(board, image);
	}
	free(image);
}

static void check_whole(const struct kp_board_image *image)
{
	uint64_t round = image->head.kernels_issued;

	for (size_t i = 0; i < 64; i++) {
		assert_int_equal(image->rows[i].calls, round);
		assert_int_equal(image->rows[i].total_ns, round);
		assert_int_equal((unsigned char)image->names[i], round % 251);
	}
}

static void test_board_is_never_torn(void **state)
{
	struct kp_board *board = map_board();
	struct kp_board_image *image = new_image();
	pid_t child = fork();
	uint64_t last = 0;
	int status;

	(void)state;
	if (child == 0) {
		write_rounds(board);
		_exit(0);
	}
	while (last < ROUNDS) {
		if (kp_board_read(board, false, image) != KP_BOARD_READ)
			continue;
		check_whole(image);
		assert_true(image->head.kernels_issued >= last);
		last = image->head.kernels_issued;
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(image);
	munmap(board, sizeof(*board));
}

/* A writer that was killed in the midst: nobody waits for it, and what there is can be had. */
static void test_board_outlives_its_writer(void **state)
{
	struct kp_board *board = map_board();
	struct kp_board_image *image = new_image();

	(void)state;
	assert_int_equal(kp_board_read(board, false, image), KP_BOARD_EMPTY);
	image->head.row_count = KP_BOARD_KINDS;
	image->head.kernels_issued = 7;
	kp_board_publish(board, image);
	atomic_fetch_add(&board->sequence, 1);
	assert_int_equal(kp_board_read(board, false, image), KP_BOARD_CHANGING);
	assert_int_equal(kp_board_read(board, true, image), KP_BOARD_READ);
	assert_int_equal(image->head.kernels_issued, 7);
	free(image);
	munmap(board, sizeof(*board));
}

static void test_board_refuses_nonsense(void **state)
{
	struct kp_board *board = map_board();
	struct kp_board_image *image = new_image();

	(void)state;
	image->head.row_count = KP_BOARD_KINDS + 1;
	image->head.names_bytes = 8;
	image->rows[2].name = 4;
	image->rows[2].name_bytes = 5; /* one beyond */
	kp_board_publish(board, image);
	assert_int_equal(kp_board_read(board, false, image), KP_BOARD_BROKEN);
	image->rows[2].name_bytes = 4;
	image->rows[2].kind = KP_BOARD_KINDS;
	kp_board_publish(board, image);
	assert_int_equal(kp_board_read(board, false, image), KP_BOARD_BROKEN);
	/* More rules than there is room for; a name without an end gets one. */
	image->rows[2].kind = KP_BOARD_KERNEL;
	image->head.rule_count = 1;
	memset(image->rules[0].name, 'r', sizeof(image->rules[0].name));
	kp_board_publish(board, image);
	assert_int_equal(kp_board_read(board, false, image), KP_BOARD_READ);
	assert_int_equal(strlen(image->rules[0].name), KP_BOARD_RULE_NAME_BYTES - 1);
	image->head.rule_count = KP_BOARD_RULES + 1;
	assert_false(kp_board_head_fits(&image->head));
	/* Counts beyond their bounds stand in the head alone. */
	atomic_store(&board->words[offsetof(struct kp_board_head, row_count) / 8], UINT64_MAX);
	assert_int_equal(kp_board_read(board, false, image), KP_BOARD_BROKEN);
	free(image);
	munmap(board, sizeof(*board));
}

/* Kernels beyond the last row are added to the row of the others, and nothing is lost. */
static void test_tally_full_table(void **state)
{
	struct kp_tally *tally = kp_tally_create(NOW_NS);
	static char names[KP_BOARD_ROWS + 50][32];
	const struct kp_board_image *image;
	uint64_t calls = 0;

	(void)state;
	for (unsigned i = 0; i < KP_BOARD_ROWS + 50; i++)
		name_of(i, names[i]);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < KP_BOARD_ROWS + 50; i++)
			kp_tally_kernel(tally, names[i], 0, NOW_NS + i * 10, NOW_NS + i * 10 + 5);
	image = kp_tally_image(tally);
	assert_int_equal(image->head.row_count, KP_BOARD_ROWS);
	for (size_t i = 0; i < KP_BOARD_ROWS; i++)
		calls += image->rows[i].calls;
	assert_int_equal(calls, 3 * (KP_BOARD_ROWS + 50));
	assert_int_equal(image->rows[KP_BOARD_OTHER(KP_BOARD_KERNEL)].calls,
			 3 * (50 + KP_BOARD_KINDS));
	assert_int_equal(image->rows[KP_BOARD_KINDS].calls, 3);
	assert_int_equal(image->head.gpus[0].busy_ns, 5 * (KP_BOARD_ROWS + 50));
	kp_tally_destroy(tally);
}

/* One pointer for another name, one name at two pointers, one name on two GPUs; ranges are bounded
 * by less. */
static void test_tally_tells_rows_apart(void **state)
{
	struct kp_tally *tally = kp_tally_create(NOW_NS);
	char name[32] = "first", same[32] = "first", range[16];
	const struct kp_board_image *image;

	(void)state;
	kp_tally_kernel(tally, name, 0, NOW_NS, NOW_NS + 10);
	kp_tally_kernel(tally, same, 0, NOW_NS, NOW_NS + 30);
	kp_tally_kernel(tally, name, 1, NOW_NS, NOW_NS + 10);
	strcpy(name, "second");
	kp_tally_kernel(tally, name, 0, NOW_NS, NOW_NS + 10);
	strcpy(name, "sec");
	kp_tally_kernel(tally, name, 0, NOW_NS, NOW_NS + 10);
	image = kp_tally_image(tally);
	assert_int_equal(image->head.row_count, KP_BOARD_KINDS + 4);
	assert_int_equal(image->rows[KP_BOARD_KINDS].calls, 2);
	assert_int_equal(image->rows[KP_BOARD_KINDS].total_ns, 40);
	assert_int_equal(image->rows[KP_BOARD_KINDS].least_ns, 10);
	assert_int_equal(image->rows[KP_BOARD_KINDS].most_ns, 30);
	for (unsigned i = 0; i < KP_BOARD_RANGE_ROWS + 5; i++) {
		snprintf(range, sizeof(range), "range %u", i);
		kp_tally_range(tally, range, strlen(range), NOW_NS, NOW_NS + 1);
	}
	assert_int_equal(image->rows[KP_BOARD_OTHER(KP_BOARD_RANGE)].calls, 5);
	kp_tally_destroy(tally);
}

static uint64_t calls_of(const struct kp_board_row *row, uint64_t second)
{
	return kp_board_knows(row->second, second) ? row->seconds[second % KP_BOARD_SECONDS].calls
						   : 0;
}

/* Times of another clock, and none at all, count where they arrive; none touches what is busy. */
static void test_tally_takes_strange_times(void **state)
{
	struct kp_tally *tally = kp_tally_create(NOW_NS);
	const uint64_t second = NOW_NS / SECOND;
	const struct kp_board_image *image;
	const struct kp_board_row *row;

	(void)state;
	kp_tally_kernel(tally, "k", 0, NOW_NS * 1000, NOW_NS * 1000 + 50);
	kp_tally_kernel(tally, "k", 0, 0, 0);
	kp_tally_kernel(tally, "k", 0, 500, 400);
	kp_tally_kernel(tally, "k", 0, UINT64_MAX, UINT64_MAX);
	kp_tally_kernel(tally, NULL, 3, NOW_NS - 100 * SECOND, NOW_NS + 20);
	image = kp_tally_image(tally);
	row = &image->rows[KP_BOARD_KINDS];
	assert_int_equal(row->calls, 4);
	assert_int_equal(row->timed, 1);
	assert_int_equal(row->total_ns, 50);
	assert_int_equal(calls_of(row, second), 4);
	assert_int_equal(image->head.clockless, 4);
	assert_int_equal(image->head.gpus[0].busy_ns, 0);
	/* A kernel of 100 s fills the history and no more. */
	assert_int_equal(image->head.gpus[1].busy_ns, 100 * SECOND + 20);
	assert_int_equal(image->head.gpus[1].seconds[(second - 5) % KP_BOARD_SECONDS], SECOND);
	assert_int_equal(
		image->rows[KP_BOARD_KINDS + 1].seconds[(second - 5) % KP_BOARD_SECONDS].total_ns,
		SECOND);
	kp_tally_destroy(tally);
}

/* What is older than the history leaves it; totals keep it. */
static void test_board_history_slides(void **state)
{
	struct kp_board_row row = {0};
	uint64_t sum = 0;

	(void)state;
	for (uint64_t second = 100; second < 300; second++)
		kp_board_row_add(&row, second, 1, 2);
	kp_board_row_add(&row, 100, 50, 50); /* far too late */
	for (uint64_t second = 0; second < 400; second++)
		sum += calls_of(&row, second);
	assert_int_equal(sum, KP_BOARD_SECONDS);
	kp_board_row_add(&row, 1000000, 1, 2);
	for (uint64_t second = 999990; second < 1000000; second++)
		assert_int_equal(calls_of(&row, second), 0);
	assert_int_equal(calls_of(&row, 1000000), 1);
}

static void test_board_history_of_rules_slides(void **state)
{
	struct kp_board_rule rule = {0};
	uint64_t fitted = 0, replaced = 0;

	(void)state;
	for (uint64_t second = 100; second < 300; second++)
		kp_board_rule_add(&rule, second, 3, 2);
	kp_board_rule_add(&rule, 100, 50, 50); /* far too late */
	kp_board_rule_add(&rule, 298, 1, 1);   /* late, and in time */
	for (size_t i = 0; i < KP_BOARD_SECONDS; i++) {
		fitted += rule.seconds[i].fitted;
		replaced += rule.seconds[i].replaced;
	}
	assert_int_equal(fitted, 3 * KP_BOARD_SECONDS + 1);
	assert_int_equal(replaced, 2 * KP_BOARD_SECONDS + 1);
	kp_board_rule_add(&rule, 302, 7, 0);
	assert_int_equal(rule.seconds[300 % KP_BOARD_SECONDS].fitted, 0);
	assert_int_equal(rule.seconds[301 % KP_BOARD_SECONDS].fitted, 0);
	assert_int_equal(rule.seconds[302 % KP_BOARD_SECONDS].fitted, 7);
}

/* The union of intervals, in whatever order they come, against a count of each nanosecond. */
static void test_busy_is_a_union(void **state)
{
	enum { LENGTH = 20000, INTERVALS = 9000 };
	struct kp_busy *busy = calloc(1, sizeof(*busy));
	struct kp_board_gpu gpu = {0};
	static bool covered[LENGTH + 100];
	uint64_t expected = 0;
	uint32_t random = 12345;

	(void)state;
	for (unsigned i = 0; i < INTERVALS; i++) {
		uint64_t begin, length;

		random = random * 1664525U + 1013904223U;
		begin = (random >> 8) % LENGTH;
		length = 1 + (random >> 4) % 3;
		memset(covered + begin, 1, length);
		kp_busy_add(busy, &gpu, NOW_NS + begin, NOW_NS + begin + length);
		if (i % 777 == 0)
			kp_busy_settle(busy, &gpu);
	}
	kp_busy_settle(busy, &gpu);
	for (unsigned i = 0; i < LENGTH + 100; i++)
		expected += covered[i];
	assert_true(busy->floor_ns == 0); /* it all fitted */
	assert_int_equal(gpu.busy_ns, expected);
	assert_int_equal(gpu.seconds[(NOW_NS / SECOND) % KP_BOARD_SECONDS], expected);
	free(busy);
}

/* Memory is bounded: of more pieces than are kept, the sums stay. */
static void test_busy_forgets_old_pieces(void **state)
{
	struct kp_busy *busy = calloc(1, sizeof(*busy));
	struct kp_board_gpu gpu = {0};

	(void)state;
	for (uint64_t i = 0; i < 5 * KP_BUSY_KEPT; i++)
		kp_busy_add(busy, &gpu, NOW_NS + 10 * i, NOW_NS + 10 * i + 4);
	kp_busy_add(busy, &gpu, NOW_NS, NOW_NS + 9); /* too late to be told apart */
	kp_busy_settle(busy, &gpu);
	assert_int_equal(gpu.busy_ns, 5 * KP_BUSY_KEPT * 4);
	free(busy);
}

static void test_board_file_round(void **state)
{
	struct kp_tally *tally = kp_tally_create(NOW_NS);
	struct kp_board_image *read[KP_ROOM_BOARDS];
	const struct kp_board_image *image;
	FILE *file = tmpfile();
	size_t count;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		kp_tally_kernel(tally, i % 2 ? "odd" : "even", 0, NOW_NS + i, NOW_NS + i + 1);
	kp_tally_image(tally)->head.rule_count = 2;
	kp_tally_image(tally)->rules[1].fitted = 42;
	image = kp_tally_image(tally);
	assert_int_equal(kp_board_file_write(file, &image, 1), KP_OK);
	rewind(file);
	assert_int_equal(kp_board_file_read(file, read, &count), KP_OK);
	assert_int_equal(count, 1);
	assert_memory_equal(&read[0]->head, &image->head, sizeof(image->head));
	assert_memory_equal(read[0]->rows, image->rows,
			    image->head.row_count * sizeof(image->rows[0]));
	assert_memory_equal(read[0]->rules, image->rules, 2 * sizeof(image->rules[0]));
	free(read[0]);
	/* Cut short anywhere it is refused, and nothing is left. */
	for (long bytes = 0; bytes < 9000; bytes += 97) {
		rewind(file);
		assert_int_equal(ftruncate(fileno(file), 9000 - bytes), 0);
		assert_int_not_equal(kp_board_file_read(file, read, &count), KP_OK);
		assert_int_equal(count, 0);
	}
	fclose(file);
	kp_tally_destroy(tally);
}

/* Any number of processes at once: a board goes to one, and none beyond the last. */
static void test_room_gives_each_board_once(void **state)
{
	struct kp_room *room = mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned taken = 0;

	(void)state;
	kp_room_init(room);
	assert_true(kp_room_is_valid(room, sizeof(*room)));
	assert_false(kp_room_is_valid(room, sizeof(*room) - 8));
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			int mine = 0;

			for (int k = 0; k < 12; k++)
				mine += kp_room_take(room) != NULL;
			_exit(mine);
		}
	for (int i = 0, status; i < 4; i++) {
		assert_true(wait(&status) > 0);
		taken += (unsigned)WEXITSTATUS(status);
	}
	assert_int_equal(taken, KP_ROOM_BOARDS);
	assert_int_equal(room->taken, 48);
	munmap(room, sizeof(*room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_board_is_never_torn),
		cmocka_unit_test(test_board_outlives_its_writer),
		cmocka_unit_test(test_board_refuses_nonsense),
		cmocka_unit_test(test_board_history_slides),
		cmocka_unit_test(test_board_history_of_rules_slides),
		cmocka_unit_test(test_board_file_round),
		cmocka_unit_test(test_room_gives_each_board_once),
		cmocka_unit_test(test_tally_full_table),
		cmocka_unit_test(test_tally_tells_rows_apart),
		cmocka_unit_test(test_tally_takes_strange_times),
		cmocka_unit_test(test_busy_is_a_union),
		cmocka_unit_test(test_busy_forgets_old_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
