/*
 * In the collector's place, for tests of what kprof does after the program: takes a slot of the
 * shared mapping as trace/live.h says, and fills it as LAUNCHER_SLOT says. It records nothing.
 *
 * LAUNCHER_SLOT is «state issued recorded written trace message»: numbers, «-» for an unknown
 * count, whether a process record is written to the trace (0, 1, or 2: an end record too),
 * then text.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/live.h"
#include "trace/writer.h"

static void write_records(uint64_t process, bool ended)
{
	const char *path = getenv("KPROF_TRACE");
	int fd = open(path ? path : "", O_WRONLY | O_APPEND | O_CLOEXEC);
	struct kp_process_info info = {0};
	struct kp_end end = {0};
	struct kp_writer *writer;

	if (fd < 0 || kp_writer_create(fd, process, &writer) != KP_OK)
		abort();
	KP_SET(&info, PROCESS, pid, (uint64_t)getpid());
	KP_SET(&info, PROCESS, cupti_version, 130001);
	KP_SET(&info, PROCESS, command, ((struct kp_text){"scripted", 8}));
	kp_writer_process(writer, &info);
	KP_SET(&end, END, end_ns, 1000);
	if (ended)
		kp_writer_end(writer, &end);
	kp_writer_destroy(writer);
	close(fd);
}

/* A count, or «-»: then *known is false. */
static uint64_t number(const char *word, bool *known)
{
	*known = strcmp(word, "-") != 0;
	return *known ? strtoull(word, NULL, 10) : 0;
}

static void fill(struct kp_live *live, const char *script)
{
	char issued[24], dropped[24], message[KP_LIVE_MESSAGE_BYTES] = "";
	unsigned long long recorded, written;
	unsigned state, trace;
	bool known;

	_Static_assert(sizeof message == 368, "the format below says so");
	if (sscanf(script, "%u %23s %llu %llu %23s %u %367[^\n]", &state, issued, &recorded,
		   &written, dropped, &trace, message) < 6)
		abort();
	uint32_t index = atomic_fetch_add(&live->slots_taken, 1);
	struct kp_live_slot *slot = &live->slots[index];
	uint64_t process = 0x1000u + (uint64_t)getpid();
	atomic_store(&slot->pid, (uint32_t)getpid());
	atomic_store(&slot->state, state);
	atomic_store(&slot->kernels_issued, number(issued, &known));
	atomic_store(&slot->issued_known, known);
	atomic_store(&slot->records_dropped, number(dropped, &known));
	if (!known)
		atomic_store(&slot->records_dropped, UINT64_MAX);
	atomic_store(&slot->kernels_recorded, recorded);
	atomic_store(&slot->kernels_told, recorded); /* the others came after the end */
	atomic_store(&slot->kernels_written, written);
	memcpy(slot->message, message, sizeof message);
	if (trace > 0)
		write_records(process, trace == 2);
	atomic_store_explicit(&slot->process, process, memory_order_release);
}

__attribute__((constructor)) static void start(void)
{
	const char *script = getenv("LAUNCHER_SLOT"), *path = getenv("KPROF_LIVE");
	int error = errno;

	if (!script || !path)
		return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct kp_live *live =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, sizeof *live, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (live == MAP_FAILED || live->magic != KP_LIVE_MAGIC)
		abort();
	fill(live, script);
	munmap(live, sizeof *live);
	close(fd);
	errno = error;
}
