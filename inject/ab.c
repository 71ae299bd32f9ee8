/* The A/B engine from start to stop, and the way of a launch through it; see ab.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inject/ab_alone.h"
#include "inject/ab_extra.h"
#include "inject/ab_graph_calls.h"
#include "inject/ab_match.h"
#include "inject/ab_modules.h"
#include "inject/ab_seen.h"
#include "inject/ab_sequence.h"
#include "inject/ab_state.h"
#include "inject/ab_trial.h"
#include "inject/hooks.h"
#include "inject/library.h"
#include "inject/state.h"

struct kp_ab_state kp_ab = {.rare = PTHREAD_MUTEX_INITIALIZER, .results = {.fd = -1}};
_Atomic bool kp_ab_on;
_Thread_local bool kp_ab_inside __attribute__((tls_model("initial-exec")));
_Thread_local enum kp_ab_open kp_ab_open __attribute__((tls_model("initial-exec")));

/* The launch under way of a thread, from its beginning to the end of the original. */
struct under_way {
	struct kp_ab_job job;
	struct kp_ab_context *context;
	struct kp_ab_slot *slot;
	struct kp_ab_sample *sample;
	/* While it is looked at: as it is made, of a launch, and as rules see it. */
	const struct kp_ab_launch *launch;
	const struct kp_ab_view *view;
	bool strayed; /* the user's replacement has worked on another stream */
	bool product; /* a call: its own launches are not looked at */
	bool marked;  /* a call that is captured: its nodes are told behind it */
	struct kp_ab_graph_place place;
};

/* A pointer, for a library that is loaded later has little room for a thread's variables. */
static _Thread_local struct under_way *own __attribute__((tls_model("initial-exec")));
static pthread_key_t own_key;

static void free_own(void *memory)
{
	own = NULL;
	free(memory);
}

/* False: there is no memory for it. */
static bool find_own(void)
{
	if (own)
		return true;
	own = calloc(1, sizeof(*own));
	if (own && pthread_setspecific(own_key, own) != 0)
		free_own(own);
	return own != NULL;
}

/* ---- starting and stopping ---- */

static bool map_plan(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat about;
	bool good;

	if (fd < 0)
		return false;
	if (fstat(fd, &about) == 0 && about.st_size > 0 &&
	    (size_t)about.st_size <= KP_AB_PLAN_BYTES_MOST)
		bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	good = kp_ab_plan_check(bytes, (size_t)about.st_size, &kp_ab.plan) == KP_OK;
	if (!good)
		munmap(bytes, (size_t)about.st_size);
	return good;
}

/* What a library exports by that name; NULL: nothing. */
static void *symbol_of(const char *path, const char *symbol)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	return library ? kp_hooks_lookup(library, symbol) : NULL;
}

/* NULL, or why there is no A/B. */
static const char *prepare(const char *path)
{
	const char *missing;

	if (!map_plan(path))
		return "the plan cannot be read";
	missing = kp_ab_driver_find(&kp_ab.driver);
	if (missing)
		return missing;
	kp_ab_modules_start(&kp_ab.plan);
	(void)kp_ab_graph_driver(); /* without it graphs are left alone */
	kp_ab.candidates =
		symbol_of(kp_ab.plan.texts + kp_ab.plan.header->candidates, KP_CANDIDATES_SYMBOL);
	if (!kp_ab.candidates || kp_ab.candidates->version != KP_CANDIDATES_VERSION ||
	    kp_ab.candidates->part_bytes != sizeof(struct kp_compare_part))
		return "libkprof_candidates.so cannot be loaded";
	for (uint32_t i = 0; i < kp_ab.plan.header->rules.count; i++) {
		const struct kp_ab_rule *rule = &kp_ab.plan.rules[i];

		if (rule->replace == KP_AB_REPLACE_LIBRARY)
			*(void **)&kp_ab.entries[i] = symbol_of(kp_ab.plan.texts + rule->file,
								kp_ab.plan.texts + rule->symbol);
	}
	if (pthread_key_create(&own_key, free_own) != 0)
		return "the process has no room for more data of threads";
	kp_ab.variants = calloc(KP_AB_VARIANTS, sizeof(*kp_ab.variants));
	if (!kp_ab.variants || !kp_ab_match_start(&kp_ab.plan, &kp_ab.driver))
		return "out of memory";
	return NULL;
}

