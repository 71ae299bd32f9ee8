/*
 * The NVTX injection; see nvtx.h.
 *
 * A push reads the clock, interns the name under the lock and keeps the open range on the thread's
 * own stack of its domain; a pop puts the closed range into the queue. A forked child keeps the
 * names, and none of its parent's ranges. Programs run for months, and some number their names or
 * forget to pop: what is kept is bounded, and a push costs the same however many are open.
 */
#include "inject/nvtx.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wchar.h>

#include <nvtx3/nvToolsExt.h>

#include "inject/ab.h"
#include "inject/boards.h"
#include "inject/runs.h"
#include "inject/standby.h"
#include "inject/state.h"
#include "inject/window_settings.h"
#include "inject/windows.h"
#include "trace/intern.h"
#include "trace/vector.h"

#define NO_NAME UINT32_MAX
#define TOLD_AT_ONCE 64
#define NAME_MAX_BYTES 4096
#define FURTHER_NAMES "(further names)" /* of ranges, beyond KP_NVTX_NAMES */
#define BETWEEN_THREADS UINT32_MAX      /* depth of a range that nvtxRangeStart opened */

/* Opaque to the program: a domain or a registered string is its interned name, plus one. */
#define HANDLE_OF(type, number) ((type)(uintptr_t)((number) + 1))
#define NUMBER_OF(handle) ((uint32_t)((uintptr_t)(handle)-1))

struct open_range {
	uint64_t start_ns;
	uint32_t domain, name;
	bool opens_window; /* it counts for --range */
};

/* The open ranges of one thread in one domain. */
struct stack {
	uint32_t domain;
	struct open_range *ranges;
	size_t count, capacity;
	size_t beyond; /* that there was no room for, on top of these */
};

/* One thread's. */
struct stacks {
	struct stack *stacks;
	size_t count, capacity;
	uint32_t thread;
};

static struct {
	pthread_mutex_t lock;
	struct kp_intern names;
	struct kp_range *closed; /* domain and name are numbers of `names` */
	size_t closed_count, closed_capacity;
	uint64_t refused;           /* closed, but there was no room */
	struct open_range *started; /* by nvtxRangeStart: the id is the index plus one */
	size_t started_count, started_capacity;
	size_t started_free; /* index plus one of an ended one, whose `name` leads to the next; 0:
				none */
	uint32_t *written;   /* the writer's number of each name; worker only */
	size_t written_count;
	bool broken; /* forked in the middle of a change: names cannot be used */
	/* Numbers of the names of --range and of kprof ab's --unit-range; 0: not looked up yet. */
	_Atomic uint32_t watched_plus_one, unit_plus_one;
} nvtx = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct stacks *own;
static pthread_key_t own_key;

static void free_stacks(void *pointer)
{
	struct stacks *stacks = pointer;

	own = NULL;
	for (size_t i = 0; i < stacks->count; i++)
		free(stacks->stacks[i].ranges);
	free(stacks->stacks);
	free(stacks);
}

static struct stacks *get_stacks(void)
{
	if (!own) {
		own = calloc(1, sizeof(*own));
		if (own) {
			own->thread = (uint32_t)syscall(SYS_gettid);
			pthread_setspecific(own_key, own);
		}
	}
	return own;
}

/* The thread's stack of a domain; NULL: it has none. */
static struct stack *find_stack(struct stacks *stacks, uint32_t domain)
{
	for (size_t i = 0; stacks && i < stacks->count; i++)
		if (stacks->stacks[i].domain == domain)
			return &stacks->stacks[i];
	return NULL;
}

/* The same, made if need be; NULL: no memory. */
static struct stack *get_stack(uint32_t domain)
{
	struct stacks *stacks = get_stacks();
	struct stack *stack = find_stack(stacks, domain);

