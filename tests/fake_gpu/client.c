/* The CUPTI client of test_fake_cupti; see client.h. */
#include "tests/fake_gpu/client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fake_gpu/common/image.h"

struct kp_client kp_client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void kp_client_expect(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
	_exit(1);
}

int kp_client_run(const char *faults, void (*body)(void))
{
	char ledger[] = "/tmp/kp_fake_ledgerXXXXXX";
	int fd = mkstemp(ledger), status = 0;
	pid_t child;

	if (fd < 0)
		return -1;
	close(fd);
	child = fork();
	if (child == 0) {
		setenv("KP_FAKE_LEDGER", ledger, 1);
		setenv("KP_FAKE", faults ? faults : "", 1);
		body();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		status = -1;
	unlink(ledger);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

static void CUPTIAPI request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*max_records = 0;
	*bytes = KP_CLIENT_BUFFER_BYTES;
	*buffer = NULL;
	if (kp_client.give_none)
		return;
	*buffer = kp_client.give_again ? kp_client.give_again
				       : aligned_alloc(64, KP_CLIENT_BUFFER_BYTES);
	pthread_mutex_lock(&lock);
	kp_client.last_buffer = *buffer;
	kp_client.buffers_given++;
	pthread_mutex_unlock(&lock);
}

static void read_kernel(const CUpti_ActivityKernel8 *from, struct kp_client_record *to)
{
	to->start_ns = from->start;
	to->end_ns = from->end;
	to->correlation = from->correlationId;
	to->stream = from->streamId;
	to->graph = from->graphId;
	to->graph_node = from->graphNodeId;
	snprintf(to->name, sizeof(to->name), "%s", from->name);
}

static void read_copy(const CUpti_ActivityMemcpy5 *from, struct kp_client_record *to)
{
	to->start_ns = from->start;
	to->end_ns = from->end;
	to->correlation = from->correlationId;
	to->stream = from->streamId;
	to->bytes = from->bytes;
	to->copy_kind = from->copyKind;
}

static void read_set(const CUpti_ActivityMemset4 *from, struct kp_client_record *to)
{
	to->start_ns = from->start;
	to->end_ns = from->end;
	to->correlation = from->correlationId;
	to->stream = from->streamId;
	to->bytes = from->bytes;
}

static void read_call(const CUpti_ActivityAPI *from, struct kp_client_record *to)
{
	to->start_ns = from->start;
	to->end_ns = from->end;
	to->correlation = from->correlationId;
}

static void read_external(const CUpti_ActivityExternalCorrelation *from,
			  struct kp_client_record *to)
{
	to->correlation = from->correlationId;
	to->external = from->externalId;
}

static void add(const CUpti_Activity *record)
{
	struct kp_client_record *to = &kp_client.records[kp_client.count++];

	KP_EXPECT(kp_client.count <= KP_CLIENT_RECORDS);
	to->kind = record->kind;
	if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		read_kernel((const CUpti_ActivityKernel8 *)record, to);
	else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		read_copy((const CUpti_ActivityMemcpy5 *)record, to);
	else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET)
		read_set((const CUpti_ActivityMemset4 *)record, to);
	else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER)
		read_call((const CUpti_ActivityAPI *)record, to);
	else if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
		read_external((const CUpti_ActivityExternalCorrelation *)record, to);
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid_bytes)
{
	CUpti_Activity *record = NULL;
	CUptiResult result;

	(void)context;
	(void)stream;
	(void)bytes;
	pthread_mutex_lock(&lock);
	while ((result = cuptiActivityGetNextRecord(buffer, valid_bytes, &record)) == CUPTI_SUCCESS)
		add(record);
	KP_EXPECT(result == CUPTI_ERROR_MAX_LIMIT_REACHED);
	kp_client.buffers_returned++;
	pthread_mutex_unlock(&lock);
	if (buffer != kp_client.give_again)
		free(buffer);
}

void kp_client_begin_cuda(void)
{
	struct kp_fake_kernel kernel = {.name = "test_kernel", .duration_ns = 1000};
	struct kp_fake_image image = {KP_FAKE_IMAGE_MAGIC, 1, &kernel};
	CUmodule module;

	KP_EXPECT(cuInit(0) == CUDA_SUCCESS);
	KP_EXPECT(cuDevicePrimaryCtxRetain(&kp_client.context, 0) == CUDA_SUCCESS);
	KP_EXPECT(cuCtxSetCurrent(kp_client.context) == CUDA_SUCCESS);
	KP_EXPECT(cuModuleLoadData(&module, &image) == CUDA_SUCCESS);
	KP_EXPECT(cuModuleGetFunction(&kp_client.function, module, kernel.name) == CUDA_SUCCESS);
}

void kp_client_register(void)
{
	KP_EXPECT(cuptiActivityRegisterCallbacks(request, complete) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS);
}

void kp_client_begin(void)
{
	kp_client_register();
	KP_EXPECT(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS);
	KP_EXPECT(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET) == CUPTI_SUCCESS);
	kp_client_begin_cuda();
}

void kp_client_launch(CUstream stream)
{
	KP_EXPECT(cuLaunchKernel(kp_client.function, 3, 2, 1, 64, 1, 1, 0, stream, NULL, NULL) ==
		  CUDA_SUCCESS);
}

CUstream kp_client_stream(void)
{
	CUstream stream;

	KP_EXPECT(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	return stream;
}

size_t kp_client_count(CUpti_ActivityKind kind)
{
	size_t count = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < kp_client.count; i++)
		count += kp_client.records[i].kind == kind;
	pthread_mutex_unlock(&lock);
	return count;
}
