/* Reading A/B rules: what they match, and the whole of a rule; see ab_rules.h. */
#include "analyzers/ab_rules.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/ab_pattern.h"
#include "analyzers/ab_rules_parts.h"
#include "trace/vector.h"

#define WHENS_MOST 32

enum kp_status kp_ab_rules_create(struct kp_ab_rules **out)
{
	*out = calloc(1, sizeof(**out));
	if (*out)
		(*out)->arena = kp_arena_create();
	if (*out && (*out)->arena)
		return KP_OK;
	kp_ab_rules_destroy(*out);
	*out = NULL;
	return KP_NO_MEMORY;
}

void kp_ab_rules_destroy(struct kp_ab_rules *rules)
{
	if (!rules)
		return;
#define FREE(member, type) free(rules->member);
	KP_AB_TABLES(FREE)
#undef FREE
	kp_arena_destroy(rules->arena);
	free(rules);
}

/* ---- parts ---- */

enum kp_status kp_ab_rules_put_text(struct kp_ab_rules *rules, const char *text, uint32_t *out)
{
	size_t length = strlen(text) + 1;

	if (!kp_vector_reserve((void **)&rules->texts, rules->texts_count + length,
			       &rules->texts_capacity, 1))
		return KP_NO_MEMORY;
	memcpy(rules->texts + rules->texts_count, text, length);
	*out = (uint32_t)rules->texts_count;
	rules->texts_count += length;
	return KP_OK;
}

static enum kp_status put_ops(struct kp_ab_rules *rules, const struct kp_ab_expression *from,
			      struct kp_ab_span *out)
{
	if (!kp_vector_reserve((void **)&rules->ops, rules->ops_count + from->count,
			       &rules->ops_capacity, sizeof(*rules->ops)))
		return KP_NO_MEMORY;
	memcpy(rules->ops + rules->ops_count, from->ops, from->count * sizeof(*rules->ops));
	*out = (struct kp_ab_span){(uint32_t)rules->ops_count, (uint32_t)from->count};
	rules->ops_count += from->count;
	return KP_OK;
}

static enum kp_status put_expression(struct kp_ab_reading *reading, const yaml_node_t *node,
				     const char *text, enum kp_ab_type type, struct kp_ab_span *out)
{
	if (kp_ab_expression_compile(text, &reading->scope, type, &reading->expression) != KP_OK)
		return kp_rules_yaml_fail(&reading->yaml, node, "%s", reading->expression.error);
	return put_ops(reading->rules, &reading->expression, out);
}

enum kp_status kp_ab_rules_put_code(struct kp_ab_reading *reading, int number, enum kp_ab_type type,
				    struct kp_ab_span *out)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &text);

	return status == KP_OK ? put_expression(reading, node, text, type, out) : status;
}

enum kp_status kp_ab_rules_put_path(struct kp_ab_reading *reading, int number, uint32_t *out)
{
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &text);
	size_t folder = strlen(reading->folder);
	char *path;

	if (status != KP_OK || text[0] == '/' || folder == 0)
		return status == KP_OK ? kp_ab_rules_put_text(reading->rules, text, out) : status;
	path = kp_arena_alloc(reading->rules->arena, folder + strlen(text) + 2);
	if (!path)
		return KP_NO_MEMORY;
	memcpy(path, reading->folder, folder);
	path[folder] = '/';
	strcpy(path + folder + 1, text);
	return kp_ab_rules_put_text(reading->rules, path, out);
}

/* ---- what it matches ---- */

static enum kp_status check_regex(struct kp_ab_reading *reading, const yaml_node_t *node,
				  const char *text)
{
	const char *refused = kp_ab_pattern_refuse(text);
	char reason[80];
	regex_t regex;
	int error;

	if (refused)
		return kp_rules_yaml_fail(&reading->yaml, node, "a pattern that is refused: %s",
					  refused);
	error = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
	if (error) {
		regerror(error, &regex, reason, sizeof(reason));
		return kp_rules_yaml_fail(&reading->yaml, node, "not a pattern: %s", reason);
	}
	regfree(&regex);
	return KP_OK;
}

/* One pattern, which must be a regular expression where it is one. */
enum kp_status kp_ab_rules_read_pattern(struct kp_ab_reading *reading, int number, bool is_regex)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &text);

	if (status == KP_OK && is_regex)
		status = check_regex(reading, node, text);
	return status == KP_OK ? kp_ab_rules_put_text(reading->rules, text, &reading->rule.pattern)
			       : status;
}