	if (stack || !stacks ||
	    !kp_vector_grow((void **)&stacks->stacks, stacks->count, &stacks->capacity,
			    sizeof(*stack)))
		return stack;
	stack = &stacks->stacks[stacks->count++];
	*stack = (struct stack){.domain = domain};
	return stack;
}

static uint32_t intern(const char *name)
{
	size_t length = strnlen(name, NAME_MAX_BYTES);
	uint32_t number = NO_NAME;

	pthread_mutex_lock(&nvtx.lock);
	if (!nvtx.broken && nvtx.names.count >= KP_NVTX_NAMES &&
	    !kp_intern_find(&nvtx.names, name, length, &number)) {
		name = FURTHER_NAMES;
		length = strlen(name);
	}
	if (nvtx.broken || kp_intern_put(&nvtx.names, name, length, &number, NULL) != KP_OK)
		number = NO_NAME;
	pthread_mutex_unlock(&nvtx.lock);
	return number;
}

/* UTF-8 of a wide string; what is no character becomes «?». */
static uint32_t intern_wide(const wchar_t *wide)
{
	char name[NAME_MAX_BYTES];
	size_t used = 0;

	for (; *wide && used + 4 < sizeof(name); wide++) {
		uint32_t c = (uint32_t)*wide;

		if (c < 0x80) {
			name[used++] = (char)c;
		} else if (c < 0x800) {
			name[used++] = (char)(0xc0 | c >> 6);
			name[used++] = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000 && (c < 0xd800 || c > 0xdfff)) {
			name[used++] = (char)(0xe0 | c >> 12);
			name[used++] = (char)(0x80 | (c >> 6 & 0x3f));
			name[used++] = (char)(0x80 | (c & 0x3f));
		} else if (c >= 0x10000 && c < 0x110000) {
			name[used++] = (char)(0xf0 | c >> 18);
			name[used++] = (char)(0x80 | (c >> 12 & 0x3f));
			name[used++] = (char)(0x80 | (c >> 6 & 0x3f));
			name[used++] = (char)(0x80 | (c & 0x3f));
		} else {
			name[used++] = '?';
		}
	}
	name[used] = '\0';
	return intern(name);
}

static uint32_t name_of(const nvtxEventAttributes_t *event)
{
	if (!event)
		return intern("");
	switch (event->messageType) {
	case NVTX_MESSAGE_TYPE_ASCII:
		return intern(event->message.ascii ? event->message.ascii : "");
	case NVTX_MESSAGE_TYPE_UNICODE:
		return event->message.unicode ? intern_wide(event->message.unicode) : intern("");
	case NVTX_MESSAGE_TYPE_REGISTERED:
		return event->message.registered ? NUMBER_OF(event->message.registered)
						 : intern("");
	default:
		return intern("");
	}
}

static uint32_t domain_of(nvtxDomainHandle_t domain)
{
	return domain ? NUMBER_OF(domain) : intern("");
}

/* Whether it is that name, whose number is looked up once. */
static bool is_named(uint32_t name, const char *wanted, _Atomic uint32_t *number_plus_one)
{
	if (!*number_plus_one)
		*number_plus_one = intern(wanted) + 1;
	return name != NO_NAME && name + 1 == *number_plus_one;
}

/*
 * Tells the windows of a range that begins, where it has the name that --range asks for, and
 * kprof ab likewise.
 */
static void tell_begin(struct open_range *range)
{
	const char *watched = kp_window_settings()->range, *unit = kp_ab_unit_range();

	if (unit && is_named(range->name, unit, &nvtx.unit_plus_one))
		kp_ab_unit_begins();
	if (!watched[0])
		return;
	if (is_named(range->name, watched, &nvtx.watched_plus_one))
		kp_windows_range_begin(&range->opens_window);
}