void kp_ab_start(void)
{
	const char *path = getenv("KPROF_AB"), *trouble;
	int error = errno;

	if (!path || !*path || atomic_load(&kp_ab_on))
		return;
	trouble = prepare(path);
	if (trouble) {
		kp_live_say(&kp_inject, "no A/B: %s", trouble);
	} else {
		kp_ab_counts_open(path);
		kp_ab_sequence_start();
		if (kp_ab.plan.header->trials)
			kp_ab_trials_open(path);
		kp_ab_write_open(kp_ab.plan.texts + kp_ab.plan.header->results);
		atomic_store(&kp_ab_on, true);
	}
	errno = error;
}

void kp_ab_forget(void)
{
	atomic_store(&kp_ab_on, false);
	kp_ab_sequence_forget();
	kp_ab_inside = false;
	kp_ab_open = KP_AB_OPEN_NOTHING;
	kp_output_forget(&kp_ab.results);
	kp_ab = (struct kp_ab_state){.rare = PTHREAD_MUTEX_INITIALIZER, .results = {.fd = -1}};
	kp_ab_contexts_forget();
	kp_ab_graphs_forget();
	kp_ab_trials_forget();
	kp_ab_modules_forget();
}

bool kp_ab_modules_leave(void)
{
	bool on = atomic_load(&kp_ab_on);

	if (on) {
		kp_ab_match_leave();
		kp_ab_modules_anew();
	}
	return on;
}

void kp_ab_modules_left(bool told)
{
	if (told)
		kp_ab_modules_anew();
}

/* Only at the end: who else ends a context does not wait for the worker. */
static void harvest(void)
{
	CUstreamCaptureMode mode;

	if (!kp_ab_driver_relax(&kp_ab.driver, &mode))
		return;
	for (size_t i = 0; i < KP_AB_CONTEXTS_MOST; i++)
		if (kp_ab_context_at(i))
			kp_ab_times_harvest(kp_ab_context_at(i));
	kp_ab_driver_restore(&kp_ab.driver, &mode);
}

void kp_ab_work(bool ends)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	bool locked = false;

	if (ends)
		kp_ab_sequence_finish();
	if (atomic_load(&kp_ab_on))
		kp_ab_trials_work();
	for (int tries = 0; atomic_load(&kp_ab_on) && !locked && tries < (ends ? 50 : 1); tries++) {
		if (tries)
			nanosleep(&pause, NULL);
		locked = pthread_mutex_trylock(&kp_ab.rare) == 0;
	}
	if (!locked)
		return;
	kp_ab_judge();
	kp_ab_modules_write();
	if (ends) {
		harvest();
		if (!kp_ab_counts_are_shared())
			kp_ab_write_counts();
	}
	kp_ab_write_flush();
	pthread_mutex_unlock(&kp_ab.rare);
}

/* ---- a launch ---- */

static void count(uint32_t rule, enum kp_ab_count which)
{
	atomic_fetch_add_explicit(&kp_ab.counts[rule][which], 1, memory_order_relaxed);
}

static void excuse(uint32_t rule, enum kp_ab_reason reason)
{
	atomic_fetch_add_explicit(&kp_ab.reasons[rule][reason], 1, memory_order_relaxed);
}

/* Comparisons that have ended are judged here too: the worker looks only now and then. */
static struct kp_ab_slot *shadow(struct kp_ab_variant *variant)
{
	enum kp_ab_reason reason = KP_AB_REASON_UNVERIFIED;
	struct kp_ab_slot *slot = NULL, *before;
	uint32_t tried;
	CUstreamCaptureMode mode;

