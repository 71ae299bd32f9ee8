/* What the explorer reads behind the screen: windows of the timeline, and histories of kernels. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/writer.h"
#include "tui/keys.h"
#include "tui/state.h"

static void begin(struct kp_tui *tui, const char *const *path)
{
	struct kp_tui_source source = {
		.paths = path, .path_count = 1, .options = {.threshold_pct = 30}};
	const struct kp_tui_settings settings = {.rows = 24, .columns = 80};
	size_t bad;

	assert_int_equal(kp_reader_open(path, 1, &source.reader, &bad), KP_OK);
	assert_int_equal(kp_tui_init(tui, &source, &settings), KP_OK);
	assert_int_equal(kp_tui_finish(tui), KP_OK);
	assert_int_equal(kp_tui_draw(tui), KP_OK);
}

static void end(struct kp_tui *tui)
{
	struct kp_reader *reader = tui->source.reader;

	kp_tui_fini(tui);
	kp_reader_close(reader);
}

/* Presses keys with nothing but the screen in between. */
static void press(struct kp_tui *tui, const char *keys)
{
	for (; *keys; keys++) {
		kp_tui_key(tui, (uint32_t)*keys);
		assert_int_equal(kp_tui_draw(tui), KP_OK);
	}
}

static void finish(struct kp_tui *tui)
{
	do {
		assert_int_equal(kp_tui_finish(tui), KP_OK);
		assert_int_equal(kp_tui_draw(tui), KP_OK);
	} while (tui->scanning);
}

static double covered_ns(const struct kp_tracks *tracks)
{
	double sum = 0;

	for (size_t i = 0; i < tracks->count; i++)
		for (size_t k = 0; k < tracks->columns; k++)
			sum += tracks->tracks[i].bins[k].covered_ns;
	return sum;
}

static const struct kp_track *selected(const struct kp_tui *tui)
{
	return &tui->tracks->tracks[kp_tui_selected(tui)->index];
}

static void test_scanner_reads_the_newest_wish(void **state)
{
	const char *paths[] = {LONG_TRACE};
	struct kp_scanner *scanner;
	struct kp_scan scan = {.kind = KP_SCAN_TRACKS, .to_ns = UINT64_MAX / 4, .columns = 50};
	struct kp_scanned fresh;
	struct kp_reader *opened;
	size_t bad;

	(void)state;
	assert_int_equal(kp_reader_open(paths, 1, &opened, &bad), KP_OK);
	assert_int_equal(kp_scanner_create(paths, 1, opened, &scanner), KP_OK);
	for (size_t columns = 50; columns < 60; columns++) {
		scan.columns = columns;
		assert_int_equal(kp_scanner_want(scanner, &scan), KP_OK);
	}
	kp_scanner_wait(scanner);
	fresh = kp_scanner_take(scanner);
	assert_true(fresh.ended);
	assert_int_equal(fresh.status, KP_OK);
	assert_null(fresh.history);
	assert_non_null(fresh.tracks);
	assert_int_equal(fresh.tracks->columns, 59);
	assert_true(fresh.tracks->launches > 200000);
	kp_tracks_free(fresh.tracks);
	fresh = kp_scanner_take(scanner);
	assert_null(fresh.tracks); /* it was taken */
	assert_true(fresh.ended);
	kp_scanner_destroy(scanner);
	kp_reader_close(opened);
}

static void test_scanner_says_why_it_cannot_read(void **state)
{
	const char *paths[] = {"/nonexistent/trace.kprof"};
	const struct kp_scan scan = {.kind = KP_SCAN_TRACKS, .to_ns = 1000, .columns = 50};
	struct kp_scanner *scanner;
	struct kp_scanned fresh;

	(void)state;
	assert_int_equal(kp_scanner_create(paths, 1, NULL, &scanner), KP_OK);
	assert_int_equal(kp_scanner_want(scanner, &scan), KP_OK);
	kp_scanner_wait(scanner);
	fresh = kp_scanner_take(scanner);
	assert_true(fresh.ended);
	assert_int_equal(fresh.status, KP_NOT_FOUND);
	assert_null(fresh.tracks);
	kp_scanner_destroy(scanner);
}

