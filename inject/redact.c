/* Hides what looks like a secret; see redact.h. */
#include "inject/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"

/* A name that holds one of these words, as a whole between separators, names a secret. */
static const char *const secret_words[] = {
	"token",       "secret",      "password",    "passwd",     "pwd",  "apikey",
	"api_key",     "api-key",     "access_key",  "access-key", "auth", "credential",
	"credentials", "private_key", "private-key", "bearer",
};

/* Values that are secrets whatever their name: prefix and shortest length. */
static const struct {
	const char *prefix;
	size_t least;
} secret_forms[] = {
	{"sk-", 16},    {"hf_", 16},  {"ghp_", 20},  {"gho_", 20},  {"github_pat_", 20},
	{"glpat-", 16}, {"AKIA", 20}, {"xoxb-", 16}, {"xoxp-", 16}, {"eyJ", 40},
};

static bool boundary(char c)
{
	return !isalnum((unsigned char)c);
}

static bool names_secret(const char *name, size_t length)
{
	for (size_t w = 0; w < sizeof(secret_words) / sizeof(secret_words[0]); w++) {
		size_t word = strlen(secret_words[w]);

		for (size_t at = 0; at + word <= length; at++)
			if (strncasecmp(name + at, secret_words[w], word) == 0 &&
			    (at == 0 || boundary(name[at - 1])) &&
			    (at + word == length || boundary(name[at + word])))
				return true;
	}
	return false;
}

static bool has_secret_form(const char *value)
{
	for (size_t i = 0; i < sizeof(secret_forms) / sizeof(secret_forms[0]); i++)
		if (strncmp(value, secret_forms[i].prefix, strlen(secret_forms[i].prefix)) == 0 &&
		    strlen(value) >= secret_forms[i].least)
			return true;
	return false;
}

static void hide_from(char *argument, size_t size, size_t at)
{
	if (at < size)
		snprintf(argument + at, size - at, "%s", HIDDEN);
}

/* scheme://user:password@host → scheme://user:***@host */
static void hide_url_password(char *argument, size_t size)
{
	char *authority = strstr(argument, "://");
	char *at, *colon, tail[4096];
	size_t end;

	if (!authority)
		return;
	authority += 3;
	end = strcspn(authority, "/?#");
	at = memchr(authority, '@', end);
	colon = at ? memchr(authority, ':', (size_t)(at - authority)) : NULL;
	if (!colon)
		return;
	snprintf(tail, sizeof(tail), "%s", at);
	snprintf(colon + 1, size - (size_t)(colon + 1 - argument), "%s%s", HIDDEN, tail);
}

bool kp_redact_argument(char *argument, size_t size, bool follows)
{
	char *equals = strchr(argument, '=');
	bool option = argument[0] == '-';

	if (follows && !option) {
		hide_from(argument, size, 0);
		return false;
	}
	if (has_secret_form(argument)) {
		hide_from(argument, size, 0);
		return false;
	}
	if (equals &&
	    (names_secret(argument, (size_t)(equals - argument)) || has_secret_form(equals + 1))) {
		hide_from(argument, size, (size_t)(equals + 1 - argument));
		return false;
	}
	hide_url_password(argument, size);
	return option && !equals && names_secret(argument, strlen(argument));
}
