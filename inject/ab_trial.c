/*
 * First exposure of the user's replacements: the data of a live launch is copied out, and a process
 * of kprof's own tries them on it; trace/ab_trials.h, ab_trial.h.
 *
 * Copies go to pinned memory, on the launch's stream, before the original; behind them comes a
 * number that says that they are there. The worker writes them to a file and asks. There is one
 * such memory, for one launch at a time: who finds it in use comes again.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/ab_trials.h"

/* Behind the copies: what becomes `turn`. */
#define TOLD_BYTES 256U
#define ROOM_LEAST ((size_t)1 << 16)

enum { EMPTY, COPYING, WRITING };

static struct kp_ab_trials_file *trials;
static char path[PATH_MAX];
static _Atomic uint32_t refused; /* rules whose trial failed, as bits */

/* The one launch that is being copied: whoever made `state` COPYING, then the worker. */
static struct {
	_Atomic uint32_t state;
	uint32_t number;   /* of the trial */
	uint32_t turn;     /* never twice the same */
	CUcontext context; /* where the copies are made */
	char *memory;      /* pinned: a head, the regions, and what tells of them */
	size_t room;       /* of it */
	struct kp_ab_trial_head head;
} copied;

static const char *const fault_keys[KP_AB_TRIAL_FAULT_COUNT] = {
#define KEY_OF(NAME, key, what, wrong) key,
	KP_AB_TRIAL_FAULTS(KEY_OF)
#undef KEY_OF
};

void kp_ab_trials_open(const char *plan)
{
	struct kp_ab_trials_file *file = MAP_FAILED;
	struct stat about;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s" KP_AB_TRIALS_SUFFIX, plan) < (int)sizeof(path))
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &about) == 0 && about.st_size == (off_t)sizeof(*file))
		file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return;
	if (file->magic == KP_AB_TRIALS_MAGIC)
		trials = file;
	else
		munmap(file, sizeof(*file));
}

void kp_ab_trials_forget(void)
{
	trials = NULL;
	atomic_store(&refused, 0);
	memset(&copied, 0, sizeof(copied));
}

/* ---- places ---- */

static uint32_t state_of(uint32_t number)
{
	return atomic_load_explicit(&trials->trials[number].state, memory_order_acquire);
}

static uint32_t places_taken(void)
{
	uint32_t taken = atomic_load(&trials->taken);

	return taken < KP_AB_TRIALS_MOST ? taken : KP_AB_TRIALS_MOST;
}

/* The trial of a rule and a shape; KP_AB_TRIALS_MOST: there is none. */
static uint32_t find(const struct kp_ab_job *job)
{
	uint32_t taken = places_taken();

	for (uint32_t i = 0; i < taken; i++)
		if (state_of(i) != KP_AB_TRIAL_FREE && trials->trials[i].rule == job->number &&
		    trials->trials[i].shape == job->shape)
			return i;
	return KP_AB_TRIALS_MOST;
}

/* How many shapes of a rule are being tried, or have been; *passed: did no harm. */
static uint32_t count(uint32_t rule, uint32_t *passed)
{
	uint32_t taken = places_taken(), all = 0;

	*passed = 0;
	for (uint32_t i = 0; i < taken; i++) {
		if (state_of(i) == KP_AB_TRIAL_FREE || trials->trials[i].rule != rule)
			continue;
		*passed += state_of(i) == KP_AB_TRIAL_PASSED;
		all++;
	}
	return all;
}

/* Whether so many shapes of a rule did no harm that others need not be tried. */
static bool is_known(uint32_t rule)
{
	uint32_t passed;

	count(rule, &passed);
	return passed >= KP_AB_TRIALS_OF_RULE ||
	       (passed > 0 && places_taken() == KP_AB_TRIALS_MOST);
}

/* KP_AB_TRIALS_MOST: all places are taken, or as many as a rule may have. */
static uint32_t take_place(const struct kp_ab_job *job)
{
	uint32_t number = places_taken(), passed;

	if (count(job->number, &passed) >= KP_AB_TRIALS_OF_RULE)
		return KP_AB_TRIALS_MOST;
	if (number < KP_AB_TRIALS_MOST)
		number = atomic_fetch_add(&trials->taken, 1);
	if (number >= KP_AB_TRIALS_MOST)
		return KP_AB_TRIALS_MOST;
	trials->trials[number].rule = job->number;
	trials->trials[number].shape = job->shape;
	atomic_store(&trials->trials[number].state, KP_AB_TRIAL_TAKEN);
	return number;
}

/* Without asking: there is nothing to try it on. With the mutex. */
static void give_up(uint32_t number, enum kp_ab_trial_fault fault)
{
	const struct kp_ab_trial *trial = &trials->trials[number];

	kp_ab_write(
		"{\"trial\":{\"rule\":%u,\"shape\":\"%016llx\",\"fault\":\"%s\",\"error\":0}}\n",
		trial->rule, (unsigned long long)trial->shape, fault_keys[fault]);
	atomic_store(&trials->trials[number].state, KP_AB_TRIAL_FAILED);
}

