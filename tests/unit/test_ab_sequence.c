/* Rules about several launches: how they are read, and what may flow between the launches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/ab_rules.h"
#include "inject/ab_sequence_flow.h"
#include "inject/ab_sequence_names.h"

#define ONE                                                                                        \
	"  - {name: one, kernel: k1, parameters: [8, 8, 8],\n"                                     \
	"     reads: [{buffer: x, address: ptr(1), bytes: u64(2)}],\n"                             \
	"     writes: [{buffer: t, address: ptr(0), bytes: u64(2)}]}\n"
#define MAYBE                                                                                      \
	"  - {name: maybe, kernel: k2, parameters: [8], optional: true, when: grid_x == 1,\n"      \
	"     writes: [{buffer: t, address: ptr(0), bytes: 8}]}\n"
#define TWO                                                                                        \
	"  - {name: two, kernel_regex: k3$, parameters: 3, let: {n: u64(2)},\n"                    \
	"     reads: [{buffer: t, address: ptr(1), bytes: n}],\n"                                  \
	"     writes: [{buffer: y, address: ptr(0), bytes: n}]}\n"
#define REPLACE                                                                                    \
	"  replace: {library: a.so, entry: e, arguments: [{ptr: one.ptr(1)}, {ptr: two.ptr(0)},\n" \
	"    {ptr: one.ptr(0)}, {u64: one.u64(2)}]}\n"
#define DATA(member, parameter)                                                                    \
	"address: " #member ".ptr(" #parameter "), dtype: bf16, rows: 1, columns: n / 2}"
#define INPUTS "  inputs: [{name: x, " DATA(one, 1) "]\n"
#define OUTPUTS "  outputs: [{name: t, " DATA(one, 0) ", {name: y, " DATA(two, 0) "]\n"
#define HEAD "rules:\n- name: both\n  let: {n: one.u64(2)}\n  sequence:\n"
#define REST REPLACE INPUTS OUTPUTS

static enum kp_status add(const char *yaml, struct kp_ab_rules **rules,
			  struct kp_rules_error *error)
{
	assert_int_equal(kp_ab_rules_create(rules), KP_OK);
	return kp_ab_rules_add(*rules, yaml, strlen(yaml), "", error);
}

static void *make_plan(const char *yaml, size_t *length)
{
	const struct kp_ab_plan_settings settings = {
		.mode = KP_AB_SWAP, .again = 64, .candidates = "/c.so", .results = "/r.ab"};
	struct kp_rules_error error = {0};
	struct kp_ab_rules *rules;
	void *plan;

	if (add(yaml, &rules, &error) != KP_OK)
		fail_msg("line %zu: %s", error.line, error.text);
	assert_true(kp_ab_rules_have_sequences(rules));
	assert_string_equal(kp_ab_rules_words(rules, 0).matches, "one, maybe, two");
	assert_int_equal(kp_ab_rules_plan(rules, &settings, &plan, length), KP_OK);
	kp_ab_rules_destroy(rules);
	return plan;
}

static void test_ab_sequence_is_read(void **state)
{
	struct kp_ab_plan plan;
	size_t length;
	void *made = make_plan(HEAD ONE MAYBE TWO "  keep: [t]\n" REST, &length);
	const struct kp_ab_rule *rule;
	const struct kp_ab_op *op;

	(void)state;
	assert_int_equal(kp_ab_plan_check(made, length, &plan), KP_OK);
	rule = &plan.rules[0];
	assert_int_equal(rule->match, KP_AB_MATCH_SEQUENCE);
	assert_int_equal(rule->member_count, 3);
	assert_int_equal(rule->hold_us, 50);
	assert_false(rule->row_local);
	assert_int_equal(plan.members[1].optional, 1);
	assert_int_equal(plan.members[1].first_parameter, 3);
	assert_int_equal(plan.members[2].first_parameter, 4);
	assert_int_equal(plan.members[2].match, KP_AB_MATCH_REGEX);
	assert_int_equal(plan.members[2].size_count, 0);
	assert_int_equal(plan.members[2].access_count, 2);
	/* The second argument is two.ptr(0): the fifth parameter of all. */
	op = &plan.ops[plan.arguments[rule->first_argument + 1].value.first];
	assert_int_equal(op->code, KP_AB_OP_LOAD);
	assert_int_equal(op->index, 4);
	/* t has one number, by whomever it is used. */
	assert_int_equal(plan.accesses[1].buffer, plan.accesses[3].buffer);
	free(made);
}

