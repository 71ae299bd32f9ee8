/* Sequences among PyTorch's launches (analyzers/torch_sequence.h), recorded and changed. */
#include "torch_dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/torch_tensor.h"

static const char *const files[] = {RECORDED "/torch_launches/h200.txt",
				    RECORDED "/torch_launches/host.txt"};

#define LAUNCHES_MOST 32

/* A case's launches, one behind the other; what is not known parts them. */
struct run {
	struct kp_torch_launch launches[LAUNCHES_MOST];
	size_t count;
};

static enum kp_torch_match match(const struct run *run, size_t first, size_t count,
				 struct kp_torch_sequence *out)
{
	return kp_torch_sequence_match(&run->launches[first], count, out);
}

/* The longest that begins with launch `first`, as an engine finds it; 0: none. */
static size_t find_longest(const struct run *run, size_t first, struct kp_torch_sequence *out)
{
	struct kp_torch_sequence sequence;
	size_t best = 0;

	for (size_t count = 1; first + count <= run->count; count++) {
		enum kp_torch_match found = match(run, first, count, &sequence);

		if (found == KP_TORCH_MATCH_NO)
			break;
		if (found == KP_TORCH_MATCH_WHOLE) {
			best = count;
			*out = sequence;
		}
	}
	return best;
}

static size_t read_run(const struct torch_case *unit, size_t first, struct run *run)
{
	run->count = 0;
	for (; first < unit->count; first++) {
		assert_true(run->count < LAUNCHES_MOST);
		if (!torch_dump_decode(&unit->records[first], &run->launches[run->count]))
			return first + 1;
		run->count++;
	}
	return first;
}

/* Calls `with` for every sequence in the recordings: it is the first `count` launches of a run. */
static void for_each_sequence(void (*with)(const struct run *, const struct kp_torch_sequence *))
{
	size_t sequences = 0;

	for (size_t file = 0; file < 2; file++) {
		FILE *stream = fopen(files[file], "r");
		struct torch_case unit;

		assert_non_null(stream);
		while (torch_dump_next(stream, &unit)) {
			struct kp_torch_sequence sequence;
			struct run run;

			for (size_t i = 0; i < unit.count; i++) {
				read_run(&unit, i, &run);
				run.count = find_longest(&run, 0, &sequence);
				if (run.count == 0)
					continue;
				with(&run, &sequence);
				sequences++;
				i += run.count - 1;
			}
			torch_dump_free(&unit);
		}
		fclose(stream);
	}
	assert_true(sequences > 15);
}

static void check_case(const struct torch_case *unit)
{
	size_t found = 0;

	for (size_t i = 0; i < unit->count;) {
		char text[TORCH_DUMP_TEXT];
		struct kp_torch_sequence sequence;
		struct run run;
		size_t length;

		read_run(unit, i, &run);
		length = find_longest(&run, 0, &sequence);
		i += length ? length : 1;
		if (length == 0)
			continue;
		torch_dump_describe_sequence(&sequence, text);
		assert_true(found < unit->sequence_count);
		assert_string_equal(text, unit->sequences[found]);
		found++;
	}
	assert_int_equal(found, unit->sequence_count);
}

static void test_torch_sequence_finds_what_was_recorded(void **state)
{
	(void)state;
	for (size_t file = 0; file < 2; file++) {
		FILE *stream = fopen(files[file], "r");
		struct torch_case unit;

		assert_non_null(stream);
		while (torch_dump_next(stream, &unit)) {
			check_case(&unit);
			torch_dump_free(&unit);
		}
		fclose(stream);
	}
}

/* Until it is whole, an engine must be told to hold on. */
static void check_prefixes(const struct run *run, const struct kp_torch_sequence *sequence)
{
	struct kp_torch_sequence out;

	assert_int_equal(sequence->launches, run->count);
	for (size_t count = 1; count < run->count; count++)
		assert_int_not_equal(match(run, 0, count, &out), KP_TORCH_MATCH_NO);
	assert_int_equal(match(run, 0, 0, &out), KP_TORCH_MATCH_NO);
}

static void test_torch_sequence_begins_before_it_is_whole(void **state)
{
	(void)state;
	for_each_sequence(check_prefixes);
}

/* Whether they are one of the same kind. */
static bool is_still(const struct run *run, const struct kp_torch_sequence *sequence)
{
	struct kp_torch_sequence out;

	return match(run, 0, run->count, &out) == KP_TORCH_MATCH_WHOLE &&
	       out.kind == sequence->kind;
}