/* ---- copying a launch ---- */

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + KP_AB_TRIAL_ALIGNED - 1) / KP_AB_TRIAL_ALIGNED * KP_AB_TRIAL_ALIGNED;
}

static bool is_declared(const struct kp_ab_job *job, uint64_t address)
{
	for (uint32_t i = 0; i < job->data_count; i++)
		if (address - job->data[i].address < job->data[i].bytes)
			return true;
	return false;
}

/* False: it is more than can be copied. */
static bool add_region(struct kp_ab_trial_head *head, uint32_t role, uint64_t address,
		       uint64_t bytes)
{
	if (bytes > KP_AB_TRIAL_BYTES_MOST - head->bytes)
		return false;
	head->regions[head->region_count++] =
		(struct kp_ab_trial_region){address, bytes, head->bytes, role, 0};
	head->bytes += rounded(bytes);
	return head->bytes <= KP_AB_TRIAL_BYTES_MOST;
}

/* Of what is not declared all that follows in the same allocation may be meant. */
static bool add_undeclared(const struct kp_ab_job *job, struct kp_ab_trial_head *head)
{
	bool good = true;
	uint32_t at;

	for (uint32_t i = 0; good && i < job->rule->argument_count; i++) {
		uint64_t address = (uint64_t)job->values[i];
		CUdeviceptr base = 0;
		size_t bytes = 0;

		if (!kp_ab_job_is_pointer(&kp_ab.plan, job->rule, i, &at) || address == 0 ||
		    is_declared(job, address))
			continue;
		if (kp_ab.driver.range(&base, &bytes, address) == CUDA_SUCCESS &&
		    address - base < bytes)
			good = add_region(head, KP_AB_TRIAL_UNDECLARED, address,
					  bytes - (address - base));
	}
	return good;
}

