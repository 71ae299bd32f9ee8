/*
 * How kprof import reads tables of nsys by the names of their columns: private to import_nsys*.c.
 */
#ifndef KP_PROFILER_IMPORT_NSYS_H
#define KP_PROFILER_IMPORT_NSYS_H

#include <sqlite3.h>

#include "profiler/import.h"

/* X(NAME, name): columns, of all tables. */
#define KP_NSYS_COLUMNS(X)                                                                         \
	X(START, "start")                                                                          \
	X(END, "end")                                                                              \
	X(DEVICE, "deviceId")                                                                      \
	X(CONTEXT, "contextId")                                                                    \
	X(STREAM, "streamId")                                                                      \
	X(CORRELATION, "correlationId")                                                            \
	X(GLOBAL_PID, "globalPid")                                                                 \
	X(GLOBAL_TID, "globalTid")                                                                 \
	X(MANGLED, "mangledName")                                                                  \
	X(DEMANGLED, "demangledName")                                                              \
	X(SHORT, "shortName")                                                                      \
	X(REGISTERS, "registersPerThread")                                                         \
	X(GRID_X, "gridX")                                                                         \
	X(GRID_Y, "gridY")                                                                         \
	X(GRID_Z, "gridZ")                                                                         \
	X(BLOCK_X, "blockX")                                                                       \
	X(BLOCK_Y, "blockY")                                                                       \
	X(BLOCK_Z, "blockZ")                                                                       \
	X(STATIC_SHARED, "staticSharedMemory")                                                     \
	X(DYNAMIC_SHARED, "dynamicSharedMemory")                                                   \
	X(LOCAL, "localMemoryPerThread")                                                           \
	X(GRAPH_NODE, "graphNodeId")                                                               \
	X(GRAPH, "graphId")                                                                        \
	X(BYTES, "bytes")                                                                          \
	X(COPY_KIND, "copyKind")                                                                   \
	X(EVENT_TYPE, "eventType")                                                                 \
	X(TEXT, "text")                                                                            \
	X(TEXT_ID, "textId")                                                                       \
	X(DOMAIN, "domainId")                                                                      \
	X(NAME_ID, "nameId")                                                                       \
	X(RETURN_VALUE, "returnValue")                                                             \
	X(PID, "pid")                                                                              \
	X(NAME, "name")                                                                            \
	X(VALUE, "value")                                                                          \
	X(ID, "id")                                                                                \
	X(UUID, "uuid")                                                                            \
	X(BUS, "busLocation")                                                                      \
	X(L2, "l2CacheSize")                                                                       \
	X(MEMORY, "totalMemory")                                                                   \
	X(CLOCK_RATE, "clockRate")                                                                 \
	X(SMS, "smCount")                                                                          \
	X(CU_DEVICE, "cuDevice")                                                                   \
	X(MAJOR, "computeMajor")                                                                   \
	X(MINOR, "computeMinor")                                                                   \
	X(GPU_ID, "gpuId")                                                                         \
	X(CUDA_ID, "cudaId")                                                                       \
	X(MULTIPROCESSORS, "numMultiprocessors")                                                   \
	X(UTC, "utcEpochNs")

enum kp_nsys_column {
#define KP_NSYS_ENUM(NAME, name) KP_NSYS_##NAME,
	KP_NSYS_COLUMNS(KP_NSYS_ENUM)
#undef KP_NSYS_ENUM
		KP_NSYS_COLUMN_COUNT
};
_Static_assert(KP_NSYS_COLUMN_COUNT <= 64, "columns are bits");
#define KP_NSYS_BIT(NAME) (1ULL << KP_NSYS_##NAME)

/* A table while it is read. */
struct kp_nsys_table {
	const char *name;
	uint64_t wanted;   /* columns */
	uint64_t expected; /* of these: said when they are missing */
	uint64_t needed;   /* without these the table is refused */
	uint64_t has;
	bool there;
	uint8_t places[KP_NSYS_COLUMN_COUNT];
	sqlite3_stmt *rows;
};

struct kp_nsys {
	struct kp_import *import;
	sqlite3 *database;
	sqlite3_stmt *string_of; /* NULL: there is no StringIds */
	struct kp_intern string_ids;
	struct kp_text *strings;
	size_t string_capacity;
	struct kp_intern domain_keys; /* (process, domainId) */
	struct kp_text *domains;
	size_t domain_capacity;
	uint64_t open_ranges; /* that have no end */
	uint64_t rows, bytes; /* read so far; of the file */
};

bool kp_nsys_has(const struct kp_nsys_table *table, enum kp_nsys_column column);
/* What SQLite says is wrong with a table. */
enum kp_status kp_nsys_broken(struct kp_nsys *nsys, const char *table);

/* Prepares to read a table; table->there says whether it is one of the file. */
enum kp_status kp_nsys_open(struct kp_nsys *nsys, struct kp_nsys_table *table);
enum kp_status kp_nsys_next(struct kp_nsys *nsys, struct kp_nsys_table *table, bool *any);
void kp_nsys_close(struct kp_nsys_table *table);

/* A cell of the row: 0 where it is NULL or there is no such column. Errors: KP_CORRUPT (a text). */
enum kp_status kp_nsys_number(struct kp_nsys *nsys, const struct kp_nsys_table *table,
			      enum kp_nsys_column column, bool *known, int64_t *out);
/* Borrowed until the next row; empty where it is no text. */
struct kp_text kp_nsys_text(const struct kp_nsys_table *table, enum kp_nsys_column column);
/* A row of StringIds; empty where there is none. Stays. */
enum kp_status kp_nsys_string(struct kp_nsys *nsys, int64_t id, struct kp_text *out);

/* import_nsys_tables.c: all tables. import_nsys_target.c: processes, devices and the clock; they
 * come last, when the processes are known. */
enum kp_status kp_nsys_read(struct kp_nsys *nsys);
enum kp_status kp_nsys_read_target(struct kp_nsys *nsys);

#endif
