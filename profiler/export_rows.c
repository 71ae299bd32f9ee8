/* Events as rows of text; see export_rows.h. */
#include "profiler/export_rows.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

/* Where the parts of a template's rows stand in the pool. */
struct part {
	size_t at;
	uint32_t head_bytes, tail_bytes; /* head_bytes 0: not rendered yet */
};

struct rows {
	struct kp_export *job;
	const struct kp_row_style *style;
	struct kp_buffer pool;
	struct part *parts;
	size_t part_capacity;
};

static void render_cell(struct rows *rows, const struct kp_export_template *template,
			unsigned column)
{
	const struct kp_row_style *style = rows->style;
	const struct kp_export_column *about = &kp_export_fixed_columns[column];
	bool known = template->has >> column & 1U;
	char digits[20];

	if (column == KP_EXPORT_COLUMN_FULL_NAME || (!known && style->keyed))
		return;
	if (column != 0)
		kp_buffer_put(&rows->pool, ",", 1);
	if (style->keyed) {
		kp_buffer_put(&rows->pool, "\"", 1);
		kp_buffer_put(&rows->pool, about->name, strlen(about->name));
		kp_buffer_put(&rows->pool, "\":", 2);
	}
	if (!known)
		return;
	if (about->text)
		style->quote(&rows->pool,
			     kp_export_events_text(rows->job->events, template->cells[column]));
	else
		kp_buffer_put(
			&rows->pool, digits,
			(size_t)(kp_out_write_count(digits, template->cells[column]) - digits));
}

static enum kp_status render(struct rows *rows, const struct kp_export_template *template,
			     struct part *part)
{
	struct kp_buffer *pool = &rows->pool;

	part->at = pool->length;
	kp_buffer_put(pool, rows->style->begin, strlen(rows->style->begin));
	for (unsigned column = 0; column < KP_EXPORT_HEAD_COUNT; column++)
		render_cell(rows, template, column);
	part->head_bytes = (uint32_t)(pool->length - part->at);
	for (unsigned column = KP_EXPORT_HEAD_COUNT; column < KP_EXPORT_FIXED_COUNT; column++)
		render_cell(rows, template, column);
	kp_buffer_put(pool, rows->style->end, strlen(rows->style->end));
	part->tail_bytes = (uint32_t)(pool->length - part->at - part->head_bytes);
	return pool->failed ? KP_NO_MEMORY : KP_OK;
}

/* The event's own columns, each behind a comma: 40 bytes at most for each. */
static char *write_own(char *at, const struct kp_export_event *event, bool keyed)
{
	for (unsigned column = 0; column < KP_EXPORT_OWN_COUNT; column++) {
		bool known = event->has >> column & 1U;

		if (keyed && !known)
			continue;
		*at++ = ',';
		if (keyed) {
			*at++ = '"';
			at = stpcpy(at, kp_export_own_columns[column].name);
			*at++ = '"';
			*at++ = ':';
		}
		if (known)
			at = kp_out_write_count(at, event->own[column]);
	}
	return at;
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct rows *rows = context;
	struct kp_out *out = &rows->job->out;

	for (size_t i = 0; i < count; i++) {
		const struct kp_export_event *event = &list[i];
		struct part *part;

		if (event->template >= rows->part_capacity &&
		    !kp_vector_reserve((void **)&rows->parts, (size_t)event->template + 1,
				       &rows->part_capacity, sizeof *rows->parts))
			return KP_NO_MEMORY;
		part = &rows->parts[event->template];
		if (part->head_bytes == 0 &&
		    render(rows, kp_export_events_template(rows->job->events, event->template),
			   part) != KP_OK)
			return KP_NO_MEMORY;
		kp_out_copy(out, rows->pool.bytes + part->at, part->head_bytes);
		kp_out_took(out, write_own(kp_out_room(out, (size_t)40 * KP_EXPORT_OWN_COUNT),
					   event, rows->style->keyed));
		kp_out_copy(out, rows->pool.bytes + part->at + part->head_bytes, part->tail_bytes);
	}
	return kp_export_status(rows->job);
}

enum kp_status kp_export_rows(struct kp_export *job, const struct kp_row_style *style)
{
	struct rows rows = {.job = job, .style = style};
	enum kp_status status = kp_export_events_each(job->events, take, &rows);

	kp_buffer_fini(&rows.pool);
	free(rows.parts);
	return status;
}
