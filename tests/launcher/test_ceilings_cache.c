/* Ceilings that were measured before: kept, found again, and never believed blindly. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "profiler/ceilings_cache.h"

#define HEAD "schema: kprof.ceilings/v1\ngpus:\n"
#define ENTRY(name, uuid, driver)                                                                  \
	"- {name: " name ", uuid: " uuid ", driver: \"" driver "\", sm_count: 132, ceilings: "

static struct kp_ceilings_cache parse(const char *text, enum kp_status expected)
{
	struct kp_ceilings_cache cache;

	assert_int_equal(kp_ceilings_parse(text, strlen(text), &cache), expected);
	return cache;
}

static struct kp_device_info device_of(const char *name, const char *uuid)
{
	struct kp_device_info device = {0};

	KP_SET(&device, DEVICE, name, ((struct kp_text){name, strlen(name)}));
	KP_SET(&device, DEVICE, uuid, ((struct kp_text){uuid, strlen(uuid)}));
	KP_SET(&device, DEVICE, sm_count, 132);
	return device;
}

static const struct kp_ceilings_entry *find(const struct kp_ceilings_cache *cache,
					    const struct kp_device_info *device, const char *driver)
{
	const struct kp_text text = {driver, driver ? strlen(driver) : 0};

	return kp_ceilings_cache_find(cache, device, driver ? &text : NULL);
}

static void test_ceilings_parse_takes_what_is_sound(void **state)
{
	struct kp_ceilings_cache cache =
		parse(HEAD ENTRY("A", "GPU-1", "1.0") "{read_gbps: {value: 4500.5, low: 4400, "
						      "high: 4600, how: bulk, sm_mhz: 1980}, "
						      "write_gbps: {value: 5}, unknown: 7}}\n",
		      KP_OK);
	const struct kp_ceilings_entry *entry = cache.entries;

	(void)state;
	assert_int_equal(cache.count, 1);
	assert_string_equal(entry->name, "A");
	assert_int_equal(entry->sm_count, 132);
	assert_int_equal(entry->ceilings.of[KP_CEILING_READ].source, KP_CEILING_MEASURED);
	assert_true(entry->ceilings.of[KP_CEILING_READ].value == 4500.5);
	assert_string_equal(entry->how[KP_CEILING_READ], "bulk");
	assert_int_equal(entry->sm_mhz[KP_CEILING_READ], 1980);
	assert_int_equal(entry->ceilings.of[KP_CEILING_WRITE].source, KP_CEILING_ABSENT);
	kp_ceilings_cache_fini(&cache);
}

/* Numbers that nobody measured are left out, each alone. */
static void test_ceilings_parse_numbers(void **state)
{
	static const char *const bad[] = {
		"{value: nan, low: 1, high: 2}",
		"{value: inf, low: 1, high: inf}",
		"{value: -4, low: -5, high: -3}",
		"{value: 0, low: 0, high: 0}",
		"{value: 1e300, low: 1, high: 1e300}",
		"{value: 1e-300, low: 1e-300, high: 1}",
		"{value: 4800, low: 1, high: 1e9}",
		"{value: 2, low: 3, high: 4}",
		"{value: 5, low: 3, high: 4}",
		"{value: [1], low: 1, high: 1}",
		"{value: 1x, low: 1, high: 1}",
		"{value: '', low: 1, high: 1}",
		"[1, 2, 3]",
		"7",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[512];
		struct kp_ceilings_cache cache;

		snprintf(text, sizeof(text),
			 HEAD ENTRY("A", "B", "C") "{read_gbps: %s, copy_gbps: {value: 3, low: 2, "
						   "high: 4}}}\n",
			 bad[i]);
		cache = parse(text, KP_OK);
		assert_int_equal(cache.count, 1);
		assert_int_equal(cache.entries[0].ceilings.of[KP_CEILING_READ].source,
				 KP_CEILING_ABSENT);
		assert_int_equal(cache.entries[0].ceilings.of[KP_CEILING_COPY].source,
				 KP_CEILING_MEASURED);
		kp_ceilings_cache_fini(&cache);
	}
}

