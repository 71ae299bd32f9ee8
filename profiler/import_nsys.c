/*
 * An SQLite export of Nsight Systems as a source (or one of kprof export, which has its names).
 *
 * Tables are made as a report has data for them, and columns come and go with nsys's versions: each
 * table is asked for its columns, those that are there are read by name, and what is missing is
 * said. The file is not trusted: only plain tables are read, never views, and SQLite is told to
 * defend itself.
 */
#include "profiler/import_nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/vector.h"

#define COLUMN_NAME(NAME, name) name,
static const char *const column_names[KP_NSYS_COLUMN_COUNT] = {KP_NSYS_COLUMNS(COLUMN_NAME)};
#undef COLUMN_NAME

bool kp_nsys_has(const struct kp_nsys_table *table, enum kp_nsys_column column)
{
	return table->has >> column & 1U;
}

enum kp_status kp_nsys_broken(struct kp_nsys *nsys, const char *table)
{
	int code = sqlite3_errcode(nsys->database);

	if (code == SQLITE_NOMEM)
		return KP_NO_MEMORY;
	return kp_import_fail(nsys->import, "%s: %s", table, sqlite3_errmsg(nsys->database));
}

/* Whether `name` is a plain table. */
static enum kp_status find_table(struct kp_nsys *nsys, const char *name, bool *found)
{
	sqlite3_stmt *statement = NULL;
	enum kp_status status = KP_OK;
	int result = sqlite3_prepare_v2(nsys->database,
					"SELECT 1 FROM sqlite_master WHERE type = 'table' AND "
					"name = ?1 COLLATE NOCASE AND rootpage > 0",
					-1, &statement, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	*found = result == SQLITE_ROW;
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		status = kp_nsys_broken(nsys, name);
	sqlite3_finalize(statement);
	return status;
}

/* Which of `wanted` the table has. */
static enum kp_status find_columns(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	sqlite3_stmt *statement = NULL;
	int result = sqlite3_prepare_v2(nsys->database, "SELECT name FROM pragma_table_info(?1)",
					-1, &statement, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
	while (result == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		for (int column = 0; name && column < KP_NSYS_COLUMN_COUNT; column++)
			if (sqlite3_stricmp(name, column_names[column]) == 0)
				table->has |= table->wanted & 1ULL << column;
	}
	result = sqlite3_finalize(statement);
	return result == SQLITE_OK ? KP_OK : kp_nsys_broken(nsys, table->name);
}

/* Says which columns are not there. */
static enum kp_status say_missing(struct kp_nsys *nsys, const struct kp_nsys_table *table)
{
	char list[512] = "";

	for (int column = 0; column < KP_NSYS_COLUMN_COUNT; column++) {
		size_t length = strlen(list);

		if ((table->expected & ~table->has) >> column & 1U)
			snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "",
				 column_names[column]);
	}
	return list[0] ? kp_import_note(nsys->import, "%s of the source has no %s", table->name,
					list)
		       : KP_OK;
}

static enum kp_status prepare(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	sqlite3_str *sql = sqlite3_str_new(nsys->database);
	const char *before = "SELECT ";
	int at = 0, result;

	for (int column = 0; column < KP_NSYS_COLUMN_COUNT; column++) {
		if (!kp_nsys_has(table, (enum kp_nsys_column)column))
			continue;
		sqlite3_str_appendf(sql, "%s\"%w\"", before, column_names[column]);
		table->places[column] = (uint8_t)at++;
		before = ", ";
	}
	sqlite3_str_appendf(sql, " FROM \"%w\"", table->name);
	char *text = sqlite3_str_finish(sql);
	if (!text)
		return KP_NO_MEMORY;
	result = sqlite3_prepare_v2(nsys->database, text, -1, &table->rows, NULL);
	sqlite3_free(text);
	return result == SQLITE_OK ? KP_OK : kp_nsys_broken(nsys, table->name);
}

enum kp_status kp_nsys_open(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	enum kp_status status = find_table(nsys, table->name, &table->there);

	table->has = 0;
	if (status != KP_OK || !table->there)
		return status;
	status = find_columns(nsys, table);
	if (status == KP_OK && (table->has & table->needed) != table->needed)
		return kp_import_fail(nsys->import,
				      "%s has no start and end: a table of another tool, or of a "
				      "version that kprof does not know",
				      table->name);
	if (status == KP_OK)
		status = say_missing(nsys, table);
	return status == KP_OK ? prepare(nsys, table) : status;
}

enum kp_status kp_nsys_next(struct kp_nsys *nsys, struct kp_nsys_table *table, bool *any)
{
	int result = table->there ? sqlite3_step(table->rows) : SQLITE_DONE;

