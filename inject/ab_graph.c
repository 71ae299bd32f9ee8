/* Executable graphs of the program's, and which of their forms is launched; see ab_graph.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inject/ab_alone.h"
#include "inject/ab_graph_calls.h"
#include "inject/hooks.h"

#define BUCKETS 1024U
/* CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH */
#define DEVICE_LAUNCH 4U

static struct {
	pthread_mutex_t lock; /* never held in a call of the driver's */
	struct kp_ab_graph *buckets[BUCKETS];
	uint64_t numbers;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic uint32_t count; /* of graphs in the table */

/* ---- the table ---- */

static struct kp_ab_graph **bucket_of(CUgraphExec exec)
{
	return &all.buckets[((uintptr_t)exec >> 4) * 0x9e3779b1U >> 8 & (BUCKETS - 1)];
}

static struct kp_ab_graph *find(CUgraphExec exec)
{
	struct kp_ab_graph *graph;

	if (atomic_load_explicit(&count, memory_order_relaxed) == 0)
		return NULL;
	pthread_mutex_lock(&all.lock);
	graph = *bucket_of(exec);
	while (graph && graph->exec != exec)
		graph = graph->next;
	pthread_mutex_unlock(&all.lock);
	return graph;
}

static void insert(struct kp_ab_graph *graph)
{
	struct kp_ab_graph **bucket = bucket_of(graph->exec);

	pthread_mutex_lock(&all.lock);
	graph->number = ++all.numbers;
	graph->next = *bucket;
	*bucket = graph;
	pthread_mutex_unlock(&all.lock);
	atomic_fetch_add(&count, 1);
}

static struct kp_ab_graph *take_out(CUgraphExec exec)
{
	struct kp_ab_graph **link, *graph;

	if (atomic_load(&count) == 0)
		return NULL;
	pthread_mutex_lock(&all.lock);
	link = bucket_of(exec);
	while (*link && (*link)->exec != exec)
		link = &(*link)->next;
	graph = *link;
	if (graph)
		*link = graph->next;
	pthread_mutex_unlock(&all.lock);
	if (graph)
		atomic_fetch_sub(&count, 1);
	return graph;
}

void kp_ab_graphs_forget(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	memset(&all, 0, sizeof(all));
	all.lock = fresh;
	atomic_store(&count, 0);
	kp_ab_graph_calls_reset();
}

/* All with it is gone: forms and copies are not to be touched any more. */
void kp_ab_graphs_context_gone(CUcontext context)
{
	pthread_mutex_lock(&all.lock);
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct kp_ab_graph *graph = all.buckets[i]; graph; graph = graph->next)
			if (!context || graph->context == context)
				atomic_store(&graph->lost, true);
	pthread_mutex_unlock(&all.lock);
}

/* ---- what calls on graphs have in common ---- */

struct inside {
	CUstreamCaptureMode mode;
	struct kp_ab_alone alone;
};

/* In the driver's relaxed mode, so that no capture is broken. */
static struct inside enter(void)
{
	struct inside inside;

	kp_ab_alone_begins(&inside.alone);
	kp_ab_driver_relax(&kp_ab.driver, &inside.mode);
	return inside;
}

static void leave(struct inside inside)
{
	kp_ab_driver_restore(&kp_ab.driver, &inside.mode);
	kp_ab_alone_ends(&inside.alone);
}

static bool is_asked(void)
{
	return kp_ab_is_on() && !kp_ab_inside && kp_ab_graph_driver();
}

/* The forms and the copy. */
static void unload(struct kp_ab_graph *graph)
{
	kp_ab_graph_unbuild(graph, graph->lost);
	if (graph->copy && !graph->lost)
		kp_ab_graph_driver()->destroy(graph->copy);
	graph->copy = NULL;
}

/* Left alone from here on. */
static void give_up(struct kp_ab_graph *graph, enum kp_ab_reason reason)
{
	unload(graph);
	graph->given_up = reason;
}

/* Memory goes to others when the last launch has ended. */
static void give_memory_back(struct kp_ab_graph *graph)
{
	struct kp_ab_context *context = graph->lost ? NULL : kp_ab_context_find(graph->context);

	bool given = context && graph->block_count && pthread_mutex_trylock(&kp_ab.rare) == 0;

	for (size_t i = 0; given && i < graph->block_count; i++)
		kp_ab_context_give(context, graph->blocks[i].memory, graph->blocks[i].bytes,
				   graph->order);
	if (given)
		pthread_mutex_unlock(&kp_ab.rare);
	else if (graph->order && !graph->lost)
		kp_ab_graph_driver()->destroy_event(graph->order);
}

