/* The tables of events of nsys: kernels, memory operations, NVTX ranges, calls; see import_nsys.h.
 */
#include <inttypes.h>
#include <string.h>

#include "profiler/import_nsys.h"
#include "trace/vector.h"

#define BIT KP_NSYS_BIT
#define TIMES (BIT(START) | BIT(END))
#define PLACE (BIT(DEVICE) | BIT(CONTEXT) | BIT(STREAM) | BIT(CORRELATION) | BIT(GLOBAL_PID))
#define SHAPE                                                                                      \
	(BIT(GRID_X) | BIT(GRID_Y) | BIT(GRID_Z) | BIT(BLOCK_X) | BIT(BLOCK_Y) | BIT(BLOCK_Z) |    \
	 BIT(REGISTERS) | BIT(STATIC_SHARED) | BIT(DYNAMIC_SHARED))
#define NAMES (BIT(MANGLED) | BIT(DEMANGLED) | BIT(SHORT))

/* eventType of NVTX_EVENTS. */
#define PUSH_POP 59
#define START_END 60
#define DOMAIN_CREATE 75

/* Reads one row of an open table. */
typedef enum kp_status take_row(struct kp_nsys *nsys, struct kp_nsys_table *table);

static enum kp_status read_table(struct kp_nsys *nsys, struct kp_nsys_table *table, take_row *take)
{
	enum kp_status status = kp_nsys_open(nsys, table);
	bool any = status == KP_OK;

	while (status == KP_OK && any) {
		status = kp_nsys_next(nsys, table, &any);
		if (status == KP_OK && any)
			status = take(nsys, table);
	}
	kp_nsys_close(table);
	return status;
}

/* A cell of 32 bits: what does not fit is UINT32_MAX, what is not there 0. */
static enum kp_status small(struct kp_nsys *nsys, const struct kp_nsys_table *table,
			    enum kp_nsys_column column, uint32_t *out)
{
	int64_t value;
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, column, &known, &value);

	*out = value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	return status;
}

static enum kp_status times(struct kp_nsys *nsys, const struct kp_nsys_table *table,
			    uint64_t *start_ns, uint64_t *end_ns)
{
	int64_t start, end;
	bool started, ended;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_START, &started, &start);

	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_END, &ended, &end);
	*start_ns = *end_ns = 0;
	if (status == KP_OK && started && ended) {
		*start_ns = kp_import_time(start);
		*end_ns = kp_import_time(end);
	}
	return status;
}

/* The process and thread of a global number. */
static enum kp_status process_of(struct kp_nsys *nsys, const struct kp_nsys_table *table,
				 enum kp_nsys_column column, uint32_t *process, uint32_t *thread)
{
	int64_t global;
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, column, &known, &global);

	*thread = (uint32_t)(global & 0xffffff);
	if (status == KP_OK)
		status = kp_import_process(nsys->import, (uint64_t)global >> 24, process);
	if (status == KP_OK && known)
		KP_SET(&nsys->import->processes[*process].info, PROCESS, pid,
		       (uint64_t)global >> 24 & 0xffffff);
	return status;
}

/* ---- kernels ---- */

/* The best name there is. */
static enum kp_status name_of(struct kp_nsys *nsys, const struct kp_nsys_table *table,
			      struct kp_text *name)
{
	static const enum kp_nsys_column columns[] = {KP_NSYS_MANGLED, KP_NSYS_DEMANGLED,
						      KP_NSYS_SHORT};
	enum kp_status status = KP_OK;

	*name = (struct kp_text){"", 0};
	for (size_t i = 0; status == KP_OK && name->length == 0 && i < 3; i++) {
		int64_t id;
		bool known;

		status = kp_nsys_number(nsys, table, columns[i], &known, &id);
		if (status == KP_OK && known)
			status = kp_nsys_string(nsys, id, name);
	}
	return status;
}