/* Whatever is looked at meanwhile, what was left while it was read is whole in the end. */
static void test_views_are_whole_however_they_are_left(void **state)
{
	const char *path = LONG_TRACE;
	struct kp_tui tui;
	uint64_t launches;

	(void)state;
	begin(&tui, &path);
	press(&tui, "2");
	assert_int_equal(tui.scanning, KP_SCAN_TRACKS);
	press(&tui, "1Ejj\r"); /* a kernel: its history takes the thread */
	assert_int_equal(tui.page, KP_PAGE_KERNEL);
	assert_int_equal(tui.scanning, KP_SCAN_HISTORY);
	press(&tui, "2"); /* which the timeline takes again */
	assert_int_equal(tui.scanning, KP_SCAN_TRACKS);
	press(&tui, "1");
	finish(&tui);
	press(&tui, "2");
	finish(&tui);
	assert_true(tui.tracks_whole && !tui.tracks->stretched);
	launches = tui.tracks->launches;
	assert_int_equal(launches, tui.report->counts.kernels);
	press(&tui, "1\r");
	assert_int_equal(tui.page, KP_PAGE_KERNEL);
	finish(&tui);
	assert_true(tui.history_whole);
	assert_int_equal(tui.history->calls, tui.report->kernels[tui.kernel].calls);
	end(&tui);
}

/* A new window shows what is known of it before anything of it is read. */
static void test_timeline_answers_at_once(void **state)
{
	const char *path = LONG_TRACE;
	struct kp_track chosen;
	struct kp_tui tui;
	size_t count;

	(void)state;
	begin(&tui, &path);
	press(&tui, "2");
	finish(&tui);
	press(&tui, "j"); /* a stream that is there in the beginning alone */
	count = tui.tracks->count;
	assert_true(count > 3);
	assert_true(covered_ns(tui.tracks) > 0);
	chosen = *selected(&tui);
	assert_int_equal(chosen.number, 7);
	press(&tui, "+++");
	assert_true(tui.tracks->stretched);
	assert_int_equal(tui.tracks->count, count);
	assert_true(covered_ns(tui.tracks) > 0);
	assert_true(kp_track_is(&chosen, selected(&tui)));
	finish(&tui);
	assert_false(tui.tracks->stretched);
	assert_true(tui.tracks->count < count);
	assert_false(kp_track_is(&chosen, selected(&tui)));
	press(&tui, "0"); /* and selected again where it is back, */
	finish(&tui);
	assert_true(kp_track_is(&chosen, selected(&tui)));
	press(&tui, "j+++"); /* unless another was chosen meanwhile */
	finish(&tui);
	press(&tui, "j0");
	finish(&tui);
	assert_int_equal(selected(&tui)->kind, KP_TRACK_MEMORY);
	end(&tui);
}

static void test_tracks_stretch_keeps_parts(void **state)
{
	struct kp_track_bin bins[4] = {{10, 8, 1}, {20, 9, 2}, {0, 0, 0}, {5, 5, 3}};
	struct kp_track track = {.kind = KP_TRACK_STREAM, .bins = bins};
	uint32_t order = 0;
	struct kp_track_name names[4] = {{.text = ""}};
	const struct kp_tracks tracks = {.from_ns = 1000,
					 .to_ns = 1400,
					 .columns = 4,
					 .tracks = &track,
					 .order = &order,
					 .count = 1,
					 .names = names,
					 .name_count = 4};
	struct kp_tracks *near = kp_tracks_stretch(&tracks, 1100, 1300, 4);
	struct kp_tracks *far = kp_tracks_stretch(&tracks, 800, 1600, 4);

	(void)state;
	assert_true(near && far);
	for (size_t i = 0; i < 4; i++) {
		assert_float_equal(near->tracks[0].bins[i].covered_ns, i < 2 ? 10 : 0, 1e-6);
		assert_int_equal(near->tracks[0].bins[i].who, i < 2 ? 2 : 0);
	}
	assert_float_equal(far->tracks[0].bins[0].covered_ns, 0, 1e-6);
	assert_float_equal(far->tracks[0].bins[1].covered_ns, 40, 1e-6);
	assert_float_equal(far->tracks[0].bins[2].covered_ns, 10, 1e-6);
	assert_float_equal(far->tracks[0].bins[3].covered_ns, 0, 1e-6);
	kp_tracks_free(near);
	kp_tracks_free(far);
}

