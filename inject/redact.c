/*
 * Hides what looks like a secret; see redact.h.
 *
 * An argument is read as tokens between separators, since it may hold a URL, JSON, a header or a
 * whole shell command. A token is hidden when it stands behind a secret name and «=» or «:», behind
 * «Bearer» or «Basic», or has the form of a known kind of secret.
 */
#include "inject/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"
#define SEPARATORS " \t\n\"'`,;&?(){}[]<>=:|\\"

/* Words that end the name of a secret. `alone`: only as a word of its own (auth, not author). */
static const struct {
	const char *word;
	bool alone;
} secret_words[] = {
	{"token", false},       {"secret", false},     {"password", false},
	{"passwd", false},      {"passphrase", false}, {"apikey", false},
	{"api_key", false},     {"api-key", false},    {"access_key", false},
	{"access-key", false},  {"secret_key", false}, {"private_key", false},
	{"private-key", false}, {"credential", true},  {"credentials", true},
	{"auth", true},         {"pwd", true},         {"authorization", true},
};

/* Values that are secrets whatever their name: prefix and shortest length. */
static const struct {
	const char *prefix;
	size_t least;
} secret_forms[] = {
	{"sk-", 16},         {"hf_", 16},    {"ghp_", 20}, {"gho_", 20},   {"ghs_", 20},
	{"github_pat_", 20}, {"glpat-", 16}, {"AKIA", 20}, {"ASIA", 20},   {"xoxb-", 16},
	{"xoxp-", 16},       {"eyJ", 40},    {"AIza", 30}, {"nvapi-", 16}, {"pypi-", 16},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A part of the argument. */
struct token {
	size_t begin, length;
};

static bool is_number(const char *value, size_t length)
{
	return length > 0 && strspn(value, "0123456789.+-eE") >= length;
}

/* Whether a name ends in one of the words: HF_TOKEN, --api-key, mytoken; not tokenizer or author.
 */
static bool names_secret(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(secret_words); i++) {
		size_t word = strlen(secret_words[i].word);
		const char *at = name + length - word;

		if (word > length || strncasecmp(at, secret_words[i].word, word) != 0)
			continue;
		if (!secret_words[i].alone || at == name || !isalnum((unsigned char)at[-1]))
			return true;
	}
	return false;
}

static bool has_secret_form(const char *value, size_t length)
{
	for (size_t i = 0; i < COUNT(secret_forms); i++)
		if (length >= secret_forms[i].least &&
		    strncmp(value, secret_forms[i].prefix, strlen(secret_forms[i].prefix)) == 0)
			return true;
	return false;
}

static bool is_word(const char *at, size_t length, const char *word)
{
	return length == strlen(word) && strncasecmp(at, word, length) == 0;
}

/* Puts «***» in the place of a token; what does not fit any more is cut. Returns its end. */
static size_t hide(char *argument, size_t size, struct token token)
{
	size_t hidden = strlen(HIDDEN), tail = token.begin + token.length;
	size_t rest = strlen(argument + tail), end = token.begin + hidden;

	if (end + rest + 1 > size)
		rest = end + 1 < size ? size - end - 1 : 0;
	if (end < size)
		memmove(argument + end, argument + tail, rest);
	for (size_t i = 0; i < hidden && token.begin + i + 1 < size; i++)
		argument[token.begin + i] = HIDDEN[i];
	argument[end + rest < size ? end + rest : size - 1] = '\0';
	return end < size ? end : size - 1;
}

/* The next token at or after `from`; length 0: there is none. */
static struct token next_token(const char *argument, size_t from)
{
	struct token token = {.begin = from + strspn(argument + from, SEPARATORS)};

	token.length = strcspn(argument + token.begin, SEPARATORS);
	return token;
}

/* scheme://user:password@host: the password ends at the last «@» before the path. */
static size_t hide_url_password(char *argument, size_t size, size_t colon)
{
	const char *authority = argument + colon;
	size_t end, at;

	if (strncmp(authority, "://", 3) != 0)
		return 0;
	end = strcspn(authority + 3, "/?# \t\"'") + colon + 3;
	for (at = end; at > colon + 3 && argument[at - 1] != '@';)
		at--;
	if (at == colon + 3)
		return 0;
	for (size_t i = colon + 3; i < at - 1; i++)
		if (argument[i] == ':')
			return hide(argument, size, (struct token){i + 1, at - 2 - i});
	return at;
}

/* Whether the value behind a name and «=» or «:» is to be hidden. */
static bool value_is_secret(const char *argument, struct token name, struct token value)
{
	const char *text = argument + name.begin;
	bool counts_tokens =
		name.length >= 5 && strncasecmp(text + name.length - 5, "token", 5) == 0;

	return names_secret(text, name.length) &&
	       !(counts_tokens && is_number(argument + value.begin, value.length));
}

static void hide_tokens(char *argument, size_t size)
{
	struct token name = {0, 0}, token;

	for (size_t at = 0; token = next_token(argument, at), token.length || argument[at];
	     at = name.begin + name.length) {
		const char *text = argument + token.begin;
		size_t url = token.length
				     ? hide_url_password(argument, size, token.begin + token.length)
				     : 0;
		bool assigned = name.length && strcspn(argument + name.begin + name.length, "=:") <
						       token.begin - name.begin - name.length;
		bool scheme = is_word(text, token.length, "bearer") ||
			      is_word(text, token.length, "basic");

		if (!token.length)
			return;
		if (url) {
			name = (struct token){url, 0};
			continue;
		}
		if (has_secret_form(text, token.length) ||
		    is_word(argument + name.begin, name.length, "bearer") ||
		    is_word(argument + name.begin, name.length, "basic") ||
		    (assigned && !scheme && value_is_secret(argument, name, token)))
			token = (struct token){hide(argument, size, token), 0};
		name = token;
	}
}

bool kp_redact_argument(char *argument, size_t size, bool follows)
{
	bool option = argument[0] == '-';

	if (follows && strncmp(argument, "--", 2) != 0) {
		hide(argument, size, (struct token){0, strlen(argument)});
		return false;
	}
	hide_tokens(argument, size);
	return option && !strpbrk(argument, "=:") && names_secret(argument, strlen(argument));
}