static void test_ab_sequence_errors_have_lines(void **state)
{
	static const struct {
		const char *yaml;
		size_t line;
		const char *says;
	} rows[] = {
		{HEAD ONE REST, 5, "two members"},
		{HEAD ONE MAYBE REST, 5, "cannot be «optional»"},
		{HEAD ONE ONE REST, 8, "another member"},
		{HEAD "  - {name: one, parameters: 1, writes: []}\n" TWO REST, 5, "one of"},
		{HEAD "  - {name: one, kernel: k, writes: []}\n" TWO REST, 5, "parameters"},
		{HEAD "  - {name: one, kernel: k, parameters: 1}\n" TWO REST, 5, "writes"},
		{HEAD "  - {name: one, kernel: k, parameters: 1, writes: 1}\n" TWO REST, 5, "list"},
		{HEAD "  - {name: a, kernel: k, parameters: 1, writes: [{buffer: b, address: "
		      "one.ptr(0), bytes: 1}]}\n" TWO REST,
		 5, "no member"},
		{HEAD "  - {name: a, kernel: k, parameters: 40, writes: []}\n"
		      "  - {name: b, kernel: k, parameters: 40, writes: []}\n" REST,
		 6, "in all"},
		{HEAD ONE TWO "  keep: [x]\n" REST, 11, "no member writes"},
		{HEAD ONE TWO "  keep: [t]\n" REPLACE INPUTS
			      "  outputs: [{name: y, " DATA(two, 0) "]\n",
		 11, "«outputs» must have"},
		{HEAD ONE TWO REPLACE "  inout: [{name: x, " DATA(one, 1) "]\n", 2, "row_local"},
		{HEAD ONE TWO "  elide: [t]\n" REST, 11, "the replacement writes it"},
		{HEAD ONE TWO "  elide: [x]\n" REST, 11, "no member writes"},
		{HEAD ONE TWO "  hold_us: 0\n" REST, 2, "1 or more"},
		{HEAD ONE TWO "  hold_us: 99999999\n" REST, 11, "number"},
		{HEAD ONE TWO "  row_local: 1\n" REST, 11, "true"},
		{HEAD ONE TWO "  when: ptr(0) == 0\n" REST, 11, "of which member"},
		{HEAD ONE TWO "  when: grid_x == 0\n" REST, 11, "of one launch"},
		{HEAD ONE TWO "  when: three.ptr(0) == 0\n" REST, 11, "no member"},
		{HEAD ONE TWO "  when: two.ptr(3) == 0\n" REST, 11, "from 0 to 2"},
		{HEAD ONE TWO "  when: two.grid_x == 0\n" REST, 11, "TYPE"},
		{HEAD ONE TWO "  parameters: 1\n" REST, 2, "members have their own"},
		{HEAD ONE TWO "  kernel: k\n" REST, 2, "one of"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kp_rules_error error = {0};
		struct kp_ab_rules *rules;
		enum kp_status status = add(rows[i].yaml, &rules, &error);

		if (status != KP_INVALID || error.line != rows[i].line ||
		    !strstr(error.text, rows[i].says))
			fail_msg("%zu: %d, line %zu: %s", i, status, error.line, error.text);
		kp_ab_rules_destroy(rules);
	}
}

/* With a checksum that fits, whatever a plan holds is refused or sound. */
static void test_ab_sequence_hostile_plan(void **state)
{
	struct kp_ab_plan plan;
	size_t length, refused = 0;
	unsigned char *made = make_plan(HEAD ONE MAYBE TWO REST, &length);
	struct kp_ab_header *header = (void *)made;
	size_t first = header->rules.offset, last = header->texts.offset;

	(void)state;
	for (size_t i = first; i < last; i++)
		for (int bit = 0; bit < 8; bit++) {
			made[i] ^= (unsigned char)(1U << bit);
			header->checksum = kp_ab_plan_sum(made, length);
			refused += kp_ab_plan_check(made, length, &plan) != KP_OK;
			made[i] ^= (unsigned char)(1U << bit);
		}
	assert_true(refused > (last - first));
	free(made);
}

/* ---- the flow ---- */

enum { LAUNCHES = 4, NAMES = 5, MEMORY = 24, GAMES = 200000 };

static uint32_t draw(uint32_t below)
{
	static uint64_t random = 1;

	random = random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(random >> 33) % below;
}

/* A plan by hand: each launch reads two buffers and writes two, at addresses that it is given. */
static struct kp_ab_op ops[8];
static struct kp_ab_access accesses[4];
static const struct kp_ab_plan by_hand = {.ops = ops, .accesses = accesses};
static const struct kp_ab_member member = {.first_access = 0, .access_count = 4};

struct use {
	uint32_t buffer;
	int64_t address, bytes; /* address 0: none */
};

static enum kp_ab_reason add_launch(struct kp_ab_flow *flow, const struct use uses[4])
{
	const struct kp_ab_view view = {0};

	for (uint32_t i = 0; i < 4; i++) {
		ops[2 * i] = (struct kp_ab_op){.code = KP_AB_OP_CONSTANT, .value = uses[i].address};
		ops[2 * i + 1] =
			(struct kp_ab_op){.code = KP_AB_OP_CONSTANT, .value = uses[i].bytes};
		accesses[i] = (struct kp_ab_access){
			.buffer = uses[i].buffer, .writes = i >= 2, {2 * i, 1}, {2 * i + 1, 1}};
	}
	return kp_ab_flow_add(flow, &by_hand, &member, &view);
}

/* What every byte holds: 0 what was there before, else 1 + which buffer's value, and how new. */
struct byte {
	uint32_t buffer, version;
};

struct model {
	struct byte bytes[MEMORY + 1];
	uint32_t versions[NAMES]; /* of what was written under each name; 0: nothing */
	bool taken_in[MEMORY + 1], changed[MEMORY + 1];
	bool holds; /* every read was of what its name means */
};

static void model_launch(struct model *model, const struct use uses[4])
{
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t name = uses[i].buffer;

		if (uses[i].address && i >= 2)
			model->versions[name]++;
		for (int64_t j = 0; uses[i].address && j < uses[i].bytes; j++) {
			struct byte *byte = &model->bytes[uses[i].address + j];
			uint32_t version = model->versions[name];

			if (i >= 2) {
				*byte = (struct byte){1 + name, version};
				model->changed[uses[i].address + j] = true;
				continue;
			}
			model->holds &=
				version ? byte->buffer == 1 + name && byte->version == version
					: byte->buffer == 0;
			model->taken_in[uses[i].address + j] |= version == 0;
		}
	}
}

