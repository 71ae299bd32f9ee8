/* Reading what A/B rules say of the data that launches read and write; see ab_rules.h. */
#include "analyzers/ab_rules_parts.h"
#include "trace/vector.h"

enum { T_NAME, T_ADDRESS, T_DTYPE, T_ROWS, T_COLUMNS, T_ROW_STRIDE, T_COLUMN_STRIDE, T_COUNT };
static const struct kp_rules_key tensor_keys[T_COUNT + 1] = {
	{"name", true},    {"address", true},     {"dtype", true},          {"rows", true},
	{"columns", true}, {"row_stride", false}, {"column_stride", false}, {NULL, false},
};

static enum kp_status read_tensor(struct kp_ab_reading *reading, int number, enum kp_ab_role role)
{
	struct kp_ab_rules *rules = reading->rules;
	struct kp_ab_tensor tensor = {.role = role};
	struct kp_ab_span *const codes[] = {NULL,
					    &tensor.address,
					    &tensor.dtype,
					    &tensor.rows,
					    &tensor.columns,
					    &tensor.row_stride,
					    &tensor.column_stride};
	const char *name = NULL;
	int values[T_COUNT];
	enum kp_status status = kp_rules_yaml_values(&reading->yaml, number, "a piece of data",
						     tensor_keys, values);

	if (status == KP_OK)
		status = kp_rules_yaml_text(&reading->yaml, values[T_NAME], &name);
	if (status == KP_OK)
		status = kp_ab_rules_put_text(rules, name, &tensor.name);
	for (int i = T_ADDRESS; status == KP_OK && i < T_COUNT; i++)
		if (values[i])
			status = kp_ab_rules_put_code(reading, values[i], KP_AB_INTEGER, codes[i]);
	if (status != KP_OK)
		return status;
	if (!kp_vector_grow((void **)&rules->tensors, rules->tensors_count,
			    &rules->tensors_capacity, sizeof(tensor)))
		return KP_NO_MEMORY;
	rules->tensors[rules->tensors_count++] = tensor;
	reading->rule.tensor_count++;
	return KP_OK;
}

enum kp_status kp_ab_rules_read_data(struct kp_ab_reading *reading, int number,
				     enum kp_ab_role role)
{
	const yaml_node_t *list = kp_rules_yaml_list(&reading->yaml, number);
	enum kp_status status = KP_OK;

	if (!number)
		return KP_OK;
	if (!list)
		return kp_rules_yaml_fail(&reading->yaml,
					  yaml_document_get_node(&reading->yaml.document, number),
					  "a list of data is expected here");
	for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++) {
		if (reading->rule.tensor_count == KP_AB_TENSORS_MOST)
			return kp_rules_yaml_fail(&reading->yaml, list,
						  "more than %u pieces of data",
						  KP_AB_TENSORS_MOST);
		status = read_tensor(reading, list->data.sequence.items.start[i], role);
	}
	return status;
}
