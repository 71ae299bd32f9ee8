/*
 * YAML by libyaml's emitter; see emit.h. Written while the document is described. Every text is
 * double-quoted, so no name is ever taken for a number, a boolean or null.
 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "profiler/emit.h"

struct yaml {
	struct kp_emit emit;
	yaml_emitter_t emitter;
};

static int write_out(void *data, unsigned char *buffer, size_t size)
{
	/* The owner of the file checks it once at the end; a full disk is no reason to stop here.
	 */
	fwrite(buffer, 1, size, (FILE *)data);
	return 1;
}

static bool put(struct yaml *yaml, yaml_event_t *event, int initialised)
{
	return initialised && yaml_emitter_emit(&yaml->emitter, event);
}

static bool put_scalar(struct yaml *yaml, const char *value, yaml_scalar_style_t style)
{
	yaml_event_t event;

	return put(yaml, &event,
		   yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)value,
						(int)strlen(value),
						style == YAML_PLAIN_SCALAR_STYLE,
						style != YAML_PLAIN_SCALAR_STYLE, style));
}

static bool put_key(struct yaml *yaml, const char *key)
{
	return !key || put_scalar(yaml, key, YAML_PLAIN_SCALAR_STYLE);
}

static bool yaml_begin(struct kp_emit *emit, const char *key, bool is_list)
{
	struct yaml *yaml = (struct yaml *)emit;
	yaml_event_t event;

	if (!put_key(yaml, key))
		return false;
	if (is_list)
		return put(yaml, &event,
			   yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
								YAML_BLOCK_SEQUENCE_STYLE));
	return put(yaml, &event,
		   yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
						       YAML_BLOCK_MAPPING_STYLE));
}

static bool yaml_end(struct kp_emit *emit, bool is_list)
{
	yaml_event_t event;

	return put((struct yaml *)emit, &event,
		   is_list ? yaml_sequence_end_event_initialize(&event)
			   : yaml_mapping_end_event_initialize(&event));
}

static bool yaml_text(struct kp_emit *emit, const char *key, const char *value)
{
	struct yaml *yaml = (struct yaml *)emit;

	return put_key(yaml, key) && put_scalar(yaml, value, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static bool yaml_plain(struct kp_emit *emit, const char *key, const char *value)
{
	struct yaml *yaml = (struct yaml *)emit;

	return put_key(yaml, key) && put_scalar(yaml, value, YAML_PLAIN_SCALAR_STYLE);
}

static enum kp_status yaml_finish(struct kp_emit *emit)
{
	struct yaml *yaml = (struct yaml *)emit;
	yaml_event_t event;
	bool done = put(yaml, &event, yaml_document_end_event_initialize(&event, 1)) &&
		    put(yaml, &event, yaml_stream_end_event_initialize(&event)) &&
		    yaml_emitter_flush(&yaml->emitter);

	return done ? KP_OK : KP_NO_MEMORY;
}

static void yaml_destroy(struct kp_emit *emit)
{
	yaml_emitter_delete(&((struct yaml *)emit)->emitter);
	free(emit);
}

static const struct kp_emit_backend yaml_backend = {
	yaml_begin, yaml_end, yaml_text, yaml_plain, yaml_finish, yaml_destroy,
};

enum kp_status kp_emit_yaml_create(FILE *file, struct kp_emit **out)
{
	struct yaml *yaml = calloc(1, sizeof *yaml);
	yaml_event_t event;

	*out = NULL;
	if (!yaml)
		return KP_NO_MEMORY;
	yaml->emit = (struct kp_emit){&yaml_backend, file, false};
	if (!yaml_emitter_initialize(&yaml->emitter)) {
		free(yaml);
		return KP_NO_MEMORY;
	}
	yaml_emitter_set_output(&yaml->emitter, write_out, file);
	yaml_emitter_set_unicode(&yaml->emitter, 1);
	yaml_emitter_set_width(&yaml->emitter, -1); /* never fold a name */
	yaml->emit.failed = !put(yaml, &event,
				 yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) ||
			    !put(yaml, &event,
				 yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	*out = &yaml->emit;
	return KP_OK;
}
