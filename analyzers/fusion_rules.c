/* Reading rules about chains, and matching them; see fusion_rules.h. */
#include "analyzers/fusion_rules.h"

#include <string.h>

static const char *const confidence_names[] = {
#define NAME_ROW(NAME, name) name,
	KP_FUSION_CONFIDENCES(NAME_ROW)
#undef NAME_ROW
};

static const char *const flow_names[] = {
#define NAME_ROW(NAME, name) name,
	KP_FUSION_FLOWS(NAME_ROW)
#undef NAME_ROW
};

#define CONFIDENCES (sizeof(confidence_names) / sizeof(confidence_names[0]))

const char *kp_fusion_flow_name(enum kp_fusion_flow flow)
{
	return flow_names[flow];
}

const char *kp_fusion_confidence_name(enum kp_fusion_confidence confidence)
{
	return confidence_names[confidence];
}

/* ---- reading ---- */

static bool is_known(const struct kp_operators *operators, const char *word)
{
	const struct kp_rule_list *steps = &operators->lists[KP_RULE_STEP];

	for (size_t i = 0; i < steps->count; i++)
		if (strcmp(steps->rules[i].text, word) == 0)
			return true;
	for (size_t i = 0; i < operators->operator_count; i++)
		if (strcmp(operators->operators[i].name, word) == 0)
			return true;
	return false;
}

/* The alternatives of an element, which are cut out of `text`. */
static enum kp_status read_words(struct kp_rules_yaml *yaml, const yaml_node_t *node,
				 const struct kp_operators *operators, char *text,
				 struct kp_pattern_list *out)
{
	size_t count = 1;

	for (const char *at = text; *at; at++)
		count += *at == '|';
	out->items = kp_arena_alloc(yaml->arena, count * sizeof(*out->items));
	if (!out->items)
		return KP_NO_MEMORY;
	for (out->count = 0; out->count < count; out->count++) {
		size_t length = strcspn(text, "|");

		text[length] = '\0';
		if (!is_known(operators, text))
			return kp_rules_yaml_fail(yaml, node,
						  "«%s» is neither a step nor an operator", text);
		out->items[out->count] = text;
		text += length + 1;
	}
	return KP_OK;
}

/* «word», «word|word», «(word)», each followed by ?, * or + or nothing. */
static enum kp_status read_element(struct kp_rules_yaml *yaml, int number,
				   const struct kp_operators *operators,
				   struct kp_fusion_rule *rule)
{
	const yaml_node_t *node = yaml_document_get_node(&yaml->document, number);
	uint32_t bit = 1U << rule->element_count;
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(yaml, number, &text);
	size_t length;
	char *inner;

	if (status != KP_OK)
		return status;
	length = strlen(text);
	if (strchr("?*+", text[length - 1])) {
		rule->optional |= text[length - 1] != '+' ? bit : 0;
		rule->repeated |= text[length - 1] != '?' ? bit : 0;
		length--;
	}
	if (length > 1 && text[0] == '(' && text[length - 1] == ')') {
		rule->stays |= bit;
		text++;
		length -= 2;
	}
	inner = kp_arena_copy(yaml->arena, text, length);
	if (!inner)
		return KP_NO_MEMORY;
	return read_words(yaml, node, operators, inner, &rule->elements[rule->element_count++]);
}

static enum kp_status read_elements(struct kp_rules_yaml *yaml, int number,
				    const struct kp_operators *operators,
				    struct kp_fusion_rule *rule)
{
	const yaml_node_t *list = kp_rules_yaml_list(yaml, number);
	size_t count = list ? kp_rules_yaml_count(list) : 0;
	enum kp_status status = KP_OK;
	uint32_t all;

	if (count < 2 || count > KP_FUSION_ELEMENTS_MAX)
		return kp_rules_yaml_fail(yaml, yaml_document_get_node(&yaml->document, number),
					  "«chain» is a list of 2 to %d elements",
					  KP_FUSION_ELEMENTS_MAX);
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_element(yaml, list->data.sequence.items.start[i], operators, rule);
	all = (1U << count) - 1;
	if (status == KP_OK && ((rule->optional | rule->stays) & all) == all)
		return kp_rules_yaml_fail(yaml, list, "nothing of the chain must be there");
	return status;
}