	*any = result == SQLITE_ROW;
	if (*any && ++nsys->rows > nsys->bytes) /* pages that point at each other */
		return kp_import_fail(nsys->import, "%s has more rows than the file has bytes",
				      table->name);
	if (result == SQLITE_ROW || result == SQLITE_DONE)
		return KP_OK;
	return kp_nsys_broken(nsys, table->name);
}

void kp_nsys_close(struct kp_nsys_table *table)
{
	sqlite3_finalize(table->rows);
	table->rows = NULL;
}

enum kp_status kp_nsys_number(struct kp_nsys *nsys, const struct kp_nsys_table *table,
			      enum kp_nsys_column column, bool *known, int64_t *out)
{
	int place = table->places[column];

	*known = false;
	*out = 0;
	if (!kp_nsys_has(table, column))
		return KP_OK;
	switch (sqlite3_column_type(table->rows, place)) {
	case SQLITE_INTEGER:
		*out = sqlite3_column_int64(table->rows, place);
		*known = true;
		return KP_OK;
	case SQLITE_NULL:
		return KP_OK;
	default:
		return kp_import_fail(nsys->import, "%s.%s holds something else than a number",
				      table->name, column_names[column]);
	}
}

struct kp_text kp_nsys_text(const struct kp_nsys_table *table, enum kp_nsys_column column)
{
	int place = table->places[column];
	const void *bytes;

	if (!kp_nsys_has(table, column) || sqlite3_column_type(table->rows, place) != SQLITE_TEXT)
		return (struct kp_text){"", 0};
	bytes = sqlite3_column_text(table->rows, place);
	return bytes ? (struct kp_text){bytes, (size_t)sqlite3_column_bytes(table->rows, place)}
		     : (struct kp_text){"", 0};
}

/* ---- StringIds ---- */

static enum kp_status look_up(struct kp_nsys *nsys, int64_t id, struct kp_text *out)
{
	*out = (struct kp_text){"", 0};
	if (!nsys->string_of)
		return KP_OK;
	sqlite3_reset(nsys->string_of);
	if (sqlite3_bind_int64(nsys->string_of, 1, id) != SQLITE_OK)
		return kp_nsys_broken(nsys, "StringIds");
	int result = sqlite3_step(nsys->string_of);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		return kp_nsys_broken(nsys, "StringIds");
	const void *bytes = result == SQLITE_ROW ? sqlite3_column_text(nsys->string_of, 0) : NULL;
	size_t length = bytes ? (size_t)sqlite3_column_bytes(nsys->string_of, 0) : 0;
	if (length > KP_STRING_MAX_BYTES)
		length = KP_STRING_MAX_BYTES;
	if (bytes)
		*out = kp_import_text(nsys->import, bytes, length);
	return out->bytes ? KP_OK : KP_NO_MEMORY;
}

enum kp_status kp_nsys_string(struct kp_nsys *nsys, int64_t id, struct kp_text *out)
{
	uint32_t number;
	bool added;
	enum kp_status status = kp_intern_put(&nsys->string_ids, &id, sizeof id, &number, &added);

	if (status == KP_OK && added &&
	    !kp_vector_reserve((void **)&nsys->strings, nsys->string_ids.count,
			       &nsys->string_capacity, sizeof *nsys->strings))
		status = KP_NO_MEMORY;
	if (status == KP_OK && added)
		status = look_up(nsys, id, &nsys->strings[number]);
	if (status == KP_OK)
		*out = nsys->strings[number];
	return status;
}

/* ---- the whole ---- */

static enum kp_status open_database(struct kp_nsys *nsys)
{
	struct stat facts;
	int result;

	if (stat(nsys->import->path, &facts) != 0)
		return KP_IO;
	nsys->bytes = (uint64_t)facts.st_size;
	result = sqlite3_open_v2(nsys->import->path, &nsys->database, SQLITE_OPEN_READONLY, NULL);
	if (!nsys->database)
		return KP_NO_MEMORY;
	if (result != SQLITE_OK)
		return kp_nsys_broken(nsys, "the file");
	sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(nsys->database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(nsys->database, SQLITE_LIMIT_LENGTH, 16 << 20);
	sqlite3_exec(nsys->database, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", NULL,
		     NULL, NULL);
	return KP_OK;
}

static enum kp_status open_strings(struct kp_nsys *nsys)
{
	bool there;
	enum kp_status status = find_table(nsys, "StringIds", &there);

	if (status != KP_OK || !there)
		return status;
	return sqlite3_prepare_v2(nsys->database, "SELECT value FROM StringIds WHERE id = ?1", -1,
				  &nsys->string_of, NULL) == SQLITE_OK
		       ? KP_OK
		       : kp_nsys_broken(nsys, "StringIds");
}

enum kp_status kp_import_nsys(struct kp_import *import)
{
	struct kp_nsys nsys = {.import = import};
	enum kp_status status = open_database(&nsys);

	if (status == KP_OK)
		status = open_strings(&nsys);
	if (status == KP_OK)
		status = kp_nsys_read(&nsys);
	sqlite3_finalize(nsys.string_of);
	sqlite3_close(nsys.database);
	kp_intern_fini(&nsys.string_ids);
	free(nsys.strings);
	kp_intern_fini(&nsys.domain_keys);
	free(nsys.domains);
	return status;
}