static void end(struct kp_ab_graph *graph)
{
	unload(graph);
	give_memory_back(graph);
	free(graph->parts);
	free(graph->blocks);
	free(graph);
}

/* ---- instantiation and changes ---- */

void kp_ab_graph_instantiated(CUgraphExec exec, CUgraph of, uint64_t flags)
{
	struct kp_ab_graph *graph, *before;
	struct inside inside;

	if (!is_asked())
		return;
	inside = enter();
	before = take_out(exec); /* one that went unseen, with its context */
	if (before) {
		before->lost = true;
		end(before);
	}
	graph = calloc(1, sizeof(*graph));
	if (graph && kp_ab_graph_collect(graph, of)) {
		graph->exec = exec;
		graph->flags = flags;
		graph->stale = true;
		graph->given_up = flags & DEVICE_LAUNCH || !graph->copy ? KP_AB_REASON_GRAPH
									: KP_AB_REASON_COUNT;
		kp_ab.driver.context(&graph->context);
		insert(graph);
	} else if (graph) {
		free(graph->parts);
		free(graph);
	}
	leave(inside);
}

void kp_ab_graph_updated(CUgraphExec exec, CUgraph of)
{
	struct kp_ab_graph *graph = is_asked() ? find(exec) : NULL;
	struct inside inside;

	if (!graph) { /* it may have some now */
		if (is_asked())
			kp_ab_graph_instantiated(exec, of, 0);
		return;
	}
	if (graph->given_up != KP_AB_REASON_COUNT)
		return;
	inside = enter();
	unload(graph);
	graph->stale = true;
	if (graph->builds >= KP_AB_BUILDS_MOST)
		give_up(graph, KP_AB_REASON_GRAPH_CHANGED);
	else if (!kp_ab_graph_collect(graph, of))
		end(take_out(exec));
	else if (!graph->copy)
		graph->given_up = KP_AB_REASON_GRAPH;
	leave(inside);
}

void kp_ab_graph_changed(CUgraphExec exec, CUgraphNode node, const void *what, const char *of_graph)
{
	struct kp_ab_graph *graph = is_asked() ? find(exec) : NULL;
	CUresult(CUDAAPI * set)(CUgraphNode, const void *);
	CUgraphNode own;
	struct inside inside;

	if (!graph || graph->given_up != KP_AB_REASON_COUNT)
		return;
	inside = enter();
	set = of_graph ? (CUresult(CUDAAPI *)(CUgraphNode, const void *))kp_hooks_driver_symbol(
				 of_graph)
		       : NULL;
	if (!set || graph->builds >= KP_AB_BUILDS_MOST ||
	    kp_ab_graph_driver()->find(&own, node, graph->copy) != CUDA_SUCCESS ||
	    set(own, what) != CUDA_SUCCESS) {
		give_up(graph, KP_AB_REASON_GRAPH_CHANGED);
	} else {
		kp_ab_graph_unbuild(graph, graph->lost);
		kp_ab_graph_collect_again(graph);
		graph->stale = true;
	}
	leave(inside);
}

void kp_ab_graph_uploaded(CUgraphExec exec, CUstream stream)
{
	struct kp_ab_graph *graph = is_asked() ? find(exec) : NULL;
	struct inside inside;

	if (!graph)
		return;
	inside = enter();
	for (uint32_t i = 0; i < graph->form_count; i++)
		((CUresult(CUDAAPI *)(CUgraphExec, CUstream))kp_wrapper_cuGraphUpload)(
			graph->forms[i].exec, stream);
	leave(inside);
}

void kp_ab_graph_exec_destroyed(CUgraphExec exec)
{
	struct kp_ab_graph *graph = is_asked() ? take_out(exec) : NULL;
	struct inside inside;

	if (!graph)
		return;
	inside = enter();
	end(graph);
	leave(inside);
}

void kp_ab_graph_destroyed(CUgraph graph)
{
	if (kp_ab_is_on() && !kp_ab_inside)
		kp_ab_graph_calls_forget(graph);
}

/* ---- launches ---- */

/* Whether forms are by the rules that may replace now. */
static bool is_of_now(const struct kp_ab_graph *graph)
{
	return graph->wrong == (atomic_load(&kp_ab.wrong) & graph->rules) &&
	       graph->off == (atomic_load(&kp_ab.off) & graph->rules);
}