static enum kp_status take_config(struct kp_nsys *nsys, const struct kp_nsys_table *table,
				  struct kp_launch_config *config)
{
	const struct {
		enum kp_nsys_column column;
		uint32_t *to;
	} members[] = {
		{KP_NSYS_DEVICE, &config->device},
		{KP_NSYS_CONTEXT, &config->context},
		{KP_NSYS_STREAM, &config->stream},
		{KP_NSYS_GRID_X, &config->grid[0]},
		{KP_NSYS_GRID_Y, &config->grid[1]},
		{KP_NSYS_GRID_Z, &config->grid[2]},
		{KP_NSYS_BLOCK_X, &config->block[0]},
		{KP_NSYS_BLOCK_Y, &config->block[1]},
		{KP_NSYS_BLOCK_Z, &config->block[2]},
		{KP_NSYS_REGISTERS, &config->registers},
		{KP_NSYS_STATIC_SHARED, &config->static_shared_bytes},
		{KP_NSYS_DYNAMIC_SHARED, &config->dynamic_shared_bytes},
		{KP_NSYS_LOCAL, &config->local_bytes},
	};
	enum kp_status status = KP_OK;

	for (size_t i = 0; status == KP_OK && i < sizeof members / sizeof *members; i++)
		status = small(nsys, table, members[i].column, members[i].to);
	return status;
}

static enum kp_status take_kernel(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	struct kp_import_launch launch = {.config = {0}};
	uint32_t process, thread;
	int64_t node;
	bool known;
	enum kp_status status = process_of(nsys, table, KP_NSYS_GLOBAL_PID, &process, &thread);

	if (status == KP_OK)
		status = name_of(nsys, table, &launch.name);
	if (status == KP_OK)
		status = take_config(nsys, table, &launch.config);
	if (status == KP_OK)
		status = times(nsys, table, &launch.launch.start_ns, &launch.launch.end_ns);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_CORRELATION, &launch.launch.correlation);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_GRAPH, &launch.launch.graph);
	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_GRAPH_NODE, &known, &node);
	if (status != KP_OK)
		return status;
	launch.launch.graph_node = (uint64_t)node;
	return kp_import_launch(nsys->import, process, &launch);
}

/* ---- memory operations ---- */

/* CUPTI's number of a kind of copy. */
static uint32_t kind_of_copy(uint32_t number)
{
	switch (number) {
	case 1:
	case 3: /* to an array */
		return KP_MEMOP_HOST_TO_DEVICE;
	case 2:
	case 4:
		return KP_MEMOP_DEVICE_TO_HOST;
	case 5:
	case 6:
	case 7:
	case 8:
		return KP_MEMOP_DEVICE_TO_DEVICE;
	case 9:
		return KP_MEMOP_HOST_TO_HOST;
	case 10:
		return KP_MEMOP_PEER_TO_PEER;
	default:
		return KP_MEMOP_OTHER;
	}
}

static enum kp_status take_memop(struct kp_nsys *nsys, struct kp_nsys_table *table, bool set)
{
	struct kp_memop memop = {.kind = KP_MEMOP_SET};
	uint32_t process, thread, copy;
	int64_t bytes, node;
	bool sized = false, known = false;
	enum kp_status status = process_of(nsys, table, KP_NSYS_GLOBAL_PID, &process, &thread);

	if (status == KP_OK)
		status = times(nsys, table, &memop.start_ns, &memop.end_ns);
	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_BYTES, &sized, &bytes);
	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_GRAPH_NODE, &known, &node);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_DEVICE, &memop.device);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_CONTEXT, &memop.context);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_STREAM, &memop.stream);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_CORRELATION, &memop.correlation);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_COPY_KIND, &copy);
	if (status == KP_OK && !sized)
		status = kp_import_note(nsys->import, KP_IMPORT_NO_BYTES);
	if (status != KP_OK)
		return status;
	memop.bytes = (uint64_t)bytes;
	memop.graph_node = (uint64_t)node;
	if (!set)
		memop.kind = kind_of_copy(copy);
	return kp_import_memop(nsys->import, process, &memop);
}

static enum kp_status take_copy(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	return take_memop(nsys, table, false);
}

static enum kp_status take_set(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	return take_memop(nsys, table, true);
}

/* ---- NVTX ---- */

