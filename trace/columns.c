/* Batches of records to columns and back; see columns.h. */
#include "trace/columns.h"

/* ---- the frame around a column ---- */

static size_t begin_column(struct kp_buffer *out, unsigned number)
{
	kp_buffer_put_varint(out, number);
	kp_buffer_put_u32(out, 0);
	return out->length;
}

static void end_column(struct kp_buffer *out, size_t begin)
{
	kp_buffer_patch_u32(out, begin - 4, (uint32_t)(out->length - begin));
}

/* ---- all but launches: every member in the same way ---- */

struct member {
	unsigned number;
	size_t offset, size; /* size is 4 or 8 */
	bool from_start;     /* coded as the difference from the record's own start_ns */
};

#define IS_END(name) (sizeof(#name) == sizeof("end_ns") && #name[0] == 'e')
#define MEMBER(type, number, name)                                                                 \
	{number, offsetof(struct type, name), sizeof(((struct type *)0)->name), IS_END(name)},
#define MEMOP_ROW(number, name) MEMBER(kp_memop, number, name)
#define RANGE_ROW(number, name) MEMBER(kp_range, number, name)
#define SAMPLE_ROW(number, name) MEMBER(kp_counter_sample, number, name)
#define CLOCKS_ROW(number, name) MEMBER(kp_clocks, number, name)
#define HOST_ROW(number, name) MEMBER(kp_host_call, number, name)
#define RUN_ROW(number, name) MEMBER(kp_launch_run, number, name)
#define LIBRARY_ROW(number, name) MEMBER(kp_library_launch, number, name)

static const struct member memop_members[] = {KP_MEMOP_COLUMNS(MEMOP_ROW)};
static const struct member range_members[] = {KP_RANGE_COLUMNS(RANGE_ROW)};
static const struct member sample_members[] = {KP_SAMPLE_COLUMNS(SAMPLE_ROW)};
static const struct member clocks_members[] = {KP_CLOCKS_COLUMNS(CLOCKS_ROW)};
static const struct member host_members[] = {KP_HOST_COLUMNS(HOST_ROW)};
static const struct member run_members[] = {KP_RUN_COLUMNS(RUN_ROW)};
static const struct member library_members[] = {KP_LIBRARY_COLUMNS(LIBRARY_ROW)};
#define MEMBER_COUNT(members) (sizeof(members) / sizeof((members)[0]))

_Static_assert(offsetof(struct kp_memop, start_ns) == 0, "from_start reads the first member");
_Static_assert(offsetof(struct kp_range, start_ns) == 0, "from_start reads the first member");
_Static_assert(offsetof(struct kp_counter_sample, begin_ns) == 0,
	       "from_start reads the first member");
_Static_assert(offsetof(struct kp_clocks, start_ns) == 0, "from_start reads the first member");
_Static_assert(offsetof(struct kp_host_call, start_ns) == 0, "from_start reads the first member");
_Static_assert(offsetof(struct kp_launch_run, start_ns) == 0, "from_start reads the first member");
_Static_assert(offsetof(struct kp_library_launch, start_ns) == 0,
	       "from_start reads the first member");

static uint64_t load(const char *record, const struct member *member)
{
	if (member->size == 8)
		return *(const uint64_t *)(record + member->offset);
	return *(const uint32_t *)(record + member->offset);
}

static void store(char *record, const struct member *member, uint64_t value)
{
	if (member->size == 8)
		*(uint64_t *)(record + member->offset) = value;
	else
		*(uint32_t *)(record + member->offset) = (uint32_t)value;
}

static void put_member(const char *records, size_t stride, size_t count,
		       const struct member *member, struct kp_buffer *out)
{
	uint64_t previous = 0;
	size_t begin, whole = out->length;
	bool all_zero = true;

	begin = begin_column(out, member->number);
	for (size_t i = 0; i < count; i++) {
		const char *record = records + i * stride;
		uint64_t value = load(record, member);

		if (member->from_start)
			previous = *(const uint64_t *)record;
		all_zero &= value == 0;
		kp_buffer_put_varint(out, kp_zigzag(value - previous));
		previous = value;
	}
	end_column(out, begin);
	if (all_zero && !out->failed)
		out->length = whole;
}

