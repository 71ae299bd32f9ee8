/*
 * The tables of an SQLite export, and the rows of the small ones, which SQLite itself writes.
 *
 * Tables and columns have the names that nsys gives them where they mean the same, so that queries
 * written for nsys work; what kprof does not know is NULL. Columns that nsys has not stand last.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/report_losses.h"
#include "profiler/export_sqlite.h"
#include "profiler/text.h"

#define OWN(name, column)                                                                          \
	{                                                                                          \
		name, KP_SQLITE_FROM_OWN, KP_EXPORT_COLUMN_##column                                \
	}
#define COUNT(name, column)                                                                        \
	{                                                                                          \
		name, KP_SQLITE_FROM_COUNT, KP_EXPORT_COLUMN_##column                              \
	}
#define TEXT_ID(name, column)                                                                      \
	{                                                                                          \
		name, KP_SQLITE_FROM_TEXT_ID, KP_EXPORT_COLUMN_##column                            \
	}
#define OTHER(name, source)                                                                        \
	{                                                                                          \
		name, KP_SQLITE_FROM_##source, 0                                                   \
	}
#define NOTHING(name)                                                                              \
	{                                                                                          \
		name, KP_SQLITE_FROM_NOTHING, 0                                                    \
	}
#define TIMES OWN("start", START), OWN("end", END)
#define PLACE                                                                                      \
	COUNT("deviceId", DEVICE), COUNT("contextId", CONTEXT), NOTHING("greenContextId"),         \
		COUNT("streamId", STREAM), OTHER("globalPid", GLOBAL_PID)
#define END_OF_LIST                                                                                \
	{                                                                                          \
		NULL, KP_SQLITE_FROM_NOTHING, 0                                                    \
	}

// clang-format off
static const struct kp_sqlite_column kernel_columns[] = {
	TIMES, OWN("correlationId", CORRELATION), OWN("graphNodeId", GRAPH_NODE),
	OWN("graphId", GRAPH), PLACE,
	TEXT_ID("demangledName", FULL_NAME), TEXT_ID("shortName", NAME),
	TEXT_ID("mangledName", MANGLED_NAME), NOTHING("launchType"), NOTHING("cacheConfig"),
	COUNT("registersPerThread", REGISTERS),
	COUNT("gridX", GRID_X), COUNT("gridY", GRID_Y), COUNT("gridZ", GRID_Z),
	COUNT("blockX", BLOCK_X), COUNT("blockY", BLOCK_Y), COUNT("blockZ", BLOCK_Z),
	COUNT("staticSharedMemory", STATIC_SHARED), COUNT("dynamicSharedMemory", DYNAMIC_SHARED),
	COUNT("localMemoryPerThread", LOCAL), NOTHING("localMemoryTotal"), NOTHING("gridId"),
	NOTHING("sharedMemoryExecuted"), NOTHING("sharedMemoryLimitConfig"),
	COUNT("clusterX", CLUSTER_X), COUNT("clusterY", CLUSTER_Y), COUNT("clusterZ", CLUSTER_Z),
	TEXT_ID("operator", OPERATOR), TEXT_ID("variant", VARIANT),
	TEXT_ID("labelSource", LABEL_SOURCE), TEXT_ID("timing", TIMING), END_OF_LIST};
static const struct kp_sqlite_column memcpy_columns[] = {
	TIMES, OWN("correlationId", CORRELATION), OWN("graphNodeId", GRAPH_NODE),
	OWN("bytes", BYTES), PLACE, OTHER("copyKind", COPY_KIND), NOTHING("srcKind"),
	NOTHING("dstKind"), NOTHING("srcDeviceId"), NOTHING("srcContextId"),
	NOTHING("dstDeviceId"), NOTHING("dstContextId"), NOTHING("migrationCause"),
	NOTHING("virtualAddress"), NOTHING("copyCount"), TEXT_ID("timing", TIMING), END_OF_LIST};
static const struct kp_sqlite_column memset_columns[] = {
	TIMES, OWN("correlationId", CORRELATION), OWN("graphNodeId", GRAPH_NODE),
	OWN("bytes", BYTES), PLACE, NOTHING("value"), NOTHING("memKind"),
	TEXT_ID("timing", TIMING), END_OF_LIST};
static const struct kp_sqlite_column nvtx_columns[] = {
	TIMES, OTHER("globalTid", GLOBAL_TID), OWN("depth", DEPTH), OTHER("eventType", EVENT_TYPE),
	NOTHING("rangeId"), NOTHING("category"), NOTHING("color"),
	{"text", KP_SQLITE_FROM_TEXT, KP_EXPORT_COLUMN_NAME}, NOTHING("endGlobalTid"),
	TEXT_ID("textId", NAME), OTHER("domainId", DOMAIN), NOTHING("uint64Value"),
	NOTHING("int64Value"), NOTHING("doubleValue"), NOTHING("uint32Value"),
	NOTHING("int32Value"), NOTHING("floatValue"), NOTHING("jsonTextId"), NOTHING("jsonText"),
	NOTHING("binaryData"), END_OF_LIST};
static const struct kp_sqlite_column runtime_columns[] = {
	TIMES, OTHER("globalTid", GLOBAL_TID), OWN("correlationId", CORRELATION),
	OWN("kernels", KERNELS), NOTHING("eventClass"), TEXT_ID("nameId", NAME),
	NOTHING("returnValue"), NOTHING("callchainId"), COUNT("contextId", CONTEXT),
	COUNT("streamId", STREAM), END_OF_LIST};
static const struct kp_sqlite_column value_columns[] = {
	TIMES, OWN("value", VALUE), COUNT("deviceId", DEVICE), OTHER("globalPid", GLOBAL_PID),
	TEXT_ID("nameId", NAME), TEXT_ID("unitId", UNIT), END_OF_LIST};
// clang-format on

const struct kp_sqlite_column *const kp_sqlite_columns[KP_SQLITE_TABLE_COUNT] = {
	[KP_SQLITE_KERNEL] = kernel_columns,   [KP_SQLITE_MEMCPY] = memcpy_columns,
	[KP_SQLITE_MEMSET] = memset_columns,   [KP_SQLITE_NVTX] = nvtx_columns,
	[KP_SQLITE_RUNTIME] = runtime_columns, [KP_SQLITE_COUNTER] = value_columns,
	[KP_SQLITE_CLOCK] = value_columns,
};

static const char *const table_names[KP_SQLITE_TABLE_COUNT] = {
#define X(NAME, name) name,
	KP_SQLITE_TABLES(X)
#undef X
};

static const char small_tables[] =
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT,"
	" l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER,"
	" smCount INTEGER, uuid TEXT, cuDevice INTEGER, computeMajor INTEGER,"
	" computeMinor INTEGER);"
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER,"
	" uuid TEXT, numMultiprocessors INTEGER);"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
	"CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
	"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
	"CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
	" label TEXT);"
	"INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'),"
	" (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),"
	" (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),"
	" (8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'),"
	" (9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),"
	" (10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer');"
	"CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
	" label TEXT);"
	"INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (59, 'NvtxPushPopRange', 'NVTX Push/Pop'),"
	" (60, 'NvtxStartEndRange', 'NVTX Start/End'),"
	" (75, 'NvtxDomainCreate', 'NVTX Domain Create');";

uint64_t kp_sqlite_global_pid(const struct kp_process *process)
{
	uint64_t pid = KP_HAS(&process->info, PROCESS, pid) ? process->info.pid : 0;

	/* What stands above the pid tells processes apart that share one. */
	return ((uint64_t)process->index & 0x3fff) << 48 | (pid & 0xffffff) << 24;
}

