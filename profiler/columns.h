/*
 * Tables of the text report. One table of columns says the header, the value, the format and when a
 * column is shown; the last column is the name and takes what is left of the width.
 *
 * Where the width does not leave enough for names, columns are left out in the order that the table
 * says, and the caller can tell which. No state.
 */
#ifndef KP_PROFILER_COLUMNS_H
#define KP_PROFILER_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzers/report.h"
#include "profiler/print.h"

enum kp_table_kind { KP_TABLE_RANKING, KP_TABLE_MEMOPS, KP_TABLE_HOST };

struct kp_table_row {
	const char *name;          /* borrowed, valid UTF-8; NULL for a rest */
	const char *operator_name; /* of a kernel in a table of kernels; NULL: none */
	unsigned depth;            /* 1, 2: beneath a row before */
	size_t rest;               /* > 0: stands for so many rows that are not shown */
	const char *rest_of;       /* what they are, in the singular */
	uint64_t calls, bytes;
	struct kp_durations durations;
	struct kp_estimate estimate; /* of a table with estimates */
	struct kp_host_times host;   /* of a table of the host's side */
	struct kp_shares shares;
	const struct kp_row_traffic *traffic; /* NULL: none */
	bool marked;
};

struct kp_table {
	enum kp_table_kind kind;
	const char *name_title;
	const struct kp_table_row *rows;
	size_t row_count;
	bool traffic;   /* rows have traffic */
	bool estimates; /* totals are those of the whole run, from windows */
};

/*
 * Prints the table. Titles of columns that were left out for lack of width go to `left_out`,
 * separated by ", "; empty: none.
 */
void kp_table_print(FILE *file, const struct kp_table *table, const struct kp_view *view,
		    char *left_out, size_t size);

#endif