static void test_ceilings_parse_entries(void **state)
{
	struct kp_ceilings_cache cache =
		parse(HEAD "- 7\n- []\n- {name: A}\n- {name: A, uuid: B, driver: C, ceilings: {}}\n"
			   "- {name: A, uuid: B, driver: C, sm_count: 0, ceilings: {}}\n"
			   "- &x {name: A, uuid: B, driver: C, sm_count: 1, ceilings: {}}\n- *x\n",
		      KP_OK);

	(void)state;
	assert_int_equal(cache.count, 2);
	kp_ceilings_cache_fini(&cache);
}

static void test_ceilings_parse_what_is_none(void **state)
{
	static const char *const texts[] = {
		"",
		"7",
		"[]",
		"{",
		"schema: kprof.report/v1",
		"schema: kprof.ceilings/v",
		"schema: kprof.ceilings/v0",
		"schema: kprof.ceilings/v1x\ngpus: []",
		"schema: kprof.ceilings/v1",
		"schema: kprof.ceilings/v1\ngpus: 7",
		"\xff\xfe\x01",
		"? [a, b]\n: c",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kp_ceilings_cache cache = parse(texts[i], KP_INVALID);

		assert_null(cache.entries);
	}
	parse("schema: kprof.ceilings/v2\ngpus: []", KP_NEWER);
}

/* Nesting without end, and names far too long. */
static void test_ceilings_parse_hostile(void **state)
{
	size_t size = 1U << 20;
	char *text = malloc(size + 1);
	struct kp_ceilings_cache cache;

	(void)state;
	assert_non_null(text);
	memset(text, '[', size);
	text[size] = '\0';
	parse(text, KP_INVALID);
	for (size_t i = 0; i + 1 < size; i += 2)
		memcpy(text + i, "- ", 2);
	parse(text, KP_INVALID);
	memset(text, 'x', size);
	memcpy(text, HEAD "- {name: ", sizeof(HEAD "- {name: ") - 1);
	memcpy(text + size - 50, ", uuid: B, driver: C, sm_count: 1, ceilings: {}}  ", 50);
	cache = parse(text, KP_OK);
	assert_int_equal(cache.count, 0);
	kp_ceilings_cache_fini(&cache);
	free(text);
}

static void test_ceilings_find(void **state)
{
	struct kp_ceilings_cache cache =
		parse(HEAD ENTRY("A", "GPU-1", "1.0") "{}}\n" ENTRY(
			      "A", "GPU-2", "1.0") "{}}\n" ENTRY("B", "GPU-3", "") "{}}\n",
		      KP_OK);
	struct kp_device_info known = device_of("A", "GPU-1"), model = device_of("A", "GPU-9");
	struct kp_device_info other = device_of("C", "GPU-9"), plain = device_of("B", "GPU-3");

	(void)state;
	assert_ptr_equal(find(&cache, &known, "1.0"), &cache.entries[0]);
	assert_ptr_equal(find(&cache, &model, "1.0"), &cache.entries[1]);
	assert_null(find(&cache, &known, "2.0"));
	assert_null(find(&cache, &known, NULL));
	assert_null(find(&cache, &other, "1.0"));
	assert_ptr_equal(find(&cache, &plain, NULL), &cache.entries[2]);
	assert_null(find(&cache, &plain, "1.0"));
	model.sm_count = 114;
	assert_null(find(&cache, &model, "1.0"));
	model.sm_count = 132;
	KP_SET(&model, DEVICE, mig, 1);
	assert_null(find(&cache, &model, "1.0"));
	kp_ceilings_cache_fini(&cache);
}

