/* Launch configurations keep their numbers, however many there are and whatever was asked last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/trace_file.h"

#define MANY 20000

static struct kp_launch_config config_of(uint32_t number)
{
	return (struct kp_launch_config){.device = 1,
					 .context = 2,
					 .stream = number % 7,
					 .grid = {number % 300 + 1, 1, 1},
					 .block = {128, 1, 1},
					 .dynamic_shared_bytes = number};
}

static void test_writer_config_keeps_its_number(void **state)
{
	struct trace_file file;
	static uint32_t numbers[MANY];

	(void)state;
	trace_file_begin(&file, 1);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MANY; i++) {
			/* forwards, backwards, in strides: never what was asked last */
			uint32_t which = round == 0   ? i
					 : round == 1 ? MANY - 1 - i
						      : i * 7919 % MANY;
			struct kp_launch_config config = config_of(which);
			uint32_t number;

			assert_int_equal(kp_writer_config(file.writer, &config, &number), KP_OK);
			if (round == 0)
				numbers[which] = number;
			assert_int_equal(number, round == 0 ? i : numbers[which]);
		}
	}
	trace_file_end(&file);
}

/* Members that the look-up does not hash still tell configurations apart. */
static void test_writer_config_tells_all_members_apart(void **state)
{
	struct kp_launch_config config = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
	uint32_t *members = (uint32_t *)&config;
	struct trace_file file;
	uint32_t first, other, again;

	(void)state;
	trace_file_begin(&file, 1);
	assert_int_equal(kp_writer_config(file.writer, &config, &first), KP_OK);
	for (size_t i = 0; i < sizeof(config) / sizeof(*members); i++) {
		members[i] += 5;
		assert_int_equal(kp_writer_config(file.writer, &config, &other), KP_OK);
		assert_int_equal(other, first + i + 1);
		members[i] -= 5;
		assert_int_equal(kp_writer_config(file.writer, &config, &again), KP_OK);
		assert_int_equal(again, first);
	}
	trace_file_end(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writer_config_keeps_its_number),
		cmocka_unit_test(test_writer_config_tells_all_members_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
