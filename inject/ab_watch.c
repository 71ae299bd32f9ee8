/* Rules that are switched off and on, and what watchers are told of all; see ab.h. */
#define __CUDA_API_VERSION_INTERNAL
#include <stdio.h>
#include <string.h>

#include "inject/ab_state.h"
#include "inject/state.h"
#include "trace/board.h"
#include "trace/board_history.h"
#include "trace/control.h"

_Static_assert(KP_BOARD_RULES == KP_AB_RULES_MOST, "a board has room for all rules");

/* The name of a rule as boards have it: perhaps cut. */
static void name_of(uint32_t rule, char out[KP_BOARD_RULE_NAME_BYTES])
{
	const char *name = kp_ab.plan.texts + kp_ab.plan.rules[rule].name;

	snprintf(out, KP_BOARD_RULE_NAME_BYTES, "%.*s", KP_BOARD_RULE_NAME_BYTES - 1, name);
}

/* ---- switches ---- */

/* The rules of that name, as bits; 0: none has it. */
static uint32_t find(const char *wanted)
{
	uint32_t count = kp_ab.plan.header->rules.count, found = 0;
	char name[KP_BOARD_RULE_NAME_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		name_of(i, name);
		if (!wanted[0] || strcmp(name, wanted) == 0)
			found |= 1U << i;
	}
	return found;
}

const char *kp_ab_switch(unsigned verb, const char *name)
{
	bool on = verb == KP_CONTROL_AB_ON;
	uint32_t rules, changed;

	if (!on && verb != KP_CONTROL_AB_OFF)
		return NULL;
	if (!atomic_load(&kp_ab_on))
		return "it has no rules: start it by kprof ab, or by kprof top --rules";
	rules = find(name);
	if (!rules)
		return "it has no rule of that name; kprof ab --list prints them";
	if (on && name[0] && (atomic_load(&kp_ab.wrong) & rules) == rules)
		return "a result of that rule was wrong: it is taken back for good";
	changed = on ? atomic_fetch_and(&kp_ab.off, ~rules) & rules
		     : ~atomic_fetch_or(&kp_ab.off, rules) & rules;
	for (; changed; changed &= changed - 1)
		kp_ab.switched_ns[__builtin_ctz(changed)] = kp_clock_now();
	return NULL;
}

/* ---- watchers ---- */

static uint64_t counted(uint32_t rule, enum kp_ab_count which)
{
	return atomic_load_explicit(&kp_ab.counts[rule][which], memory_order_relaxed);
}

/* Sums that are told; what came since the last time is in the history. */
static void tell(struct kp_board_rule *out, uint32_t rule, uint64_t now_ns)
{
	uint64_t fitted = counted(rule, KP_AB_COUNT_ELIGIBLE);
	uint64_t replaced =
		counted(rule, KP_AB_COUNT_REPLACED) + counted(rule, KP_AB_COUNT_REPLACED_CAPTURED);

	if (out->begun_ns)
		kp_board_rule_add(out, now_ns / KP_BOARD_SECOND_NS, fitted - out->fitted,
				  replaced - out->replaced);
	else
		out->begun_ns = now_ns;
	out->fitted = fitted;
	out->replaced = replaced;
	out->seen = counted(rule, KP_AB_COUNT_SEEN);
	out->compared = counted(rule, KP_AB_COUNT_SHADOWED);
	out->off = atomic_load(&kp_ab.off) >> rule & 1;
	out->wrong = atomic_load(&kp_ab.wrong) >> rule & 1;
	out->shadow = kp_ab.plan.header->mode == KP_AB_SHADOW;
	out->switched_ns = kp_ab.switched_ns[rule];
}

void kp_ab_watch(struct kp_board_image *image, uint64_t now_ns)
{
	uint32_t count = atomic_load(&kp_ab_on) ? kp_ab.plan.header->rules.count : 0;

	for (uint32_t i = image->head.rule_count; i < count; i++)
		name_of(i, image->rules[i].name);
	image->head.rule_count = count;
	for (uint32_t i = 0; i < count; i++)
		tell(&image->rules[i], i, now_ns);
}