	kp_ab_driver_relax(&kp_ab.driver, &mode);
	if (!kp_ab_job_is_known(&own->job)) {
		kp_ab_driver_restore(&kp_ab.driver, &mode);
		excuse(own->job.number, KP_AB_REASON_ADDRESS);
		return NULL;
	}
	if (pthread_mutex_trylock(&kp_ab.rare) == 0) {
		kp_ab_judge();
		tried = atomic_fetch_add(&variant->tried, 1);
		before = kp_ab_extra(own->context, &own->job, own->launch, own->view, tried);
		reason = kp_ab_shadow_begin(own->context, &own->job, tried, &slot);
		if (slot)
			kp_ab_judge_first(slot, before);
		pthread_mutex_unlock(&kp_ab.rare);
	}
	kp_ab_driver_restore(&kp_ab.driver, &mode);
	excuse(own->job.number, reason);
	if (slot) {
		slot->strayed = own->strayed;
		count(own->job.number, KP_AB_COUNT_SHADOWED);
	}
	return slot;
}

static struct kp_ab_sample *sample(const struct kp_ab_choice *choice)
{
	const struct kp_ab_sample what = {
		.candidate = choice->turn == KP_AB_TURN_CANDIDATE,
		.rule = own->job.number,
		.number = choice->number,
		.shape = own->job.shape,
	};
	struct kp_ab_sample *begun = NULL;
	CUstreamCaptureMode mode;

	if (pthread_mutex_trylock(&kp_ab.rare) == 0) {
		kp_ab_driver_relax(&kp_ab.driver, &mode);
		begun = kp_ab_times_begin(own->context, &what, own->job.stream);
		kp_ab_driver_restore(&kp_ab.driver, &mode);
		pthread_mutex_unlock(&kp_ab.rare);
	}
	return begun;
}

/* True: the candidate has run. */
static bool replace(const struct kp_ab_choice *choice)
{
	struct kp_ab_sample *begun = choice->sample ? sample(choice) : NULL;
	enum kp_ab_reason reason =
		kp_ab_candidate_run(own->context, &own->job, own->job.values, false);

	if (begun)
		kp_ab_times_end(begun, own->job.stream);
	if (reason != KP_AB_REASON_COUNT) {
		excuse(own->job.number, reason);
		return false;
	}
	count(own->job.number, KP_AB_COUNT_REPLACED);
	return true;
}

/* True: the candidate has run. What is left to do after the original is in `own`. */
static bool take_turn(void)
{
	struct kp_ab_variant *variant = kp_ab_variant(own->job.shape);
	struct kp_ab_choice choice = {KP_AB_TURN_ORIGINAL, KP_AB_REASON_NO_MEMORY, false, 0};

	count(own->job.number, KP_AB_COUNT_ELIGIBLE);
	own->context = kp_ab_context_get(&kp_ab.plan, kp_ab.candidates, &kp_ab.driver);
	if (!own->context || !kp_ab_candidate_is_loaded(own->context, &own->job))
		choice.reason = KP_AB_REASON_NOT_LOADED;
	else if (variant)
		choice.reason = kp_ab_trial_passed(variant, own->context, &own->job);
	if (choice.reason == KP_AB_REASON_COUNT)
		choice = kp_ab_turns_choose(variant, own->context, &own->job);
	if (choice.turn == KP_AB_TURN_CANDIDATE)
		return replace(&choice);
	if (choice.turn == KP_AB_TURN_SHADOW)
		own->slot = shadow(variant);
	else
		excuse(own->job.number, choice.reason);
	if (choice.sample)
		own->sample = sample(&choice);
	if (own->slot || own->sample)
		kp_ab_open = own->product ? KP_AB_OPEN_CALL : KP_AB_OPEN_LAUNCH;
	return false;
}

/* What a rule makes of a launch. KP_AB_REASON_COUNT: it fits; else why not. */
static enum kp_ab_reason fit(uint32_t number, const struct kp_ab_view *view, struct kp_ab_job *out)
{
	enum kp_ab_reason reason = kp_ab_job_fits(&kp_ab.plan, &kp_ab.plan.rules[number], view);