static void finish_range(const struct open_range *range, uint32_t thread, uint32_t depth)
{
	struct kp_range closed = {.start_ns = range->start_ns,
				  .end_ns = kp_clock_now(),
				  .thread = thread,
				  .domain = range->domain,
				  .name = range->name,
				  .depth = depth};

	kp_windows_range_end(range->opens_window);
	pthread_mutex_lock(&nvtx.lock);
	if (nvtx.broken || range->domain == NO_NAME || range->name == NO_NAME ||
	    nvtx.closed_count >= KP_NVTX_LIMIT ||
	    !kp_vector_grow((void **)&nvtx.closed, nvtx.closed_count, &nvtx.closed_capacity,
			    sizeof(closed)))
		nvtx.refused++;
	else
		nvtx.closed[nvtx.closed_count++] = closed;
	pthread_mutex_unlock(&nvtx.lock);
}

/* A range that cannot be kept: it has been, and that is all. */
static void refuse_range(void)
{
	pthread_mutex_lock(&nvtx.lock);
	nvtx.refused++;
	pthread_mutex_unlock(&nvtx.lock);
}

static int push(uint32_t domain, uint32_t name)
{
	struct open_range range = {kp_clock_now(), domain, name, false};
	struct stack *stack = get_stack(domain);

	kp_runs_arm();
	kp_runs_edge(false);
	if (!stack)
		return NVTX_NO_PUSH_POP_TRACKING;
	if (stack->beyond || stack->count >= KP_NVTX_LIMIT ||
	    !kp_vector_grow((void **)&stack->ranges, stack->count, &stack->capacity, sizeof(range)))
		return (int)(stack->count + stack->beyond++);
	tell_begin(&range);
	stack->ranges[stack->count++] = range;
	return (int)stack->count - 1;
}

static int pop(uint32_t domain)
{
	struct stack *stack = find_stack(own, domain);
	struct open_range range;

	if (stack && stack->beyond) {
		refuse_range();
		return (int)(stack->count + --stack->beyond);
	}
	if (!stack || !stack->count)
		return NVTX_NO_PUSH_POP_TRACKING;
	range = stack->ranges[--stack->count];
	finish_range(&range, own->thread, (uint32_t)stack->count);
	kp_runs_edge(false);
	return (int)stack->count;
}

static nvtxRangeId_t start(uint32_t domain, uint32_t name)
{
	struct open_range range = {kp_clock_now(), domain, name, false};
	nvtxRangeId_t id = 0;

	kp_runs_arm();
	kp_runs_edge(true);
	tell_begin(&range);
	pthread_mutex_lock(&nvtx.lock);
	if (!nvtx.broken && nvtx.started_free) {
		id = nvtx.started_free;
		nvtx.started_free = nvtx.started[id - 1].name;
		nvtx.started[id - 1] = range;
	} else if (!nvtx.broken && nvtx.started_count < KP_NVTX_LIMIT &&
		   kp_vector_grow((void **)&nvtx.started, nvtx.started_count,
				  &nvtx.started_capacity, sizeof(range))) {
		nvtx.started[nvtx.started_count++] = range;
		id = nvtx.started_count;
	} else {
		nvtx.refused++;
	}
	pthread_mutex_unlock(&nvtx.lock);
	if (!id)
		kp_windows_range_end(range.opens_window);
	return id;
}

static void end(nvtxRangeId_t id)
{
	struct open_range range = {0};

	pthread_mutex_lock(&nvtx.lock);
	if (id && id <= nvtx.started_count) {
		range = nvtx.started[id - 1];
		if (range.start_ns) {
			nvtx.started[id - 1] =
				(struct open_range){.name = (uint32_t)nvtx.started_free};
			nvtx.started_free = id;
		}
	}
	pthread_mutex_unlock(&nvtx.lock);
	if (!range.start_ns)
		return;
	finish_range(&range, (uint32_t)syscall(SYS_gettid), BETWEEN_THREADS);
	kp_runs_edge(true);
}

/* ---- what the program's NVTX calls ---- */

static int NVTX_API push_ex(const nvtxEventAttributes_t *event)
{
	return push(domain_of(NULL), name_of(event));
}