static enum kp_status read_confidence(struct kp_rules_yaml *yaml, int number,
				      enum kp_fusion_confidence *out)
{
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(yaml, number, &text);

	for (unsigned i = 0; status == KP_OK && i < CONFIDENCES; i++)
		if (strcmp(confidence_names[i], text) == 0) {
			*out = (enum kp_fusion_confidence)i;
			return KP_OK;
		}
	return status != KP_OK
		       ? status
		       : kp_rules_yaml_fail(yaml, yaml_document_get_node(&yaml->document, number),
					    "«confidence» is low, medium or high");
}

static enum kp_status read_flag(struct kp_rules_yaml *yaml, int number, bool *out)
{
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(yaml, number, &text);

	if (status != KP_OK)
		return status;
	*out = strcmp(text, "true") == 0;
	if (!*out && strcmp(text, "false") != 0)
		return kp_rules_yaml_fail(yaml, yaml_document_get_node(&yaml->document, number),
					  "neither true nor false");
	return KP_OK;
}

/* «operator/variant», the variant of a member. */
static enum kp_status read_variant(struct kp_rules_yaml *yaml, int number,
				   struct kp_operators *operators, size_t *out)
{
	const yaml_node_t *node = yaml_document_get_node(&yaml->document, number);
	const char *text = NULL, *slash;
	enum kp_status status = kp_rules_yaml_text(yaml, number, &text);
	char *name;

	if (status != KP_OK)
		return status;
	slash = strchr(text, '/');
	if (!slash)
		return kp_rules_yaml_fail(yaml, node, "«operator» is «operator/variant»");
	name = kp_arena_copy(yaml->arena, text, (size_t)(slash - text));
	if (!name)
		return KP_NO_MEMORY;
	status = kp_variant_need(operators, name, slash + 1, out);
	return status == KP_INVALID ? kp_rules_yaml_fail(yaml, node, "no operator «%s»", name)
				    : status;
}

/* What a chain is that is written out: one operator, or one for each of its members, of which then
 * each must be there once. */
static enum kp_status read_operators(struct kp_rules_yaml *yaml, int number,
				     struct kp_operators *operators, struct kp_fusion_rule *rule)
{
	const yaml_node_t *node = yaml_document_get_node(&yaml->document, number);
	size_t members = rule->element_count - (size_t)__builtin_popcount(rule->stays);
	bool several = node->type == YAML_SEQUENCE_NODE;
	size_t count = several ? kp_rules_yaml_count(node) : 1;
	enum kp_status status = KP_OK;

	if (rule->confidence != KP_FUSION_HIGH || rule->absorbed)
		return kp_rules_yaml_fail(yaml, node,
					  "an operator needs high confidence, and not «absorbed»");
	if (several && (count != members || ((rule->optional | rule->repeated) & ~rule->stays)))
		return kp_rules_yaml_fail(yaml, node,
					  "one «operator» for each of the chain, which must all be "
					  "there once");
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_variant(yaml, several ? node->data.sequence.items.start[i] : number,
				      operators, &rule->variants[i]);
	for (size_t i = count; status == KP_OK && i < KP_FUSION_ELEMENTS_MAX; i++)
		rule->variants[i] = rule->variants[count - 1];
	rule->written_out = true;
	return status;
}

size_t kp_fusion_rule_variant(const struct kp_fusion_rule *rule, size_t member)
{
	return rule
		->variants[member < KP_FUSION_ELEMENTS_MAX ? member : KP_FUSION_ELEMENTS_MAX - 1];
}

static enum kp_status read_rule(struct kp_rules_yaml *yaml, int number,
				struct kp_operators *operators, struct kp_fusion_rule *rule)
{
	static const struct kp_rules_key keys[] = {
		{"name", true},       {"about", true},     {"chain", true},
		{"confidence", true}, {"builtin", false},  {"absorbed", false},
		{"same_grid", false}, {"operator", false}, {0}};
	int values[8];
	enum kp_status status =
		kp_rules_yaml_values(yaml, number, "a rule about fusion", keys, values);

