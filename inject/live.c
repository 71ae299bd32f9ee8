/* This process's slot in the mapping that the launcher reads; see trace/live.h. */
#include "inject/state.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kp_live_slot private_slot;
static struct kp_live *at_hand; /* for good; a forked child has it, too */

struct kp_live *kp_live_map(const char *path)
{
	struct kp_live *live = MAP_FAILED;
	struct stat about;
	int fd;

	if (!path[0])
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &about) == 0 && about.st_size >= (off_t)sizeof(*live))
		live = mmap(NULL, sizeof(*live), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (live == MAP_FAILED)
		return NULL;
	if (live->magic != KP_LIVE_MAGIC) {
		munmap(live, sizeof(*live));
		return NULL;
	}
	return live;
}

/* Whose numbers processes have here. */
static uint64_t pid_namespace(void)
{
	struct stat about;

	return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

void kp_live_attach(struct kp_inject *inject)
{
	struct kp_live *live = kp_live_map(inject->settings.live_path);
	struct kp_live_slot *slot = &private_slot;

	if (live) {
		uint32_t number = atomic_fetch_add(&live->slots_taken, 1);

		at_hand = live;
		if (number < KP_LIVE_SLOTS)
			slot = &live->slots[number];
	}
	atomic_store(&slot->pid, (uint32_t)inject->pid);
	atomic_store(&slot->pid_namespace, pid_namespace());
	atomic_store(&slot->state, KP_LIVE_RUNNING);
	atomic_store_explicit(&slot->process, inject->process, memory_order_release);
	inject->slot = slot;
}

struct kp_live *kp_live_at_hand(void)
{
	return at_hand;
}

void kp_live_forget(struct kp_inject *inject)
{
	memset(&private_slot, 0, sizeof(private_slot));
	inject->slot = &private_slot;
}

void kp_live_tell(struct kp_inject *inject, const char *text)
{
	size_t length = strnlen(text, KP_LIVE_MESSAGE_BYTES - 1);

	if (!inject->slot->message[0])
		memcpy(inject->slot->message, text, length);
}

void kp_live_say(struct kp_inject *inject, const char *format, ...)
{
	char line[KP_LIVE_MESSAGE_BYTES];
	va_list arguments;

	if (inject->slot->message[0])
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments); /* NOLINT(clang-analyzer-valist*) */
	va_end(arguments);
	memcpy(inject->slot->message, line, sizeof(line));
}