/* Whether the forms that stand may not be launched, or could be better. */
static bool is_outdated(const struct kp_ab_graph *graph)
{
	if (graph->stale || !is_of_now(graph))
		return true;
	return graph->growing && graph->builds < KP_AB_BUILDS_MOST &&
	       (graph->launches < 64 || graph->launches % 64 == 0) && kp_ab_graph_has_grown(graph);
}

static bool may_launch_forms(const struct kp_ab_graph *graph)
{
	return graph->form_count && !graph->stale && is_of_now(graph);
}

/* With the mutex. */
static void bring_up_to_date(struct kp_ab_graph *graph, CUstream stream)
{
	struct kp_ab_context *context = NULL;
	CUcontext now = NULL;

	if (graph->growing || graph->stale)
		kp_ab_judge();
	if (!is_outdated(graph))
		return;
	if (kp_ab.driver.context(&now) == CUDA_SUCCESS && now == graph->context)
		context = kp_ab_context_get(&kp_ab.plan, kp_ab.candidates, &kp_ab.driver);
	kp_ab_graph_build(graph, context, stream);
}

/* One name of streams is each thread's own. */
static bool is_last_stream(const struct kp_ab_graph *graph, CUstream stream)
{
	return graph->stream == stream && stream != CU_STREAM_PER_THREAD &&
	       graph->streams == kp_ab_streams_gone();
}

/* Launches are in order, on whatever streams, as those of one executable graph are. */
static void wait_for_last(struct kp_ab_graph *graph, CUstream stream)
{
	if (!graph->order)
		kp_ab.driver.event(&graph->order, CU_EVENT_DISABLE_TIMING);
	if (graph->ordered && !is_last_stream(graph, stream))
		kp_ab_graph_driver()->wait(stream, graph->order, 0);
}

static struct kp_ab_sample *begin_sample(struct kp_ab_context *context,
					 const struct kp_ab_replay *replay,
					 const struct kp_ab_choice *choice, uint32_t rule)
{
	const struct kp_ab_graph *graph = replay->graph;
	const struct kp_ab_sample sample = {
		.replay = true,
		.candidate = choice->turn == KP_AB_TURN_CANDIDATE,
		.rule = rule,
		.number = choice->number,
		/* Of this graph and rule alone. */
		.shape = (graph->number << 8 | rule) * 0x9e3779b97f4a7c15ULL,
		.replaced = graph->ready[rule],
		.launches = (uint32_t)graph->count,
	};

	return kp_ab_times_begin(context, &sample, replay->stream);
}

/* Rules with a form of their own, which are sampled by turns. */
static uint32_t rules_sampled(const struct kp_ab_graph *graph)
{
	return graph->form_count > 1 ? graph->form_count - 1 : 1;
}

/* The rule whose form takes part in a pair of samples, and that form. */
static const struct kp_ab_graph_form *form_of_pair(const struct kp_ab_graph *graph, uint32_t pair,
						   uint32_t *rule)
{
	const struct kp_ab_graph_form *form =
		&graph->forms[graph->form_count > 1 ? 1 + pair % rules_sampled(graph) : 0];

	*rule = (uint32_t)__builtin_ctz(form->rules);
	return form;
}

/* In measure mode; `locked`: with the mutex. */
static void take_turn(struct kp_ab_graph *graph, struct kp_ab_replay *replay, bool locked)
{
	struct kp_ab_context *context = kp_ab_context_find(graph->context);
	struct kp_ab_choice choice =
		kp_ab_turns_replay(context, replay->stream, graph->number, (uint32_t)graph->count,
				   &graph->samples, rules_sampled(graph), locked);
	const struct kp_ab_graph_form *form = &graph->forms[0];
	uint32_t rule;

	if (choice.sample)
		form = form_of_pair(graph, choice.number / 2, &rule);
	if (choice.turn == KP_AB_TURN_CANDIDATE)
		replay->form = form;
	replay->reason = choice.reason;
	/* Of several rules together no effect is any one's. */
	if (choice.sample && context && locked && (form->rules & (form->rules - 1)) == 0)
		replay->sample = begin_sample(context, replay, &choice, rule);
}