static void find_place(int32_t place[3])
{
	static const CUdevice_attribute attributes[] = {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
							CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
							CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
	CUdevice device = 0;

	kp_ab.driver.device(&device);
	for (int i = 0; i < 3; i++) {
		int value = 0;

		kp_ab.driver.device_attribute(&value, attributes[i], device);
		place[i] = value;
	}
}

/* False: it is more than can be copied. */
static bool describe(const struct kp_ab_job *job, struct kp_ab_trial_head *head)
{
	bool good = true;

	*head = (struct kp_ab_trial_head){.magic = KP_AB_TRIAL_MAGIC,
					  .version = KP_AB_TRIAL_VERSION,
					  .rule = job->number,
					  .bytes = rounded(sizeof(*head)),
					  .shared_bytes = job->shared_bytes};
	find_place(head->place);
	memcpy(head->grid, job->grid, sizeof(head->grid));
	memcpy(head->block, job->block, sizeof(head->block));
	memcpy(head->values, job->values, job->rule->argument_count * sizeof(head->values[0]));
	for (uint32_t i = 0; good && i < job->data_count; i++)
		good = add_region(head, job->data[i].role, job->data[i].address,
				  job->data[i].bytes);
	return good && add_undeclared(job, head);
}

/*
 * Pinned memory for so much, for all contexts, kept for good: sizes are powers of two, so that what
 * was too small is no more than the last.
 */
static bool have_room(size_t least)
{
	size_t bytes = ROOM_LEAST;
	void *memory;

	if (copied.room >= least)
		return true;
	while (bytes < least)
		bytes *= 2;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (kp_ab.driver.pin(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE) != CUDA_SUCCESS) {
		munmap(memory, bytes);
		return false;
	}
	copied.memory = memory;
	copied.room = bytes;
	return true;
}

/* Nothing waits. False: the driver refuses; then nobody may look at what came. */
static bool copy_out(struct kp_ab_context *context, CUstream stream)
{
	const struct kp_ab_trial_head *head = &copied.head;
	uint64_t told = kp_ab_context_memory(context, &kp_ab.driver, TOLD_BYTES);
	bool good = told && have_room(head->bytes + TOLD_BYTES);

	if (!good)
		return false;
	copied.turn++;
	copied.context = atomic_load(&context->handle);
	memset(copied.memory + head->bytes, 0, sizeof(copied.turn));
	for (uint32_t i = 0; good && i < head->region_count; i++)
		good = kp_ab.driver.fetch(copied.memory + head->regions[i].offset,
					  head->regions[i].address, head->regions[i].bytes,
					  stream) == CUDA_SUCCESS;
	return good && kp_ab.driver.fill(told, copied.turn, 1, stream) == CUDA_SUCCESS &&
	       kp_ab.driver.fetch(copied.memory + head->bytes, told, sizeof(copied.turn), stream) ==
		       CUDA_SUCCESS;
}

/* With the mutex, in relaxed mode. */
static void begin(struct kp_ab_context *context, const struct kp_ab_job *job)
{
	uint32_t expected = EMPTY;

	if (!atomic_compare_exchange_strong(&copied.state, &expected, COPYING))
		return;
	copied.number = take_place(job);
	if (copied.number == KP_AB_TRIALS_MOST) {
		atomic_store(&copied.state, EMPTY);
		return;
	}
	if (!describe(job, &copied.head)) {
		give_up(copied.number, KP_AB_TRIAL_TOO_LARGE);
		atomic_store(&copied.state, EMPTY);
	} else if (!copy_out(context, job->stream)) {
		give_up(copied.number, KP_AB_TRIAL_NO_DATA);
		copied.memory = NULL; /* a copy may still be under way to it */
		copied.room = 0;
		atomic_store(&copied.state, EMPTY);
	} else {
		atomic_store(&copied.state, WRITING);
	}
}

/* ---- asking ---- */

/* In the launcher's own folder, which nobody else can write to. */
static bool write_launch(uint32_t number)
{
	char name[PATH_MAX + 16];
	const char *from = copied.memory;
	size_t left = copied.head.bytes;
	int fd;

	memcpy(copied.memory, &copied.head, sizeof(copied.head));
	snprintf(name, sizeof(name), "%s.%u", path, number);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	while (fd >= 0 && left > 0) {
		ssize_t done = write(fd, from, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			break;
		from += done;
		left -= (size_t)done;
	}
	return fd >= 0 && close(fd) == 0 && left == 0;
}

/* A futex of two processes, so not as in futex.h. */
static void ask(uint32_t number)
{
	atomic_store(&trials->trials[number].state, KP_AB_TRIAL_ASKED);
	atomic_fetch_add(&trials->asked, 1);
	syscall(SYS_futex, &trials->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool is_there(void)
{
	const volatile uint32_t *told =
		(const volatile uint32_t *)(void *)(copied.memory + copied.head.bytes);

	return *told == copied.turn;
}

void kp_ab_trials_work(void)
{
	int error = errno;
	bool good;

	if (!trials || atomic_load(&copied.state) != WRITING)
		return;
	if (!is_there() && kp_ab_context_find(copied.context))
		return;
	good = is_there();
	atomic_thread_fence(memory_order_acquire);
	if (good && write_launch(copied.number)) {
		ask(copied.number);
	} else if (pthread_mutex_trylock(&kp_ab.rare) == 0) {
		give_up(copied.number, KP_AB_TRIAL_NO_DATA);
		pthread_mutex_unlock(&kp_ab.rare);
	} else {
		return; /* the next time */
	}
	atomic_store(&copied.state, EMPTY);
	errno = error;
}

/* ---- a launch ---- */

static __attribute__((noinline)) enum kp_ab_reason look_at(struct kp_ab_variant *variant,
							   struct kp_ab_context *context,
							   const struct kp_ab_job *job)
{
	CUstreamCaptureMode mode;
	uint32_t number, state;
	bool known;

	if (!trials)
		return KP_AB_REASON_TRIAL_FAILED;
	number = find(job);
	state = number < KP_AB_TRIALS_MOST ? state_of(number) : KP_AB_TRIAL_FREE;
	if (state == KP_AB_TRIAL_FAILED)
		atomic_fetch_or(&refused, 1U << job->number);
	if (state == KP_AB_TRIAL_PASSED || (state == KP_AB_TRIAL_FREE && is_known(job->number))) {
		atomic_store(&variant->tried_elsewhere, true);
		return KP_AB_REASON_COUNT;
	}
	if (state != KP_AB_TRIAL_FREE)
		return state == KP_AB_TRIAL_FAILED ? KP_AB_REASON_TRIAL_FAILED : KP_AB_REASON_TRIAL;
	kp_ab_driver_relax(&kp_ab.driver, &mode);
	known = kp_ab_job_is_known(job);
	if (known && pthread_mutex_trylock(&kp_ab.rare) == 0) {
		begin(context, job);
		pthread_mutex_unlock(&kp_ab.rare);
	}
	kp_ab_driver_restore(&kp_ab.driver, &mode);
	return known ? KP_AB_REASON_TRIAL : KP_AB_REASON_ADDRESS;
}

enum kp_ab_reason kp_ab_trial_passed(struct kp_ab_variant *variant, struct kp_ab_context *context,
				     const struct kp_ab_job *job)
{
	if (job->rule->replace == KP_AB_REPLACE_BUILTIN || !kp_ab.plan.header->trials ||
	    atomic_load(&kp_ab.off) >> job->number & 1)
		return KP_AB_REASON_COUNT;
	if (atomic_load_explicit(&refused, memory_order_relaxed) >> job->number & 1)
		return KP_AB_REASON_TRIAL_FAILED;
	if (atomic_load_explicit(&variant->tried_elsewhere, memory_order_relaxed))
		return KP_AB_REASON_COUNT;
	return look_at(variant, context, job);
}
