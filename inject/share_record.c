/*
 * Where the records of CUPTI 11.8 and later keep their times; see share_record.h.
 *
 * Newer records of a kind only append members, which is asserted where these headers know both.
 */
#include "inject/share_record.h"

#include <string.h>

/* CUDA 12.3 moved the records of older releases into a header of their own. */
#if CUPTI_API_VERSION >= 21
#include <cupti_activity_deprecated.h>
#endif

#define TIMES 5
#define NONE UINT16_MAX

struct layout {
	CUpti_ActivityKind kind;
	uint16_t correlation;
	uint16_t times[TIMES]; /* the first is the start; 0 ends the list: no time stands there */
};

#define AT(type, member) offsetof(CUpti_Activity##type, member)
#define KERNEL_TIMES(type)                                                                         \
	{                                                                                          \
		AT(type, start), AT(type, end), AT(type, completed), AT(type, queued),             \
			AT(type, submitted)                                                        \
	}
#define SPAN(kind, type, correlation)                                                              \
	{                                                                                          \
		CUPTI_ACTIVITY_KIND_##kind, correlation,                                           \
		{                                                                                  \
			AT(type, start), AT(type, end)                                             \
		}                                                                                  \
	}
#define MOMENT(kind, type)                                                                         \
	{                                                                                          \
		CUPTI_ACTIVITY_KIND_##kind, NONE,                                                  \
		{                                                                                  \
			AT(type, timestamp)                                                        \
		}                                                                                  \
	}

static const struct layout layouts[] = {
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, AT(Kernel8, correlationId), KERNEL_TIMES(Kernel8)},
	{CUPTI_ACTIVITY_KIND_KERNEL, AT(Kernel8, correlationId), KERNEL_TIMES(Kernel8)},
	{CUPTI_ACTIVITY_KIND_CDP_KERNEL, NONE, KERNEL_TIMES(CdpKernel)},
	SPAN(MEMCPY, Memcpy5, AT(Memcpy5, correlationId)),
	SPAN(MEMCPY2, MemcpyPtoP4, AT(MemcpyPtoP4, correlationId)),
	SPAN(MEMSET, Memset4, AT(Memset4, correlationId)),
	SPAN(DRIVER, API, AT(API, correlationId)),
	SPAN(RUNTIME, API, AT(API, correlationId)),
	SPAN(INTERNAL_LAUNCH_API, API, AT(API, correlationId)),
	SPAN(OVERHEAD, Overhead, NONE),
	SPAN(SYNCHRONIZATION, Synchronization, NONE),
	SPAN(MEMORY, Memory, NONE),
	SPAN(GRAPH_TRACE, GraphTrace, NONE),
	SPAN(UNIFIED_MEMORY_COUNTER, UnifiedMemoryCounter2, NONE),
	SPAN(OPENACC_DATA, OpenAcc, NONE),
	SPAN(OPENACC_LAUNCH, OpenAcc, NONE),
	SPAN(OPENACC_OTHER, OpenAcc, NONE),
	SPAN(OPENMP, OpenMp, NONE),
	MOMENT(MEMORY2, Memory2),
	MOMENT(MEMORY_POOL, MemoryPool),
	MOMENT(MARKER, Marker2),
	MOMENT(PREEMPTION, Preemption),
	MOMENT(ENVIRONMENT, Environment),
#if CUPTI_API_VERSION >= 130000
	SPAN(JIT, Jit, NONE),
	SPAN(DEVICE_GRAPH_TRACE, DeviceGraphTrace, NONE),
	SPAN(MEM_DECOMPRESS, MemDecompress, NONE),
#endif
};

#define SAME_PLACE(old, new, member)                                                               \
	_Static_assert(AT(old, member) == AT(new, member), "layouts agree: " #member)
#if CUPTI_API_VERSION >= 130000
SAME_PLACE(Kernel8, Kernel10, start);
SAME_PLACE(Kernel8, Kernel10, completed);
SAME_PLACE(Kernel8, Kernel10, correlationId);
SAME_PLACE(Kernel8, Kernel10, queued);
SAME_PLACE(Kernel8, Kernel10, submitted);
SAME_PLACE(Memcpy5, Memcpy6, start);
SAME_PLACE(Memcpy5, Memcpy6, correlationId);
SAME_PLACE(Overhead, Overhead3, start);
SAME_PLACE(Overhead, Overhead3, end);
SAME_PLACE(Synchronization, Synchronization2, start);
SAME_PLACE(Synchronization, Synchronization2, end);
SAME_PLACE(GraphTrace, GraphTrace2, start);
SAME_PLACE(GraphTrace, GraphTrace2, end);
SAME_PLACE(UnifiedMemoryCounter2, UnifiedMemoryCounter3, start);
SAME_PLACE(UnifiedMemoryCounter2, UnifiedMemoryCounter3, end);
SAME_PLACE(Memory2, Memory4, timestamp);
SAME_PLACE(MemoryPool, MemoryPool3, timestamp);
SAME_PLACE(Jit, Jit2, start);
SAME_PLACE(Jit, Jit2, end);
#endif

static const struct layout *find_layout(const uint8_t *record)
{
	CUpti_ActivityKind kind;

	memcpy(&kind, record, sizeof(kind));
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].kind == kind)
			return &layouts[i];
	return NULL;
}

void kp_share_record_convert(uint8_t *record, size_t bytes, const struct kp_clock_map *map)
{
	const struct layout *layout = find_layout(record);

	for (size_t i = 0; layout && i < TIMES && layout->times[i]; i++) {
		uint64_t time_ns;

		if (layout->times[i] + sizeof(time_ns) > bytes)
			return;
		memcpy(&time_ns, record + layout->times[i], sizeof(time_ns));
		time_ns = kp_clock_map_convert(map, time_ns);
		memcpy(record + layout->times[i], &time_ns, sizeof(time_ns));
	}
}

struct kp_share_key kp_share_record_key(const uint8_t *record, size_t bytes)
{
	const struct layout *layout = find_layout(record);
	struct kp_share_key key = {0, 0};

	if (!layout)
		return key;
	if (layout->times[0] + sizeof(key.start_ns) <= bytes)
		memcpy(&key.start_ns, record + layout->times[0], sizeof(key.start_ns));
	if (layout->correlation != NONE && layout->correlation + sizeof(key.correlation) <= bytes)
		memcpy(&key.correlation, record + layout->correlation, sizeof(key.correlation));
	return key;
}
