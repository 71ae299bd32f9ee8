/* Functions and the rules that they may fit; see ab_match.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_match.h"

#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/torch_sequence.h"
#include "inject/ab_modules.h"
#include "inject/library_doors.h"
#include "inject/passages.h"

#define PLACES 8192U /* a power of two */
#define LOOK_MOST 16U
#define LAYOUTS_MOST 512U
#define CLAIMS_MOST 1000U

/*
 * `verdict` holds the generation and the rules; it is valid where the generation is the present
 * one, and then `layout` is that of this function. Whoever writes any of it has put CLAIMED in the
 * place of the function meanwhile: others then find none there.
 */
#define CLAIMED ((CUfunction)(uintptr_t)1)
struct place {
	_Atomic(CUfunction) function;
	_Atomic uint64_t verdict;
	_Atomic uint64_t members; /* of sequences */
	_Atomic(const struct kp_ab_layout *) layout;
};

static struct place *places;
static struct kp_ab_layout *layouts;
static _Atomic uint32_t layouts_used;
static _Atomic bool layouts_kept[LAYOUTS_MOST]; /* which of them are whole */
static _Atomic uint32_t generation;
static const struct kp_ab_plan *plan;
static const struct kp_ab_driver *driver;
static regex_t *patterns, *member_patterns;
static bool recognises;                          /* some rule does */
static uint32_t entries[KP_LIBRARY_ENTRY_COUNT]; /* rules of each of the libraries' functions */

static uint32_t rules_of_entry(const char *name)
{
	uint32_t rules = 0;

	for (uint32_t i = 0; i < plan->header->rules.count; i++)
		if (plan->rules[i].match == KP_AB_MATCH_GEMM &&
		    (plan->rules[i].pattern == KP_AB_NONE ||
		     regexec(&patterns[i], name, 0, NULL, 0) == 0))
			rules |= 1U << i;
	return rules;
}

bool kp_ab_match_start(const struct kp_ab_plan *of, const struct kp_ab_driver *by)
{
	plan = of;
	driver = by;
	places = calloc(PLACES, sizeof(*places));
	layouts = calloc(LAYOUTS_MOST, sizeof(*layouts));
	patterns = calloc(KP_AB_RULES_MOST, sizeof(*patterns));
	member_patterns = calloc(KP_AB_ALL_MEMBERS_MOST, sizeof(*member_patterns));
	if (!places || !layouts || !patterns || !member_patterns)
		return false;
	atomic_store(&generation, 1);
	for (uint32_t i = 0; i < plan->header->rules.count; i++) {
		const struct kp_ab_rule *rule = &plan->rules[i];

		recognises |= rule->match == KP_AB_MATCH_RECOGNISED;
		if ((rule->match == KP_AB_MATCH_REGEX || rule->match == KP_AB_MATCH_GEMM) &&
		    rule->pattern != KP_AB_NONE &&
		    regcomp(&patterns[i], plan->texts + rule->pattern, REG_EXTENDED | REG_NOSUB))
			return false;
	}
	for (uint32_t i = 0; i < plan->header->members.count; i++)
		if (plan->members[i].match == KP_AB_MATCH_REGEX &&
		    regcomp(&member_patterns[i], plan->texts + plan->members[i].pattern,
			    REG_EXTENDED | REG_NOSUB))
			return false;
	for (uint64_t entry = 0; entry < KP_LIBRARY_ENTRY_COUNT; entry++)
		entries[entry] = rules_of_entry(kp_library_doors_entry(entry));
	return true;
}

void kp_ab_match_leave(void)
{
	atomic_fetch_add(&generation, 1);
}

uint32_t kp_ab_match_entry(uint64_t entry)
{
	return entries[entry];
}

static bool fits_name(uint32_t match, uint32_t pattern, const regex_t *compiled, const char *name)
{
	if (match == KP_AB_MATCH_NAME)
		return strcmp(plan->texts + pattern, name) == 0;
	return match == KP_AB_MATCH_REGEX && regexec(compiled, name, 0, NULL, 0) == 0;
}

