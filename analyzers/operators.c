/* Labels of kernels, from the rules that fit; see operators.h. */
#include "analyzers/operators.h"

#include <string.h>

#include "analyzers/operators_rules.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

size_t kp_variant_find(const struct kp_operators *operators, size_t operator_index,
		       const char *name)
{
	size_t i = 0;

	while (i < operators->variant_count &&
	       (operators->variants[i].operator_index != operator_index ||
		!same_text(operators->variants[i].name, name)))
		i++;
	return i;
}

bool kp_classes_hold(const struct kp_operators *operators, const struct kp_class_list *list,
		     const struct kp_label *label)
{
	const struct kp_variant *variant = &operators->variants[label->variant];

	for (size_t i = 0; i < list->count; i++) {
		const struct kp_label_class *item = &list->items[i];

		if (item->operator_index == variant->operator_index &&
		    (!item->variant || same_text(item->variant, variant->name)))
			return true;
	}
	return false;
}

static const char *text_of(const struct kp_operator_rule *rule)
{
	return rule ? rule->text : NULL;
}

/* The variant that a rule says, for a kernel of this number type. */
static size_t variant_of(const struct kp_operators *operators, const struct kp_operator_rule *rule,
			 const char *dtype)
{
	if (!rule || rule->operator_index == KP_OPERATOR_UNKNOWN)
		return KP_OPERATOR_UNKNOWN;
	return kp_variant_find(operators, rule->operator_index, rule->text ? rule->text : dtype);
}

enum kp_status kp_operators_match(const struct kp_operators *operators, const char *full,
				  struct kp_label *out)
{
	const struct kp_operator_rule *found[KP_RULE_KIND_COUNT], *rule, *builtin;
	enum kp_status status;

	*out = (struct kp_label){.variant = KP_OPERATOR_UNKNOWN,
				 .named_variant = KP_OPERATOR_UNKNOWN};
	if (strncmp(full, "_Z", 2) == 0) /* could not be demangled: nobody knows the function */
		return KP_OK;
	status = kp_rules_match(operators, full, found, &builtin);
	if (status != KP_OK)
		return status;
	rule = found[KP_RULE_OPERATOR];
	out->library = text_of(found[KP_RULE_LIBRARY]);
	out->dtype = text_of(found[KP_RULE_TYPE]);
	out->step = text_of(found[KP_RULE_STEP]);
	out->inputs = found[KP_RULE_STEP] ? found[KP_RULE_STEP]->inputs : 0;
	out->named_variant = variant_of(operators, builtin, out->dtype);
	out->named_helper = builtin && builtin->helper;
	out->variant = variant_of(operators, rule, out->dtype);
	out->helper = rule && rule->helper;
	if (rule && rule->user) /* also where it takes a label away */
		out->source = KP_LABEL_USER;
	else if (out->variant != KP_OPERATOR_UNKNOWN)
		out->source = KP_LABEL_NAME;
	return KP_OK;
}

const char *kp_label_source_name(enum kp_label_source source)
{
	static const char *const names[] = {[KP_LABEL_NONE] = NULL,
					    [KP_LABEL_NAME] = "name",
					    [KP_LABEL_SEQUENCE] = "sequence",
					    [KP_LABEL_USER] = "user rule"};

	return names[source];
}

size_t kp_operators_count(const struct kp_operators *operators)
{
	return operators->operator_count;
}

const char *kp_operators_name(const struct kp_operators *operators, size_t index)
{
	return operators->operators[index].name;
}

const char *kp_operators_about(const struct kp_operators *operators, size_t index)
{
	return operators->operators[index].about;
}

size_t kp_operators_variant_count(const struct kp_operators *operators)
{
	return operators->variant_count;
}

struct kp_variant kp_operators_variant(const struct kp_operators *operators, size_t number)
{
	return operators->variants[number];
}
