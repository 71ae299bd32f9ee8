/* Ceilings from YAML, trusting nothing; see ceilings_cache.h. Pure. */
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "profiler/ceilings_cache.h"

#define SCHEMA "kprof.ceilings/v"
#define VERSION 1
#define ENTRIES_MOST 256
#define VALUE_LEAST 1e-3
#define VALUE_MOST 1e6
#define DEPTH_MOST 16

static const yaml_node_t *node_of(yaml_document_t *document, int number, yaml_node_type_t type)
{
	const yaml_node_t *node = yaml_document_get_node(document, number);

	return node && node->type == type ? node : NULL;
}

/* The value of a key in a map; NULL if the map has none, or it is of another type. */
static const yaml_node_t *member(yaml_document_t *document, const yaml_node_t *map, const char *key,
				 yaml_node_type_t type)
{
	for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = node_of(document, pair->key, YAML_SCALAR_NODE);

		if (name && strcmp((const char *)name->data.scalar.value, key) == 0)
			return node_of(document, pair->value, type);
	}
	return NULL;
}

/* Copies a text that fits; leaves an empty one otherwise. */
static bool take_text(yaml_document_t *document, const yaml_node_t *map, const char *key, char *out,
		      size_t size)
{
	const yaml_node_t *node = member(document, map, key, YAML_SCALAR_NODE);

	out[0] = '\0';
	if (!node || node->data.scalar.length >= size ||
	    strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return false;
	memcpy(out, node->data.scalar.value, node->data.scalar.length + 1);
	return true;
}

/* A number that may have been measured. */
static bool take_number(yaml_document_t *document, const yaml_node_t *map, const char *key,
			double *out)
{
	char text[64], *end;

	if (!take_text(document, map, key, text, sizeof(text)) || !text[0])
		return false;
	*out = strtod(text, &end);
	return *end == '\0' && *out >= VALUE_LEAST && *out <= VALUE_MOST;
}

static void take_ceiling(yaml_document_t *document, const yaml_node_t *map,
			 enum kp_ceiling_kind kind, struct kp_ceilings_entry *entry)
{
	const yaml_node_t *node = member(document, map, kp_ceiling_key(kind), YAML_MAPPING_NODE);
	struct kp_ceiling ceiling = {.source = KP_CEILING_MEASURED};
	double sm_mhz;

	if (!node || !take_number(document, node, "value", &ceiling.value) ||
	    !take_number(document, node, "low", &ceiling.low) ||
	    !take_number(document, node, "high", &ceiling.high) || ceiling.low > ceiling.value ||
	    ceiling.high < ceiling.value)
		return;
	entry->ceilings.of[kind] = ceiling;
	take_text(document, node, "how", entry->how[kind], sizeof(entry->how[kind]));
	if (take_number(document, node, "sm_mhz", &sm_mhz) && sm_mhz < UINT32_MAX)
		entry->sm_mhz[kind] = (uint32_t)sm_mhz;
}

/* False where the entry says too little to be found again. */
static bool take_entry(yaml_document_t *document, const yaml_node_t *map,
		       struct kp_ceilings_entry *entry)
{
	const yaml_node_t *ceilings = member(document, map, "ceilings", YAML_MAPPING_NODE);
	double sm_count;

	memset(entry, 0, sizeof(*entry));
	if (!ceilings || !take_text(document, map, "name", entry->name, sizeof(entry->name)) ||
	    !take_text(document, map, "uuid", entry->uuid, sizeof(entry->uuid)) ||
	    !take_text(document, map, "driver", entry->driver, sizeof(entry->driver)) ||
	    !take_number(document, map, "sm_count", &sm_count))
		return false;
	entry->sm_count = (uint64_t)sm_count;
	take_text(document, map, "measured_at", entry->measured_at, sizeof(entry->measured_at));
	for (int kind = 0; kind < KP_CEILING_COUNT; kind++)
		take_ceiling(document, ceilings, (enum kp_ceiling_kind)kind, entry);
	return true;
}

static enum kp_status check_schema(yaml_document_t *document, const yaml_node_t *root)
{
	char schema[64], *end;
	unsigned long version;

	if (!root || root->type != YAML_MAPPING_NODE ||
	    !take_text(document, root, "schema", schema, sizeof(schema)) ||
	    strncmp(schema, SCHEMA, strlen(SCHEMA)) != 0)
		return KP_INVALID;
	version = strtoul(schema + strlen(SCHEMA), &end, 10);
	if (*end != '\0' || version < VERSION)
		return KP_INVALID;
	return version > VERSION ? KP_NEWER : KP_OK;
}

static enum kp_status read_document(yaml_document_t *document, struct kp_ceilings_cache *out)
{
	const yaml_node_t *root = yaml_document_get_root_node(document), *list;
	enum kp_status status = check_schema(document, root);

	if (status != KP_OK)
		return status;
	list = member(document, root, "gpus", YAML_SEQUENCE_NODE);
	if (!list)
		return KP_INVALID;
	out->entries = calloc(ENTRIES_MOST, sizeof(*out->entries));
	if (!out->entries)
		return KP_NO_MEMORY;
	for (const yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top && out->count < ENTRIES_MOST; item++) {
		const yaml_node_t *map = node_of(document, *item, YAML_MAPPING_NODE);

		if (map && take_entry(document, map, &out->entries[out->count]))
			out->count++;
	}
	return KP_OK;
}

/* Whether the text nests no deeper than such documents do: libyaml's time grows with the square. */
static bool is_shallow(const char *text, size_t length)
{
	yaml_parser_t parser;
	yaml_event_t event;
	int depth = 0;
	bool ended = false;

	if (!yaml_parser_initialize(&parser))
		return false;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (!ended && depth < DEPTH_MOST && yaml_parser_parse(&parser, &event)) {
		depth += event.type == YAML_SEQUENCE_START_EVENT ||
			 event.type == YAML_MAPPING_START_EVENT;
		depth -= event.type == YAML_SEQUENCE_END_EVENT ||
			 event.type == YAML_MAPPING_END_EVENT;
		ended = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return ended;
}

enum kp_status kp_ceilings_parse(const char *text, size_t length, struct kp_ceilings_cache *out)
{
	enum kp_status status = KP_INVALID;
	yaml_document_t document;
	yaml_parser_t parser;

	*out = (struct kp_ceilings_cache){0};
	if (!is_shallow(text, length))
		return KP_INVALID;
	if (!yaml_parser_initialize(&parser))
		return KP_NO_MEMORY;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (yaml_parser_load(&parser, &document)) {
		status = read_document(&document, out);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	if (status != KP_OK)
		kp_ceilings_cache_fini(out);
	return status;
}

void kp_ceilings_cache_fini(struct kp_ceilings_cache *cache)
{
	free(cache->entries);
	*cache = (struct kp_ceilings_cache){0};
}

static bool is_text(const struct kp_text *text, const char *other)
{
	return text->length == strlen(other) &&
	       (text->length == 0 || memcmp(text->bytes, other, text->length) == 0);
}

static bool is_model(const struct kp_ceilings_entry *entry, const struct kp_device_info *device)
{
	return KP_HAS(device, DEVICE, name) && KP_HAS(device, DEVICE, sm_count) &&
	       !(KP_HAS(device, DEVICE, mig) && device->mig) &&
	       is_text(&device->name, entry->name) && device->sm_count == entry->sm_count;
}

const struct kp_ceilings_entry *kp_ceilings_cache_find(const struct kp_ceilings_cache *cache,
						       const struct kp_device_info *device,
						       const struct kp_text *driver_name)
{
	const struct kp_ceilings_entry *model = NULL;

	for (size_t i = cache->count; i > 0; i--) {
		const struct kp_ceilings_entry *entry = &cache->entries[i - 1];

		if (driver_name ? !is_text(driver_name, entry->driver) : entry->driver[0] != '\0')
			continue;
		if (KP_HAS(device, DEVICE, uuid) && is_text(&device->uuid, entry->uuid))
			return entry;
		if (!model && is_model(entry, device))
			model = entry;
	}
	return model;
}

void kp_ceilings_cache_answer(void *context, const struct kp_device_info *device,
			      const struct kp_text *driver_name, struct kp_ceilings *out)
{
	const struct kp_ceilings_entry *entry =
		kp_ceilings_cache_find(context, device, driver_name);

	kp_ceilings_of_device(device, out);
	if (entry)
		kp_ceilings_merge(out, &entry->ceilings);
}