enum {
	NAME,
	ABOUT,
	KERNEL,
	KERNEL_REGEX,
	CALL,
	ENTRY,
	MODULE,
	PARAMETERS,
	LET,
	WHEN,
	REPLACE,
	INPUTS,
	OUTPUTS,
	INOUT,
	TOLERANCE,
	REPEATABLE,
	OTHER_INPUTS,
	SEQUENCE,
	RECOGNISE,
	UNSEEN,
	KEEP,
	ELIDE,
	ROW_LOCAL,
	HOLD_US,
	KEY_COUNT
};
static const struct kp_rules_key keys[KEY_COUNT + 1] = {
	[NAME] = {"name", true},
	[ABOUT] = {"about", false},
	[KERNEL] = {"kernel", false},
	[KERNEL_REGEX] = {"kernel_regex", false},
	[CALL] = {"call", false},
	[ENTRY] = {"entry", false},
	[MODULE] = {"module", false},
	[PARAMETERS] = {"parameters", false},
	[LET] = {"let", false},
	[WHEN] = {"when", false},
	[REPLACE] = {"replace", false},
	[INPUTS] = {"inputs", false},
	[OUTPUTS] = {"outputs", false},
	[INOUT] = {"inout", false},
	[TOLERANCE] = {"tolerance", false},
	[REPEATABLE] = {"repeatable", false},
	[OTHER_INPUTS] = {"other_inputs", false},
	[SEQUENCE] = {"sequence", false},
	[RECOGNISE] = {"recognise", false},
	[UNSEEN] = {"unseen", false},
	[KEEP] = {"keep", false},
	[ELIDE] = {"elide", false},
	[ROW_LOCAL] = {"row_local", false},
	[HOLD_US] = {"hold_us", false},
};

static enum kp_status read_match(struct kp_ab_reading *reading, const yaml_node_t *node,
				 const int *values)
{
	const char *what = NULL;
	enum kp_status status;

	if (!!values[KERNEL] + !!values[KERNEL_REGEX] + !!values[CALL] + !!values[SEQUENCE] +
		    !!values[RECOGNISE] !=
	    1)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a rule has one of «kernel», «kernel_regex», «call», "
					  "«sequence» and «recognise»");
	if ((values[SEQUENCE] || values[RECOGNISE]) &&
	    (values[ENTRY] || values[PARAMETERS] || values[MODULE]))
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "«entry», «parameters» and «module» are of one launch: "
					  "a sequence's members have their own");
	if (values[SEQUENCE])
		return kp_ab_rules_read_sequence(reading, values[SEQUENCE]);
	if (values[RECOGNISE])
		return kp_ab_rules_read_recognised(reading, values[RECOGNISE], values[UNSEEN]);
	reading->rule.match = values[CALL]           ? KP_AB_MATCH_GEMM
			      : values[KERNEL_REGEX] ? KP_AB_MATCH_REGEX
						     : KP_AB_MATCH_NAME;
	reading->scope.match = (enum kp_ab_match)reading->rule.match;
	if (!values[CALL])
		return values[ENTRY]
			       ? kp_rules_yaml_fail(&reading->yaml, node, "«entry» is of calls")
			       : kp_ab_rules_read_pattern(reading,
							  values[KERNEL] + values[KERNEL_REGEX],
							  values[KERNEL_REGEX] != 0);
	status = kp_rules_yaml_text(&reading->yaml, values[CALL], &what);
	if (status == KP_OK && strcmp(what, "gemm") != 0)
		return kp_rules_yaml_fail(
			&reading->yaml,
			yaml_document_get_node(&reading->yaml.document, values[CALL]),
			"«%.40s» is no call: «gemm» is the one that there is", what);
	if (status == KP_OK && values[PARAMETERS])
		return kp_rules_yaml_fail(&reading->yaml, node, "a call has no «parameters»");
	return status == KP_OK && values[ENTRY]
		       ? kp_ab_rules_read_pattern(reading, values[ENTRY], true)
		       : status;
}

enum kp_status kp_ab_rules_read_count(struct kp_ab_reading *reading, int number, long most,
				      uint32_t *out)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *text = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, number, &text);
	char *end;
	long value;

	if (status != KP_OK)
		return status;
	value = strtol(text, &end, 10);
	if (*end || value < 0 || value > most)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a number from 0 to %ld is expected", most);
	*out = (uint32_t)value;
	return KP_OK;
}

