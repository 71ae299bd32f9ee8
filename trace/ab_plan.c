/* The check of a plan; see ab_plan.h. */
#include "trace/ab_plan.h"

#define XXH_INLINE_ALL
#include <math.h>
#include <string.h>
#include <xxhash.h>

static bool is_table(struct kp_ab_table table, size_t element, size_t length)
{
	return table.offset % 8 == 0 && table.offset >= sizeof(struct kp_ab_header) &&
	       table.offset <= length && table.count <= (length - table.offset) / element;
}

/* A range of a table of `count`. */
static bool is_range(uint32_t first, uint32_t number, uint32_t count)
{
	return first <= count && number <= count - first;
}

/* Every text ends before the table does. */
static bool is_text(const struct kp_ab_plan *plan, uint32_t text, bool needed)
{
	return text == KP_AB_NONE ? !needed : text < plan->header->texts.count;
}

static bool is_code(const struct kp_ab_plan *plan, struct kp_ab_span span, bool needed)
{
	if (span.count == 0)
		return !needed;
	return is_range(span.first, span.count, plan->header->ops.count) &&
	       kp_ab_code_check(plan->ops + span.first, span.count);
}

static bool check_tensors(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule)
{
	if (rule->tensor_count > KP_AB_TENSORS_MOST ||
	    !is_range(rule->first_tensor, rule->tensor_count, plan->header->tensors.count))
		return false;
	for (uint32_t i = 0; i < rule->tensor_count; i++) {
		const struct kp_ab_tensor *tensor = &plan->tensors[rule->first_tensor + i];

		if (!is_text(plan, tensor->name, true) || tensor->role > KP_AB_INOUT ||
		    !is_code(plan, tensor->address, true) || !is_code(plan, tensor->dtype, true) ||
		    !is_code(plan, tensor->rows, true) || !is_code(plan, tensor->columns, true) ||
		    !is_code(plan, tensor->row_stride, false) ||
		    !is_code(plan, tensor->column_stride, false))
			return false;
	}
	return true;
}

static bool check_arguments(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule)
{
	if (rule->argument_count > KP_AB_ARGUMENTS_MOST ||
	    !is_range(rule->first_argument, rule->argument_count, plan->header->arguments.count))
		return false;
	for (uint32_t i = 0; i < rule->argument_count; i++) {
		const struct kp_ab_argument *argument = &plan->arguments[rule->first_argument + i];

		if (!is_code(plan, argument->value, true) || argument->type >= KP_AB_LOAD_COUNT ||
		    (rule->replace == KP_AB_REPLACE_BUILTIN) !=
			    (argument->row < KP_AB_ARGUMENT_ROW_COUNT))
			return false;
	}
	return true;
}

static bool is_tolerance(const struct kp_ab_tolerance *tolerance)
{
	return isfinite(tolerance->relative) && tolerance->relative >= 0 &&
	       isfinite(tolerance->scaled) && tolerance->scaled >= 0 && isfinite(tolerance->rms) &&
	       tolerance->rms >= 0;
}

static bool check_shape(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule)
{
	bool needed = rule->replace == KP_AB_REPLACE_MODULE;

	for (int i = 0; i < 3; i++)
		if (!is_code(plan, rule->grid[i], needed && i == 0) ||
		    !is_code(plan, rule->block[i], needed && i == 0))
			return false;
	return is_code(plan, rule->shared, false) && is_code(plan, rule->when, false);
}

static bool check_member(const struct kp_ab_plan *plan, const struct kp_ab_member *member)
{
	if ((member->match > KP_AB_MATCH_REGEX && member->match != KP_AB_MATCH_RECOGNISED) ||
	    !is_text(plan, member->pattern, true) || member->optional > 1 ||
	    member->first_parameter > KP_AB_PARAMETERS_MOST ||
	    member->parameters > KP_AB_PARAMETERS_MOST - member->first_parameter ||
	    member->size_count > member->parameters ||
	    !is_range(member->first_size, member->size_count, plan->header->sizes.count) ||
	    member->access_count > KP_AB_ACCESSES_MOST ||
	    !is_range(member->first_access, member->access_count, plan->header->accesses.count))
		return false;
	for (uint32_t i = 0; i < member->access_count; i++) {
		const struct kp_ab_access *access = &plan->accesses[member->first_access + i];

		if (access->buffer >= KP_AB_BUFFERS_MOST || access->writes > 1 ||
		    !is_code(plan, access->address, true) || !is_code(plan, access->bytes, true))
			return false;
	}
	return is_code(plan, member->when, false);
}

