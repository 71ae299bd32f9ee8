/*
 * What memory there is, and of which kind; see allocations.h. Memory of the host and managed memory
 * are the host's like all other memory here: they differ in what cuPointerGetAttribute says.
 */
#include "tests/fake_gpu/driver/allocations.h"

#include <stdlib.h>

#include "tests/fake_gpu/driver/order.h"

#define POOL 0x500100U /* a handle */

/* Allocations that are alive. With the lock. */
static struct allocation {
	CUdeviceptr at;
	size_t bytes;
	enum kp_fake_memory kind;
	CUdevice device;
	struct allocation *next;
} * allocations;

void kp_fake_put(CUdeviceptr at, size_t bytes, enum kp_fake_memory kind, CUdevice device)
{
	struct allocation *allocation = kp_fake_alloc(sizeof(*allocation));

	allocation->at = at;
	allocation->bytes = bytes;
	allocation->kind = kind;
	allocation->device = device;
	kp_fake_lock();
	allocation->next = allocations;
	allocations = allocation;
	kp_fake_unlock();
}

CUdeviceptr kp_fake_allocate(size_t bytes, enum kp_fake_memory kind, CUdevice device)
{
	CUdeviceptr at = (CUdeviceptr)calloc(1, bytes);

	if (at)
		kp_fake_put(at, bytes, kind, device);
	return at;
}

/* One that begins there, and is mapped or not. */
static bool take_out(CUdeviceptr at, bool is_mapped)
{
	struct allocation **link = &allocations, *found;

	kp_fake_lock();
	while (*link &&
	       ((*link)->at != at || ((*link)->kind == KP_FAKE_MEMORY_MAPPED) != is_mapped))
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	kp_fake_unlock();
	free(found);
	return found != NULL;
}

bool kp_fake_take_out(CUdeviceptr at)
{
	return take_out(at, true);
}

bool kp_fake_free(CUdeviceptr at, struct CUstream_st *behind)
{
	if (!take_out(at, false))
		return false;
	if (!kp_fake_order_freed((void *)at, behind))
		free((void *)at);
	return true;
}

/* With the lock. */
static const struct allocation *find(CUdeviceptr at)
{
	const struct allocation *found = allocations;

	while (found && at - found->at >= found->bytes)
		found = found->next;
	return found;
}

bool kp_fake_is_device(CUdeviceptr at)
{
	const struct allocation *found;
	bool is;

	kp_fake_lock();
	found = find(at);
	is = found && found->kind <= KP_FAKE_MEMORY_POOL;
	kp_fake_unlock();
	return is;
}

KP_FAKE_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
	CUresult result = kp_fake_ready();
	const struct allocation *found;

	if (result != CUDA_SUCCESS)
		return result;
	kp_fake_lock();
	found = find(at);
	if (found && base)
		*base = found->at;
	if (found && bytes)
		*bytes = found->bytes;
	kp_fake_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

KP_FAKE_EXPORT CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attribute,
					      CUdeviceptr at)
{
	CUresult result = kp_fake_ready();
	bool is_pool = attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
	const struct allocation *found;
	uint64_t value = 0;

	if (result != CUDA_SUCCESS)
		return result;
	kp_fake_lock();
	found = find(at);
	if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		value = found && found->kind == KP_FAKE_MEMORY_HOST ? CU_MEMORYTYPE_HOST
								    : CU_MEMORYTYPE_DEVICE;
	else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
		value = found && found->kind == KP_FAKE_MEMORY_MANAGED;
	else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		value = found ? (unsigned)found->device : 0;
	else if (is_pool)
		value = found && found->kind == KP_FAKE_MEMORY_POOL ? POOL : 0;
	else
		found = NULL;
	kp_fake_unlock();
	if (!out || !found)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_pool)
		*(uint64_t *)out = value;
	else
		*(unsigned *)out = (unsigned)value; /* managed, too, as the header says */
	return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *out, size_t bytes, enum kp_fake_memory kind)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = kp_fake_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	*out = kp_fake_allocate(bytes, kind, context->device);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

KP_FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	return allocate(out, bytes, KP_FAKE_MEMORY_DEVICE);
}

KP_FAKE_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
	(void)flags;
	return allocate(out, bytes, KP_FAKE_MEMORY_MANAGED);
}

/* Mapped: the device's address is the host's. */
KP_FAKE_EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
	CUdeviceptr at = 0;
	CUresult result = allocate(&at, bytes, KP_FAKE_MEMORY_HOST);

	(void)flags;
	if (out && result == CUDA_SUCCESS)
		*out = (void *)at;
	return result;
}

/* It waits for all that the context has before it. */
KP_FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr memory)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS || !memory)
		return result;
	result = kp_fake_unsafe();
	if (result != CUDA_SUCCESS)
		return result;
	kp_fake_order_context_reached(context);
	return kp_fake_free(memory, NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find_stream(CUstream handle, struct CUstream_st **out)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result == CUDA_SUCCESS)
		*out = kp_fake_stream_resolve(context, handle, false);
	return result == CUDA_SUCCESS && !*out ? CUDA_ERROR_INVALID_HANDLE : result;
}

KP_FAKE_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	kp_fake_order_op(stream);
	return allocate(out, bytes, KP_FAKE_MEMORY_POOL);
}

KP_FAKE_EXPORT CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = find_stream(handle, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	return kp_fake_is_device(memory) && kp_fake_free(memory, stream) ? CUDA_SUCCESS
									 : CUDA_ERROR_INVALID_VALUE;
}
