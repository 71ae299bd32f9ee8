/* CUPTI records to kprof's; see translate.h. */
#include "inject/translate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
/* CUDA 12.3 moved the records of older releases into a header of their own. */
#if CUPTI_API_VERSION >= 21
#include <cupti_activity_deprecated.h>
#endif

#include "inject/boards.h"
#include "inject/clocks.h"
#include "inject/driver.h"
#include "inject/filter.h"
#include "inject/share.h"
#include "inject/standby.h"
#include "inject/state.h"
#include "inject/window_counts.h"
#include "inject/window_settings.h"

/*
 * CUPTI 11.8 delivers Kernel8, later ones up to Kernel13 (CUDA 13.5), each with members added at
 * the end; the same holds for copies and sets. So one reader of the common members serves all, and
 * only CUPTI, which walks the buffer, needs to know how long a record is.
 */
typedef CUpti_ActivityKernel8 kernel_record;
typedef CUpti_ActivityMemcpy5 memcpy_record;
typedef CUpti_ActivityMemcpyPtoP4 peer_record;
typedef CUpti_ActivityMemset4 memset_record;

/*
 * The layouts are facts of CUPTI's binary interface: whatever headers kprof is built with, and
 * whatever library the program brings, the members lie here. scripts/check builds this file with
 * the headers of releases from 11.8 on.
 */