static bool check_members(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule)
{
	const struct kp_ab_member *members = plan->members + rule->first_member;
	uint32_t count = rule->member_count;
	bool recognised = rule->match == KP_AB_MATCH_RECOGNISED;

	if (rule->match != KP_AB_MATCH_SEQUENCE && !recognised)
		return count == 0 && rule->recognised == 0;
	if (recognised ? count != 2 || rule->recognised == 0 || rule->unseen > 1 ||
				 rule->recognised >= KP_AB_KINDS_MOST
		       : rule->recognised != 0)
		return false;
	if (count < 2 || count > KP_AB_MEMBERS_MOST || rule->row_local > 1 ||
	    rule->elided >= 1U << KP_AB_BUFFERS_MOST || rule->hold_us == 0 ||
	    rule->hold_us > KP_AB_HOLD_US_MOST ||
	    !is_range(rule->first_member, count, plan->header->members.count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!check_member(plan, &members[i]) ||
		    recognised != (members[i].match == KP_AB_MATCH_RECOGNISED))
			return false;
	return !members[0].optional && !members[count - 1].optional;
}

static bool check_rule(const struct kp_ab_plan *plan, const struct kp_ab_rule *rule)
{
	bool file = rule->replace != KP_AB_REPLACE_BUILTIN;

	return is_text(plan, rule->name, true) && rule->repeatable <= 1 && rule->as_given <= 1 &&
	       rule->match <= KP_AB_MATCH_RECOGNISED && check_members(plan, rule) &&
	       is_text(plan, rule->pattern, rule->match != KP_AB_MATCH_GEMM) &&
	       rule->replace <= KP_AB_REPLACE_LIBRARY &&
	       (file || rule->builtin < KP_AB_BUILTIN_COUNT) && is_text(plan, rule->file, file) &&
	       is_text(plan, rule->symbol, file) && is_tolerance(&rule->tolerance) &&
	       is_range(rule->first_size, rule->size_count, plan->header->sizes.count) &&
	       check_shape(plan, rule) && check_tensors(plan, rule) && check_arguments(plan, rule);
}

uint64_t kp_ab_plan_sum(const void *bytes, size_t length)
{
	size_t from = offsetof(struct kp_ab_header, bytes);

	return XXH3_64bits((const char *)bytes + from, length - from);
}

enum kp_status kp_ab_plan_check(const void *bytes, size_t length, struct kp_ab_plan *out)
{
	const struct kp_ab_header *header = bytes;

	*out = (struct kp_ab_plan){.header = header};
	if (length < sizeof(*header) || length > KP_AB_PLAN_BYTES_MOST || (uintptr_t)bytes % 8 ||
	    header->magic != KP_AB_PLAN_MAGIC)
		return KP_INVALID;
	if (header->version != KP_AB_PLAN_VERSION)
		return KP_UNSUPPORTED;
	if (header->bytes != length || header->mode > KP_AB_MEASURE || header->again == 0 ||
	    header->checksum != kp_ab_plan_sum(bytes, length))
		return KP_INVALID;
#define TABLE(member, type)                                                                        \
	if (!is_table(header->member, sizeof(type), length))                                       \
		return KP_INVALID;                                                                 \
	out->member = (const type *)(const void *)((const char *)bytes + header->member.offset);
	KP_AB_TABLES(TABLE)
#undef TABLE
	if (header->rules.count > KP_AB_RULES_MOST || header->texts.count == 0 ||
	    out->texts[header->texts.count - 1] != '\0' || header->trials > 1 ||
	    !is_text(out, header->unit, false) || !is_text(out, header->candidates, true) ||
	    !is_text(out, header->results, true))
		return KP_INVALID;
	if (header->members.count > KP_AB_ALL_MEMBERS_MOST)
		return KP_INVALID;
	for (uint32_t i = 0; i < header->rules.count; i++)
		if (!check_rule(out, &out->rules[i]))
			return KP_INVALID;
	return KP_OK;
}
