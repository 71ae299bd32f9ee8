/* Reading rules about several launches, one behind the other; see ab_rules.h. */
#include <string.h>

#include "analyzers/ab_rules_parts.h"
#include "trace/vector.h"

#define HOLD_US 50

bool kp_ab_rules_have_sequences(const struct kp_ab_rules *rules)
{
	for (size_t i = 0; i < rules->rules_count; i++)
		if (rules->rules[i].member_count > 0)
			return true;
	return false;
}

/* The number of a buffer by its name, that it has from now on. */
static enum kp_status find_buffer(struct kp_ab_reading *reading, int number, uint32_t *out)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *name = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &name);

	if (status != KP_OK)
		return status;
	for (*out = 0; *out < reading->buffer_count; ++*out)
		if (strcmp(reading->buffers[*out], name) == 0)
			return KP_OK;
	if (reading->buffer_count == KP_AB_BUFFERS_MOST)
		return kp_rules_yaml_fail(&reading->yaml, node, "more than %u buffers",
					  KP_AB_BUFFERS_MOST);
	reading->buffers[reading->buffer_count++] = name;
	return KP_OK;
}

static enum kp_status read_access(struct kp_ab_reading *reading, int number, bool writes)
{
	static const struct kp_rules_key keys[] = {
		{"buffer", true}, {"address", true}, {"bytes", true}, {NULL, false}};
	struct kp_ab_rules *rules = reading->rules;
	struct kp_ab_access access = {.writes = writes};
	int values[3];
	enum kp_status status =
		kp_rules_yaml_values(&reading->yaml, number, "an access", keys, values);

	if (status == KP_OK)
		status = find_buffer(reading, values[0], &access.buffer);
	if (status == KP_OK)
		status = kp_ab_rules_put_code(reading, values[1], KP_AB_INTEGER, &access.address);
	if (status == KP_OK)
		status = kp_ab_rules_put_code(reading, values[2], KP_AB_INTEGER, &access.bytes);
	if (status != KP_OK)
		return status;
	if (!kp_vector_grow((void **)&rules->accesses, rules->accesses_count,
			    &rules->accesses_capacity, sizeof(access)))
		return KP_NO_MEMORY;
	rules->accesses[rules->accesses_count++] = access;
	if (writes)
		reading->written |= 1U << access.buffer;
	return KP_OK;
}

static enum kp_status read_accesses(struct kp_ab_reading *reading, int number, bool writes,
				    uint32_t *count)
{
	const yaml_node_t *list = number ? kp_rules_yaml_list(&reading->yaml, number) : NULL;
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	enum kp_status status = KP_OK;

	if (!number)
		return KP_OK;
	if (!list)
		return kp_rules_yaml_fail(&reading->yaml, node, "a list of accesses is expected");
	for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++) {
		if (*count == KP_AB_ACCESSES_MOST)
			return kp_rules_yaml_fail(&reading->yaml, list, "more than %u accesses",
						  KP_AB_ACCESSES_MOST);
		status = read_access(reading, list->data.sequence.items.start[i], writes);
		++*count;
	}
	return status;
}

enum { NAME, KERNEL, KERNEL_REGEX, PARAMETERS, LET, WHEN, READS, WRITES, OPTIONAL, KEY_COUNT };
static const struct kp_rules_key keys[KEY_COUNT + 1] = {
	[NAME] = {"name", true},
	[KERNEL] = {"kernel", false},
	[KERNEL_REGEX] = {"kernel_regex", false},
	[PARAMETERS] = {"parameters", true},
	[LET] = {"let", false},
	[WHEN] = {"when", false},
	[READS] = {"reads", false},
	[WRITES] = {"writes", true},
	[OPTIONAL] = {"optional", false},
};

/* What is said of its kernel, in the place of the rule's. */
static enum kp_status read_kernel(struct kp_ab_reading *reading, const yaml_node_t *node,
				  const int *values)
{
	enum kp_status status;

	if (!values[KERNEL] == !values[KERNEL_REGEX])
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a member has one of «kernel» and «kernel_regex»");
	reading->rule.match = values[KERNEL] ? KP_AB_MATCH_NAME : KP_AB_MATCH_REGEX;
	status = kp_ab_rules_read_pattern(reading, values[KERNEL] + values[KERNEL_REGEX],
					  values[KERNEL_REGEX] != 0);
	if (status == KP_OK)
		status = kp_ab_rules_read_parameters(reading, values[PARAMETERS]);
	return status == KP_OK ? kp_ab_rules_read_when(reading, values[WHEN]) : status;
}

