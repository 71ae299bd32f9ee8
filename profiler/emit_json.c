/* JSON by cJSON; see emit.h. The document is built in memory and printed at the end. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "profiler/emit.h"

#define MAX_DEPTH 8

struct json {
	struct kp_emit emit;
	cJSON *open[MAX_DEPTH]; /* maps and lists that have begun; [0] is the document */
	size_t depth;
};

/* Takes `item` over, also on failure. */
static bool add(struct json *json, const char *key, cJSON *item)
{
	bool added = false;

	if (item && json->depth > 0 && key)
		added = cJSON_AddItemToObject(json->open[json->depth - 1], key, item);
	else if (item && json->depth > 0)
		added = cJSON_AddItemToArray(json->open[json->depth - 1], item);
	if (!added)
		cJSON_Delete(item);
	return added;
}

static bool json_begin(struct kp_emit *emit, const char *key, bool is_list)
{
	struct json *json = (struct json *)emit;
	cJSON *item = is_list ? cJSON_CreateArray() : cJSON_CreateObject();

	if (json->depth == MAX_DEPTH) {
		cJSON_Delete(item);
		return false;
	}
	if (json->depth > 0 ? !add(json, key, item) : !item)
		return false;
	json->open[json->depth++] = item;
	return true;
}

static bool json_end(struct kp_emit *emit, bool is_list)
{
	struct json *json = (struct json *)emit;

	(void)is_list;
	/* The document stays for json_finish. */
	if (json->depth > 1)
		json->depth--;
	return true;
}

static bool json_text(struct kp_emit *emit, const char *key, const char *value)
{
	return add((struct json *)emit, key, cJSON_CreateString(value));
}

static bool json_plain(struct kp_emit *emit, const char *key, const char *value)
{
	/* Raw: cJSON's own numbers are doubles, which are exact to 53 bits only. */
	return add((struct json *)emit, key, cJSON_CreateRaw(value));
}

static enum kp_status json_finish(struct kp_emit *emit)
{
	struct json *json = (struct json *)emit;
	char *text = json->depth ? cJSON_Print(json->open[0]) : NULL;

	if (!text)
		return KP_NO_MEMORY;
	fputs(text, emit->file);
	fputc('\n', emit->file);
	cJSON_free(text);
	return KP_OK;
}

static void json_destroy(struct kp_emit *emit)
{
	struct json *json = (struct json *)emit;

	if (json->depth > 0)
		cJSON_Delete(json->open[0]);
	free(json);
}

static const struct kp_emit_backend json_backend = {
	json_begin, json_end, json_text, json_plain, json_finish, json_destroy,
};

enum kp_status kp_emit_json_create(FILE *file, struct kp_emit **out)
{
	struct json *json = calloc(1, sizeof *json);

	*out = NULL;
	if (!json)
		return KP_NO_MEMORY;
	json->emit = (struct kp_emit){&json_backend, file, false};
	*out = &json->emit;
	return KP_OK;
}