static int NVTX_API push_a(const char *message)
{
	return push(domain_of(NULL), intern(message ? message : ""));
}

static int NVTX_API push_w(const wchar_t *message)
{
	return push(domain_of(NULL), intern_wide(message ? message : L""));
}

static int NVTX_API pop_default(void)
{
	return pop(domain_of(NULL));
}

static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *event)
{
	return start(domain_of(NULL), name_of(event));
}

static nvtxRangeId_t NVTX_API start_a(const char *message)
{
	return start(domain_of(NULL), intern(message ? message : ""));
}

static nvtxRangeId_t NVTX_API start_w(const wchar_t *message)
{
	return start(domain_of(NULL), intern_wide(message ? message : L""));
}

static void NVTX_API end_default(nvtxRangeId_t id)
{
	end(id);
}

static int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	return push(domain_of(domain), name_of(event));
}

static int NVTX_API domain_pop(nvtxDomainHandle_t domain)
{
	return pop(domain_of(domain));
}

static nvtxRangeId_t NVTX_API domain_start(nvtxDomainHandle_t domain,
					   const nvtxEventAttributes_t *event)
{
	return start(domain_of(domain), name_of(event));
}

static void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	(void)domain;
	end(id);
}

static nvtxDomainHandle_t NVTX_API create_a(const char *name)
{
	return HANDLE_OF(nvtxDomainHandle_t, intern(name ? name : ""));
}

static nvtxDomainHandle_t NVTX_API create_w(const wchar_t *name)
{
	return HANDLE_OF(nvtxDomainHandle_t, intern_wide(name ? name : L""));
}

static nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t domain, const char *string)
{
	(void)domain;
	return HANDLE_OF(nvtxStringHandle_t, intern(string ? string : ""));
}

static nvtxStringHandle_t NVTX_API register_w(nvtxDomainHandle_t domain, const wchar_t *string)
{
	(void)domain;
	return HANDLE_OF(nvtxStringHandle_t, intern_wide(string ? string : L""));
}

static const struct {
	NvtxCallbackModule module;
	unsigned id;
	NvtxFunctionPointer function;
} entries[] = {
#define ENTRY(module, id, function)                                                                \
	{                                                                                          \
		NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##id,                                \
			(NvtxFunctionPointer)(function)                                            \
	}
	ENTRY(CORE, RangePushEx, push_ex),
	ENTRY(CORE, RangePushA, push_a),
	ENTRY(CORE, RangePushW, push_w),
	ENTRY(CORE, RangePop, pop_default),
	ENTRY(CORE, RangeStartEx, start_ex),
	ENTRY(CORE, RangeStartA, start_a),
	ENTRY(CORE, RangeStartW, start_w),
	ENTRY(CORE, RangeEnd, end_default),
	ENTRY(CORE2, DomainRangePushEx, domain_push),
	ENTRY(CORE2, DomainRangePop, domain_pop),
	ENTRY(CORE2, DomainRangeStartEx, domain_start),
	ENTRY(CORE2, DomainRangeEnd, domain_end),
	ENTRY(CORE2, DomainCreateA, create_a),
	ENTRY(CORE2, DomainCreateW, create_w),
	ENTRY(CORE2, DomainRegisterStringA, register_a),
	ENTRY(CORE2, DomainRegisterStringW, register_w),
#undef ENTRY
};

/*
 * The program's handles are numbers of names, so the names stay. Where another thread was changing
 * them, they cannot be trusted, and ranges are refused and counted.
 */
void kp_nvtx_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	nvtx.broken = nvtx.broken || pthread_mutex_trylock(&nvtx.lock) != 0;
	nvtx.lock = fresh;
	nvtx.closed_count = nvtx.written_count = 0;
	nvtx.refused = 0;
	if (nvtx.broken) {
		nvtx.closed = NULL;
		nvtx.closed_capacity = 0;
		nvtx.started_count = nvtx.started_free = 0;
	}
	for (size_t i = 0; i < nvtx.started_count; i++)
		nvtx.started[i].start_ns = 0;
	for (size_t i = 0; own && i < own->count; i++)
		own->stacks[i].count = own->stacks[i].beyond = 0;
	if (own)
		own->thread = (uint32_t)syscall(SYS_gettid);
}