/* `count` parameters, and the bytes of each, if they are said. */
static bool fits_layout(uint32_t count, uint32_t first_size, uint32_t size_count,
			const struct kp_ab_layout *layout)
{
	if (count != KP_AB_NONE && count != layout->count)
		return false;
	for (uint32_t i = 0; i < size_count; i++) {
		uint32_t bytes = plan->sizes[first_size + i];

		if (bytes && bytes != layout->bytes[i])
			return false;
	}
	return true;
}

/* False: it has more parameters than can be looked at. */
static bool read_layout(CUfunction function, struct kp_ab_layout *out)
{
	size_t offset, bytes;

	for (out->count = 0;
	     driver->parameter_info(function, out->count, &offset, &bytes) == CUDA_SUCCESS;
	     out->count++) {
		if (out->count == KP_AB_PARAMETERS_MOST || bytes > KP_AB_PARAMETER_BYTES_MOST ||
		    offset > KP_AB_PARAMETER_BYTES_MOST)
			return false;
		out->offsets[out->count] = (uint32_t)offset;
		out->bytes[out->count] = (uint32_t)bytes;
	}
	return true;
}

static void read_limits(CUfunction function, struct kp_ab_layout *out)
{
	int threads = 0, bytes = 0;

	if (driver->function_limit(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) ==
		    CUDA_SUCCESS &&
	    threads > 0)
		out->threads_most = (uint32_t)threads;
	if (driver->function_limit(&bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				   function) == CUDA_SUCCESS &&
	    bytes > 0)
		out->shared_most = (uint32_t)bytes;
}

/* What a function may be, as bits. */
struct verdict {
	uint32_t rules;
	uint64_t members;
};

/*
 * Kernels that wait for those of other GPUs, by parts of their names: NCCL's (to 2.18, and later),
 * NVSHMEM's, vLLM's and PyTorch's own reductions. A second run of one, or another number of them,
 * is for the others no longer the one that they wait for: no rule is asked about any of these.
 */
static const char *const collectives[] = {
	"ncclKernel",          "ncclDevKernel",         "nvshmem",
	"cross_device_reduce", "one_shot_all_reduce",   "two_shot_all_reduce",
	"multimem_all_reduce", "multimem_one_shot_all", "multimem_all_gather",
};

static bool is_collective(const char *name)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
		if (strstr(name, collectives[i]))
			return true;
	return false;
}

static struct verdict judge_name(const char *name)
{
	struct verdict out = {0, 0};

	if (is_collective(name))
		return out;
	for (uint32_t i = 0; i < plan->header->rules.count; i++)
		if (fits_name(plan->rules[i].match, plan->rules[i].pattern, &patterns[i], name))
			out.rules |= 1U << i;
	for (uint32_t i = 0; i < plan->header->members.count; i++)
		if (fits_name(plan->members[i].match, plan->members[i].pattern, &member_patterns[i],
			      name))
			out.members |= 1ULL << i;
	return out;
}

static void judge_layout(const struct kp_ab_layout *layout, struct verdict *out)
{
	for (uint32_t i = 0; i < plan->header->rules.count; i++) {
		const struct kp_ab_rule *rule = &plan->rules[i];

		if (!fits_layout(rule->parameters, rule->first_size, rule->size_count, layout))
			out->rules &= ~(1U << i);
	}
	for (uint32_t i = 0; i < plan->header->members.count; i++) {
		const struct kp_ab_member *member = &plan->members[i];

		if (!fits_layout(member->parameters, member->first_size, member->size_count,
				 layout))
			out->members &= ~(1ULL << i);
	}
}

/* What PyTorch's kernel it is, and the places that it may have in what rules recognise. */
static uint64_t judge_torch(const char *name, struct kp_ab_layout *layout)
{
	size_t sizes[KP_AB_PARAMETERS_MOST];
	uint64_t members = 0;

	for (uint32_t i = 0; i < layout->count; i++)
		sizes[i] = layout->bytes[i];
	if (!kp_torch_launch_classify(name, sizes, layout->count, &layout->torch))
		return 0;
	for (uint32_t i = 0; i < plan->header->rules.count; i++) {
		const struct kp_ab_rule *rule = &plan->rules[i];
		uint8_t place;

		if (rule->match != KP_AB_MATCH_RECOGNISED)
			continue;
		place = kp_torch_sequence_place((uint8_t)rule->recognised,
						kp_torch_kind_op(&layout->torch));
		if (place & KP_TORCH_PLACE_FIRST)
			members |= 1ULL << rule->first_member;
		if (place & KP_TORCH_PLACE_ANY)
			members |= 1ULL << (rule->first_member + 1);
	}
	return members;
}

