/* Runs of launches, on the worker's side; see runs.h. */
#include "inject/runs.h"

#include "inject/runs_state.h"
#include "inject/standby.h"

static void write_run(struct kp_writer *writer, struct kp_launch_run run)
{
	if (!run.launches)
		return;
	if (!kp_standby_keeps(run.start_ns, run.end_ns))
		return;
	kp_runs.records++;
	kp_runs.kernels_unknown |= run.kernels == KP_HOST_UNKNOWN;
	kp_runs.kernels += (uint64_t)run.launches * run.kernels;
	kp_writer_run(writer, &run); /* what fails is in kp_writer_loss */
}

/* Leaves out what was written while the run was open. */
static struct kp_launch_run rest_of(const struct kp_run_part *part, struct kp_launch_run run,
				    uint32_t serial)
{
	if (part->serial != serial || !part->launches)
		return run;
	run.shapes -= part->shapes;
	run.launches = run.launches > part->launches ? run.launches - part->launches : 0;
	return run;
}

/* What there is of an open run. Its thread may be adding to it: then its shapes do not fit, and the
 * reader takes none of it for tied. */
static void write_open(struct kp_writer *writer, struct kp_runs_thread *thread, size_t number)
{
	struct kp_run_slot *slot = &thread->slots[number];
	struct kp_run_part *part = &thread->parts[number];
	uint32_t serial = atomic_load_explicit(&slot->serial, memory_order_acquire);
	struct kp_launch_run run = kp_run_slot_now(thread, slot);

	if (!run.launches || atomic_load(&slot->serial) != serial)
		return;
	write_run(writer, rest_of(part, run, serial));
	*part = (struct kp_run_part){serial, run.launches, run.shapes};
}

static void drain(struct kp_writer *writer, struct kp_runs_thread *thread, bool open)
{
	int owner = atomic_load_explicit(&thread->owner, memory_order_acquire);
	uint64_t written = atomic_load_explicit(&thread->written, memory_order_acquire);
	uint64_t taken = atomic_load_explicit(&thread->taken, memory_order_relaxed);
	uint64_t lost = atomic_load_explicit(&thread->lost, memory_order_relaxed);

	for (; taken != written; taken++) {
		const struct kp_run_ended *ended = &thread->ring[taken % thread->room];

		write_run(writer, rest_of(&thread->parts[ended->slot], ended->run, ended->serial));
	}
	atomic_store_explicit(&thread->taken, taken, memory_order_release);
	kp_runs.lost += lost - thread->lost_counted;
	thread->lost_counted = lost;
	for (size_t i = 0; open && owner == KP_RUNS_OWNED && i < KP_HOST_STREAMS; i++)
		write_open(writer, thread, i);
	if (owner == KP_RUNS_LEFT)
		atomic_store_explicit(&thread->owner, KP_RUNS_FREE, memory_order_release);
}

void kp_runs_drain(struct kp_writer *writer, bool open)
{
	struct kp_runs_thread *thread = atomic_load(&kp_runs.threads);

	for (; thread; thread = thread->next)
		drain(writer, thread, open);
}

void kp_runs_put_counts(const struct kp_writer_loss *loss, struct kp_counts *counts)
{
	uint64_t begin_ns;

	if (!atomic_load(&kp_runs_on))
		return;
	pthread_mutex_lock(&kp_runs.lock);
	begin_ns = kp_runs.begin_ns;
	pthread_mutex_unlock(&kp_runs.lock);
	KP_SET(counts, COUNTS, runs_begin_ns, begin_ns);
	KP_SET(counts, COUNTS, run_records, kp_runs.records);
	if (!kp_runs.kernels_unknown)
		KP_SET(counts, COUNTS, run_kernels, kp_runs.kernels);
	KP_SET(counts, COUNTS, runs_lost, kp_runs.lost + atomic_load(&kp_runs.placeless));
	KP_SET(counts, COUNTS, runs_unwritten, loss->runs);
}