static enum kp_status get_member(struct kp_cursor *column, char *records, size_t stride,
				 size_t count, const struct member *member)
{
	uint64_t previous = 0;

	for (size_t i = 0; i < count; i++) {
		char *record = records + i * stride;

		if (member->from_start)
			previous = *(const uint64_t *)record;
		previous += kp_unzigzag(kp_cursor_varint(column));
		store(record, member, previous);
	}
	return column->failed || kp_cursor_left(column) ? KP_CORRUPT : KP_OK;
}

static void put_members(const void *records, size_t stride, size_t count,
			const struct member *members, size_t member_count, struct kp_buffer *out)
{
	for (size_t i = 0; i < member_count; i++)
		put_member(records, stride, count, &members[i], out);
}

/* The next column of a payload; false at its end or when it is damaged (cursor->failed). */
static bool next_column(struct kp_cursor *cursor, uint64_t *number, struct kp_cursor *column)
{
	if (cursor->failed || !kp_cursor_left(cursor))
		return false;
	*number = kp_cursor_varint(cursor);
	*column = kp_cursor_take(cursor, kp_cursor_u32(cursor));
	return !cursor->failed;
}

static enum kp_status get_members(struct kp_cursor *cursor, void *records, size_t stride,
				  size_t count, const struct member *members, size_t member_count)
{
	struct kp_cursor column;
	uint64_t number;
	enum kp_status status = KP_OK;

	memset(records, 0, stride * count);
	while (status == KP_OK && next_column(cursor, &number, &column))
		for (size_t i = 0; i < member_count; i++)
			if (members[i].number == number)
				status = get_member(&column, records, stride, count, &members[i]);
	return cursor->failed ? KP_CORRUPT : status;
}

void kp_columns_put_memops(const struct kp_memop *memops, size_t count, struct kp_buffer *out)
{
	put_members(memops, sizeof(*memops), count, memop_members, MEMBER_COUNT(memop_members),
		    out);
}

void kp_columns_put_ranges(const struct kp_range *ranges, size_t count, struct kp_buffer *out)
{
	put_members(ranges, sizeof(*ranges), count, range_members, MEMBER_COUNT(range_members),
		    out);
}

void kp_columns_put_samples(const struct kp_counter_sample *samples, size_t count,
			    struct kp_buffer *out)
{
	put_members(samples, sizeof(*samples), count, sample_members, MEMBER_COUNT(sample_members),
		    out);
}

void kp_columns_put_clocks(const struct kp_clocks *clocks, size_t count, struct kp_buffer *out)
{
	put_members(clocks, sizeof(*clocks), count, clocks_members, MEMBER_COUNT(clocks_members),
		    out);
}

enum kp_status kp_columns_get_memops(struct kp_cursor *cursor, size_t count, struct kp_memop *out)
{
	return get_members(cursor, out, sizeof(*out), count, memop_members,
			   MEMBER_COUNT(memop_members));
}

enum kp_status kp_columns_get_ranges(struct kp_cursor *cursor, size_t count, struct kp_range *out)
{
	return get_members(cursor, out, sizeof(*out), count, range_members,
			   MEMBER_COUNT(range_members));
}

enum kp_status kp_columns_get_samples(struct kp_cursor *cursor, size_t count,
				      struct kp_counter_sample *out)
{
	return get_members(cursor, out, sizeof(*out), count, sample_members,
			   MEMBER_COUNT(sample_members));
}

enum kp_status kp_columns_get_clocks(struct kp_cursor *cursor, size_t count, struct kp_clocks *out)
{
	return get_members(cursor, out, sizeof(*out), count, clocks_members,
			   MEMBER_COUNT(clocks_members));
}

void kp_columns_put_host(const struct kp_host_call *calls, size_t count, struct kp_buffer *out)
{
	put_members(calls, sizeof(*calls), count, host_members, MEMBER_COUNT(host_members), out);
}