	return reason == KP_AB_REASON_COUNT
		       ? kp_ab_job_make(&kp_ab.plan, kp_ab.candidates, number, view, out)
		       : reason;
}

/* A call whose nodes cannot be told is counted once. */
static void lose_capture(void)
{
	count(own->job.number, KP_AB_COUNT_SEEN);
	count(own->job.number, KP_AB_COUNT_ELIGIBLE);
	excuse(own->job.number, KP_AB_REASON_GRAPH);
}

/*
 * What is captured is the original, and nothing has run: launches of the graph are what is counted,
 * by ab_graph.c, which finds kernels on its own, but calls by what is left here.
 */
static void capture(void)
{
	if (!own->product)
		return;
	own->marked = kp_ab_graph_call_begins(&own->job, &own->place);
	if (own->marked)
		kp_ab_open = KP_AB_OPEN_CALL;
	else
		lose_capture();
}

static void forget_before(void)
{
	own->slot = NULL;
	own->sample = NULL;
	own->strayed = false;
	own->marked = false;
}

/* The first of the rules that fits. True: the candidate has run. */
static bool look(uint32_t rules, const struct kp_ab_view *view, CUstream stream)
{
	bool captured = !kp_hooks_runs_now(stream, false);
	enum kp_ab_reason reason;

	forget_before();
	for (; rules; rules &= rules - 1) {
		uint32_t number = (uint32_t)__builtin_ctz(rules);

		reason = fit(number, view, &own->job);
		own->job.stream = stream;
		if (reason == KP_AB_REASON_COUNT && captured) {
			capture();
			return false;
		}
		count(number, KP_AB_COUNT_SEEN);
		if (reason == KP_AB_REASON_COUNT)
			return take_turn();
		excuse(number, reason);
	}
	return false;
}

static CUstream stream_of(CUstream stream, bool per_thread)
{
	return per_thread && !stream ? CU_STREAM_PER_THREAD : stream;
}

bool kp_ab_launch_job(const struct kp_ab_launch *launch, uint32_t rules,
		      const struct kp_ab_layout *layout, struct kp_ab_job *out)
{
	struct kp_ab_seen seen;

	if (!kp_ab_see(launch, layout, &seen))
		return false;
	for (; rules; rules &= rules - 1)
		if (fit((uint32_t)__builtin_ctz(rules), &seen.view, out) == KP_AB_REASON_COUNT)
			return true;
	return false;
}

static __attribute__((noinline)) bool look_at_launch(const struct kp_ab_launch *launch,
						     uint32_t rules,
						     const struct kp_ab_layout *layout)
{
	struct kp_ab_seen seen;
	struct kp_ab_alone alone;
	bool replaced;

	if (!find_own() || !kp_ab_see(launch, layout, &seen))
		return false;
	own->product = false;
	own->launch = launch;
	own->view = &seen.view;
	kp_ab_alone_begins(&alone);
	replaced = look(rules, &seen.view, stream_of(launch->stream, launch->per_thread));
	kp_ab_alone_ends(&alone);
	return replaced;
}

/* Of what kprof launches, only entries of the user's come by the hooks. */
static __attribute__((noinline)) void look_at_stream(const struct kp_ab_launch *launch)
{
	CUstream stream = stream_of(launch->stream, launch->per_thread);

	if (own && stream != own->job.stream &&
	    !(stream == CU_STREAM_LEGACY && own->job.stream == NULL) &&
	    !(stream == NULL && own->job.stream == CU_STREAM_LEGACY))
		own->strayed = true;
}

void kp_ab_drop(void)
{
	if (own->marked)
		lose_capture();
	forget_before();
	kp_ab_open = KP_AB_OPEN_NOTHING;
}

/* With one open. A launch is no part of another: not even where a tool makes it in its midst. */
static __attribute__((noinline)) bool is_part_of_call(const void *here)
{
	if (kp_ab_open == KP_AB_OPEN_CALL && kp_library_is_within(here))
		return true;
	kp_ab_drop();
	return false;
}