static void prepare(void)
{
	pthread_key_create(&own_key, free_stacks);
	kp_inject_watch_forks();
}

/* NVTX calls this once for each module of the program that uses it, perhaps before CUDA. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
	struct kp_settings settings;

	if (!callbacks || !callbacks->GetModuleFunctionTable || !kp_settings_read(&settings))
		return 0;
	pthread_once(&once, prepare);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		NvtxFunctionTable table = NULL;
		unsigned size = 0;

		if (callbacks->GetModuleFunctionTable(entries[i].module, &table, &size) &&
		    entries[i].id < size && table && table[entries[i].id])
			*table[entries[i].id] = entries[i].function;
	}
	return 1;
}

/* ---- the worker's side ---- */

/* Brings the writer's numbers of all names so far up to date. */
static void map_names(struct kp_writer *writer)
{
	uint32_t *grown = realloc(nvtx.written, nvtx.names.count * sizeof(*grown) + 1);

	if (!grown)
		return;
	nvtx.written = grown;
	while (nvtx.written_count < nvtx.names.count) {
		size_t length;
		const uint8_t *bytes =
			kp_intern_bytes(&nvtx.names, (uint32_t)nvtx.written_count, &length);

		if (kp_writer_intern(writer, (const char *)bytes, length,
				     &nvtx.written[nvtx.written_count]) != KP_OK)
			return;
		nvtx.written_count++;
	}
}

/* For those who watch. A few at a time, since the program's threads wait for the lock. */
static void tell_watchers(const struct kp_range *closed, size_t count)
{
	for (size_t i = 0; kp_boards_watched() && i < count; i++) {
		const uint8_t *name;
		size_t length;

		if (i % TOLD_AT_ONCE == 0)
			pthread_mutex_lock(&nvtx.lock);
		if (!nvtx.broken && closed[i].name < nvtx.names.count) {
			name = kp_intern_bytes(&nvtx.names, closed[i].name, &length);
			kp_boards_range((const char *)name, length, closed[i].start_ns,
					closed[i].end_ns);
		}
		if (i % TOLD_AT_ONCE == TOLD_AT_ONCE - 1 || i + 1 == count)
			pthread_mutex_unlock(&nvtx.lock);
	}
}

/* Leaves those that were while records were kept (standby.h), and returns how many these are. */
static size_t leave_out(struct kp_range *closed, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (kp_standby_keeps(closed[i].start_ns, closed[i].end_ns))
			closed[left++] = closed[i];
	return left;
}

void kp_nvtx_drain(struct kp_writer *writer, struct kp_counts *counts)
{
	struct kp_range *closed;
	size_t count;

	pthread_mutex_lock(&nvtx.lock);
	if (!nvtx.broken)
		map_names(writer);
	closed = nvtx.closed;
	count = nvtx.closed_count;
	nvtx.closed = NULL;
	nvtx.closed_count = nvtx.closed_capacity = 0;
	counts->ranges_recorded += nvtx.refused;
	counts->ranges_unwritten += nvtx.refused;
	nvtx.refused = 0;
	pthread_mutex_unlock(&nvtx.lock);
	tell_watchers(closed, count);
	count = leave_out(closed, count);
	counts->ranges_recorded += count;
	for (size_t i = 0; i < count; i++) {
		struct kp_range range = closed[i];

		if (range.domain >= nvtx.written_count || range.name >= nvtx.written_count) {
			counts->ranges_unwritten++;
			continue;
		}
		range.domain = nvtx.written[range.domain];
		range.name = nvtx.written[range.name];
		kp_writer_range(writer, &range);
	}
	free(closed);
}
