/*
 * Writes and walks activity records; see records.h for the layouts.
 */
#include "tests/fake_gpu/cupti/records.h"

#include <string.h>
#include <unistd.h>

#include <cupti_version.h>

#include "tests/fake_gpu/common/faults.h"
#include "tests/fake_gpu/cupti/names.h"
#include "tests/fake_gpu/cupti/state.h"

/* Records longer than those of the headers at hand, by the releases that made them so. */
#define KERNEL11_BYTES 224 /* CUDA 13.1 */
#define KERNEL12_BYTES 232 /* CUDA 13.3 */
#define KERNEL13_BYTES 248 /* CUDA 13.4 */
#define MEMCPY7_BYTES 112  /* CUDA 13.4 */
#define MEMSET5_BYTES 104  /* CUDA 13.4 */

/* Records with room for what a newer CUPTI appends. */
union kernel_record {
	CUpti_ActivityKernel10 record;
	uint8_t bytes[KERNEL13_BYTES];
};
union copy_record {
	CUpti_ActivityMemcpy6 record;
	uint8_t bytes[MEMCPY7_BYTES];
};
union set_record {
	CUpti_ActivityMemset4 record;
	uint8_t bytes[MEMSET5_BYTES];
};

struct layout {
	CUpti_ActivityKind kind;
	uint32_t since; /* API version */
	size_t bytes;
	size_t start, end; /* offsets of its times */
};

#define LAYOUT(kind, since, bytes, type)                                                           \
	{                                                                                          \
		CUPTI_ACTIVITY_KIND_##kind, since, bytes, offsetof(type, start),                   \
			offsetof(type, end)                                                        \
	}

/* Of each kind from old to new: the newest that the version reaches holds. */
static const struct layout layouts[] = {
	LAYOUT(CONCURRENT_KERNEL, 0, sizeof(CUpti_ActivityKernel8), CUpti_ActivityKernel8),
	LAYOUT(CONCURRENT_KERNEL, 19, sizeof(CUpti_ActivityKernel9), CUpti_ActivityKernel9),
	LAYOUT(CONCURRENT_KERNEL, 130000, sizeof(CUpti_ActivityKernel10), CUpti_ActivityKernel10),
	LAYOUT(CONCURRENT_KERNEL, 130100, KERNEL11_BYTES, CUpti_ActivityKernel10),
	LAYOUT(CONCURRENT_KERNEL, 130300, KERNEL12_BYTES, CUpti_ActivityKernel10),
	LAYOUT(CONCURRENT_KERNEL, 130400, KERNEL13_BYTES, CUpti_ActivityKernel10),
	LAYOUT(MEMCPY, 0, sizeof(CUpti_ActivityMemcpy5), CUpti_ActivityMemcpy5),
	LAYOUT(MEMCPY, 26, sizeof(CUpti_ActivityMemcpy6), CUpti_ActivityMemcpy6),
	LAYOUT(MEMCPY, 130400, MEMCPY7_BYTES, CUpti_ActivityMemcpy6),
	LAYOUT(MEMSET, 0, sizeof(CUpti_ActivityMemset4), CUpti_ActivityMemset4),
	LAYOUT(MEMSET, 130400, MEMSET5_BYTES, CUpti_ActivityMemset4),
	LAYOUT(DRIVER, 0, sizeof(CUpti_ActivityAPI), CUpti_ActivityAPI),
};

#define SAME_PLACE(old, new, field)                                                                \
	_Static_assert(offsetof(CUpti_Activity##old, field) ==                                     \
			       offsetof(CUpti_Activity##new, field),                               \
		       "the older record is a prefix of the newer")
SAME_PLACE(Kernel8, Kernel10, localMemoryTotal_v2);
SAME_PLACE(Kernel8, Kernel10, name);
SAME_PLACE(Kernel8, Kernel10, graphNodeId);
SAME_PLACE(Kernel9, Kernel10, maxActiveClusters);
SAME_PLACE(Memcpy5, Memcpy6, channelType);
_Static_assert(sizeof(CUpti_ActivityKernel8) == 200 && sizeof(CUpti_ActivityKernel9) == 208 &&
		       sizeof(CUpti_ActivityKernel10) == 216,
	       "sizes by which clients walk");

uint32_t kp_fake_cupti_version(void)
{
	uint64_t version = kp_fake_faults()->version;

	return version ? (uint32_t)version : CUPTI_API_VERSION;
}

static const struct layout *find_layout(CUpti_ActivityKind kind)
{
	const struct layout *best = NULL;

	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].kind == kind && layouts[i].since <= kp_fake_cupti_version())
			best = &layouts[i];
	return best;
}

