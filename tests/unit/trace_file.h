/* Small traces for tests: a temporary file, a writer on it, and its bytes. */
#ifndef KP_TESTS_TRACE_FILE_H
#define KP_TESTS_TRACE_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/writer.h"

struct trace_file {
	char path[64];
	int fd;
	struct kp_writer *writer;
};

static inline void trace_file_begin(struct trace_file *file, uint64_t process)
{
	snprintf(file->path, sizeof(file->path), "/tmp/kprof-test-XXXXXX");
	file->fd = mkostemp(file->path, O_APPEND);
	if (file->fd < 0 || kp_writer_create(file->fd, process, &file->writer) != KP_OK)
		abort();
}

static inline void trace_file_end(struct trace_file *file)
{
	kp_writer_destroy(file->writer);
	close(file->fd);
	unlink(file->path);
}

/* A kernel's configuration: named, one block of 128 threads, on a device and stream. */
static inline uint32_t trace_file_config(struct trace_file *file, const char *name, uint32_t device,
					 uint32_t stream)
{
	struct kp_launch_config config = {.device = device,
					  .context = 1,
					  .stream = stream,
					  .grid = {1, 1, 1},
					  .block = {128, 1, 1}};
	uint32_t number;

	if (kp_writer_intern(file->writer, name, strlen(name), &config.name) != KP_OK ||
	    kp_writer_config(file->writer, &config, &number) != KP_OK)
		abort();
	return number;
}

static inline void trace_file_launch(struct trace_file *file, uint32_t config, uint64_t start_ns,
				     uint64_t end_ns)
{
	struct kp_launch launch = {.start_ns = start_ns, .end_ns = end_ns, .config = config};

	if (kp_writer_launch(file->writer, &launch) != KP_OK)
		abort();
}

#endif