/* How many, or the bytes of each. */
enum kp_status kp_ab_rules_read_parameters(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *list = number ? kp_rules_yaml_list(&reading->yaml, number) : NULL;
	struct kp_ab_rules *rules = reading->rules;
	struct kp_ab_rule *rule = &reading->rule;
	enum kp_status status = KP_OK;
	size_t count;

	if (!list)
		return number ? kp_ab_rules_read_count(reading, number, KP_AB_PARAMETERS_MOST,
						       &rule->parameters)
			      : KP_OK;
	count = kp_rules_yaml_count(list);
	if (count > KP_AB_PARAMETERS_MOST)
		return kp_rules_yaml_fail(&reading->yaml, list, "more than %u parameters",
					  KP_AB_PARAMETERS_MOST);
	if (!kp_vector_reserve((void **)&rules->sizes, rules->sizes_count + count,
			       &rules->sizes_capacity, sizeof(*rules->sizes)))
		return KP_NO_MEMORY;
	rule->first_size = (uint32_t)rules->sizes_count;
	rule->parameters = rule->size_count = (uint32_t)count;
	for (size_t i = 0; status == KP_OK && i < count; i++)
		status = kp_ab_rules_read_count(reading, list->data.sequence.items.start[i],
						KP_AB_PARAMETER_BYTES_MOST,
						&rules->sizes[rules->sizes_count++]);
	return status;
}

enum kp_status kp_ab_rules_read_lets(struct kp_ab_reading *reading, int number,
				     struct kp_ab_let *lets)
{
	const yaml_node_t *node = kp_rules_yaml_mapping(&reading->yaml, number);
	enum kp_status status = KP_OK;

	reading->scope.lets = lets;
	if (!number)
		return KP_OK;
	if (!node)
		return kp_rules_yaml_fail(&reading->yaml,
					  yaml_document_get_node(&reading->yaml.document, number),
					  "«let» is a mapping of names and expressions");
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     status == KP_OK && pair < node->data.mapping.pairs.top; pair++) {
		struct kp_ab_let *let = &lets[reading->scope.let_count];

		if (reading->scope.let_count == KP_AB_LETS_MOST)
			return kp_rules_yaml_fail(&reading->yaml, node, "more than %d names",
						  KP_AB_LETS_MOST);
		status = kp_rules_yaml_text(&reading->yaml, pair->key, &let->name);
		if (status == KP_OK)
			status = kp_rules_yaml_text(&reading->yaml, pair->value, &let->text);
		reading->scope.let_count++;
	}
	return status;
}

/* A list holds where all of it does. */
enum kp_status kp_ab_rules_read_when(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *list = kp_rules_yaml_list(&reading->yaml, number);
	struct kp_ab_expression all = {.count = 0};
	enum kp_status status = KP_OK;
	struct kp_ab_span span;

	if (!number || !list)
		return number ? kp_ab_rules_put_code(reading, number, KP_AB_INTEGER,
						     &reading->rule.when)
			      : KP_OK;
	for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++) {
		const struct kp_ab_expression *one = &reading->expression;

		status = kp_ab_rules_put_code(reading, list->data.sequence.items.start[i],
					      KP_AB_INTEGER, &span);
		if (status == KP_OK && all.count + one->count + 1 > KP_AB_EXPRESSION_OPS_MOST)
			return kp_rules_yaml_fail(&reading->yaml, list, "«when» is too long");
		if (status == KP_OK) {
			memcpy(all.ops + all.count, one->ops, one->count * sizeof(*one->ops));
			all.count += one->count;
			if (i > 0)
				all.ops[all.count++] = (struct kp_ab_op){.code = KP_AB_OP_AND};
		}
	}
	return status == KP_OK && all.count ? put_ops(reading->rules, &all, &reading->rule.when)
					    : status;
}

/* ---- how far off ---- */

static enum kp_status read_real(struct kp_ab_reading *reading, int number, double *out)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	const char *text = NULL;
	enum kp_status status;
	char *end;

	if (!number)
		return KP_OK;
	status = kp_rules_yaml_text(&reading->yaml, number, &text);
	if (status != KP_OK)
		return status;
	*out = strtod(text, &end);
	if (*end || !(*out >= 0) || *out > 1e6)
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a number from 0 to 1000000 is expected");
	return KP_OK;
}