enum kp_status kp_columns_get_host(struct kp_cursor *cursor, size_t count, struct kp_host_call *out)
{
	return get_members(cursor, out, sizeof(*out), count, host_members,
			   MEMBER_COUNT(host_members));
}

void kp_columns_put_runs(const struct kp_launch_run *runs, size_t count, struct kp_buffer *out)
{
	put_members(runs, sizeof(*runs), count, run_members, MEMBER_COUNT(run_members), out);
}

enum kp_status kp_columns_get_runs(struct kp_cursor *cursor, size_t count,
				   struct kp_launch_run *out)
{
	return get_members(cursor, out, sizeof(*out), count, run_members,
			   MEMBER_COUNT(run_members));
}

void kp_columns_put_library(const struct kp_library_launch *launches, size_t count,
			    struct kp_buffer *out)
{
	put_members(launches, sizeof(*launches), count, library_members,
		    MEMBER_COUNT(library_members), out);
}

enum kp_status kp_columns_get_library(struct kp_cursor *cursor, size_t count,
				      struct kp_library_launch *out)
{
	return get_members(cursor, out, sizeof(*out), count, library_members,
			   MEMBER_COUNT(library_members));
}

/* ---- launches: each coded against its lane and its configuration ---- */

enum launch_column {
#define LAUNCH_COLUMN_ROW(name, number, coding) COLUMN_##name = (number),
	KP_LAUNCH_COLUMNS(LAUNCH_COLUMN_ROW)
};

static struct kp_lane *lane_of(struct kp_lanes *lanes, uint32_t config)
{
	return &lanes->lanes[lanes->lane_of[config]];
}

static void put_configs(const struct kp_launch *launches, size_t count, struct kp_buffer *out)
{
	size_t begin = begin_column(out, COLUMN_CONFIG);

	for (size_t i = 0; i < count; i++)
		kp_buffer_put_varint(out, launches[i].config);
	end_column(out, begin);
}

static void put_starts(const struct kp_launch *launches, size_t count, struct kp_lanes *lanes,
		       struct kp_buffer *out)
{
	size_t begin = begin_column(out, COLUMN_START);

	kp_buffer_put_varint(out, count ? launches[0].start_ns : 0);
	for (size_t i = 0; i < count; i++) {
		const struct kp_launch *launch = &launches[i];
		struct kp_lane *lane = lane_of(lanes, launch->config);

		kp_buffer_put_varint(out, kp_zigzag(launch->start_ns - lane->end_ns));
		if (kp_time_quality(launch->start_ns, launch->end_ns) == KP_TIME_VALID)
			lane->end_ns = launch->end_ns;
	}
	end_column(out, begin);
}

static void put_durations(const struct kp_launch *launches, size_t count, struct kp_lanes *lanes,
			  struct kp_buffer *out)
{
	size_t begin = begin_column(out, COLUMN_DURATION);

	for (size_t i = 0; i < count; i++) {
		uint64_t *last = &lanes->last_duration[launches[i].config];
		uint64_t duration = launches[i].end_ns - launches[i].start_ns;

		kp_buffer_put_varint(out, kp_zigzag(duration - *last));
		*last = duration;
	}
	end_column(out, begin);
}

/* The identifiers that follow the lane. One walk a column, so that each compresses by itself. */
#define PUT_LANE_COLUMN(NAME, member)                                                              \
	static void put_##member(const struct kp_launch *launches, size_t count,                   \
				 struct kp_lanes *lanes, struct kp_buffer *out)                    \
	{                                                                                          \
		size_t whole = out->length, begin = begin_column(out, COLUMN_##NAME);              \
		bool all_zero = true;                                                              \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			struct kp_lane *lane = lane_of(lanes, launches[i].config);                 \
			uint64_t difference = (uint64_t)launches[i].member - lane->member;         \
                                                                                                   \
			all_zero &= launches[i].member == 0;                                       \
			kp_buffer_put_varint(out, kp_zigzag(difference));                          \
			lane->member = launches[i].member;                                         \
		}                                                                                  \
		end_column(out, begin);                                                            \
		if (all_zero && !out->failed)                                                      \
			out->length = whole;                                                       \
	}