static bool is_owed(const struct kp_ab_flow *flow, uint32_t owed, uint32_t byte)
{
	for (uint32_t i = 0; i < NAMES; i++)
		if (owed >> i & 1 && byte - flow->buffers[i].address < flow->buffers[i].bytes)
			return true;
	return false;
}

/* Whether a replacement that does as it says leaves memory as the launches do, or as they still
 * can.
 */
static bool is_right(const struct model *model, const struct kp_ab_flow *flow, uint32_t owed,
		     const struct kp_ab_flow_data *data, size_t count)
{
	bool covered[MEMORY + 1] = {false};

	for (size_t i = 0; i < count; i++)
		for (uint64_t j = data[i].address; j < data[i].address + data[i].bytes; j++) {
			if (data[i].role != KP_AB_OUTPUT && !model->taken_in[j])
				return false;
			if (data[i].role == KP_AB_INPUT && model->changed[j])
				return false;
			if (data[i].role != KP_AB_INPUT && (!model->changed[j] || covered[j]))
				return false;
			/* An output is of one buffer, and of its newest value. */
			if (data[i].role != KP_AB_INPUT &&
			    model->bytes[j].buffer != model->bytes[data[i].address].buffer)
				return false;
			covered[j] |= data[i].role != KP_AB_INPUT;
		}
	for (uint32_t i = 1; i <= MEMORY; i++) {
		if (model->changed[i] && !covered[i] && !is_owed(flow, owed, i))
			return false;
		/* The launches can still be made: what they take in is as it was. */
		if (owed && model->taken_in[i] && covered[i])
			return false;
	}
	return true;
}

static struct use draw_use(struct use *names)
{
	uint32_t name = draw(NAMES);

	/* Mostly the same place for the same name. */
	if (names[name].bytes == 0 || draw(12) == 0) {
		names[name].buffer = name;
		names[name].bytes = 1 + draw(5);
		names[name].address = 1 + draw(MEMORY - 5);
	}
	return draw(3) ? names[name] : (struct use){name, 0, 0};
}

/* Data as a rule might declare it: of buffers, most of them as they are. */
static size_t draw_data(const struct kp_ab_flow *flow, struct kp_ab_flow_data *out)
{
	size_t count = 0;

	for (uint32_t i = 0; i < NAMES; i++) {
		const struct kp_ab_flow_buffer *buffer = &flow->buffers[i];
		bool in_place = buffer->written && (buffer->taken_in || draw(16) == 0);

		if (!buffer->bound || (buffer->covered && draw(8)) || draw(12) == 0)
			continue;
		out[count++] = (struct kp_ab_flow_data){in_place          ? KP_AB_INOUT
							: buffer->written ? KP_AB_OUTPUT
									  : KP_AB_INPUT,
							buffer->address, buffer->bytes};
	}
	return count;
}

