/* Reading files of rules; see rules.h. */
#include "profiler/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/say.h"

/* Rules are written by hand: what is longer is something else. */
#define FILE_MAX_BYTES ((size_t)1 << 20)

char *kp_rules_read(const char *option, const char *path, size_t *length)
{
	char *text = malloc(FILE_MAX_BYTES + 1);
	FILE *file = text ? fopen(path, "rbe") : NULL;
	int error = text ? errno : ENOMEM;
	bool done = false;

	if (file) {
		*length = fread(text, 1, FILE_MAX_BYTES + 1, file);
		error = errno;
		done = !ferror(file);
		fclose(file);
	}
	if (done && *length <= FILE_MAX_BYTES)
		return text;
	if (done)
		kp_fail("--%s %s: longer than %zu bytes", option, path, FILE_MAX_BYTES);
	else
		kp_fail("--%s %s: %s", option, path, strerror(error));
	free(text);
	return NULL;
}

static bool add(struct kp_operators *operators, const char *path)
{
	struct kp_rules_error error;
	size_t length = 0;
	char *text = kp_rules_read("operators", path, &length);
	enum kp_status status;

	if (!text)
		return false;
	status = kp_operators_add(operators, text, length, &error);
	free(text);
	if (status == KP_INVALID)
		kp_fail("--operators %s:%zu: %s", path, error.line, error.text);
	else if (status != KP_OK)
		kp_fail("--operators %s: %s", path, kp_status_message(status));
	return status == KP_OK;
}

bool kp_rules_open(const struct kp_settings *settings, struct kp_operators **out)
{
	*out = NULL;
	if (!settings->operators)
		return true;
	if (kp_operators_builtin(out) != KP_OK) {
		kp_fail("out of memory");
		return false;
	}
	if (add(*out, settings->operators))
		return true;
	kp_operators_destroy(*out);
	*out = NULL;
	return false;
}

bool kp_rules_check(const struct kp_settings *settings)
{
	struct kp_operators *operators;
	bool good = kp_rules_open(settings, &operators);

	kp_operators_destroy(operators);
	return good;
}
