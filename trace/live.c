/* The list of programs that ran without kprof, and who samples which GPU; see live.h. */
#include "trace/live.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* Takes a free entry. Two processes that list one program at the same instant may take two. */
static bool take(struct kp_live_untraced *entry)
{
	uint32_t expected = KP_LIVE_ENTRY_FREE;

	return atomic_compare_exchange_strong(&entry->entry, &expected, KP_LIVE_ENTRY_FILLING);
}

static bool is_of(const struct kp_live_untraced *entry, enum kp_program_kind kind,
		  const char *program)
{
	size_t length = strnlen(program, KP_LIVE_PROGRAM_BYTES - 1);

	return atomic_load_explicit(&entry->entry, memory_order_acquire) == KP_LIVE_ENTRY_FILLED &&
	       entry->kind == (uint32_t)kind && memcmp(entry->program, program, length) == 0 &&
	       entry->program[length] == '\0';
}

static void fill(struct kp_live_untraced *entry, enum kp_program_kind kind, const char *program,
		 uint32_t pid, uint32_t parent_pid)
{
	entry->kind = kind;
	entry->pid = pid;
	entry->parent_pid = parent_pid;
	memcpy(entry->program, program, strnlen(program, KP_LIVE_PROGRAM_BYTES - 1));
	atomic_store(&entry->times, 1);
	atomic_store_explicit(&entry->entry, KP_LIVE_ENTRY_FILLED, memory_order_release);
}

void kp_live_list(struct kp_live *live, enum kp_program_kind kind, const char *program,
		  uint32_t pid, uint32_t parent_pid)
{
	for (size_t i = 0; i < KP_LIVE_UNTRACED; i++) {
		struct kp_live_untraced *entry = &live->untraced[i];

		if (is_of(entry, kind, program)) {
			atomic_fetch_add(&entry->times, 1);
			return;
		}
		if (take(entry)) {
			fill(entry, kind, program, pid, parent_pid);
			return;
		}
	}
	atomic_fetch_add(&live->untraced_unlisted, 1);
}

void kp_live_unlist(struct kp_live *live, enum kp_program_kind kind, const char *program)
{
	for (size_t i = 0; i < KP_LIVE_UNTRACED; i++)
		if (is_of(&live->untraced[i], kind, program)) {
			atomic_fetch_sub(&live->untraced[i].times, 1);
			return;
		}
	atomic_fetch_sub(&live->untraced_unlisted, 1);
}

/* ---- who samples which GPU ---- */

/* The entry of a GPU, made if there is none; NULL: there is no room. */
static struct kp_live_sampler *sampler_of(struct kp_live *live, uint64_t gpu)
{
	for (size_t i = 0; i < KP_LIVE_GPUS; i++) {
		struct kp_live_sampler *sampler = &live->samplers[i];
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&sampler->gpu, &found, gpu) || found == gpu)
			return sampler;
	}
	return NULL;
}

static bool is_alive(uint32_t pid)
{
	int error = errno;
	bool alive = kill((pid_t)pid, 0) == 0 || errno != ESRCH;

	errno = error;
	return alive;
}

uint32_t kp_live_claim(struct kp_live *live, uint64_t gpu, uint32_t pid)
{
	struct kp_live_sampler *sampler = sampler_of(live, gpu);
	uint32_t owner = 0;

	while (sampler && !atomic_compare_exchange_strong(&sampler->pid, &owner, pid)) {
		if (owner == pid || is_alive(owner))
			return owner;
		/* It was killed: its place is taken over, unless another has been faster. */
	}
	return sampler ? pid : 0;
}

void kp_live_release(struct kp_live *live, uint64_t gpu, uint32_t pid)
{
	struct kp_live_sampler *sampler = sampler_of(live, gpu);

	if (sampler)
		atomic_compare_exchange_strong(&sampler->pid, &pid, 0);
}
