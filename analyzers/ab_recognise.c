/*
 * Reading rules about sequences that are recognised by what their launches are known to do
 * (torch_sequence.h); see ab_rules.h. Their expressions use the names of the kind's operands.
 */
#include <string.h>

#include "analyzers/ab_rules_parts.h"
#include "analyzers/torch_sequence.h"
#include "trace/vector.h"

_Static_assert(KP_TORCH_SEQUENCE_INPUTS + KP_TORCH_SEQUENCE_OUTPUTS == KP_AB_OPERANDS_MOST,
	       "operands of rules");
_Static_assert((unsigned)KP_TORCH_SEQUENCE_COUNT <= KP_AB_KINDS_MOST, "kinds of rules");

/* «a,b,c»: each a name from `first` on. */
static enum kp_status name_operands(struct kp_ab_reading *reading, const char *list, size_t first)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		char *name = kp_arena_alloc(reading->rules->arena, length + 1);

		if (!name)
			return KP_NO_MEMORY;
		memcpy(name, list, length);
		name[length] = '\0';
		reading->operands[first++] = name;
		list += length + (list[length] == ',');
	}
	return KP_OK;
}

/* The launch that may be the first, and one that may be any. */
static enum kp_status put_members(struct kp_ab_reading *reading, const yaml_node_t *node)
{
	const struct kp_ab_member member = {.match = KP_AB_MATCH_RECOGNISED,
					    .pattern = reading->rule.pattern};
	struct kp_ab_rules *rules = reading->rules;

	reading->rule.first_member = (uint32_t)rules->members_count;
	reading->rule.member_count = 2;
	if (rules->members_count + 2 > KP_AB_ALL_MEMBERS_MOST)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "more than %u members in all rules: what is recognised "
					  "has two",
					  KP_AB_ALL_MEMBERS_MOST);
	for (int i = 0; i < 2; i++) {
		if (!kp_vector_grow((void **)&rules->members, rules->members_count,
				    &rules->members_capacity, sizeof(member)))
			return KP_NO_MEMORY;
		rules->members[rules->members_count++] = member;
	}
	return KP_OK;
}

enum kp_status kp_ab_rules_read_recognised(struct kp_ab_reading *reading, int number, int unseen)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *key = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &key);
	uint8_t kind;

	if (status != KP_OK)
		return status;
	kind = kp_torch_sequence_find(key);
	if (kind == KP_TORCH_SEQUENCE_NONE)
		return kp_rules_yaml_fail(&reading->yaml, node, "no sequence «%.60s» is recognised",
					  key);
	if (!kp_torch_sequence_kinds[kind].patterned)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "«%.60s» is recognised, but cannot be replaced yet", key);
	reading->rule.match = reading->scope.match = KP_AB_MATCH_RECOGNISED;
	reading->rule.recognised = kind;
	memset(reading->operands, 0, sizeof(reading->operands));
	reading->scope.operands = reading->operands;
	reading->buffer_count = reading->written = 0;
	status = kp_ab_rules_put_text(reading->rules, key, &reading->rule.pattern);
	if (status == KP_OK)
		status = name_operands(reading, kp_torch_sequence_kinds[kind].inputs, 0);
	if (status == KP_OK)
		status = name_operands(reading, kp_torch_sequence_kinds[kind].outputs,
				       KP_TORCH_SEQUENCE_INPUTS);
	if (status == KP_OK)
		status = kp_ab_rules_read_flag(reading, unseen, &reading->rule.unseen);
	return status == KP_OK ? put_members(reading, node) : status;
}

static bool is_off(const struct kp_ab_rule *rule)
{
	return rule->match == KP_AB_MATCH_RECOGNISED && !rule->unseen &&
	       kp_torch_sequence_kinds[rule->recognised].seen != KP_TORCH_SEEN_GPU;
}

bool kp_ab_rules_is_off(const struct kp_ab_rules *rules, size_t i)
{
	return is_off(&rules->rules[i]);
}

void kp_ab_rules_allow_unseen(struct kp_ab_rules *rules)
{
	for (size_t i = 0; i < rules->rules_count; i++)
		rules->rules[i].unseen = rules->rules[i].match == KP_AB_MATCH_RECOGNISED;
}

void kp_ab_rules_leave_off(struct kp_ab_rules *rules)
{
	size_t kept = 0;

	for (size_t i = 0; i < rules->rules_count; i++) {
		if (is_off(&rules->rules[i]))
			continue;
		rules->abouts[kept] = rules->abouts[i];
		rules->rules[kept++] = rules->rules[i];
	}
	rules->rules_count = kept;
}