bool kp_ab_launch_begins(const struct kp_ab_launch *launch, CUresult *result)
{
	const struct kp_ab_layout *layout;
	uint32_t rules;

	if (kp_ab_is_on() && kp_ab_inside)
		look_at_stream(launch);
	if (!kp_ab_is_on() || kp_ab_inside)
		return false; /* no rules, or kprof's own */
	if (kp_ab_open && is_part_of_call(launch))
		return false;
	if (kp_ab_sequence_is_on() && kp_ab_sequence_takes(launch, result))
		return true;
	rules = kp_ab_match(launch->function, &layout);
	if (!rules || !look_at_launch(launch, rules, layout))
		return false;
	*result = CUDA_SUCCESS;
	return true;
}

CUresult kp_ab_sequence_turn(const struct kp_ab_job *job, CUresult (*launch)(void), bool *replaced)
{
	CUresult result = CUDA_SUCCESS;

	count(job->number, KP_AB_COUNT_SEEN);
	*replaced = false;
	if (!find_own()) {
		excuse(job->number, KP_AB_REASON_NOT_HELD);
		return launch();
	}
	forget_before();
	own->job = *job;
	own->launch = NULL; /* it is not one alone */
	own->view = NULL;
	own->product = true; /* its launches count for themselves */
	kp_ab_inside = true;
	*replaced = take_turn();
	if (!*replaced)
		do
			result = launch();
		while (kp_ab_again(KP_AB_OPEN_CALL, result == CUDA_SUCCESS));
	kp_ab_inside = false;
	return result;
}

bool kp_ab_product_looked_at(uint32_t rules, const int64_t *symbols, CUstream stream,
			     bool host_scalars)
{
	const struct kp_ab_view view = {symbols, NULL, NULL, 0};
	struct kp_ab_alone alone;
	bool replaced;

	if (!find_own())
		return false;
	for (; !host_scalars && rules; rules &= rules - 1) {
		count((uint32_t)__builtin_ctz(rules), KP_AB_COUNT_SEEN);
		excuse((uint32_t)__builtin_ctz(rules), KP_AB_REASON_POINTER_MODE);
	}
	own->product = true;
	own->launch = NULL;
	kp_ab_alone_begins(&alone);
	replaced = look(rules, &view, stream);
	kp_ab_alone_ends(&alone);
	return replaced;
}

bool kp_ab_original_ran(bool succeeded)
{
	struct kp_ab_alone alone;
	bool again = false;

	kp_ab_alone_begins(&alone);
	if (own->marked && succeeded && !kp_ab_graph_call_ends(&own->job, &own->place))
		lose_capture();
	own->marked = false;
	if (own->sample)
		kp_ab_times_end(own->sample, own->job.stream);
	own->sample = NULL;
	if (own->slot)
		again = kp_ab_shadow_end(own->context, own->slot, succeeded);
	if (again && !own->product)
		kp_hooks_issued(1); /* what is counted otherwise is one launch */
	if (!again)
		kp_ab_open = KP_AB_OPEN_NOTHING;
	kp_ab_alone_ends(&alone);
	return again;
}

#define ATTRIBUTES_MOST 16U

CUresult kp_ab_launch_after(kp_ab_launch_ex launch, const CUlaunchConfig *config,
			    CUfunction function, void **parameters, void **extra)
{
	CUlaunchAttribute attributes[ATTRIBUTES_MOST];
	CUlaunchConfig plain;

	if (!kp_ab_open || own->marked || !config || config->numAttrs > ATTRIBUTES_MOST ||
	    !config->attrs)
		return launch(config, function, parameters, extra);
	plain = *config;
	plain.numAttrs = 0;
	plain.attrs = attributes;
	for (unsigned i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
			attributes[plain.numAttrs++] = config->attrs[i];
	return launch(&plain, function, parameters, extra);
}