unsigned kp_sqlite_copy_kind(unsigned memop_kind)
{
	static const uint8_t numbers[KP_MEMOP_KIND_COUNT] = {
		[KP_MEMOP_HOST_TO_DEVICE] = 1,   [KP_MEMOP_DEVICE_TO_HOST] = 2,
		[KP_MEMOP_DEVICE_TO_DEVICE] = 8, [KP_MEMOP_HOST_TO_HOST] = 9,
		[KP_MEMOP_PEER_TO_PEER] = 10,
	};

	return memop_kind < KP_MEMOP_KIND_COUNT ? numbers[memop_kind] : 0;
}

/* Runs a statement that sqlite3_mprintf formats: %Q quotes a text, or says NULL. */
static int run(sqlite3 *database, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	int result = sql ? sqlite3_exec(database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return result;
}

#define NUMBER_BYTES 24

/* A number as SQL. */
static const char *number(char out[NUMBER_BYTES], bool known, uint64_t value)
{
	if (!known)
		return "NULL";
	snprintf(out, NUMBER_BYTES, "%" PRId64, (int64_t)value);
	return out;
}

#define FIELD(out, info, RECORD, field) number(out, KP_HAS(info, RECORD, field), (info)->field)

/* A text of any bytes for %Q, to be freed; NULL: it is not known. */
static char *exact(bool known, struct kp_text text, bool *failed)
{
	char *out = known ? kp_text_exact(text.bytes, text.length) : NULL;

	*failed |= known && !out;
	return out;
}

static int make_tables(sqlite3 *database)
{
	int result = run(database, "PRAGMA page_size = %d; BEGIN; %s", KP_SQLITE_PAGE_BYTES,
			 small_tables);

	for (int table = 0; table < KP_SQLITE_TABLE_COUNT && result == SQLITE_OK; table++) {
		const struct kp_sqlite_column *column = kp_sqlite_columns[table];
		sqlite3_str *sql = sqlite3_str_new(database);

		if (!column) {
			sqlite3_free(sqlite3_str_finish(sql));
			continue;
		}
		sqlite3_str_appendf(sql, "CREATE TABLE %s", table_names[table]);
		for (const char *before = " ("; column->name; column++, before = ", ")
			sqlite3_str_appendf(sql, "%s\"%w\" %s", before, column->name,
					    column->source == KP_SQLITE_FROM_TEXT ? "TEXT"
										  : "INTEGER");
		sqlite3_str_appendf(sql, ")");
		char *text = sqlite3_str_finish(sql);
		result = text ? sqlite3_exec(database, text, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	return result;
}

static int put_device(sqlite3 *database, const struct kp_process *process,
		      const struct kp_device_info *device)
{
	char id[NUMBER_BYTES], l2[NUMBER_BYTES], memory[NUMBER_BYTES], clock[NUMBER_BYTES];
	char sms[NUMBER_BYTES], major[NUMBER_BYTES], minor[NUMBER_BYTES], pid[NUMBER_BYTES];
	bool failed = false;
	char *name = exact(KP_HAS(device, DEVICE, name), device->name, &failed);
	char *pci = exact(KP_HAS(device, DEVICE, pci), device->pci, &failed);
	char *uuid = exact(KP_HAS(device, DEVICE, uuid), device->uuid, &failed);
	int result = failed ? SQLITE_NOMEM : SQLITE_OK;

	FIELD(id, device, DEVICE, device);
	const char *count = FIELD(sms, device, DEVICE, sm_count);
	if (result == SQLITE_OK) /* one GPU of several processes is one row */
		result = run(database,
			     "INSERT INTO TARGET_INFO_GPU SELECT %s, %Q, %Q, %s, %s, NULL, %s, %s, "
			     "%Q, %s, %s, %s WHERE NOT EXISTS (SELECT 1 FROM TARGET_INFO_GPU "
			     "WHERE id = %s AND uuid IS %Q)",
			     id, name, pci, FIELD(l2, device, DEVICE, l2_bytes),
			     FIELD(memory, device, DEVICE, memory_bytes),
			     number(clock, KP_HAS(device, DEVICE, sm_clock_khz),
				    device->sm_clock_khz * 1000),
			     count, uuid, id, FIELD(major, device, DEVICE, compute_major),
			     FIELD(minor, device, DEVICE, compute_minor), id, uuid);
	if (result == SQLITE_OK)
		result = run(database,
			     "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (%s, %s, %s, %Q, %s)", id,
			     id, FIELD(pid, &process->info, PROCESS, pid), uuid, count);
	free(name);
	free(pci);
	free(uuid);
	return result;
}

/* One fact about the capture. */
static int put_fact(sqlite3 *database, const struct kp_process *process, const char *name,
		    uint64_t value)
{
	return run(database, "INSERT INTO META_DATA_CAPTURE VALUES ('kprof.process%u.%s', '%llu')",
		   process->index, name, (unsigned long long)value);
}

/* The same as text, where it is known. */
static int put_words(sqlite3 *database, const struct kp_process *process, const char *name,
		     bool known, struct kp_text value)
{
	bool failed = false;
	char *words = exact(known, value, &failed);
	int result = failed ? SQLITE_NOMEM : SQLITE_OK;

	if (words)
		result = run(database,
			     "INSERT INTO META_DATA_CAPTURE VALUES ('kprof.process%u.%s', %Q)",
			     process->index, name, words);
	free(words);
	return result;
}

static int put_who(sqlite3 *database, const struct kp_process *process)
{
	const struct kp_process_info *info = &process->info;
	int result = put_words(database, process, "command", KP_HAS(info, PROCESS, command),
			       info->command);

	if (result == SQLITE_OK)
		result = put_words(database, process, "host", KP_HAS(info, PROCESS, host),
				   info->host);
	if (result == SQLITE_OK)
		result = put_words(database, process, "rank", KP_HAS(info, PROCESS, rank),
				   info->rank);
	return result;
}

static int put_counts(sqlite3 *database, const struct kp_process *process)
{
	const struct kp_counts *counts = &process->counts;
	int result = SQLITE_OK;

#define X(key, type, name)                                                                         \
	if (result == SQLITE_OK && KP_HAS(counts, COUNTS, name))                                   \
		result = put_fact(database, process, #name, counts->name);
	KP_COUNTS_FIELDS(X)
#undef X
	return result;
}

static int put_process(sqlite3 *database, const struct kp_process *process)
{
	const struct kp_clock_info *clock = &process->first_clock;
	char name[512], pid[NUMBER_BYTES];
	int result;

	kp_export_process_name(process, name, sizeof name);
	result = run(database, "INSERT INTO PROCESSES VALUES (%lld, %s, %Q)",
		     (long long)kp_sqlite_global_pid(process),
		     FIELD(pid, &process->info, PROCESS, pid), name);
	for (size_t i = 0; i < process->device_count && result == SQLITE_OK; i++) {
		if (KP_HAS(&process->devices[i], DEVICE, device))
			result = put_device(database, process, &process->devices[i]);
	}
	if (result == SQLITE_OK && process->index == 0 && KP_HAS(clock, CLOCK, realtime_ns) &&
	    KP_HAS(clock, CLOCK, monotonic_ns)) /* a time plus this is of the wall clock */
		result = run(database, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%lld)",
			     (long long)(clock->realtime_ns - clock->monotonic_ns));
	if (result == SQLITE_OK)
		result = put_who(database, process);
	return result == SQLITE_OK ? put_counts(database, process) : result;
}

static int put_trace(sqlite3 *database, struct kp_reader *reader)
{
	struct kp_damage damage = kp_reader_damage(reader);
	int result = run(database,
			 "INSERT INTO META_DATA_EXPORT VALUES ('exporter', 'kprof " KPROF_VERSION
			 "'), ('kprof.truncated', '%d'), ('kprof.lost_launches', '%llu')",
			 damage.torn_tail, (unsigned long long)kp_losses_promised(reader));

	for (size_t i = 0; i < kp_reader_process_count(reader) && result == SQLITE_OK; i++)
		result = put_process(database, kp_reader_process(reader, i));
	return result;
}

static int find_roots(sqlite3 *database, uint32_t roots[KP_SQLITE_TABLE_COUNT])
{
	sqlite3_stmt *statement = NULL;
	int result =
		sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_schema WHERE name = ?",
				   -1, &statement, NULL);

	for (int table = 0; table < KP_SQLITE_TABLE_COUNT && result == SQLITE_OK; table++) {
		result = sqlite3_bind_text(statement, 1, table_names[table], -1, SQLITE_STATIC);
		if (result == SQLITE_OK && sqlite3_step(statement) != SQLITE_ROW)
			result = SQLITE_ERROR;
		if (result == SQLITE_OK)
			roots[table] = (uint32_t)sqlite3_column_int64(statement, 0);
		sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return result;
}

enum kp_status kp_sqlite_make(struct kp_export *job, unsigned char **image, sqlite3_int64 *bytes,
			      uint32_t roots[KP_SQLITE_TABLE_COUNT])
{
	sqlite3 *database = NULL;
	int result = sqlite3_open(":memory:", &database);

	*image = NULL;
	if (result == SQLITE_OK)
		result = make_tables(database);
	if (result == SQLITE_OK)
		result = put_trace(database, kp_export_events_reader(job->events));
	if (result == SQLITE_OK)
		result = run(database, "COMMIT");
	if (result == SQLITE_OK)
		result = find_roots(database, roots);
	if (result == SQLITE_OK)
		*image = sqlite3_serialize(database, "main", bytes, 0);
	sqlite3_close(database);
	return *image                                          ? KP_OK
	       : result == SQLITE_OK || result == SQLITE_NOMEM ? KP_NO_MEMORY
							       : KP_UNSUPPORTED;
}