/* As they are unless a rule says otherwise: two roundings of bf16, and rms of half of one. */
static const struct kp_ab_tolerance usual = {.relative = 0.016, .scaled = 0.016, .rms = 0.004};

static enum kp_status read_tolerance(struct kp_ab_reading *reading, int number)
{
	static const struct kp_rules_key names[] = {{"relative", false},
						    {"scaled", false},
						    {"rms", false},
						    {"ulps", false},
						    {NULL, false}};
	struct kp_ab_tolerance *tolerance = &reading->rule.tolerance;
	double ulps = 0;
	int values[4];
	enum kp_status status;

	*tolerance = usual;
	if (!number)
		return KP_OK;
	status = kp_rules_yaml_values(&reading->yaml, number, "a tolerance", names, values);
	if (status == KP_OK)
		status = read_real(reading, values[0], &tolerance->relative);
	if (status == KP_OK)
		status = read_real(reading, values[1], &tolerance->scaled);
	if (status == KP_OK)
		status = read_real(reading, values[2], &tolerance->rms);
	if (status == KP_OK)
		status = read_real(reading, values[3], &ulps);
	tolerance->ulps = (uint64_t)ulps;
	return status;
}

enum kp_status kp_ab_rules_read_flag(struct kp_ab_reading *reading, int number, uint32_t *out)
{
	const char *text = NULL;
	enum kp_status status = number ? kp_rules_yaml_text(&reading->yaml, number, &text) : KP_OK;

	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return kp_rules_yaml_fail(&reading->yaml,
					  yaml_document_get_node(&reading->yaml.document, number),
					  "«true» or «false» is expected");
	if (text)
		*out = strcmp(text, "true") == 0;
	return status;
}

/* ---- rules ---- */

static enum kp_status read_parts(struct kp_ab_reading *reading, const yaml_node_t *node,
				 const int *values)
{
	enum kp_status status = read_match(reading, node, values);
	uint32_t other_inputs = 1;

	if (status == KP_OK)
		status = kp_ab_rules_read_module(reading, values[MODULE]);
	if (status == KP_OK)
		status = kp_ab_rules_read_parameters(reading, values[PARAMETERS]);
	if (status == KP_OK)
		status = kp_ab_rules_read_when(reading, values[WHEN]);
	if (status == KP_OK)
		status = kp_ab_rules_read_replace(reading, values[REPLACE]);
	if (status == KP_OK)
		status = kp_ab_rules_read_flag(reading, values[REPEATABLE],
					       &reading->rule.repeatable);
	if (status == KP_OK)
		status = kp_ab_rules_read_flag(reading, values[OTHER_INPUTS], &other_inputs);
	reading->rule.as_given = !other_inputs;
	reading->rule.first_tensor = (uint32_t)reading->rules->tensors_count;
	if (status == KP_OK)
		status = kp_ab_rules_read_data(reading, values[INPUTS], KP_AB_INPUT);
	if (status == KP_OK)
		status = kp_ab_rules_read_data(reading, values[OUTPUTS], KP_AB_OUTPUT);
	if (status == KP_OK)
		status = kp_ab_rules_read_data(reading, values[INOUT], KP_AB_INOUT);
	if (status == KP_OK && (values[SEQUENCE] || values[RECOGNISE]))
		status = kp_ab_rules_end_sequence(
			reading, node,
			&(struct kp_ab_sequence_keys){values[KEEP], values[ELIDE],
						      values[ROW_LOCAL], values[HOLD_US]});
	return status == KP_OK ? read_tolerance(reading, values[TOLERANCE]) : status;
}

static enum kp_status check_whole(struct kp_ab_reading *reading, const yaml_node_t *node,
				  const int *values)
{
	const struct kp_ab_rules *rules = reading->rules;

	if (!values[SEQUENCE] && (values[KEEP] || values[ELIDE] || values[ROW_LOCAL] ||
				  (values[HOLD_US] && !values[RECOGNISE])))
		return kp_rules_yaml_fail(
			&reading->yaml, node,
			"«keep», «elide», «row_local» and «hold_us» are of a «sequence»");
	if (!values[RECOGNISE] && values[UNSEEN])
		return kp_rules_yaml_fail(&reading->yaml, node, "«unseen» is of «recognise»");
	if (values[RECOGNISE] && values[INOUT])
		return kp_rules_yaml_fail(
			&reading->yaml, node,
			"what is recognised is replaced only where its result lies "
			"on no input: no «inout»");
	if (!values[REPLACE])
		return kp_rules_yaml_fail(&reading->yaml, node, "a rule needs the key «replace»");
	if (!values[OUTPUTS] && !values[INOUT])
		return kp_rules_yaml_fail(&reading->yaml, node,
					  "a rule needs «outputs» or «inout»: what is not declared "
					  "cannot be compared");
	if (rules->rules_count == KP_AB_RULES_MOST)
		return kp_rules_yaml_fail(&reading->yaml, node, "more than %u rules",
					  KP_AB_RULES_MOST);
	return KP_OK;
}

