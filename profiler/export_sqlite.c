/*
 * An SQLite database with nsys's names of tables and columns (export_sqlite_schema.c). SQLite makes
 * it in memory, with all that describes the trace; the events follow page by page (sqlite_pages.h).
 *
 * What a template decides of a row is encoded once: the types and the values of its columns.
 */
#include "profiler/export_sqlite.h"

#include <stdlib.h>
#include <string.h>

#include "trace/vector.h"

enum { EVENT_PUSH_POP = 59, EVENT_START_END = 60, EVENT_DOMAIN = 75 };
enum { HEADER_CHANGES = 24, HEADER_PAGES = 28, HEADER_VALID_FOR = 92 };

/* The encoded columns of a template in the pool; type_bytes 0: not encoded yet. */
struct part {
	size_t at;
	uint32_t type_bytes, value_bytes;
};

struct database {
	struct kp_export *job;
	uint32_t page_count;
	struct kp_sqlite_table *tables; /* by enum kp_sqlite_table_name */
	struct kp_buffer pool, values;
	struct part *parts;
	size_t part_capacity;
	struct kp_intern domains; /* that have their row */
};

static const uint8_t table_of[KP_EXPORT_KIND_COUNT] = {
	[KP_EXPORT_KERNEL] = KP_SQLITE_KERNEL, [KP_EXPORT_COPY] = KP_SQLITE_MEMCPY,
	[KP_EXPORT_SET] = KP_SQLITE_MEMSET,    [KP_EXPORT_RANGE] = KP_SQLITE_NVTX,
	[KP_EXPORT_CALL] = KP_SQLITE_RUNTIME,  [KP_EXPORT_COUNTER] = KP_SQLITE_COUNTER,
	[KP_EXPORT_CLOCK] = KP_SQLITE_CLOCK,
};

/* The serial type of a text: 13 and twice its length. Returns its bytes, the highest first. */
static size_t text_type(uint8_t out[8], size_t length)
{
	uint64_t type = 13 + 2 * (uint64_t)length;
	size_t count = 1;

	while (count < 8 && type >> (7 * count))
		count++;
	for (size_t i = 0; i < count; i++)
		out[i] = (uint8_t)((type >> (7 * (count - 1 - i)) & 0x7f) |
				   (i + 1 < count ? 0x80 : 0));
	return count;
}

static uint64_t domain_number(const struct database *database,
			      const struct kp_export_template *template)
{
	const char *domain =
		kp_export_text_of(database->job->events, template, KP_EXPORT_COLUMN_DOMAIN);

	return domain && *domain ? template->cells[KP_EXPORT_COLUMN_DOMAIN] + 1 : 0;
}

/* Whether a column comes from the template, and then its value where that is a number. */
static bool number_of(const struct database *database, const struct kp_export_template *template,
		      const struct kp_sqlite_column *column, uint64_t *value)
{
	bool known = template->has >> column->column & 1U;

	switch (column->source) {
	case KP_SQLITE_FROM_COUNT:
		*value = template->cells[column->column];
		return known;
	case KP_SQLITE_FROM_TEXT_ID:
		*value = template->cells[column->column] + 1;
		return known;
	case KP_SQLITE_FROM_DOMAIN:
		*value = domain_number(database, template);
		return true;
	case KP_SQLITE_FROM_GLOBAL_PID:
		*value = kp_sqlite_global_pid(template->process);
		return true;
	case KP_SQLITE_FROM_COPY_KIND:
		*value = kp_sqlite_copy_kind(template->code);
		return true;
	case KP_SQLITE_FROM_EVENT_TYPE:
		*value = template->unordered ? EVENT_START_END : EVENT_PUSH_POP;
		return true;
	default:
		return false;
	}
}

static bool is_own(const struct kp_sqlite_column *column)
{
	return column->source == KP_SQLITE_FROM_OWN || column->source == KP_SQLITE_FROM_GLOBAL_TID;
}

static enum kp_status encode(struct database *database, const struct kp_export_template *template,
			     struct part *part)
{
	const struct kp_sqlite_column *column = kp_sqlite_columns[table_of[template->kind]];
	struct kp_buffer *pool = &database->pool, *values = &database->values;

