/* Programs that ran without kprof; see untraced.h. Entries may still be added while they are read.
 */
#include "profiler/untraced.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "profiler/say.h"
#include "trace/writer.h"

/* An entry as it is now; false: it is free, being filled, or was taken back. */
static bool read_entry(const struct kp_live_untraced *entry, uint64_t *times, char *program)
{
	if (atomic_load_explicit(&entry->entry, memory_order_acquire) != KP_LIVE_ENTRY_FILLED)
		return false;
	*times = atomic_load(&entry->times);
	memcpy(program, entry->program, KP_LIVE_PROGRAM_BYTES - 1);
	program[KP_LIVE_PROGRAM_BYTES - 1] = '\0';
	return *times > 0 && *times < INT64_MAX &&
	       kp_program_reason((enum kp_program_kind)entry->kind);
}

static struct kp_text text_of(const char *bytes)
{
	return (struct kp_text){bytes, strlen(bytes)};
}

static enum kp_status append(const struct kp_live_untraced *entry, uint64_t times,
			     const char *program, int fd)
{
	struct kp_process_info info = {0};
	struct kp_writer *writer;
	uint64_t process = 0;
	char host[256];
	enum kp_status status;

	if (getrandom(&process, sizeof process, 0) != (ssize_t)sizeof process)
		return KP_IO;
	status = kp_writer_create(fd, process, &writer);
	if (status != KP_OK)
		return status;
	KP_SET(&info, PROCESS, pid, entry->pid);
	KP_SET(&info, PROCESS, parent_pid, entry->parent_pid);
	KP_SET(&info, PROCESS, command, text_of(program));
	KP_SET(&info, PROCESS, executable, text_of(program));
	KP_SET(&info, PROCESS, untraced, times);
	if (gethostname(host, sizeof host) == 0) {
		host[sizeof host - 1] = '\0';
		KP_SET(&info, PROCESS, host, text_of(host));
	}
	status = kp_writer_process(writer, &info);
	if (status == KP_OK)
		status = kp_writer_note(writer, KP_NOTE_INFO,
					kp_program_reason((enum kp_program_kind)entry->kind));
	kp_writer_destroy(writer);
	return status;
}

enum kp_status kp_untraced_append(const struct kp_live *live, int fd)
{
	enum kp_status status = KP_OK;
	char program[KP_LIVE_PROGRAM_BYTES];
	uint64_t times;

	for (size_t i = 0; i < KP_LIVE_UNTRACED && status == KP_OK; i++)
		if (read_entry(&live->untraced[i], &times, program))
			status = append(&live->untraced[i], times, program, fd);
	return status;
}

void kp_untraced_say(const struct kp_live *live)
{
	const char *reason = NULL;
	char first[KP_LIVE_PROGRAM_BYTES], program[KP_LIVE_PROGRAM_BYTES];
	uint64_t times;
	size_t more = 0;

	for (size_t i = 0; i < KP_LIVE_UNTRACED; i++) {
		if (!read_entry(&live->untraced[i], &times, program))
			continue;
		if (reason) {
			more++;
			continue;
		}
		reason = kp_program_reason((enum kp_program_kind)live->untraced[i].kind);
		memcpy(first, program, sizeof first);
	}
	if (reason && more)
		kp_say("%s %s (and %zu more programs that kprof could not see into)", first, reason,
		       more);
	else if (reason)
		kp_say("%s %s", first, reason);
}