/* Those of these rules that want the function's module, or any. */
static uint32_t keep_modules(uint32_t rules, CUfunction handle, CUfunction function)
{
	uint64_t hash = 0;
	uint32_t kept = rules;

	for (; rules; rules &= rules - 1) {
		uint32_t number = (uint32_t)__builtin_ctz(rules);
		uint64_t wanted = plan->rules[number].module;

		if (!wanted)
			continue;
		hash = hash ? hash : kp_ab_modules_of(handle, function);
		kp_ab_modules_seen(number, hash, hash == wanted);
		if (hash != wanted)
			kept &= ~(1U << number);
	}
	return kept;
}

/* A launch takes a CUkernel in place of a CUfunction; only the latter has a name and parameters. */
static struct verdict find_out(CUfunction handle, struct kp_ab_layout *layout)
{
	struct verdict out = {0, 0};
	CUfunction function = handle;
	const char *name = NULL;

	if (driver->function_name(&name, function) != CUDA_SUCCESS &&
	    (driver->kernel_function(&function, handle) != CUDA_SUCCESS ||
	     driver->function_name(&name, function) != CUDA_SUCCESS))
		return out;
	if (name)
		out = judge_name(name);
	out.rules = keep_modules(out.rules, handle, function);
	if ((!out.rules && !out.members && !recognises) || !read_layout(function, layout))
		return (struct verdict){0, 0};
	judge_layout(layout, &out);
	if (recognises && name)
		out.members |= judge_torch(name, layout);
	if (out.members)
		read_limits(function, layout);
	return out;
}

static bool is_same(const struct kp_ab_layout *a, const struct kp_ab_layout *b)
{
	return a->count == b->count && a->threads_most == b->threads_most &&
	       a->shared_most == b->shared_most &&
	       memcmp(a->offsets, b->offsets, sizeof(a->offsets)) == 0 &&
	       memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0 &&
	       a->torch.kernel == b->torch.kernel && a->torch.functor == b->torch.functor &&
	       a->torch.seen == b->torch.seen &&
	       memcmp(a->torch.numbers, b->torch.numbers, sizeof(a->torch.numbers)) == 0 &&
	       memcmp(a->torch.types, b->torch.types, sizeof(a->torch.types)) == 0;
}

/* Kept for good, each once. NULL: there are too many. */
static const struct kp_ab_layout *keep(const struct kp_ab_layout *layout)
{
	uint32_t used = atomic_load(&layouts_used), number;

	for (number = 0; number < used && number < LAYOUTS_MOST; number++)
		if (atomic_load(&layouts_kept[number]) && is_same(&layouts[number], layout))
			return &layouts[number];
	if (used >= LAYOUTS_MOST)
		return NULL;
	number = atomic_fetch_add(&layouts_used, 1);
	if (number >= LAYOUTS_MOST)
		return NULL;
	layouts[number] = *layout;
	atomic_store(&layouts_kept[number], true);
	return &layouts[number];
}

static uint32_t home_of(CUfunction function)
{
	return (uint32_t)(((uintptr_t)function >> 4) * 0x9e3779b1U >> 8);
}

/* The place of a function, or a free one that is its from now on; NULL: there is none. */
static struct place *find_place(CUfunction function)
{
	uint32_t at = home_of(function);

	for (uint32_t looks = 0; looks < LOOK_MOST; looks++, at++) {
		struct place *place = &places[at & (PLACES - 1)];
		CUfunction found = atomic_load_explicit(&place->function, memory_order_relaxed);

		if (found == function)
			return place;
		if (!found && (atomic_compare_exchange_strong(&place->function, &found, function) ||
			       found == function))
			return place;
	}
	return NULL;
}

static bool is_known(const struct place *place, uint32_t now)
{
	return atomic_load_explicit(&place->verdict, memory_order_acquire) >> 32 == now;
}