static enum kp_status read_name(struct kp_ab_reading *reading, const yaml_node_t *node,
				const int *values)
{
	struct kp_ab_rules *rules = reading->rules;
	const char **about = &rules->abouts[rules->rules_count];
	const char *name = NULL;
	enum kp_status status = kp_rules_yaml_text(&reading->yaml, values[NAME], &name);

	for (size_t i = 0; status == KP_OK && i < rules->rules_count; i++)
		if (strcmp(rules->texts + rules->rules[i].name, name) == 0)
			return kp_rules_yaml_fail(&reading->yaml, node,
						  "there is another rule «%.60s»", name);
	*about = NULL;
	if (status == KP_OK && values[ABOUT])
		status = kp_rules_yaml_text(&reading->yaml, values[ABOUT], about);
	return status == KP_OK ? kp_ab_rules_put_text(rules, name, &reading->rule.name) : status;
}

static enum kp_status read_rule(struct kp_ab_reading *reading, int number)
{
	const yaml_node_t *node = yaml_document_get_node(&reading->yaml.document, number);
	struct kp_ab_rules *rules = reading->rules;
	struct kp_ab_let lets[KP_AB_LETS_MOST];
	int values[KEY_COUNT];
	enum kp_status status =
		kp_rules_yaml_values(&reading->yaml, number, "a rule", keys, values);

	reading->rule = (struct kp_ab_rule){.pattern = KP_AB_NONE,
					    .parameters = KP_AB_NONE,
					    .file = KP_AB_NONE,
					    .symbol = KP_AB_NONE};
	reading->scope = (struct kp_ab_scope){0};
	if (status == KP_OK)
		status = check_whole(reading, node, values);
	if (status == KP_OK)
		status = read_name(reading, node, values);
	if (status == KP_OK)
		status = kp_ab_rules_read_lets(reading, values[LET], lets);
	if (status == KP_OK)
		status = read_parts(reading, node, values);
	if (status != KP_OK)
		return status;
	reading->rule.line = (uint32_t)node->start_mark.line + 1;
	if (!kp_vector_grow((void **)&rules->rules, rules->rules_count, &rules->rules_capacity,
			    sizeof(reading->rule)))
		return KP_NO_MEMORY;
	rules->rules[rules->rules_count++] = reading->rule;
	return KP_OK;
}

static enum kp_status read_all(struct kp_ab_reading *reading)
{
	static const struct kp_rules_key top[] = {{"rules", true}, {NULL, false}};
	const yaml_node_t *root = yaml_document_get_root_node(&reading->yaml.document), *list;
	int value = 0;
	enum kp_status status;

	if (!root)
		return kp_rules_yaml_fail(&reading->yaml, NULL, "an empty file");
	status = kp_rules_yaml_values(&reading->yaml, 1, "a file of rules", top, &value);
	if (status != KP_OK)
		return status;
	list = kp_rules_yaml_list(&reading->yaml, value);
	if (!list)
		return kp_rules_yaml_fail(&reading->yaml, root, "«rules» is a list");
	for (size_t i = 0; status == KP_OK && i < kp_rules_yaml_count(list); i++)
		status = read_rule(reading, list->data.sequence.items.start[i]);
	return status;
}

enum kp_status kp_ab_rules_add(struct kp_ab_rules *rules, const char *yaml, size_t length,
			       const char *folder, struct kp_rules_error *error)
{
	struct kp_ab_reading *reading = calloc(1, sizeof(*reading));
	enum kp_status status;

	if (!reading)
		return KP_NO_MEMORY;
	reading->yaml.arena = rules->arena;
	reading->yaml.error = error;
	reading->rules = rules;
	reading->folder = folder;
	status = kp_rules_yaml_load(&reading->yaml, yaml, length);
	if (status == KP_OK) {
		status = read_all(reading);
		yaml_document_delete(&reading->yaml.document);
	}
	free(reading);
	return status;
}