/* What is kept comes back; an older entry of the same GPU and driver goes. */
static void test_ceilings_store_and_load(void **state)
{
	char folder[] = "/tmp/kprof-cache-XXXXXX", path[256];
	struct kp_ceilings_entry entry = {
		.name = "A", .uuid = "GPU-1", .driver = "1.0", .sm_count = 4};
	struct kp_ceilings_cache cache;
	struct stat about;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/deep/er", folder);
	assert_int_equal(setenv("XDG_CACHE_HOME", path, 1), 0);
	assert_int_equal(kp_ceilings_load(NULL, &cache), KP_IO);
	entry.ceilings.of[KP_CEILING_COPY] =
		(struct kp_ceiling){KP_CEILING_MEASURED, 4000, 3900, 4100};
	assert_int_equal(kp_ceilings_store(&entry), KP_OK);
	entry.ceilings.of[KP_CEILING_COPY].value = 4001;
	assert_int_equal(kp_ceilings_store(&entry), KP_OK);
	strcpy(entry.uuid, "GPU-2");
	assert_int_equal(kp_ceilings_store(&entry), KP_OK);
	assert_int_equal(kp_ceilings_load(NULL, &cache), KP_OK);
	assert_int_equal(cache.count, 2);
	assert_true(cache.entries[0].ceilings.of[KP_CEILING_COPY].value == 4001);
	kp_ceilings_cache_fini(&cache);
	assert_true(kp_ceilings_path(path, sizeof(path)));
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);

	/* Broken, it counts as empty and is replaced; a fifo or a folder in its place is not waited
	 * for. */
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("{{{", file);
	fclose(file);
	assert_int_equal(kp_ceilings_load(NULL, &cache), KP_INVALID);
	assert_int_equal(kp_ceilings_store(&entry), KP_OK);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(kp_ceilings_load(NULL, &cache), KP_INVALID);
	unlink(path);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

static void test_ceilings_no_place(void **state)
{
	const struct kp_ceilings_entry entry = {.name = "A", .uuid = "B"};
	struct kp_ceilings_cache cache;
	char path[256];

	(void)state;
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "relative", 1);
	assert_false(kp_ceilings_path(path, sizeof(path)));
	assert_int_equal(kp_ceilings_load(NULL, &cache), KP_IO);
	assert_int_equal(kp_ceilings_store(&entry), KP_NOT_FOUND);
	setenv("HOME", "/h", 1);
	assert_true(kp_ceilings_path(path, sizeof(path)));
	assert_string_equal(path, "/h/.cache/kprof/ceilings.yaml");
}

/* What an analysis is told: measured where it was, else the datasheet's. */
static void test_ceilings_answer(void **state)
{
	struct kp_ceilings_cache cache = parse(
		HEAD ENTRY("NVIDIA H200", "GPU-1", "1.0") "{copy_gbps: {value: 4274, low: 4270, "
							  "high: 4280}}}\n",
		KP_OK);
	const struct kp_ceilings_finder finder = {kp_ceilings_cache_answer, &cache};
	struct kp_device_info device = device_of("NVIDIA H200", "GPU-1");
	struct kp_ceilings ceilings;

	(void)state;
	kp_ceilings_find(&finder, &device, &(struct kp_text){"1.0", 3}, &ceilings);
	assert_int_equal(ceilings.of[KP_CEILING_COPY].source, KP_CEILING_MEASURED);
	assert_true(ceilings.of[KP_CEILING_COPY].value == 4274);
	assert_int_equal(ceilings.of[KP_CEILING_READ].source, KP_CEILING_DATASHEET);
	kp_ceilings_cache_fini(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ceilings_parse_takes_what_is_sound),
		cmocka_unit_test(test_ceilings_parse_numbers),
		cmocka_unit_test(test_ceilings_parse_entries),
		cmocka_unit_test(test_ceilings_parse_what_is_none),
		cmocka_unit_test(test_ceilings_parse_hostile),
		cmocka_unit_test(test_ceilings_find),
		cmocka_unit_test(test_ceilings_store_and_load),
		cmocka_unit_test(test_ceilings_no_place),
		cmocka_unit_test(test_ceilings_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
