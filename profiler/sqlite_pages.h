/*
 * Fills one table of an SQLite database by writing its pages, row after row.
 *
 * SQLite's own interface takes several times as long for a row, even where few columns change. The
 * database comes from SQLite itself, with the table made and empty; its file is continued with leaf
 * pages in order of the row number, then with the pages above them, and what was the table's empty
 * root becomes the true one. The format is https://www.sqlite.org/fileformat2.html, 1.6: every page
 * but an empty root has a cell, and the page with the lock bytes is left out. Not thread-safe.
 */
#ifndef KP_PROFILER_SQLITE_PAGES_H
#define KP_PROFILER_SQLITE_PAGES_H

#include "profiler/export_out.h"
#include "trace/codec.h"
#include "trace/status.h"

#define KP_SQLITE_PAGE_BYTES 8192
#define KP_SQLITE_LEVELS 8 /* of 500 pages or more each: 2^32 pages have fewer */

/* A page under construction: cells grow down from its end, pointers to them up from its header. */
struct kp_sqlite_page {
	uint8_t bytes[KP_SQLITE_PAGE_BYTES];
	uint32_t cells, floor; /* the lowest byte of a cell */
};

struct kp_sqlite_table {
	struct kp_out *out;
	uint32_t *page_count; /* of the database: pages are numbered on */
	uint32_t root;        /* page of the table */
	int64_t rows;
	int levels;                                          /* interior ones in use */
	struct kp_sqlite_page leaf, above[KP_SQLITE_LEVELS]; /* above[0] lies over the leaves */
	struct kp_buffer long_row;                           /* one that takes more than a page */
};

void kp_sqlite_table_begin(struct kp_sqlite_table *table, struct kp_out *out, uint32_t *page_count,
			   uint32_t root);
/*
 * Adds a row: its header without the length of itself (a serial type a column) and its values. The
 * two come in parts, which are put one behind the other.
 */
struct kp_sqlite_part {
	const uint8_t *types, *values;
	uint32_t type_bytes, value_bytes;
};
void kp_sqlite_table_row(struct kp_sqlite_table *table, const struct kp_sqlite_part *parts,
			 size_t count);
/* Writes what is left, and the root, and frees. Errors: KP_NO_MEMORY. */
enum kp_status kp_sqlite_table_end(struct kp_sqlite_table *table);

/*
 * Appends a whole number: its serial type (one byte) to `types`, its bytes to `values`, 8 at most.
 * SQLite's numbers are signed: from 2^63 on they come out negative.
 */
void kp_sqlite_count(uint8_t **types, uint8_t **values, uint64_t value);
/* Appends NULL. */
static inline void kp_sqlite_null(uint8_t **types)
{
	*(*types)++ = 0;
}

#endif