static enum kp_status put_member(struct kp_ab_reading *reading, const struct kp_ab_rule *kernel,
				 struct kp_ab_member *member)
{
	struct kp_ab_rules *rules = reading->rules;

	member->match = kernel->match;
	member->pattern = kernel->pattern;
	member->parameters = kernel->parameters;
	member->first_size = kernel->first_size;
	member->size_count = kernel->size_count;
	member->when = kernel->when;
	if (!kp_vector_grow((void **)&rules->members, rules->members_count,
			    &rules->members_capacity, sizeof(*member)))
		return KP_NO_MEMORY;
	rules->members[rules->members_count++] = *member;
	return KP_OK;
}

static enum kp_status read_parts(struct kp_ab_reading *reading, const yaml_node_t *node,
				 const int *values, struct kp_ab_member *member)
{
	struct kp_ab_let lets[KP_AB_LETS_MOST];
	const struct kp_ab_rule rule = reading->rule;
	struct kp_ab_rule kernel;
	enum kp_status status;

	reading->scope = (struct kp_ab_scope){.match = KP_AB_MATCH_NAME};
	reading->rule = (struct kp_ab_rule){.pattern = KP_AB_NONE, .parameters = KP_AB_NONE};
	status = kp_ab_rules_read_lets(reading, values[LET], lets);
	if (status == KP_OK)
		status = read_kernel(reading, node, values);
	member->first_access = (uint32_t)reading->rules->accesses_count;
	if (status == KP_OK)
		status = read_accesses(reading, values[READS], false, &member->access_count);
	if (status == KP_OK)
		status = read_accesses(reading, values[WRITES], true, &member->access_count);
	if (status == KP_OK)
		status = kp_ab_rules_read_flag(reading, values[OPTIONAL], &member->optional);
	kernel = reading->rule;
	reading->rule = rule;
	return status == KP_OK ? put_member(reading, &kernel, member) : status;
}

static enum kp_status read_member(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	struct kp_ab_scope_member *known = &reading->members[reading->rule.member_count];
	const struct kp_ab_scope_member *before = known - 1;
	struct kp_ab_member member = {0};
	int values[KEY_COUNT];
	enum kp_status status =
		kp_rules_yaml_values(&reading->yaml, number, "a member", keys, values);

	if (status == KP_OK)
		status = kp_rules_yaml_text(&reading->yaml, values[NAME], &known->name);
	for (uint32_t i = 0; status == KP_OK && i < reading->rule.member_count; i++)
		if (strcmp(reading->members[i].name, known->name) == 0)
			return kp_rules_yaml_fail(&reading->yaml, node,
						  "there is another member «%.60s»", known->name);
	if (reading->rule.member_count > 0)
		member.first_parameter = before->first_parameter + before->parameters;
	if (status == KP_OK)
		status = read_parts(reading, node, values, &member);
	if (status != KP_OK)
		return status;
	known->first_parameter = member.first_parameter;
	known->parameters = member.parameters;
	if (member.first_parameter + member.parameters > KP_AB_PARAMETERS_MOST)
		return kp_rules_yaml_fail(&reading->yaml, node, "more than %u parameters in all",
					  KP_AB_PARAMETERS_MOST);
	reading->rule.member_count++;
	return KP_OK;
}

/* «a, b, c», for --list. */
static enum kp_status put_names(struct kp_ab_reading *reading)
{
	size_t length = 1;
	char *text;

	for (uint32_t i = 0; i < reading->rule.member_count; i++)
		length += strlen(reading->members[i].name) + 2;
	text = kp_arena_alloc(reading->rules->arena, length);
	if (!text)
		return KP_NO_MEMORY;
	*text = '\0';
	for (uint32_t i = 0; i < reading->rule.member_count; i++) {
		strcat(text, i ? ", " : "");
		strcat(text, reading->members[i].name);
	}
	return kp_ab_rules_put_text(reading->rules, text, &reading->rule.pattern);
}

static enum kp_status check_members(struct kp_ab_reading *reading, const yaml_node_t *list)
{
	const struct kp_ab_rule *rule = &reading->rule;
	const struct kp_ab_member *members = reading->rules->members + rule->first_member;

	if (rule->member_count < 2)
		return kp_rules_yaml_fail(&reading->yaml, list,
					  "a sequence has two members or more");
	if (members[0].optional || members[rule->member_count - 1].optional)
		return kp_rules_yaml_fail(&reading->yaml, list,
					  "the first and the last member cannot be «optional»");
	if (reading->rules->members_count > KP_AB_ALL_MEMBERS_MOST)
		return kp_rules_yaml_fail(&reading->yaml, list, "more than %u members in all rules",
					  KP_AB_ALL_MEMBERS_MOST);
	return put_names(reading);
}