/* Products of independent operands may be computed in any order. */
static bool may_change_places(const struct run *run, size_t i)
{
	return run->launches[i].op == KP_TORCH_MUL && run->launches[i + 1].op != KP_TORCH_ADD;
}

static void check_order(const struct run *run, const struct kp_torch_sequence *sequence)
{
	for (size_t i = 0; i + 1 < run->count; i++) {
		struct run changed = *run;

		changed.launches[i] = run->launches[i + 1];
		changed.launches[i + 1] = run->launches[i];
		assert_true(!is_still(&changed, sequence) || may_change_places(run, i));
		changed = *run;
		memmove(&changed.launches[i], &changed.launches[i + 1],
			(run->count - i - 1) * sizeof(run->launches[0]));
		changed.count--;
		/* Without its scale, a softmax is still one: of what was scaled. */
		assert_true(!is_still(&changed, sequence) || (i == 0 && sequence->scale != 1));
	}
}

static void test_torch_sequence_needs_its_order(void **state)
{
	(void)state;
	for_each_sequence(check_order);
}

static bool has_address(const struct kp_torch_tensor *tensors, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t begin, end;

		if (kp_torch_tensor_range(&tensors[i], &begin, &end) && address >= begin &&
		    address < end)
			return true;
	}
	return false;
}

/* An operand that is moved away is another one: only what comes in or goes out may be. */
static void check_addresses(const struct run *run, const struct kp_torch_sequence *sequence)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct kp_torch_launch *launch = &run->launches[i];

		for (uint8_t k = 0; k < launch->outputs + launch->inputs; k++) {
			const uint64_t elsewhere = 0x100000000000;
			struct kp_torch_sequence out;
			struct run changed = *run;

			changed.launches[i].tensors[k].address = elsewhere;
			if (match(&changed, 0, run->count, &out) != KP_TORCH_MATCH_WHOLE)
				continue;
			assert_int_equal(out.kind, sequence->kind);
			assert_true(has_address(out.inputs, out.input_count, elsewhere) ||
				    has_address(out.outputs, 1, elsewhere));
		}
	}
}

static void test_torch_sequence_follows_addresses(void **state)
{
	(void)state;
	for_each_sequence(check_addresses);
}

/* A view that is changed is another one: the sequence is none, or is told with other operands. */
static void check_changed(const struct run *changed, const struct kp_torch_sequence *sequence)
{
	char before[TORCH_DUMP_TEXT], after[TORCH_DUMP_TEXT];
	struct kp_torch_sequence out;

	if (match(changed, 0, changed->count, &out) != KP_TORCH_MATCH_WHOLE)
		return;
	torch_dump_describe_sequence(sequence, before);
	torch_dump_describe_sequence(&out, after);
	assert_string_not_equal(before, after);
}

static void check_views(const struct run *run, const struct kp_torch_sequence *sequence)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct kp_torch_launch *launch = &run->launches[i];

		for (uint8_t k = 0; k < launch->outputs + launch->inputs; k++) {
			for (uint8_t d = 0; d < launch->tensors[k].dims; d++) {
				struct run changed = *run;

				if (launch->tensors[k].sizes[d] < 2)
					continue;
				changed.launches[i].tensors[k].sizes[d]--;
				assert_false(is_still(&changed, sequence));
				changed = *run;
				changed.launches[i].tensors[k].strides[d] += 2;
				check_changed(&changed, sequence);
			}
		}
	}
}

static void test_torch_sequence_follows_views(void **state)
{
	(void)state;
	for_each_sequence(check_views);
}

/* Something else writes to what a later member reads. */
static void check_writes_between(const struct run *run, const struct kp_torch_sequence *sequence)
{
	for (uint8_t k = 0; k < sequence->intermediate_count; k++) {
		const struct kp_torch_tensor *lost = &sequence->intermediates[k];
		struct run changed = *run;

		/* The next member's output would now lie on its own operand: in place. */
		for (size_t i = 0; i + 2 < run->count; i++) {
			if (run->launches[i].tensors[0].address != lost->address)
				continue;
			changed = *run;
			changed.launches[i + 1].tensors[0].address = lost->address + 2;
			assert_false(is_still(&changed, sequence));
		}
	}
}

static void test_torch_sequence_sees_writes_between(void **state)
{
	(void)state;
	for_each_sequence(check_writes_between);
}