static bool claim(struct place *place, CUfunction function)
{
	return function != CLAIMED &&
	       atomic_compare_exchange_strong(&place->function, &function, CLAIMED);
}

/* One of a function about which nothing is known any more, as it may be gone; NULL: there is none.
 */
static __attribute__((noinline)) struct place *take_place(CUfunction function, uint32_t now)
{
	uint32_t at = home_of(function);

	for (uint32_t looks = 0; looks < LOOK_MOST; looks++, at++) {
		struct place *place = &places[at & (PLACES - 1)];
		CUfunction found = atomic_load(&place->function);

		if (is_known(place, now) || !claim(place, found))
			continue;
		if (is_known(place, atomic_load(&generation))) { /* by now */
			atomic_store(&place->function, found);
			continue;
		}
		atomic_store(&place->verdict, 0);
		atomic_store(&place->members, 0);
		atomic_store(&place->function, function);
		return place;
	}
	return NULL;
}

/* False: the place is another's by now. Others have it for a few instructions at most. */
static bool put(struct place *place, CUfunction function, const struct kp_ab_layout *layout,
		uint64_t members, uint64_t verdict)
{
	uint32_t tries = 0;

	while (!claim(place, function))
		if (tries++ == CLAIMS_MOST)
			return false;
	if (layout)
		atomic_store(&place->layout, layout);
	atomic_store(&place->members, members);
	atomic_store(&place->verdict, verdict);
	atomic_store(&place->function, function);
	return true;
}

/* False: not now, since its address may be another's before this is found out. */
static __attribute__((noinline)) bool learn(struct place *place, CUfunction function, uint32_t now)
{
	struct kp_ab_layout found = {0};
	const struct kp_ab_layout *layout = NULL;
	struct verdict out;

	if (kp_passages_any(KP_PASSAGE_LEAVING))
		return false;
	out = find_out(function, &found);
	if (out.rules || out.members)
		layout = keep(&found);
	if (!layout)
		out = (struct verdict){0, 0};
	return put(place, function, layout, out.members, (uint64_t)now << 32 | out.rules);
}

/* Its place, if what it may be is known there or can be found out; NULL: not now. */
static __attribute__((noinline)) struct place *settle(CUfunction function, uint32_t now)
{
	struct place *place = function ? find_place(function) : NULL;

	if (function && !place)
		place = take_place(function, now);
	return place && (is_known(place, now) || learn(place, function, now)) ? place : NULL;
}

/* Most stand at home; an empty place is not known. */
static inline __attribute__((always_inline)) struct place *known_place(CUfunction function)
{
	struct place *home = &places[home_of(function) & (PLACES - 1)];
	uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);

	return __builtin_expect(atomic_load_explicit(&home->function, memory_order_acquire) ==
						function &&
					is_known(home, now),
				1)
		       ? home
		       : settle(function, now);
}

/* Whether what was read there is of this function, and of this verdict. */
static inline bool is_still(const struct place *place, CUfunction function, uint64_t verdict)
{
	return atomic_load_explicit(&place->function, memory_order_acquire) == function &&
	       atomic_load_explicit(&place->verdict, memory_order_relaxed) == verdict;
}

uint32_t kp_ab_match(CUfunction function, const struct kp_ab_layout **layout)
{
	struct place *place = known_place(function);
	uint64_t verdict;

	*layout = NULL;
	if (!place)
		return 0;
	verdict = atomic_load_explicit(&place->verdict, memory_order_acquire);
	if (!(uint32_t)verdict)
		return 0;
	*layout = atomic_load_explicit(&place->layout, memory_order_acquire);
	return is_still(place, function, verdict) ? (uint32_t)verdict : 0;
}

uint64_t kp_ab_match_members(CUfunction function, const struct kp_ab_layout **layout)
{
	struct place *place = known_place(function);
	uint64_t members, verdict;

	*layout = NULL;
	if (!place)
		return 0;
	verdict = atomic_load_explicit(&place->verdict, memory_order_acquire);
	members = atomic_load_explicit(&place->members, memory_order_acquire);
	if (!members)
		return 0;
	*layout = atomic_load_explicit(&place->layout, memory_order_acquire);
	return is_still(place, function, verdict) ? members : 0;
}