#define AT(record, member, place)                                                                  \
	_Static_assert(offsetof(record, member) == (place), "where CUPTI has it: " #member)
#define KERNEL_LAYOUT(record)                                                                      \
	AT(record, start, 16);                                                                     \
	AT(record, end, 24);                                                                       \
	AT(record, deviceId, 40);                                                                  \
	AT(record, correlationId, 92);                                                             \
	AT(record, name, 104);                                                                     \
	AT(record, launchType, 136);                                                               \
	AT(record, graphNodeId, 144);                                                              \
	AT(record, graphId, 156);                                                                  \
	AT(record, clusterX, 176);                                                                 \
	AT(record, clusterZ, 184)
#define MEMOP_LAYOUT(record, of_correlation, of_node)                                              \
	AT(record, bytes, 8);                                                                      \
	AT(record, start, 16);                                                                     \
	AT(record, end, 24);                                                                       \
	AT(record, deviceId, 32);                                                                  \
	AT(record, correlationId, of_correlation);                                                 \
	AT(record, graphNodeId, of_node)

KERNEL_LAYOUT(kernel_record);
MEMOP_LAYOUT(memcpy_record, 44, 64);
MEMOP_LAYOUT(peer_record, 60, 72);
MEMOP_LAYOUT(memset_record, 44, 64);
#if CUDA_VERSION >= 12000
KERNEL_LAYOUT(CUpti_ActivityKernel9);
#endif
#if CUPTI_API_VERSION >= 26
MEMOP_LAYOUT(CUpti_ActivityMemcpy6, 44, 64);
#endif
#if CUPTI_API_VERSION >= 130000
KERNEL_LAYOUT(CUpti_ActivityKernel10);
#endif
#if CUPTI_API_VERSION >= 130100
KERNEL_LAYOUT(CUpti_ActivityKernel11);
#endif
#if CUPTI_API_VERSION >= 130300
KERNEL_LAYOUT(CUpti_ActivityKernel12);
#endif
#if CUPTI_API_VERSION >= 130400
KERNEL_LAYOUT(CUpti_ActivityKernel13);
MEMOP_LAYOUT(CUpti_ActivityMemcpy7, 44, 64);
MEMOP_LAYOUT(CUpti_ActivityMemset5, 44, 64);
#endif

/* Names by CUPTI's pointer, which all records of a kernel share while its module is loaded. */
#define NAME_CACHE_SIZE 1024
struct cached_name {
	const char *pointer;
	char *copy; /* to notice a pointer that was used again for another name */
	uint32_t number;
	bool filtered; /* left out: it has no number */
};

#define DEVICE_LIMIT 256
/* A time from before the collector began, or after now, by more than this is none. */
#define DOMAIN_SLACK_NS 3600000000000ULL

struct kp_translator {
	const struct kp_cupti *cupti;
	struct kp_writer *writer;
	const struct kp_window_settings *asked;
	struct cached_name names[NAME_CACHE_SIZE];
	bool described[DEVICE_LIMIT];
	uint64_t ahead_ns;         /* what CUPTI's clock is ahead of kprof's; it may be behind */
	uint64_t begin_ns, now_ns; /* when records can lie, on kprof's clock */
};

struct kp_translator *kp_translator_create(const struct kp_cupti *cupti, struct kp_writer *writer)
{
	struct kp_translator *translator = calloc(1, sizeof(*translator));

	if (translator) {
		translator->cupti = cupti;
		translator->writer = writer;
		translator->asked = kp_window_settings();
		translator->begin_ns = kp_clock_now();
	}
	return translator;
}

/* Writes a device's facts when it is first seen: at that time the driver is surely up. */
static void describe_device(struct kp_translator *translator, uint32_t ordinal)
{
	struct kp_device_info info = {0};

	if (ordinal >= DEVICE_LIMIT || translator->described[ordinal])
		return;
	translator->described[ordinal] = true;
	kp_driver_describe(ordinal, &info);
	kp_writer_device(translator->writer, &info);
	kp_clocks_watch(&info);
}

/* The number of a name; *filtered: the user's patterns leave the kernel out, and there is none. */
static enum kp_status intern_name(struct kp_translator *translator, const char *name, uint32_t *out,
				  bool *filtered)
{
	uintptr_t hash = (uintptr_t)name;
	struct cached_name *cached = &translator->names[(hash ^ hash >> 12) % NAME_CACHE_SIZE];
	enum kp_status status;

	if (!name)
		name = "";
	if (cached->pointer == name && strcmp(cached->copy, name) == 0) {
		*out = cached->number;
		*filtered = cached->filtered;
		return KP_OK;
	}
	*filtered =
		!kp_filter_takes(translator->asked->kernels, translator->asked->skip_kernels, name);
	status = *filtered ? KP_OK : kp_writer_intern(translator->writer, name, strlen(name), out);
	free(cached->copy);
	cached->copy = status == KP_OK ? strdup(name) : NULL;
	cached->pointer = cached->copy ? name : NULL;
	cached->number = *out;
	cached->filtered = *filtered;
	return status;
}

/* A time of a record on kprof's clock. 0 says that there is none. */
static uint64_t ours(const struct kp_translator *translator, uint64_t at_ns)
{
	return at_ns ? at_ns - translator->ahead_ns : 0;
}

/*
 * Puts both times of a record on kprof's clock. CUPTI has given records that were hours off (after
 * a restart of its session, a day and more): those get times that are known to be invalid.
 */
static void convert(const struct kp_translator *translator, uint64_t *start_ns, uint64_t *end_ns)
{
	*start_ns = ours(translator, *start_ns);
	*end_ns = ours(translator, *end_ns);
	if (kp_time_quality(*start_ns, *end_ns) == KP_TIME_VALID &&
	    (*start_ns + DOMAIN_SLACK_NS < translator->begin_ns ||
	     *start_ns > translator->now_ns + DOMAIN_SLACK_NS))
		*start_ns = *end_ns = UINT64_MAX;
}

static bool keeps(uint64_t start_ns, uint64_t end_ns)
{
	return kp_window_counts_keeps(start_ns, end_ns) && kp_standby_keeps(start_ns, end_ns);
}

static void translate_kernel(struct kp_translator *translator, const kernel_record *record,
			     struct kp_counts *counts)
{
	struct kp_launch_config config = {
		.device = record->deviceId,
		.context = record->contextId,
		.stream = record->streamId,
		.grid = {(uint32_t)record->gridX, (uint32_t)record->gridY, (uint32_t)record->gridZ},
		.block = {(uint32_t)record->blockX, (uint32_t)record->blockY,
			  (uint32_t)record->blockZ},
		.cluster = {record->clusterX, record->clusterY, record->clusterZ},
		.registers = record->registersPerThread,
		.static_shared_bytes = (uint32_t)record->staticSharedMemory,
		.dynamic_shared_bytes = (uint32_t)record->dynamicSharedMemory,
		.local_bytes = record->localMemoryPerThread,
		.launch_type = record->launchType,
	};
	struct kp_launch launch = {
		.start_ns = record->start,
		.end_ns = record->end,
		.graph_node = record->graphNodeId,
		.correlation = record->correlationId,
		.graph = record->graphId,
	};
	enum kp_time_quality quality;
	bool filtered = false;
	enum kp_status status;

	convert(translator, &launch.start_ns, &launch.end_ns);
	quality = kp_time_quality(launch.start_ns, launch.end_ns);
	kp_boards_kernel(record->name, record->deviceId, launch.start_ns, launch.end_ns);
	if (!keeps(launch.start_ns, launch.end_ns)) {
		kp_window_counts_discard(kp_inject.slot);
		return;
	}
	status = intern_name(translator, record->name, &config.name, &filtered);
	if (filtered) {
		counts->kernels_filtered++;
		return;
	}
	counts->kernels_recorded++;
	counts->kernels_untimed += quality == KP_TIME_UNTIMED;
	counts->kernels_invalid += quality == KP_TIME_INVALID;
	describe_device(translator, record->deviceId);
	if (status != KP_OK ||
	    kp_writer_config(translator->writer, &config, &launch.config) != KP_OK) {
		counts->kernels_unwritten++;
		return;
	}
	kp_writer_launch(translator->writer, &launch); /* what fails is in kp_writer_loss */
}

static enum kp_memop_kind copy_kind(uint8_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		return KP_MEMOP_HOST_TO_DEVICE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return KP_MEMOP_DEVICE_TO_HOST;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
		return KP_MEMOP_DEVICE_TO_DEVICE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return KP_MEMOP_HOST_TO_HOST;
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return KP_MEMOP_PEER_TO_PEER;
	default:
		return KP_MEMOP_OTHER;
	}
}

