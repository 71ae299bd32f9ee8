/* The tables of an SQLite export: private to export_sqlite*.c. */
#ifndef KP_PROFILER_EXPORT_SQLITE_H
#define KP_PROFILER_EXPORT_SQLITE_H

#include <sqlite3.h>

#include "profiler/export.h"
#include "profiler/sqlite_pages.h"

/* X(NAME, name in the database): the tables that are filled page by page. */
#define KP_SQLITE_TABLES(X)                                                                        \
	X(KERNEL, "CUPTI_ACTIVITY_KIND_KERNEL")                                                    \
	X(MEMCPY, "CUPTI_ACTIVITY_KIND_MEMCPY")                                                    \
	X(MEMSET, "CUPTI_ACTIVITY_KIND_MEMSET")                                                    \
	X(NVTX, "NVTX_EVENTS")                                                                     \
	X(RUNTIME, "CUPTI_ACTIVITY_KIND_RUNTIME")                                                  \
	X(COUNTER, "KPROF_COUNTERS")                                                               \
	X(CLOCK, "KPROF_CLOCKS")                                                                   \
	X(STRINGS, "StringIds")

enum kp_sqlite_table_name {
#define KP_SQLITE_ENUM(NAME, name) KP_SQLITE_##NAME,
	KP_SQLITE_TABLES(KP_SQLITE_ENUM)
#undef KP_SQLITE_ENUM
		KP_SQLITE_TABLE_COUNT
};

enum kp_sqlite_source {
	KP_SQLITE_FROM_NOTHING,    /* NULL: kprof does not know it */
	KP_SQLITE_FROM_OWN,        /* the event's own column */
	KP_SQLITE_FROM_COUNT,      /* the template's column */
	KP_SQLITE_FROM_TEXT_ID,    /* the same, a text by its number in StringIds */
	KP_SQLITE_FROM_TEXT,       /* the same, the text itself */
	KP_SQLITE_FROM_DOMAIN,     /* 0: the default domain; else the number of its name */
	KP_SQLITE_FROM_GLOBAL_PID, /* as nsys has it */
	KP_SQLITE_FROM_GLOBAL_TID, /* the same; of the event */
	KP_SQLITE_FROM_COPY_KIND,  /* CUPTI's number */
	KP_SQLITE_FROM_EVENT_TYPE  /* nsys's number of a kind of NVTX event */
};

/* A column; those that come from the event stand before those that come from its template. */
struct kp_sqlite_column {
	const char *name;
	enum kp_sqlite_source source;
	unsigned column; /* enum kp_export_own or kp_export_fixed */
};

/* The columns of a table, ended by one without a name. StringIds has none here. */
extern const struct kp_sqlite_column *const kp_sqlite_columns[KP_SQLITE_TABLE_COUNT];

/* nsys's number of a process: its pid stands in bits 24 to 47, as queries take it out. */
uint64_t kp_sqlite_global_pid(const struct kp_process *process);
/* CUPTI's number of a kind of copy. */
unsigned kp_sqlite_copy_kind(unsigned memop_kind);

/*
 * Makes the database: all tables, and the rows of those that describe the trace. *image is SQLite's
 * own image of it, to be freed by sqlite3_free; `roots` are pages. Errors: KP_NO_MEMORY.
 */
enum kp_status kp_sqlite_make(struct kp_export *job, unsigned char **image, sqlite3_int64 *bytes,
			      uint32_t roots[KP_SQLITE_TABLE_COUNT]);

#endif
