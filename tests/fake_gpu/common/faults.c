/*
 * Parses KP_FAKE into struct kp_fake_faults, by the table in faults.def.
 *
 * A test double must not hide a typing error in a test, so an unknown fault aborts the process.
 * Threading: the first use parses, guarded by pthread_once.
 */
#include "tests/fake_gpu/common/faults.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fault_row {
	const char *name;
	size_t offset; /* of its member in struct kp_fake_faults */
	uint64_t bare; /* its value where none is written */
};

static const struct fault_row rows[] = {
#define X(name, bare, what) {#name, offsetof(struct kp_fake_faults, name), (bare)},
#include "tests/fake_gpu/common/faults.def"
#undef X
};

static struct kp_fake_faults faults;
static pthread_once_t faults_once = PTHREAD_ONCE_INIT;

static const struct fault_row *find_row(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
			return &rows[i];
	return NULL;
}

/* A decimal number that ends exactly at `end`. */
static bool parse_value(const char *text, const char *end, uint64_t *out)
{
	char *stop;

	if (text == end || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &stop, 10);
	return errno == 0 && stop == end;
}

static bool parse_item(const char *item, const char *end, struct kp_fake_faults *out)
{
	const char *equals = memchr(item, '=', (size_t)(end - item));
	const char *name_end = equals ? equals : end;
	const struct fault_row *row = find_row(item, (size_t)(name_end - item));
	uint64_t value;

	if (!row)
		return false;
	value = row->bare;
	if (equals && !parse_value(equals + 1, end, &value))
		return false;
	memcpy((char *)out + row->offset, &value, sizeof(value));
	return true;
}

bool kp_fake_faults_parse(const char *text, struct kp_fake_faults *out, const char **bad)
{
	memset(out, 0, sizeof(*out));
	while (text && *text) {
		const char *end = text + strcspn(text, ",");

		if (!parse_item(text, end, out)) {
			*bad = text;
			return false;
		}
		text = *end ? end + 1 : end;
	}
	return true;
}

static void read_environment(void)
{
	const char *bad;

	if (kp_fake_faults_parse(getenv("KP_FAKE"), &faults, &bad))
		return;
	fprintf(stderr, "fake GPU: KP_FAKE asks for an unknown fault: %s\n", bad);
	abort();
}

const struct kp_fake_faults *kp_fake_faults(void)
{
	pthread_once(&faults_once, read_environment);
	return &faults;
}
