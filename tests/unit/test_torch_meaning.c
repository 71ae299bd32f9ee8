/*
 * Whether a recorded sequence computes what its kind says (analyzers/torch_sequence.h): its
 * launches are run one by one, in double, on a memory in which numbers stand at addresses, and the
 * formula of the kind on the operands that are told. Both must leave the same results. Elements
 * that overlap without being the same are not modelled: the data flow proves that none is read.
 */
#include "torch_dump.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/torch_tensor.h"

static const char *const files[] = {RECORDED "/torch_launches/h200.txt",
				    RECORDED "/torch_launches/host.txt"};

/* More are not run: it would take too long. */
#define ELEMENTS_MOST 210000U

/* ---- memory: an element at its first address; what was never written has a number of its own ----
 */

#define PLACES (1U << 21)
static struct place {
	uint64_t address;
	double value;
} * memory;

static struct place *place_of(uint64_t address)
{
	uint64_t mixed = address * 0x9E3779B97F4A7C15U;
	uint32_t at = (uint32_t)(mixed >> 40) % PLACES;

	while (memory[at].address && memory[at].address != address)
		at = (at + 1) % PLACES;
	if (!memory[at].address) {
		memory[at].address = address;
		memory[at].value = (double)(mixed >> 44) / (1 << 19) - 1;
	}
	return &memory[at];
}

static void forget(void)
{
	memset(memory, 0, PLACES * sizeof(*memory));
}

/* The address of a tensor's element by its number, counted fastest first. */
static uint64_t at(const struct kp_torch_tensor *tensor, uint64_t number)
{
	uint64_t address = tensor->address;

	for (uint8_t i = 0; i < tensor->dims; i++) {
		address += number % tensor->sizes[i] * tensor->strides[i];
		number /= tensor->sizes[i];
	}
	return address;
}

static double get(const struct kp_torch_tensor *tensor, uint64_t number)
{
	return place_of(at(tensor, number))->value;
}

static void set(const struct kp_torch_tensor *tensor, uint64_t number, double value)
{
	place_of(at(tensor, number))->value = value;
}

/* ---- operations ---- */

static double silu(double x)
{
	return x / (1 + exp(-x));
}

static double gelu(double x)
{
	return x * 0.5 * (1 + erf(x / sqrt(2)));
}