	kp_buffer_clear(values);
	part->at = pool->length;
	while (is_own(column))
		column++;
	for (; column->name; column++) {
		uint8_t types[8], bytes[8], *type = types, *byte = bytes;
		const char *text = NULL;
		uint64_t value;

		if (column->source == KP_SQLITE_FROM_TEXT)
			text = kp_export_text_of(database->job->events, template, column->column);
		if (text)
			type += text_type(types, strlen(text));
		else if (number_of(database, template, column, &value))
			kp_sqlite_count(&type, &byte, value);
		else
			kp_sqlite_null(&type);
		kp_buffer_put(pool, types, (size_t)(type - types));
		kp_buffer_put(values, text ? (const void *)text : bytes,
			      text ? strlen(text) : (size_t)(byte - bytes));
	}
	part->type_bytes = (uint32_t)(pool->length - part->at);
	part->value_bytes = (uint32_t)values->length;
	kp_buffer_put(pool, values->bytes, values->length);
	return pool->failed || values->failed ? KP_NO_MEMORY : KP_OK;
}

/* A range in a domain that has no row yet gives it one. */
static enum kp_status put_domain(struct database *database,
				 const struct kp_export_template *template)
{
	const struct kp_sqlite_column *column = kp_sqlite_columns[KP_SQLITE_NVTX];
	const char *name =
		kp_export_text_of(database->job->events, template, KP_EXPORT_COLUMN_DOMAIN);
	uint64_t number = domain_number(database, template);
	uint8_t types[64], numbers[24], *type = types, *value = numbers;
	struct kp_sqlite_part parts[3] = {{types, numbers, 0, 0}};
	uint32_t place;
	bool added = false;

	if (number == 0)
		return KP_OK;
	if (kp_intern_put(&database->domains, &number, sizeof number, &place, &added) != KP_OK)
		return KP_NO_MEMORY;
	if (!added)
		return KP_OK;
	/* Types of all columns in order, then values before, of and behind the text. */
	parts[1] = (struct kp_sqlite_part){types, (const uint8_t *)name, 0, (uint32_t)strlen(name)};
	for (; column->name; column++) {
		if (column->source == KP_SQLITE_FROM_EVENT_TYPE)
			kp_sqlite_count(&type, &value, EVENT_DOMAIN);
		else if (column->source == KP_SQLITE_FROM_DOMAIN)
			kp_sqlite_count(&type, &value, number);
		else if (column->source == KP_SQLITE_FROM_TEXT)
			type += text_type(type, strlen(name));
		else
			kp_sqlite_null(&type);
		if (column->source == KP_SQLITE_FROM_TEXT)
			parts[0].value_bytes = (uint32_t)(value - numbers);
	}
	parts[0].type_bytes = (uint32_t)(type - types);
	parts[2] = (struct kp_sqlite_part){types, numbers + parts[0].value_bytes, 0,
					   (uint32_t)(value - numbers) - parts[0].value_bytes};
	kp_sqlite_table_row(&database->tables[KP_SQLITE_NVTX], parts, 3);
	return KP_OK;
}

static void put_row(struct database *database, const struct kp_export_event *event,
		    const struct kp_export_template *template, const struct part *part)
{
	int table = table_of[template->kind];
	uint8_t types[16], values[16 * 8], *type = types, *value = values;
	const uint8_t *encoded = database->pool.bytes + part->at;

	for (const struct kp_sqlite_column *column = kp_sqlite_columns[table]; is_own(column);
	     column++) {
		uint64_t number = event->own[column->column];

		if (column->source == KP_SQLITE_FROM_GLOBAL_TID)
			number = kp_sqlite_global_pid(template->process) |
				 (event->own[KP_EXPORT_COLUMN_THREAD] & 0xffffff);
		else if (!(event->has >> column->column & 1U)) {
			kp_sqlite_null(&type);
			continue;
		}
		kp_sqlite_count(&type, &value, number);
	}
	const struct kp_sqlite_part parts[2] = {
		{types, values, (uint32_t)(type - types), (uint32_t)(value - values)},
		{encoded, encoded + part->type_bytes, part->type_bytes, part->value_bytes},
	};
	kp_sqlite_table_row(&database->tables[table], parts, 2);
}