/* The text of an event stands in it, or is a number. */
static enum kp_status text_of(struct kp_nsys *nsys, const struct kp_nsys_table *table,
			      struct kp_text *out)
{
	int64_t id;
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_TEXT_ID, &known, &id);

	*out = kp_nsys_text(table, KP_NSYS_TEXT);
	if (status == KP_OK && known && out->length == 0)
		status = kp_nsys_string(nsys, id, out);
	return status;
}

/* The name of a domain: where it stands, for it to be set; the default one has none. */
static enum kp_status domain_of(struct kp_nsys *nsys, uint32_t process, int64_t id,
				struct kp_text **out)
{
	const int64_t key[2] = {process, id};
	uint32_t number;
	bool added;
	enum kp_status status = kp_intern_put(&nsys->domain_keys, key, sizeof key, &number, &added);

	if (status == KP_OK && !kp_vector_reserve((void **)&nsys->domains, (size_t)number + 1,
						  &nsys->domain_capacity, sizeof *nsys->domains))
		status = KP_NO_MEMORY;
	if (status != KP_OK)
		return status;
	*out = &nsys->domains[number];
	if (added)
		**out = (struct kp_text){"", 0};
	return KP_OK;
}

static enum kp_status take_domain(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	uint32_t process, thread;
	int64_t type, id;
	bool known;
	struct kp_text *domain, name;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_EVENT_TYPE, &known, &type);

	if (status != KP_OK || type != DOMAIN_CREATE)
		return status;
	status = process_of(nsys, table, KP_NSYS_GLOBAL_TID, &process, &thread);
	if (status == KP_OK)
		status = kp_nsys_number(nsys, table, KP_NSYS_DOMAIN, &known, &id);
	if (status == KP_OK)
		status = domain_of(nsys, process, id, &domain);
	if (status == KP_OK)
		status = text_of(nsys, table, &name);
	if (status == KP_OK)
		*domain = kp_import_text(nsys->import, name.bytes, name.length);
	return status == KP_OK && !domain->bytes ? KP_NO_MEMORY : status;
}

static enum kp_status take_range(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	struct kp_range range = {.depth = KP_ASSEMBLY_NESTED};
	struct kp_text *domain, name;
	uint32_t process;
	int64_t type, id;
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_EVENT_TYPE, &known, &type);

	if (status != KP_OK || (type != PUSH_POP && type != START_END))
		return status;
	status = process_of(nsys, table, KP_NSYS_GLOBAL_TID, &process, &range.thread);
	if (status == KP_OK)
		status = times(nsys, table, &range.start_ns, &range.end_ns);
	if (status == KP_OK && range.end_ns == 0)
		nsys->open_ranges++;
	if (status != KP_OK || range.end_ns == 0)
		return status;
	status = kp_nsys_number(nsys, table, KP_NSYS_DOMAIN, &known, &id);
	if (status == KP_OK)
		status = domain_of(nsys, process, id, &domain);
	if (status == KP_OK)
		status = text_of(nsys, table, &name);
	if (type == START_END)
		range.depth = UINT32_MAX;
	return status == KP_OK ? kp_import_range(nsys->import, process, *domain, name, &range)
			       : status;
}

/* ---- calls ---- */

static enum kp_status take_call(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	struct kp_host_call call = {.context = KP_HOST_UNKNOWN, .stream = KP_HOST_UNKNOWN};
	uint32_t process;
	int64_t id, failed;
	struct kp_text name = {"", 0};
	bool known;
	enum kp_status status = kp_nsys_number(nsys, table, KP_NSYS_NAME_ID, &known, &id);

	if (status == KP_OK)
		status = kp_nsys_string(nsys, id, &name);
	if (status != KP_OK || !kp_import_launches(name, &call.kind))
		return status;
	status = kp_nsys_number(nsys, table, KP_NSYS_RETURN_VALUE, &known, &failed);
	if (status == KP_OK)
		status = small(nsys, table, KP_NSYS_CORRELATION, &call.correlation);
	if (status == KP_OK)
		status = process_of(nsys, table, KP_NSYS_GLOBAL_TID, &process, &call.thread);
	if (status == KP_OK)
		status = times(nsys, table, &call.start_ns, &call.end_ns);
	if (status != KP_OK || failed || !call.correlation || call.end_ns == 0)
		return status;
	call.kernels = call.kind == KP_HOST_GRAPH ? KP_HOST_UNKNOWN : 1;
	return kp_import_call(nsys->import, process, &call);
}