/* A GPU works in the first half of the run, another in the second. */
static void write_halves(const char *path, uint64_t process)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	struct kp_writer *writer;
	uint32_t name;

	assert_true(fd >= 0);
	assert_int_equal(kp_writer_create(fd, process, &writer), KP_OK);
	assert_int_equal(kp_writer_intern(writer, "gemm", 4, &name), KP_OK);
	for (uint32_t device = 0; device < 2; device++) {
		struct kp_launch_config config = {
			.name = name, .device = device, .context = 1 + device, .stream = 7};
		uint32_t number;
		assert_int_equal(kp_writer_config(writer, &config, &number), KP_OK);
		for (uint64_t i = 0; i < 50000; i++) {
			uint64_t start_ns = 1000000000 + (device * 50000 + i) * 2000;
			const struct kp_launch launch = {.config = number,
							 .start_ns = start_ns,
							 .end_ns = start_ns + 1400 + 100 * process};
			assert_int_equal(kp_writer_launch(writer, &launch), KP_OK);
		}
	}
	assert_int_equal(kp_writer_flush(writer), KP_OK);
	kp_writer_destroy(writer);
	close(fd);
}

static void test_gpus_keep_their_numbers(void **state)
{
	char path[] = "/tmp/test_tui_scanner.XXXXXX";
	const char *name = path;
	struct kp_tui tui;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_halves(path, 1);
	begin(&tui, &name);
	press(&tui, "2");
	finish(&tui);
	assert_string_equal(tui.tracks->tracks[tui.tracks->order[0]].label, "GPU 0 idle");
	press(&tui, ">>+++"); /* to the end, and into it */
	kp_tui_key(&tui, '>');
	kp_tui_key(&tui, '>');
	finish(&tui);
	assert_true(tui.tracks->launches > 0 && tui.tracks->launches < 50000);
	assert_string_equal(tui.tracks->tracks[tui.tracks->order[0]].label, "GPU 1 idle");
	end(&tui);
	unlink(path);
}

/* Whether a row of the screen holds a text of ASCII characters. */
static bool shows(struct kp_tui *tui, const char *text)
{
	for (size_t row = 0; row < tui->canvas.rows; row++) {
		char line[512] = "";
		for (size_t i = 0; i < tui->canvas.columns && i + 1 < sizeof line; i++) {
			uint32_t base = kp_canvas_at(&tui->canvas, row, i)->base;
			line[i] = (char)(base >= ' ' && base < 0x7F ? base : '?');
		}
		if (strstr(line, text))
			return true;
	}
	return false;
}

enum change { CUT_SHORT, EMPTIED, OVERWRITTEN, CHANGES };

/* Looks at a file that changes in place, before the timeline is read first or behind that. */
static void look_at_changing(enum change change, bool read_before)
{
	char path[] = "/tmp/test_tui_scanner.XXXXXX";
	const char *name = path;
	struct kp_tui tui;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	write_halves(path, 1);
	begin(&tui, &name);
	if (read_before) {
		press(&tui, "2");
		finish(&tui);
		assert_int_equal(tui.unread, KP_OK);
		assert_int_equal(tui.tracks->launches, 100000);
	}
	if (change == OVERWRITTEN)
		write_halves(path, 2);
	else
		assert_int_equal(
			ftruncate(fd, change == CUT_SHORT ? lseek(fd, 0, SEEK_END) / 2 : 0), 0);
	press(&tui, read_before ? "+" : "2");
	finish(&tui);
	assert_int_not_equal(tui.unread, KP_OK);
	assert_true(shows(&tui, "cannot be read any more"));
	assert_true(shows(&tui, "The trace cannot be read"));
	assert_false(shows(&tui, "Nothing is in this window"));
	assert_false(shows(&tui, " 0 kernels"));
	end(&tui);
	close(fd);
	unlink(path);
}

static void test_timeline_says_that_the_file_changed(void **state)
{
	(void)state;
	for (enum change change = 0; change < CHANGES; change++) {
		look_at_changing(change, false);
		look_at_changing(change, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scanner_reads_the_newest_wish),
		cmocka_unit_test(test_scanner_says_why_it_cannot_read),
		cmocka_unit_test(test_views_are_whole_however_they_are_left),
		cmocka_unit_test(test_timeline_answers_at_once),
		cmocka_unit_test(test_tracks_stretch_keeps_parts),
		cmocka_unit_test(test_gpus_keep_their_numbers),
		cmocka_unit_test(test_timeline_says_that_the_file_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