static enum kp_status take(void *context, const struct kp_export_event *list, size_t count)
{
	struct database *database = context;

	for (size_t i = 0; i < count; i++) {
		const struct kp_export_event *event = &list[i];
		const struct kp_export_template *template =
			kp_export_events_template(database->job->events, event->template);
		struct part *part;

		if (event->template >= database->part_capacity &&
		    !kp_vector_reserve((void **)&database->parts, (size_t)event->template + 1,
				       &database->part_capacity, sizeof *database->parts))
			return KP_NO_MEMORY;
		part = &database->parts[event->template];
		if (part->type_bytes == 0) {
			if (encode(database, template, part) != KP_OK)
				return KP_NO_MEMORY;
			if (template->kind == KP_EXPORT_RANGE &&
			    put_domain(database, template) != KP_OK)
				return KP_NO_MEMORY;
		}
		put_row(database, event, template, part);
	}
	return kp_export_status(database->job);
}

/* StringIds: texts by their number plus 1, which is the row. */
static void put_strings(struct database *database)
{
	struct kp_export_events *events = database->job->events;

	for (uint64_t i = 0; i < kp_export_events_text_count(events); i++) {
		const char *text = kp_export_events_text(events, i);
		uint8_t types[16] = {0}; /* the id is the row: NULL */
		struct kp_sqlite_part part = {types, (const uint8_t *)text, 0,
					      (uint32_t)strlen(text)};

		part.type_bytes = (uint32_t)(1 + text_type(types + 1, part.value_bytes));
		kp_sqlite_table_row(&database->tables[KP_SQLITE_STRINGS], &part, 1);
	}
}

/* Ends all tables, and says in the header how large the database is. */
static enum kp_status finish(struct database *database)
{
	static const uint8_t changes[4] = {0, 0, 0, 1};
	enum kp_status status = KP_OK;
	uint8_t pages[4];

	for (int i = 0; i < KP_SQLITE_TABLE_COUNT; i++) {
		enum kp_status ended = kp_sqlite_table_end(&database->tables[i]);

		status = status == KP_OK ? ended : status;
	}
	for (int i = 0; i < 4; i++)
		pages[i] = (uint8_t)(database->page_count >> (24 - 8 * i));
	kp_out_patch(&database->job->out, HEADER_PAGES, pages, sizeof pages);
	kp_out_patch(&database->job->out, HEADER_CHANGES, changes, sizeof changes);
	kp_out_patch(&database->job->out, HEADER_VALID_FOR, changes, sizeof changes);
	return status;
}

enum kp_status kp_export_sqlite(struct kp_export *job)
{
	struct database database = {.job = job};
	uint32_t roots[KP_SQLITE_TABLE_COUNT];
	unsigned char *image;
	sqlite3_int64 bytes;
	enum kp_status status = kp_sqlite_make(job, &image, &bytes, roots), ended;

	if (status != KP_OK)
		return status;
	kp_out_put(&job->out, image, (size_t)bytes);
	sqlite3_free(image);
	database.page_count = (uint32_t)(bytes / KP_SQLITE_PAGE_BYTES);
	database.tables = calloc(KP_SQLITE_TABLE_COUNT, sizeof *database.tables);
	if (!database.tables)
		return KP_NO_MEMORY;
	for (int i = 0; i < KP_SQLITE_TABLE_COUNT; i++)
		kp_sqlite_table_begin(&database.tables[i], &job->out, &database.page_count,
				      roots[i]);
	status = kp_export_events_each(job->events, take, &database);
	if (status == KP_OK)
		put_strings(&database);
	ended = finish(&database);
	free(database.tables);
	kp_buffer_fini(&database.pool);
	kp_buffer_fini(&database.values);
	free(database.parts);
	kp_intern_fini(&database.domains);
	return status == KP_OK ? ended : status;
}