size_t kp_fake_record_bytes(CUpti_ActivityKind kind)
{
	const struct layout *layout = find_layout(kind);

	if (kind == KP_FAKE_KIND_UNKNOWN)
		return KP_FAKE_UNKNOWN_BYTES;
	if (kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
		return sizeof(CUpti_ActivityExternalCorrelation);
	return layout ? layout->bytes : 0;
}

static void write_kernel(uint8_t *at, CUpti_ActivityKind kind, const struct kp_fake_op *op)
{
	union kernel_record kernel;

	memset(kernel.bytes, 0x7e, sizeof(kernel.bytes));
	kernel.record = (CUpti_ActivityKernel10){
		.kind = kind,
		.registersPerThread = (uint16_t)op->kernel->registers,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.gridX = (int32_t)op->grid[0],
		.gridY = (int32_t)op->grid[1],
		.gridZ = (int32_t)op->grid[2],
		.blockX = (int32_t)op->block[0],
		.blockY = (int32_t)op->block[1],
		.blockZ = (int32_t)op->block[2],
		.staticSharedMemory = (int32_t)op->kernel->static_shared_bytes,
		.dynamicSharedMemory = (int32_t)op->dynamic_shared_bytes,
		.localMemoryPerThread = op->kernel->local_bytes,
		.correlationId = op->correlation,
		.name = kp_fake_name(op->kernel->name),
		.launchType = op->cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
					      : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
		.clusterX = op->cluster[0],
		.clusterY = op->cluster[1],
		.clusterZ = op->cluster[2],
	};
	memcpy(at, kernel.bytes, kp_fake_record_bytes(kind));
}

static void write_copy(uint8_t *at, CUpti_ActivityKind kind, const struct kp_fake_op *op)
{
	union copy_record copy;

	memset(copy.bytes, 0x7e, sizeof(copy.bytes));
	copy.record = (CUpti_ActivityMemcpy6){
		.kind = kind,
		.copyKind = (uint8_t)op->copy_kind,
		.flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
		.bytes = op->bytes,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.correlationId = op->correlation,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
		.copyCount = 1,
	};

	copy.record.srcKind = op->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
				      ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE
				      : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	copy.record.dstKind = op->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
				      ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE
				      : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	memcpy(at, copy.bytes, kp_fake_record_bytes(kind));
}

static void write_set(uint8_t *at, CUpti_ActivityKind kind, const struct kp_fake_op *op)
{
	union set_record set;

	memset(set.bytes, 0x7e, sizeof(set.bytes));
	set.record = (CUpti_ActivityMemset4){
		.kind = kind,
		.value = op->value,
		.bytes = op->bytes,
		.deviceId = op->device,
		.contextId = op->context,
		.streamId = op->stream,
		.correlationId = op->correlation,
		.flags = op->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
		.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
		.graphNodeId = op->graph_node,
		.graphId = op->graph,
	};

	memcpy(at, set.bytes, kp_fake_record_bytes(kind));
}

static void write_call(uint8_t *at, const struct kp_fake_api_call *call)
{
	CUpti_ActivityAPI api = {
		.kind = CUPTI_ACTIVITY_KIND_DRIVER,
		.cbid = call->cbid,
		.start = call->start_ns,
		.end = call->end_ns,
		.processId = (uint32_t)getpid(),
		.threadId = (uint32_t)gettid(),
		.correlationId = call->correlation,
		.returnValue = call->result,
	};

	memcpy(at, &api, sizeof(api));
}

static void write_external(uint8_t *at, const struct kp_fake_op *op)
{
	CUpti_ActivityExternalCorrelation external = {
		.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
		.externalKind = (CUpti_ExternalCorrelationKind)op->external_kind,
		.externalId = op->external_id,
		.correlationId = op->correlation,
	};

	memcpy(at, &external, sizeof(external));
}

void kp_fake_record_write(uint8_t *at, CUpti_ActivityKind kind, const struct kp_fake_op *op)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		write_copy(at, kind, op);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		write_set(at, kind, op);
		break;
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		write_kernel(at, kind, op);
		break;
	case CUPTI_ACTIVITY_KIND_DRIVER:
		write_call(at, op->call);
		break;
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		write_external(at, op);
		break;
	default:
		memset(at, 0x7e, KP_FAKE_UNKNOWN_BYTES);
		memcpy(at, &kind, sizeof(kind));
		break;
	}
}

void kp_fake_record_finish(uint8_t *at, CUpti_ActivityKind kind, uint64_t start_ns, uint64_t end_ns)
{
	const struct layout *layout = find_layout(kind);

	if (!layout)
		return;
	memcpy(at + layout->start, &start_ns, sizeof(start_ns));
	memcpy(at + layout->end, &end_ns, sizeof(end_ns));
	if (layout->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		memcpy(at + offsetof(CUpti_ActivityKernel8, completed), &end_ns, sizeof(end_ns));
}

KP_FAKE_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
						      CUpti_Activity **record)
{
	size_t offset = 0, bytes;
	CUpti_ActivityKind kind;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		uint8_t *last = (uint8_t *)*record;

		memcpy(&kind, last, sizeof(kind));
		offset = (size_t)(last - buffer) + kp_fake_record_bytes(kind);
	}
	if (offset + sizeof(kind) > valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	memcpy(&kind, buffer + offset, sizeof(kind));
	bytes = kp_fake_record_bytes(kind);
	if (!bytes || offset + bytes > valid_bytes)
		return CUPTI_ERROR_INVALID_KIND;
	*record = (CUpti_Activity *)(void *)(buffer + offset);
	return CUPTI_SUCCESS;
}