PUT_LANE_COLUMN(CORRELATION, correlation)
PUT_LANE_COLUMN(GRAPH_NODE, graph_node)
PUT_LANE_COLUMN(GRAPH, graph)

void kp_columns_put_launches(const struct kp_launch *launches, size_t count, struct kp_lanes *lanes,
			     struct kp_buffer *out)
{
	kp_lanes_reset(lanes, count ? launches[0].start_ns : 0);
	put_configs(launches, count, out);
	put_starts(launches, count, lanes, out);
	put_durations(launches, count, lanes, out);
	put_correlation(launches, count, lanes, out);
	put_graph_node(launches, count, lanes, out);
	put_graph(launches, count, lanes, out);
}

/* All columns of launches, read side by side. */
struct launch_columns {
	struct kp_cursor at[COLUMN_GRAPH + 1]; /* by number; one that is not there is 0 */
};

/* What follows the lane: whether a column is there does not change within a batch. */
#define GET_LANE_MEMBER(NAME, member, type)                                                        \
	if (columns->at[COLUMN_##NAME].at) {                                                       \
		struct kp_cursor *column = &columns->at[COLUMN_##NAME];                            \
                                                                                                   \
		lane->member += (type)kp_unzigzag(kp_cursor_varint(column));                       \
		launch.member = lane->member;                                                      \
	}

/* One launch; a start stands on the end of the lane's previous launch. False: no such
 * configuration. */
static inline bool get_launch(struct launch_columns *columns, struct kp_lanes *lanes,
			      struct kp_launch *out)
{
	uint64_t config = kp_cursor_varint(&columns->at[COLUMN_CONFIG]);
	struct kp_launch launch = {.config = (uint32_t)config};
	struct kp_lane *lane;
	uint64_t *duration;

	if (config >= lanes->config_count || lanes->lane_of[config] == KP_NO_LANE)
		return false;
	lane = lane_of(lanes, launch.config);
	duration = &lanes->last_duration[config];
	launch.start_ns = lane->end_ns + kp_unzigzag(kp_cursor_varint(&columns->at[COLUMN_START]));
	*duration += kp_unzigzag(kp_cursor_varint(&columns->at[COLUMN_DURATION]));
	launch.end_ns = launch.start_ns + *duration;
	if (kp_time_quality(launch.start_ns, launch.end_ns) == KP_TIME_VALID)
		lane->end_ns = launch.end_ns;
	GET_LANE_MEMBER(CORRELATION, correlation, uint32_t)
	GET_LANE_MEMBER(GRAPH_NODE, graph_node, uint64_t)
	GET_LANE_MEMBER(GRAPH, graph, uint32_t)
	*out = launch;
	return true;
}

enum kp_status kp_columns_get_launches(struct kp_cursor *cursor, size_t count,
				       struct kp_lanes *lanes, struct kp_launch *out)
{
	struct launch_columns columns = {0};
	struct kp_cursor column;
	uint64_t number;

	while (next_column(cursor, &number, &column))
		if (number <= COLUMN_GRAPH)
			columns.at[number] = column;
	if (cursor->failed || !columns.at[COLUMN_CONFIG].at || !columns.at[COLUMN_START].at ||
	    !columns.at[COLUMN_DURATION].at)
		return KP_CORRUPT;
	kp_lanes_reset(lanes, kp_cursor_varint(&columns.at[COLUMN_START]));
	for (size_t i = 0; i < count; i++)
		if (!get_launch(&columns, lanes, &out[i]))
			return KP_CORRUPT;
	for (size_t i = COLUMN_CONFIG; i <= COLUMN_GRAPH; i++)
		if (columns.at[i].failed || kp_cursor_left(&columns.at[i]))
			return KP_CORRUPT;
	return KP_OK;
}
