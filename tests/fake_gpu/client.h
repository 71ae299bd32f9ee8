/*
 * A small client of CUPTI and the driver for test_fake_cupti: collects records into a plain array.
 *
 * Each test body runs in a child of its own (kp_client_run), because the fakes read KP_FAKE once a
 * process. Threading: records are added under a lock, for CUPTI's worker delivers too.
 */
#ifndef KP_FAKE_GPU_CLIENT_H
#define KP_FAKE_GPU_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>

#define KP_CLIENT_RECORDS 4096
#define KP_CLIENT_BUFFER_BYTES 16384

struct kp_client_record {
	CUpti_ActivityKind kind;
	uint64_t start_ns, end_ns, graph_node, bytes, external;
	uint32_t correlation, stream, graph, copy_kind;
	char name[32];
};

struct kp_client {
	struct kp_client_record records[KP_CLIENT_RECORDS];
	size_t count;
	CUcontext context;
	CUfunction function;  /* «test_kernel», 1000 ns */
	uint8_t *last_buffer; /* the one given last */
	size_t buffers_given, buffers_returned;
	bool give_none;      /* refuse to give buffers */
	uint8_t *give_again; /* give this memory, held or not */
};

extern struct kp_client kp_client;

/*
 * Runs `body` in a child with KP_FAKE=`faults` (NULL: none) and a fresh ledger, which the body
 * reads with kp_fake_counted. Returns the child's exit status, 128 + n for a signal: 0 when all is
 * well.
 */
int kp_client_run(const char *faults, void (*body)(void));

/* In a body: ends the child with status 1 and a line where the condition does not hold. */
#define KP_EXPECT(condition) kp_client_expect((condition), #condition, __FILE__, __LINE__)
void kp_client_expect(bool holds, const char *what, const char *file, int line);

/* cuInit, a context and the kernel. */
void kp_client_begin_cuda(void);
/* Registers with CUPTI and enables kernels. */
void kp_client_register(void);
/* The same, copies and sets too; then kp_client_begin_cuda. */
void kp_client_begin(void);
/* One launch of the kernel. */
void kp_client_launch(CUstream stream);
/* A stream that is not ordered with the default stream. */
CUstream kp_client_stream(void);
/* How many records of a kind have come. */
size_t kp_client_count(CUpti_ActivityKind kind);

#endif