	if (status == KP_OK)
		status = kp_rules_yaml_text(yaml, values[0], &rule->name);
	if (status == KP_OK)
		status = kp_rules_yaml_text(yaml, values[1], &rule->about);
	if (status == KP_OK)
		status = read_elements(yaml, values[2], operators, rule);
	if (status == KP_OK)
		status = read_confidence(yaml, values[3], &rule->confidence);
	if (status == KP_OK && values[4])
		status = kp_rules_yaml_text(yaml, values[4], &rule->builtin);
	if (status == KP_OK && values[5])
		status = read_flag(yaml, values[5], &rule->absorbed);
	if (status == KP_OK && values[6])
		status = read_flag(yaml, values[6], &rule->same_grid);
	if (status == KP_OK && values[7])
		status = read_operators(yaml, values[7], operators, rule);
	return status;
}

enum kp_status kp_fusion_rules_read(struct kp_rules_yaml *yaml, const yaml_node_t *list,
				    struct kp_operators *out)
{
	size_t count = kp_rules_yaml_count(list), old = out->fusion_count;
	enum kp_status status = KP_OK;
	struct kp_fusion_rule *joined;

	if (count > KP_FUSION_RULES_MAX - old)
		return kp_rules_yaml_fail(yaml, list, "more than %d rules about fusion",
					  KP_FUSION_RULES_MAX);
	joined = kp_arena_alloc(out->arena, (count + old + 1) * sizeof(*joined));
	if (!joined)
		return KP_NO_MEMORY;
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = read_rule(yaml, list->data.sequence.items.start[i], out, &joined[i]);
	if (status != KP_OK)
		return status;
	if (old)
		memcpy(joined + count, out->fusions, old * sizeof(*joined));
	out->fusions = joined;
	out->fusion_count = count + old;
	return KP_OK;
}

/* ---- matching ---- */

/* What may come next, where elements that may be absent are. */
static inline uint32_t skip_optional(const struct kp_fusion_rule *rule, uint32_t next)
{
	uint32_t before;

	do {
		before = next;
		next |= (next & rule->optional) << 1;
	} while (next != before);
	return next;
}

uint32_t kp_fusion_rule_next(const struct kp_fusion_rule *rule, uint32_t fits)
{
	return skip_optional(rule, fits ? fits << 1 | (fits & rule->repeated) : 1);
}

/* Whether all goes on as it did for the last that found nothing. */
static inline bool goes_on(const struct kp_fusion_memo *memo, size_t at, uint32_t next)
{
	return memo && at < memo->end && memo->next[at] == next;
}

/* Nothing was found from `from` on up to `end`. */
static void remember(struct kp_fusion_memo *memo, size_t end, bool open)
{
	if (!memo)
		return;
	memo->end = end;
	memo->open = open;
}

size_t kp_fusion_rule_match(const struct kp_fusion_rule *rule, const uint32_t *elements,
			    const struct kp_fusion_strip *strip, uint64_t *members, bool *open)
{
	uint32_t end = 1U << rule->element_count, next = skip_optional(rule, 1);
	struct kp_fusion_memo *memo = strip->memo;
	uint64_t seen = 0;
	size_t longest = 0, i;

	*members = 0;
	*open = false;
	for (i = 0; i < strip->count && next; i++) {
		uint32_t fits = next & elements[strip->words[i]];

		if (goes_on(memo, strip->at + i, next)) {
			*open = memo->open;
			memo->end = longest ? 0 : memo->end;
			return longest;
		}
		if (memo)
			memo->next[strip->at + i] = next;
		if (strip->used >> i & 1)
			fits &= rule->stays;
		next = fits ? kp_fusion_rule_next(rule, fits) : 0;
		if (fits & ~rule->stays)
			seen |= 1ULL << i;
		if (next & end) {
			longest = i + 1;
			*members = seen;
		}
	}
	*open = (next & ~end) != 0;
	remember(memo, longest ? 0 : strip->at + i, *open);
	return longest;
}