/* ---- all ---- */

static enum kp_status count_graph(struct kp_nsys *nsys, struct kp_nsys_table *table)
{
	(void)table;
	return kp_import_note(nsys->import,
			      "the source has CUDA graphs as a whole, without their kernels: "
			      "profile with nsys --cuda-graph-trace=node to have these");
}

/* All tables, in the order in which they are read: domains before the ranges that name them. */
static const struct {
	struct kp_nsys_table table;
	take_row *take;
} tables[] = {
	{{.name = "CUPTI_ACTIVITY_KIND_KERNEL",
	  .wanted = TIMES | PLACE | SHAPE | NAMES | BIT(LOCAL) | BIT(GRAPH_NODE) | BIT(GRAPH),
	  .expected = PLACE | SHAPE | NAMES | BIT(GRAPH_NODE),
	  .needed = TIMES},
	 take_kernel},
	{{.name = "CUPTI_ACTIVITY_KIND_MEMCPY",
	  .wanted = TIMES | PLACE | BIT(BYTES) | BIT(COPY_KIND) | BIT(GRAPH_NODE),
	  .expected = PLACE | BIT(BYTES) | BIT(COPY_KIND),
	  .needed = TIMES},
	 take_copy},
	{{.name = "CUPTI_ACTIVITY_KIND_MEMSET",
	  .wanted = TIMES | PLACE | BIT(BYTES) | BIT(GRAPH_NODE),
	  .expected = PLACE | BIT(BYTES),
	  .needed = TIMES},
	 take_set},
	{{.name = "NVTX_EVENTS",
	  .wanted = BIT(EVENT_TYPE) | BIT(GLOBAL_TID) | BIT(DOMAIN) | BIT(TEXT) | BIT(TEXT_ID)},
	 take_domain},
	{{.name = "NVTX_EVENTS",
	  .wanted = TIMES | BIT(EVENT_TYPE) | BIT(GLOBAL_TID) | BIT(DOMAIN) | BIT(TEXT) |
		    BIT(TEXT_ID),
	  .expected = BIT(EVENT_TYPE) | BIT(GLOBAL_TID) | BIT(DOMAIN) | BIT(TEXT),
	  .needed = TIMES},
	 take_range},
	{{.name = "CUPTI_ACTIVITY_KIND_RUNTIME",
	  .wanted = TIMES | BIT(GLOBAL_TID) | BIT(CORRELATION) | BIT(NAME_ID) | BIT(RETURN_VALUE),
	  .expected = BIT(GLOBAL_TID) | BIT(CORRELATION) | BIT(NAME_ID),
	  .needed = TIMES},
	 take_call},
	{{.name = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", .wanted = BIT(START)}, count_graph},
};

enum kp_status kp_nsys_read(struct kp_nsys *nsys)
{
	enum kp_status status = KP_OK;
	bool kernels = false, any = false;

	for (size_t i = 0; status == KP_OK && i < sizeof tables / sizeof *tables; i++) {
		struct kp_nsys_table table = tables[i].table;

		status = read_table(nsys, &table, tables[i].take);
		kernels |= i == 0 && table.there;
		any |= table.there;
	}
	if (status == KP_OK && !any)
		return kp_import_fail(nsys->import, "it has no table CUPTI_ACTIVITY_KIND_KERNEL, "
						    "nor any other that nsys exports");
	if (status == KP_OK && !kernels)
		status = kp_import_note(nsys->import, "the source has no kernels: nothing ran on a "
						      "GPU, or nsys did not trace CUDA");
	if (status == KP_OK && nsys->open_ranges)
		status = kp_import_note(nsys->import,
					"%" PRIu64
					" ranges of the source have no end, and are left out",
					nsys->open_ranges);
	return status == KP_OK ? kp_nsys_read_target(nsys) : status;
}