static double gelu_tanh(double x)
{
	return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static double compute(const struct kp_torch_launch *launch, double a, double b)
{
	const double *scalars = launch->scalars;

	switch (launch->op) {
	case KP_TORCH_ADD:
		return a + scalars[0] * b;
	case KP_TORCH_ADD_SCALAR:
		return a + scalars[1] * scalars[0];
	case KP_TORCH_MUL:
		return a * b;
	case KP_TORCH_MUL_SCALAR:
		return a * scalars[0];
	case KP_TORCH_POW:
		return pow(a, scalars[0]);
	case KP_TORCH_RSQRT:
		return 1 / sqrt(a);
	case KP_TORCH_NEG:
		return -a;
	case KP_TORCH_SILU:
		return silu(a);
	case KP_TORCH_GELU:
		return gelu(a);
	case KP_TORCH_GELU_TANH:
		return gelu_tanh(a);
	case KP_TORCH_COPY:
		return a;
	default:
		fail();
		return 0;
	}
}

/* All is read before anything is written, as if every element had a thread. */
static void run_elementwise(const struct kp_torch_launch *launch)
{
	uint64_t count = kp_torch_tensor_elements(&launch->tensors[0]);
	double *results = calloc(count, sizeof(*results));

	assert_non_null(results);
	for (uint64_t i = 0; i < count; i++)
		results[i] = compute(launch, get(&launch->tensors[1], i),
				     launch->inputs > 1 ? get(&launch->tensors[2], i) : 0);
	for (uint64_t i = 0; i < count; i++)
		set(&launch->tensors[0], i, results[i]);
	free(results);
}

static void run_mean(const struct kp_torch_launch *launch)
{
	const struct kp_torch_tensor *input = &launch->tensors[1];
	uint64_t count = kp_torch_tensor_elements(input), columns = input->sizes[0];

	assert_int_equal(launch->reduced, 1);
	for (uint64_t row = 0; row < count / columns; row++) {
		double sum = 0;

		for (uint64_t i = 0; i < columns; i++)
			sum += get(input, row * columns + i);
		set(&launch->tensors[0], row * columns, launch->scalars[0] * sum);
	}
}

static void softmax(double *values, uint64_t count)
{
	double most = -INFINITY, sum = 0;

	for (uint64_t i = 0; i < count; i++)
		most = fmax(most, values[i]);
	for (uint64_t i = 0; i < count; i++)
		sum += values[i] = exp(values[i] - most);
	for (uint64_t i = 0; i < count; i++)
		values[i] /= sum;
}

static void run_softmax(const struct kp_torch_launch *launch)
{
	uint64_t columns = launch->tensors[1].sizes[0];
	uint64_t rows = kp_torch_tensor_elements(&launch->tensors[1]) / columns;
	double *values = calloc(columns, sizeof(*values));

	assert_non_null(values);
	for (uint64_t row = 0; row < rows; row++) {
		for (uint64_t i = 0; i < columns; i++)
			values[i] = get(&launch->tensors[1], row * columns + i);
		softmax(values, columns);
		for (uint64_t i = 0; i < columns; i++)
			set(&launch->tensors[0], row * columns + i, values[i]);
	}
	free(values);
}

/* Along the first dimension. */
static void run_cat(const struct kp_torch_launch *launch)
{
	const struct kp_torch_tensor *output = &launch->tensors[0];
	uint64_t begin = 0;

	assert_int_equal(launch->along, 0);
	for (uint8_t k = 1; k <= launch->inputs; k++) {
		const struct kp_torch_tensor *input = &launch->tensors[k];
		uint64_t count = kp_torch_tensor_elements(input), size = input->sizes[0];

		for (uint64_t i = 0; i < count; i++)
			set(output, i / size * output->sizes[0] + begin + i % size, get(input, i));
		begin += size;
	}
}

static void run(const struct kp_torch_launch *launch)
{
	switch (launch->op) {
	case KP_TORCH_MEAN:
		run_mean(launch);
		break;
	case KP_TORCH_SOFTMAX:
		run_softmax(launch);
		break;
	case KP_TORCH_CAT:
		run_cat(launch);
		break;
	default:
		run_elementwise(launch);
	}
}

/* ---- what the kinds say ---- */

/* Results of a whole sequence: y, and the sum of a residual. */
struct results {
	uint64_t count;
	double *of[KP_TORCH_SEQUENCE_OUTPUTS];
};

static void rms(const struct kp_torch_sequence *sequence, struct results *out)
{
	const struct kp_torch_tensor *inputs = sequence->inputs;
	bool adds = sequence->kind == KP_TORCH_SEQUENCE_RMS_RESIDUAL;
	double one = sequence->kind == KP_TORCH_SEQUENCE_RMS_ONE;
	uint64_t columns = sequence->columns;

	for (uint64_t row = 0; row < sequence->rows; row++) {
		double squares = 0, *x = &out->of[1][row * columns];

		for (uint64_t i = 0; i < columns; i++) {
			x[i] = get(&inputs[0], row * columns + i);
			x[i] += adds ? get(&inputs[2], row * columns + i) : 0;
			squares += x[i] * x[i];
		}
		for (uint64_t i = 0; i < columns; i++)
			out->of[0][row * columns + i] =
				x[i] / sqrt(squares / (double)columns + sequence->eps) *
				(one + get(&inputs[1], i));
	}
}

static void gate(const struct kp_torch_sequence *sequence, double (*function)(double),
		 struct results *out)
{
	for (uint64_t i = 0; i < out->count; i++)
		out->of[0][i] =
			function(get(&sequence->inputs[0], i)) * get(&sequence->inputs[1], i);
}

static void scaled_softmax(const struct kp_torch_sequence *sequence, struct results *out)
{
	for (uint64_t i = 0; i < out->count; i++) {
		out->of[0][i] = sequence->scale * get(&sequence->inputs[0], i);
		if (sequence->input_count > 1)
			out->of[0][i] += get(&sequence->inputs[1], i);
	}
	for (uint64_t row = 0; row < sequence->rows; row++)
		softmax(&out->of[0][row * sequence->columns], sequence->columns);
}

static void rope(const struct kp_torch_sequence *sequence, struct results *out)
{
	const struct kp_torch_tensor *inputs = sequence->inputs;
	uint64_t head = sequence->columns, half = head / 2;
	uint64_t table = sequence->kind == KP_TORCH_SEQUENCE_ROPE ? head : half;

	for (uint64_t i = 0; i < out->count; i++) {
		uint64_t d = i % head, of_table = i / head * table + d % table;
		double other = d < half ? -get(&inputs[0], i + half) : get(&inputs[0], i - half);

		out->of[0][i] = get(&inputs[0], i) * get(&inputs[1], of_table) +
				other * get(&inputs[2], of_table);
	}
}

static void follow_kind(const struct kp_torch_sequence *sequence, struct results *out)
{
	switch (sequence->kind) {
	case KP_TORCH_SEQUENCE_SILU_MUL:
		gate(sequence, silu, out);
		break;
	case KP_TORCH_SEQUENCE_GELU_MUL:
		gate(sequence, gelu, out);
		break;
	case KP_TORCH_SEQUENCE_GELU_TANH_MUL:
		gate(sequence, gelu_tanh, out);
		break;
	case KP_TORCH_SEQUENCE_SOFTMAX:
	case KP_TORCH_SEQUENCE_SOFTMAX_MASK:
		scaled_softmax(sequence, out);
		break;
	case KP_TORCH_SEQUENCE_ROPE:
	case KP_TORCH_SEQUENCE_ROPE_HALVES:
		rope(sequence, out);
		break;
	default:
		rms(sequence, out);
	}
}

static void check_meaning(const struct kp_torch_launch *launches,
			  const struct kp_torch_sequence *sequence)
{
	struct results said = {.count = kp_torch_tensor_elements(&sequence->outputs[0])};

	for (int i = 0; i < KP_TORCH_SEQUENCE_OUTPUTS; i++) {
		said.of[i] = calloc(said.count, sizeof(double));
		assert_non_null(said.of[i]);
	}
	forget();
	follow_kind(sequence, &said);
	forget();
	for (uint8_t i = 0; i < sequence->launches; i++)
		run(&launches[i]);
	for (uint8_t k = 0; k < sequence->output_count; k++) {
		for (uint64_t i = 0; i < said.count; i++) {
			double is = get(&sequence->outputs[k], i), off = fabs(is - said.of[k][i]);

			assert_true(off <= 1e-6 * (1 + fabs(is)));
		}
	}
	for (int i = 0; i < KP_TORCH_SEQUENCE_OUTPUTS; i++)
		free(said.of[i]);
}

/* The first of a unit's sequences from record `first` on; 0: none begins there. */
static size_t find(const struct torch_case *unit, size_t first, struct kp_torch_launch *launches,
		   struct kp_torch_sequence *out)
{
	struct kp_torch_sequence sequence;
	size_t best = 0;

	for (size_t n = 0; first + n < unit->count && n < KP_TORCH_SEQUENCE_MOST; n++) {
		enum kp_torch_match match = KP_TORCH_MATCH_NO;

		if (torch_dump_decode(&unit->records[first + n], &launches[n]))
			match = kp_torch_sequence_match(launches, n + 1, &sequence);
		if (match == KP_TORCH_MATCH_NO)
			break;
		if (match == KP_TORCH_MATCH_WHOLE) {
			best = n + 1;
			*out = sequence;
		}
	}
	return best;
}

static void test_torch_meaning_is_what_the_launches_do(void **state)
{
	bool seen[KP_TORCH_SEQUENCE_COUNT] = {[KP_TORCH_SEQUENCE_NONE] = true};
	struct torch_case unit;

	(void)state;
	memory = calloc(PLACES, sizeof(*memory));
	assert_non_null(memory);
	for (size_t file = 0; file < 2; file++) {
		FILE *stream = fopen(files[file], "r");

		assert_non_null(stream);
		for (; torch_dump_next(stream, &unit); torch_dump_free(&unit)) {
			for (size_t i = 0, length; i < unit.count; i += length ? length : 1) {
				struct kp_torch_launch launches[KP_TORCH_SEQUENCE_MOST];
				struct kp_torch_sequence sequence;

				length = find(&unit, i, launches, &sequence);
				if (length == 0 ||
				    kp_torch_tensor_elements(&sequence.outputs[0]) > ELEMENTS_MOST)
					continue;
				check_meaning(launches, &sequence);
				seen[sequence.kind] = true;
			}
		}
		fclose(stream);
	}
	free(memory);
	for (int kind = 0; kind < KP_TORCH_SEQUENCE_COUNT; kind++)
		assert_true(seen[kind]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_meaning_is_what_the_launches_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
