/*
 * Memory that the program maps to addresses itself: of a file without a name, as often as it likes.
 * Access is there from the beginning, and sizes are of pages.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake_gpu/driver/allocations.h"

#define FIRST_HANDLE 0x700000000000U /* and the number of its file */

static int file_of(CUmemGenericAllocationHandle handle)
{
	return (int)(handle - FIRST_HANDLE);
}

KP_FAKE_EXPORT CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment,
					    CUdeviceptr wish, unsigned long long flags)
{
	CUresult result = kp_fake_ready();
	void *at;

	(void)alignment, (void)wish;
	if (result != CUDA_SUCCESS)
		return result;
	if (!out || bytes == 0 || flags)
		return CUDA_ERROR_INVALID_VALUE;
	at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*out = at == MAP_FAILED ? 0 : (CUdeviceptr)at;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

KP_FAKE_EXPORT CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
	return munmap((void *)at, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
				    const CUmemAllocationProp *what, unsigned long long flags)
{
	CUresult result = kp_fake_ready();
	int file;

	if (result != CUDA_SUCCESS)
		return result;
	if (!out || !what || bytes == 0 || flags)
		return CUDA_ERROR_INVALID_VALUE;
	file = memfd_create("fake_cuda", MFD_CLOEXEC);
	if (file < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (ftruncate(file, (off_t)bytes) != 0) {
		close(file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = FIRST_HANDLE + (CUmemGenericAllocationHandle)file;
	return CUDA_SUCCESS;
}

/* What is mapped stays. */
KP_FAKE_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	return close(file_of(handle)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset,
				 CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct CUctx_st *context;
	CUresult result = kp_fake_ready_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (offset || flags ||
	    mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_of(handle),
		 0) == MAP_FAILED)
		return CUDA_ERROR_INVALID_VALUE;
	kp_fake_put(at, bytes, KP_FAKE_MEMORY_MAPPED, context->device);
	return CUDA_SUCCESS;
}

KP_FAKE_EXPORT CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access,
				       size_t count)
{
	return at && bytes && access && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

KP_FAKE_EXPORT CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
	if (!kp_fake_take_out(at))
		return CUDA_ERROR_INVALID_VALUE;
	return mmap((void *)at, bytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}