/* The members that all three kinds of records have under the same names. */
#define MEMOP_OF(record, of_kind)                                                                  \
	((struct kp_memop){                                                                        \
		.start_ns = (record)->start,                                                       \
		.end_ns = (record)->end,                                                           \
		.bytes = (record)->bytes,                                                          \
		.graph_node = (record)->graphNodeId,                                               \
		.kind = (of_kind),                                                                 \
		.device = (record)->deviceId,                                                      \
		.context = (record)->contextId,                                                    \
		.stream = (record)->streamId,                                                      \
		.correlation = (record)->correlationId,                                            \
		.flags = (record)->flags & 1U,                                                     \
	})

static void write_memop(struct kp_translator *translator, struct kp_memop memop,
			struct kp_counts *counts)
{
	convert(translator, &memop.start_ns, &memop.end_ns);
	if (!keeps(memop.start_ns, memop.end_ns))
		return;
	counts->memops_recorded++;
	describe_device(translator, memop.device);
	kp_writer_memop(translator->writer, &memop);
}

static void translate_record(struct kp_translator *translator, const CUpti_Activity *record,
			     struct kp_counts *counts)
{
	const memcpy_record *copy = (const void *)record;
	const peer_record *peer = (const void *)record;
	const memset_record *set = (const void *)record;

	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_KERNEL:
		translate_kernel(translator, (const kernel_record *)record, counts);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		write_memop(translator, MEMOP_OF(copy, copy_kind(copy->copyKind)), counts);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		write_memop(translator, MEMOP_OF(peer, KP_MEMOP_PEER_TO_PEER), counts);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		write_memop(translator, MEMOP_OF(set, KP_MEMOP_SET), counts);
		break;
	default:
		if (!kp_share_claims(record->kind))
			counts->records_unknown++;
		break;
	}
}

void kp_translate(struct kp_translator *translator, uint8_t *bytes, size_t valid_bytes,
		  int64_t ahead_ns, struct kp_counts *counts)
{
	CUpti_Activity *record = NULL;
	CUptiResult result;

	translator->ahead_ns = (uint64_t)ahead_ns;
	translator->now_ns = kp_clock_now();
	while (valid_bytes &&
	       (result = translator->cupti->ActivityGetNextRecord(bytes, valid_bytes, &record)) !=
		       CUPTI_ERROR_MAX_LIMIT_REACHED) {
		if (result != CUPTI_SUCCESS) {
			counts->records_unknown++; /* the rest of the buffer cannot be walked */
			break;
		}
		translate_record(translator, record, counts);
	}
}
