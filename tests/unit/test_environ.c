/* Environments without kprof's doors: what else is there stays, in order and byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/environ.h"

#define OWN "/opt/kprof/lib/libkprof_inject.so"

/* What becomes of LD_PRELOAD; NULL: it is gone. The room must be enough, to the byte. */
static const char *preload_of(const char *value)
{
	static char kept[512];
	char variable[512] = "LD_PRELOAD=", first[] = "A=1", last[] = "Z=26";
	char *environment[] = {first, variable, last, NULL};
	const char *found;
	char **copy;
	void *room;

	strcat(variable, value);
	room = malloc(kp_environ_room(environment));
	assert_non_null(room);
	copy = kp_environ_without(environment, false, room);
	assert_ptr_equal(copy[0], first);
	found = kp_environ_find(copy, "LD_PRELOAD");
	assert_ptr_equal(copy[found ? 2 : 1], last);
	assert_null(copy[found ? 3 : 2]);
	if (found)
		strcpy(kept, found);
	free(room);
	return found ? kept : NULL;
}

static void test_environ_preload(void **state)
{
	(void)state;
	assert_null(preload_of(OWN));
	assert_null(preload_of("libkprof_inject.so"));
	assert_string_equal(preload_of(OWN ":libm.so.6"), "libm.so.6");
	assert_string_equal(preload_of("libm.so.6:" OWN), "libm.so.6");
	assert_string_equal(preload_of("a.so " OWN " b.so:c.so"), "a.so b.so:c.so");
	assert_string_equal(preload_of(OWN "::a.so"), "a.so");
	assert_string_equal(preload_of("/x/notlibkprof_inject.so"), "/x/notlibkprof_inject.so");
	assert_string_equal(preload_of("libkprof_inject.so.1"), "libkprof_inject.so.1");
	assert_string_equal(preload_of("a.so"), "a.so");
}

static void test_environ_injections(void **state)
{
	char own[] = "CUDA_INJECTION64_PATH=" OWN, foreign[] = "NVTX_INJECTION64_PATH=/tool.so";
	char trace[] = "KPROF_TRACE=t", similar[] = "LD_PRELOADED=" OWN;
	char *environment[] = {own, foreign, trace, similar, NULL};
	void *room[16];
	char **copy;

	(void)state;
	assert_true(kp_environ_room(environment) <= sizeof(room));
	copy = kp_environ_without(environment, false, room);
	assert_ptr_equal(copy[0], own); /* a CUDA program below may still need it */
	assert_ptr_equal(copy[3], similar);
	assert_null(copy[4]);
	copy = kp_environ_without(environment, true, room);
	assert_ptr_equal(copy[0], foreign);
	assert_ptr_equal(copy[1], trace);
	assert_null(copy[3]);
}

static void test_environ_find(void **state)
{
	char a[] = "A=1", ab[] = "AB=2", empty[] = "E=", bare[] = "BARE";
	char *environment[] = {ab, a, empty, bare, NULL}, *none[] = {NULL};
	void *room[2];

	(void)state;
	assert_string_equal(kp_environ_find(environment, "A"), "1");
	assert_string_equal(kp_environ_find(environment, "AB"), "2");
	assert_string_equal(kp_environ_find(environment, "E"), "");
	assert_null(kp_environ_find(environment, "BARE"));
	assert_null(kp_environ_find(NULL, "A"));
	assert_null(*kp_environ_without(none, true, room));
	assert_null(*kp_environ_without(NULL, true, room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environ_preload),
		cmocka_unit_test(test_environ_injections),
		cmocka_unit_test(test_environ_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