static void check_scalars(const struct run *run, const struct kp_torch_sequence *sequence)
{
	for (size_t i = 0; i < run->count; i++) {
		struct kp_torch_sequence out;
		struct run changed = *run;

		changed.launches[i].scalars[0] += 0.25;
		if (match(&changed, 0, run->count, &out) != KP_TORCH_MATCH_WHOLE)
			continue;
		assert_int_equal(out.kind, sequence->kind);
		switch (run->launches[i].op) {
		case KP_TORCH_ADD_SCALAR:
			assert_true(out.eps == sequence->eps + 0.25);
			break;
		case KP_TORCH_MUL_SCALAR:
			assert_true(out.scale == sequence->scale + 0.25);
			break;
		default:
			assert_int_not_equal(run->launches[i].op, KP_TORCH_ADD);
			assert_int_not_equal(run->launches[i].op, KP_TORCH_POW);
			assert_int_not_equal(run->launches[i].op, KP_TORCH_MEAN);
		}
	}
}

static void test_torch_sequence_has_its_scalars(void **state)
{
	(void)state;
	for_each_sequence(check_scalars);
}

/* Types that a launch does not have: neither of what it reads, nor of what it computes in. */
static void check_types(const struct run *run, const struct kp_torch_sequence *sequence)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct kp_torch_launch *launch = &run->launches[i];
		struct run changed = *run;

		changed.launches[i].compute = KP_TORCH_F64;
		assert_true(!is_still(&changed, sequence) || launch->op == KP_TORCH_SOFTMAX ||
			    launch->op == KP_TORCH_CAT);
		for (uint8_t k = 0; k < launch->outputs + launch->inputs; k++) {
			changed = *run;
			changed.launches[i].tensors[k].type = KP_TORCH_I32;
			assert_true(!is_still(&changed, sequence) || launch->op == KP_TORCH_CAT);
		}
	}
}

static void test_torch_sequence_has_its_types(void **state)
{
	(void)state;
	for_each_sequence(check_types);
}

/* One launch that was only seen on the host makes the whole so. */
static void check_seen(const struct run *run, const struct kp_torch_sequence *sequence)
{
	uint8_t seen = KP_TORCH_SEEN_GPU;

	for (size_t i = 0; i < run->count; i++)
		if (run->launches[i].seen == KP_TORCH_SEEN_HOST)
			seen = KP_TORCH_SEEN_HOST;
	assert_int_equal(sequence->seen, seen);
}

static void test_torch_sequence_is_seen_as_its_launches(void **state)
{
	(void)state;
	for_each_sequence(check_seen);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*state >> 33);
}

/* Any launches, as long as they are decoded ones: never more than is there. */
static void check_random(const struct run *run, const struct kp_torch_sequence *sequence)
{
	static uint64_t random = 7;

	(void)sequence;
	for (int round = 0; round < 200; round++) {
		struct kp_torch_sequence out;
		struct run changed = *run;

		for (int change = 0; change < 3; change++) {
			struct kp_torch_launch *launch =
				&changed.launches[next_random(&random) % run->count];
			struct kp_torch_tensor *tensor =
				&launch->tensors[next_random(&random) % KP_TORCH_TENSORS];

			tensor->address =
				run->launches[next_random(&random) % run->count].tensors[0].address;
			tensor->dims = (uint8_t)(next_random(&random) % (KP_TORCH_DIMS + 1));
			tensor->sizes[next_random(&random) % KP_TORCH_DIMS] =
				next_random(&random) >> next_random(&random) % 32;
			tensor->strides[next_random(&random) % KP_TORCH_DIMS] =
				(uint64_t)next_random(&random) << next_random(&random) % 32;
			launch->reduced = (uint8_t)(next_random(&random) % 3);
		}
		if (match(&changed, 0, run->count, &out) != KP_TORCH_MATCH_WHOLE)
			continue;
		assert_true(out.launches == run->count);
		assert_true(out.input_count <= KP_TORCH_SEQUENCE_INPUTS);
		assert_in_range(out.output_count, 1, KP_TORCH_SEQUENCE_OUTPUTS);
	}
}

static void test_torch_sequence_takes_any_launches(void **state)
{
	(void)state;
	for_each_sequence(check_random);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_sequence_finds_what_was_recorded),
		cmocka_unit_test(test_torch_sequence_begins_before_it_is_whole),
		cmocka_unit_test(test_torch_sequence_needs_its_order),
		cmocka_unit_test(test_torch_sequence_follows_addresses),
		cmocka_unit_test(test_torch_sequence_follows_views),
		cmocka_unit_test(test_torch_sequence_sees_writes_between),
		cmocka_unit_test(test_torch_sequence_has_its_scalars),
		cmocka_unit_test(test_torch_sequence_has_its_types),
		cmocka_unit_test(test_torch_sequence_is_seen_as_its_launches),
		cmocka_unit_test(test_torch_sequence_takes_any_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
