/* Functions and the rules that they may fit; see ab_match.h. */
#define __CUDA_API_VERSION_INTERNAL
#include "inject/ab_match.h"

#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "inject/ab_modules.h"
#include "inject/library_doors.h"

#define PLACES 8192U /* a power of two */
#define LOOK_MOST 16U
#define LAYOUTS_MOST 512U

/* `verdict` holds the generation and the rules; it is valid where the generation is the present
 * one, and then `layout` is that of this function. */
struct place {
	_Atomic(CUfunction) function;
	_Atomic uint64_t verdict;
	_Atomic(const struct kp_ab_layout *) layout;
};

static struct place *places;
static struct kp_ab_layout *layouts;
static _Atomic uint32_t layouts_used;
static _Atomic uint32_t generation;
static const struct kp_ab_plan *plan;
static const struct kp_ab_driver *driver;
static regex_t *patterns;
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
	if (!places || !layouts || !patterns)
		return false;
	atomic_store(&generation, 1);
	for (uint32_t i = 0; i < plan->header->rules.count; i++) {
		const struct kp_ab_rule *rule = &plan->rules[i];

		if (rule->match != KP_AB_MATCH_NAME && rule->pattern != KP_AB_NONE &&
		    regcomp(&patterns[i], plan->texts + rule->pattern, REG_EXTENDED | REG_NOSUB))
			return false;
	}
	for (uint64_t entry = 0; entry < KP_LIBRARY_ENTRY_COUNT; entry++)
		entries[entry] = rules_of_entry(kp_library_doors_entry(entry));
	return true;
}

void kp_ab_match_anew(void)
{
	atomic_fetch_add(&generation, 1);
}

uint32_t kp_ab_match_entry(uint64_t entry)
{
	return entries[entry];
}

static bool fits_name(uint32_t i, const char *name)
{
	const struct kp_ab_rule *rule = &plan->rules[i];

	if (rule->match == KP_AB_MATCH_NAME)
		return strcmp(plan->texts + rule->pattern, name) == 0;
	return rule->match == KP_AB_MATCH_REGEX && regexec(&patterns[i], name, 0, NULL, 0) == 0;
}

static bool fits_layout(const struct kp_ab_rule *rule, const struct kp_ab_layout *layout)
{
	if (rule->parameters != KP_AB_NONE && rule->parameters != layout->count)
		return false;
	for (uint32_t i = 0; i < rule->size_count; i++) {
		uint32_t bytes = plan->sizes[rule->first_size + i];

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
static uint32_t find_out(CUfunction handle, struct kp_ab_layout *layout)
{
	CUfunction function = handle;
	const char *name = NULL;
	uint32_t rules = 0;

	if (driver->function_name(&name, function) != CUDA_SUCCESS &&
	    (driver->kernel_function(&function, handle) != CUDA_SUCCESS ||
	     driver->function_name(&name, function) != CUDA_SUCCESS))
		return 0;
	for (uint32_t i = 0; name && i < plan->header->rules.count; i++)
		if (fits_name(i, name))
			rules |= 1U << i;
	rules = keep_modules(rules, handle, function);
	if (!rules || !read_layout(function, layout))
		return 0;
	for (uint32_t i = 0; i < plan->header->rules.count; i++)
		if (rules >> i & 1 && !fits_layout(&plan->rules[i], layout))
			rules &= ~(1U << i);
	return rules;
}

/* Kept for good; what a place had before, if that is the same. NULL: there are too many. */
static const struct kp_ab_layout *keep(const struct kp_ab_layout *before,
				       const struct kp_ab_layout *layout)
{
	uint32_t number;

	if (before && memcmp(before, layout, sizeof(*layout)) == 0)
		return before;
	if (atomic_load(&layouts_used) >= LAYOUTS_MOST)
		return NULL;
	number = atomic_fetch_add(&layouts_used, 1);
	if (number >= LAYOUTS_MOST)
		return NULL;
	layouts[number] = *layout;
	return &layouts[number];
}

/* The place of a function, or a free one that is its from now on; NULL: there is none. */
static struct place *find_place(CUfunction function)
{
	uintptr_t key = (uintptr_t)function;
	uint32_t at = (uint32_t)((key >> 4) * 0x9e3779b1U >> 8);

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

static __attribute__((noinline)) uint32_t learn(struct place *place, CUfunction function,
						uint32_t now, const struct kp_ab_layout **layout)
{
	struct kp_ab_layout found = {0};
	uint32_t rules = find_out(function, &found);

	if (rules)
		*layout = keep(atomic_load(&place->layout), &found);
	if (*layout)
		atomic_store(&place->layout, *layout);
	else
		rules = 0;
	atomic_store(&place->verdict, (uint64_t)now << 32 | rules);
	return rules;
}

uint32_t kp_ab_match(CUfunction function, const struct kp_ab_layout **layout)
{
	struct place *place = find_place(function);
	uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);
	uint64_t verdict;

	*layout = NULL;
	if (!place || !function)
		return 0;
	verdict = atomic_load_explicit(&place->verdict, memory_order_acquire);
	if (verdict >> 32 != now)
		return learn(place, function, now, layout);
	if ((uint32_t)verdict)
		*layout = atomic_load_explicit(&place->layout, memory_order_relaxed);
	return (uint32_t)verdict;
}