static void choose(struct kp_ab_graph *graph, struct kp_ab_replay *replay)
{
	bool locked = pthread_mutex_trylock(&kp_ab.rare) == 0;

	if (locked && graph->given_up == KP_AB_REASON_COUNT)
		bring_up_to_date(graph, replay->stream);
	replay->reason = KP_AB_REASON_UNVERIFIED;
	if (graph->given_up != KP_AB_REASON_COUNT)
		replay->reason = graph->given_up;
	else if (may_launch_forms(graph) && kp_ab.plan.header->mode == KP_AB_SWAP)
		replay->form = &graph->forms[0];
	else if (may_launch_forms(graph))
		take_turn(graph, replay, locked);
	if (locked)
		pthread_mutex_unlock(&kp_ab.rare);
}

static __attribute__((noinline)) CUgraphExec launches(struct kp_ab_graph *graph,
						      struct kp_ab_replay *replay)
{
	struct inside inside = enter();

	replay->graph = graph;
	replay->form = NULL;
	replay->sample = NULL;
	replay->reason = KP_AB_REASON_SHADOW_MODE;
	graph->launches++;
	wait_for_last(graph, replay->stream);
	if ((graph->rules & ~atomic_load(&kp_ab.off)) == 0) /* forms stay, for when one is on */
		replay->reason = KP_AB_REASON_OFF;
	else if (atomic_load(&graph->lost))
		replay->reason = KP_AB_REASON_NOT_LOADED;
	else if (kp_ab.plan.header->mode != KP_AB_SHADOW)
		choose(graph, replay);
	leave(inside);
	return replay->form ? replay->form->exec : graph->exec;
}

CUgraphExec kp_ab_graph_launches(struct kp_ab_replay *replay, CUgraphExec exec, CUstream stream,
				 bool per_thread)
{
	struct kp_ab_graph *graph = is_asked() ? find(exec) : NULL;

	replay->graph = NULL;
	if (!graph || !kp_hooks_runs_now(stream, per_thread))
		return exec;
	replay->stream = per_thread && !stream ? CU_STREAM_PER_THREAD : stream;
	return launches(graph, replay);
}

static void add(uint32_t rule, enum kp_ab_count which, uint32_t more)
{
	atomic_fetch_add_explicit(&kp_ab.counts[rule][which], more, memory_order_relaxed);
}

static void excuse(uint32_t rule, uint32_t reason, uint32_t more)
{
	atomic_fetch_add_explicit(&kp_ab.reasons[rule][reason], more, memory_order_relaxed);
}

/* Why the launches of a rule that could have been replaced were not. */
static uint32_t reason_of(const struct kp_ab_replay *replay, uint32_t rule)
{
	if (replay->form)
		return KP_AB_REASON_ORIGINAL_SAMPLE;
	return atomic_load(&kp_ab.off) >> rule & 1 ? KP_AB_REASON_OFF : replay->reason;
}

/* Each launch that a graph makes is replaced, or has its reason. */
static void count_rule(const struct kp_ab_replay *replay, uint32_t rule)
{
	const struct kp_ab_graph *graph = replay->graph;
	uint32_t eligible = graph->eligible[rule], replaced, rest = eligible;
	bool told = graph->given_up == KP_AB_REASON_COUNT && !graph->stale && graph->builds;

	replaced = replay->form ? replay->form->replaced[rule] : 0;
	add(rule, KP_AB_COUNT_SEEN, eligible);
	add(rule, KP_AB_COUNT_ELIGIBLE, eligible);
	add(rule, KP_AB_COUNT_REPLACED_CAPTURED, replaced);
	rest -= replaced;
	for (uint32_t i = 0; told && i < KP_AB_REASON_COUNT; i++)
		if (graph->left[rule][i]) {
			excuse(rule, i, graph->left[rule][i]);
			rest -= graph->left[rule][i];
		}
	excuse(rule, reason_of(replay, rule), rest);
}

void kp_ab_graph_launched(struct kp_ab_replay *replay, bool succeeded)
{
	struct inside inside;

	if (!replay->graph)
		return;
	inside = enter();
	if (replay->sample)
		kp_ab_times_end(replay->sample, replay->stream);
	if (succeeded && replay->graph->order)
		replay->graph->ordered =
			kp_ab.driver.record(replay->graph->order, replay->stream) == CUDA_SUCCESS;
	replay->graph->stream = replay->stream;
	replay->graph->streams = kp_ab_streams_gone();
	for (uint32_t rules = succeeded ? replay->graph->rules : 0; rules; rules &= rules - 1)
		count_rule(replay, (uint32_t)__builtin_ctz(rules));
	leave(inside);
}