enum kp_status kp_ab_rules_read_sequence(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *list = kp_rules_yaml_list(&reading->yaml, number);
	const struct kp_ab_scope scope = reading->scope;
	enum kp_status status = KP_OK;

	if (!list)
		return kp_rules_yaml_fail(&reading->yaml,
					  yaml_document_get_node(&reading->yaml.document, number),
					  "«sequence» is a list of members");
	reading->rule.match = KP_AB_MATCH_SEQUENCE;
	reading->rule.first_member = (uint32_t)reading->rules->members_count;
	reading->buffer_count = reading->written = 0;
	for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++) {
		if (reading->rule.member_count == KP_AB_MEMBERS_MOST)
			return kp_rules_yaml_fail(&reading->yaml, list, "more than %u members",
						  KP_AB_MEMBERS_MOST);
		status = read_member(reading, list->data.sequence.items.start[i]);
	}
	reading->scope = scope;
	reading->scope.match = KP_AB_MATCH_SEQUENCE;
	reading->scope.members = reading->members;
	reading->scope.member_count = reading->rule.member_count;
	return status == KP_OK ? check_members(reading, list) : status;
}

/* Whether data of that name is written. */
static bool is_output(const struct kp_ab_reading *reading, const char *name)
{
	const struct kp_ab_rules *rules = reading->rules;

	for (uint32_t i = 0; i < reading->rule.tensor_count; i++) {
		const struct kp_ab_tensor *tensor = &rules->tensors[reading->rule.first_tensor + i];

		if (tensor->role != KP_AB_INPUT && strcmp(rules->texts + tensor->name, name) == 0)
			return true;
	}
	return false;
}

/* A buffer that a member writes, and that is data of «outputs», or is not. */
static enum kp_status check_written(struct kp_ab_reading *reading, const yaml_node_t *node,
				    const char *name, bool kept, uint32_t *bits)
{
	uint32_t buffer = 0;

	while (buffer < reading->buffer_count && strcmp(reading->buffers[buffer], name) != 0)
		buffer++;
	if (buffer == reading->buffer_count || !(reading->written >> buffer & 1))
		return kp_rules_yaml_fail(&reading->yaml, node, "no member writes a buffer «%.60s»",
					  name);
	if (kept && !is_output(reading, name))
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "«%.60s» is kept: the replacement writes it, and "
					  "«outputs» must have data of that name",
					  name);
	if (!kept && is_output(reading, name))
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "«%.60s» is in «outputs»: the replacement writes it",
					  name);
	*bits |= 1U << buffer;
	return KP_OK;
}

static enum kp_status read_written(struct kp_ab_reading *reading, int number, bool kept,
				   uint32_t *bits)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char **names = NULL;
	size_t count = 0;
	enum kp_status status =
		number ? kp_rules_yaml_texts(&reading->yaml, number, &names, &count) : KP_OK;

	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = check_written(reading, node, names[i], kept, bits);
	return status;
}

enum kp_status kp_ab_rules_end_sequence(struct kp_ab_reading *reading, const yaml_node_t *node,
					const struct kp_ab_sequence_keys *said)
{
	struct kp_ab_rule *rule = &reading->rule;
	const struct kp_ab_tensor *tensors = reading->rules->tensors + rule->first_tensor;
	enum kp_status status = kp_ab_rules_read_flag(reading, said->row_local, &rule->row_local);
	uint32_t kept = 0;

	rule->hold_us = HOLD_US;
	if (status == KP_OK && said->hold_us)
		status = kp_ab_rules_read_count(reading, said->hold_us, KP_AB_HOLD_US_MOST,
						&rule->hold_us);
	if (status == KP_OK && rule->hold_us == 0)
		return kp_rules_yaml_fail(&reading->yaml, node, "«hold_us» is 1 or more");
	for (uint32_t i = 0; status == KP_OK && i < rule->tensor_count; i++)
		if (tensors[i].role == KP_AB_INOUT && !rule->row_local)
			return kp_rules_yaml_fail(
				&reading->yaml, node,
				"«inout» of a sequence needs «row_local: true»: "
				"that what is written is read for its own row alone");
	if (status == KP_OK)
		status = read_written(reading, said->keep, true, &kept);
	return status == KP_OK ? read_written(reading, said->elide, false, &rule->elided) : status;
}