/*
 * Random sequences over little memory, against a model that knows every byte: what is let through
 * is right. And much is.
 */
static void test_ab_sequence_flow_is_sound(void **state)
{
	uint32_t through = 0, stopped = 0, owing = 0;

	(void)state;
	for (uint32_t game = 0; game < GAMES; game++) {
		struct model model = {.holds = true};
		struct use names[NAMES] = {{0}};
		struct kp_ab_flow flow = {0};
		struct kp_ab_flow_data data[NAMES];
		enum kp_ab_reason reason = KP_AB_REASON_COUNT;
		uint32_t elided = draw(2) ? draw(1U << NAMES) : 0, owed;
		size_t count;

		for (uint32_t i = 1 + draw(LAUNCHES); reason == KP_AB_REASON_COUNT && i > 0; i--) {
			const struct use uses[4] = {draw_use(names), draw_use(names),
						    draw_use(names), draw_use(names)};

			reason = add_launch(&flow, uses);
			model_launch(&model, uses);
		}
		stopped += reason != KP_AB_REASON_COUNT;
		if (reason != KP_AB_REASON_COUNT)
			continue;
		if (!model.holds)
			fail_msg("game %u: a read of something else was let through", game);
		count = draw_data(&flow, data);
		if (kp_ab_flow_check(&flow, data, count, elided, &owed) != KP_AB_REASON_COUNT)
			continue;
		through++;
		owing += owed != 0;
		if (owed & ~elided || !is_right(&model, &flow, owed, data, count))
			fail_msg("game %u: memory would differ", game);
	}
	assert_true(through > GAMES / 10 && stopped > GAMES / 10 && owing > GAMES / 1000);
}

/* ---- names ---- */

static void test_ab_sequence_names(void **state)
{
	static const struct {
		const char *name;
		enum kp_ab_sequence_kind kind;
	} rows[] = {
		{"cuEventQuery", KP_AB_SEQUENCE_QUERY},
		{"cuStreamQuery", KP_AB_SEQUENCE_ORDERED},
		{"cuStreamQuery_ptsz", KP_AB_SEQUENCE_ORDERED},
		{"cuMemcpyDtoH_v2_ptds", KP_AB_SEQUENCE_ORDERED},
		{"cuMemcpyPeer", KP_AB_SEQUENCE_MEMORY},
		{"cuMemFree_v2", KP_AB_SEQUENCE_MEMORY},
		{"cuMemFreeAsync", KP_AB_SEQUENCE_FREES},
		{"cuMemAllocAsync_ptsz", KP_AB_SEQUENCE_ALLOCATES},
		{"cuMemAllocFromPoolAsync", KP_AB_SEQUENCE_MEMORY},
		{"cuMemMap", KP_AB_SEQUENCE_MAPS},
		{"cuMemMapArrayAsync_ptsz", KP_AB_SEQUENCE_ENDS},
		{"cuMemRelease", KP_AB_SEQUENCE_RELEASES},
		{"cuMemRetainAllocationHandle", KP_AB_SEQUENCE_ENDS},
		{"cuMemGetAddressRange_v2", KP_AB_SEQUENCE_ASKS},
		{"cuPointerGetAttribute", KP_AB_SEQUENCE_ASKS_POINTER},
		{"cuPointerGetAttributes", KP_AB_SEQUENCE_ASKS_FOURTH},
		{"cuStreamGetCaptureInfo_v3", KP_AB_SEQUENCE_QUERY},
		{"cuStreamGetCaptureInfoX", KP_AB_SEQUENCE_MEMORY},
		{"cuStreamWaitValue32_v2", KP_AB_SEQUENCE_ENDS},
		{"cuLaunchHostFunc", KP_AB_SEQUENCE_ENDS},
		{"cuWhatComesNext", KP_AB_SEQUENCE_MEMORY},
		{"", KP_AB_SEQUENCE_MEMORY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (kp_ab_sequence_kind(rows[i].name) != rows[i].kind)
			fail_msg("%s", rows[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ab_sequence_is_read),
		cmocka_unit_test(test_ab_sequence_errors_have_lines),
		cmocka_unit_test(test_ab_sequence_hostile_plan),
		cmocka_unit_test(test_ab_sequence_flow_is_sound),
		cmocka_unit_test(test_ab_sequence_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
