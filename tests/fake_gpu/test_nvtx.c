/* The NVTX injection on its own: ranges by start and end do not use up its ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include "inject/ab.h"
#include "inject/boards.h"
#include "inject/nvtx.h"
#include "inject/runs.h"
#include "inject/share_clock.h"
#include "inject/standby.h"
#include "inject/state.h"
#include "inject/windows.h"

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

/* No rules of replacement here. */
const char *kp_ab_unit_range(void)
{
	return NULL;
}

void kp_ab_unit_begins(void)
{
}

/* Nor windows. */
void kp_windows_range_begin(bool *counted)
{
	*counted = false;
}

void kp_windows_range_end(bool counted)
{
	(void)counted;
}

void kp_inject_watch_forks(void)
{
}

/* Nor runs of launches, or another clock. */
static unsigned edges, edges_of_process;

void kp_runs_arm(void)
{
}

void kp_runs_edge(bool of_process)
{
	edges += !of_process;
	edges_of_process += of_process;
}

/* Nobody watches, and all is kept. */
bool kp_boards_watched(void)
{
	return false;
}

void kp_boards_range(const char *name, size_t bytes, uint64_t start_ns, uint64_t end_ns)
{
	(void)name;
	(void)bytes;
	(void)start_ns;
	(void)end_ns;
}

bool kp_standby_keeps(uint64_t start_ns, uint64_t end_ns)
{
	(void)start_ns;
	(void)end_ns;
	return true;
}

static NvtxFunctionPointer core[NVTX_CBID_CORE_SIZE], core2[NVTX_CBID_CORE2_SIZE];
static NvtxFunctionPointer *core_table[NVTX_CBID_CORE_SIZE], *core2_table[NVTX_CBID_CORE2_SIZE];

static int NVTX_API get_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
	if (module == NVTX_CB_MODULE_CORE) {
		*table = core_table;
		*size = NVTX_CBID_CORE_SIZE;
	} else if (module == NVTX_CB_MODULE_CORE2) {
		*table = core2_table;
		*size = NVTX_CBID_CORE2_SIZE;
	}
	return module == NVTX_CB_MODULE_CORE || module == NVTX_CB_MODULE_CORE2;
}

static const void *NVTX_API get_export(uint32_t id)
{
	static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), get_table};

	return id == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static void test_ended_ranges_give_their_ids_back(void **state)
{
	nvtxRangeId_t(NVTX_API * start)(const char *);
	void(NVTX_API * end)(nvtxRangeId_t);
	struct kp_counts counts = {0};
	struct kp_writer *writer;
	int fd = open("/dev/null", O_WRONLY);
	nvtxRangeId_t largest = 0;

	(void)state;
	assert_int_equal(kp_writer_create(fd, 1, &writer), KP_OK);
	start = (nvtxRangeId_t(NVTX_API *)(const char *))core[NVTX_CBID_CORE_RangeStartA];
	end = (void(NVTX_API *)(nvtxRangeId_t))core[NVTX_CBID_CORE_RangeEnd];
	for (unsigned i = 0; i < KP_NVTX_LIMIT + 1000U; i++) {
		nvtxRangeId_t first = start("request"), second = start("another");

		assert_true(first && second && first != second);
		largest = second > largest ? second : largest;
		end(first);
		end(second);
		end(second); /* not open any more */
		if (i % 10000 == 0)
			kp_nvtx_drain(writer, &counts);
	}
	kp_nvtx_drain(writer, &counts);
	assert_int_equal(counts.ranges_recorded, 2 * (KP_NVTX_LIMIT + 1000U));
	assert_int_equal(counts.ranges_unwritten, 0);
	assert_true(largest <= 2);
	kp_writer_destroy(writer);
	close(fd);
}

/* Each begin and end parts the launches of the thread, or of the process; a vain pop does not. */
static void test_ranges_part_launches(void **state)
{
	int(NVTX_API * push)(const char *) =
		(int(NVTX_API *)(const char *))core[NVTX_CBID_CORE_RangePushA];
	int(NVTX_API * pop)(void) = (int(NVTX_API *)(void))core[NVTX_CBID_CORE_RangePop];
	nvtxRangeId_t(NVTX_API * start)(const char *) =
		(nvtxRangeId_t(NVTX_API *)(const char *))core[NVTX_CBID_CORE_RangeStartA];
	void(NVTX_API * end)(nvtxRangeId_t) =
		(void(NVTX_API *)(nvtxRangeId_t))core[NVTX_CBID_CORE_RangeEnd];
	nvtxRangeId_t id;

	(void)state;
	edges = edges_of_process = 0;
	push("outer");
	push("inner");
	assert_int_equal(edges, 2);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop(), 0);
	assert_true(pop() < 0);
	assert_int_equal(edges, 4);
	id = start("request");
	assert_int_equal(edges_of_process, 1);
	end(id);
	end(id);
	assert_int_equal(edges_of_process, 2);
	assert_int_equal(edges, 4);
}

/* What is never popped, and names without end, cost no more and are bounded. */
static void test_what_is_kept_is_bounded(void **state)
{
	int(NVTX_API * push)(const char *) =
		(int(NVTX_API *)(const char *))core[NVTX_CBID_CORE_RangePushA];
	int(NVTX_API * pop)(void) = (int(NVTX_API *)(void))core[NVTX_CBID_CORE_RangePop];
	struct kp_counts counts = {0};
	struct kp_writer *writer;
	int fd = open("/dev/null", O_WRONLY);
	uint32_t names;
	char name[32];

	(void)state;
	assert_int_equal(kp_writer_create(fd, 1, &writer), KP_OK);
	kp_nvtx_drain(writer, &counts); /* of the tests before */
	counts = (struct kp_counts){0};
	for (int i = 0; i < KP_NVTX_LIMIT + 10; i++) {
		snprintf(name, sizeof(name), "step %d", i);
		assert_int_equal(push(name), i);
	}
	for (int i = KP_NVTX_LIMIT + 10; i-- > 0;) {
		assert_int_equal(pop(), i);
		if (i % 10000 == 0)
			kp_nvtx_drain(writer, &counts);
	}
	assert_true(pop() < 0);
	assert_int_equal(counts.ranges_recorded, KP_NVTX_LIMIT + 10);
	assert_int_equal(counts.ranges_unwritten, 10);
	assert_int_equal(kp_writer_intern(writer, "the next", 8, &names), KP_OK);
	assert_in_range(names, KP_NVTX_NAMES / 2, KP_NVTX_NAMES + 10);
	kp_writer_destroy(writer);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_ended_ranges_give_their_ids_back),
					   cmocka_unit_test(test_ranges_part_launches),
					   cmocka_unit_test(test_what_is_kept_is_bounded)};

	for (unsigned i = 0; i < NVTX_CBID_CORE_SIZE; i++)
		core_table[i] = &core[i];
	for (unsigned i = 0; i < NVTX_CBID_CORE2_SIZE; i++)
		core2_table[i] = &core2[i];
	setenv("KPROF_TRACE", "/dev/null", 1);
	if (!InitializeInjectionNvtx2(get_export))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
