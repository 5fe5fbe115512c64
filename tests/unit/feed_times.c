/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that the library of gpu-kit's part `feed` makes of the times of commands. */
#include "tests/system/preload/feed_times.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Makes the commands those of the list, in the order of their start. */
static void set(const struct command *list, unsigned length)
{
	memcpy(command, list, length * sizeof(*list));
	commands = length;
	qsort(command, commands, sizeof(*command), by_start);
}

static double all_hidden_us(void)
{
	double hidden = 0;

	for (unsigned i = 0; i < commands; i++)
		hidden += command[i].kind == COPY ? hidden_us(&command[i]) : 0;
	return hidden;
}

static void test_hidden_part_of_a_copy(void **state)
{
	static const struct {
		const char *label;
		struct command kernel[2];
		double hidden;
	} cases[] = {
		{ "no kernel", { { 0 } }, 0 },
		{ "half of it", { { NULL, KERNEL, 1, 5, 20 } }, 5 },
		{ "all of it", { { NULL, KERNEL, 1, -5, 20 } }, 10 },
		{ "within", { { NULL, KERNEL, 1, 2, 5 } }, 3 },
		{ "kernels that overlap", { { NULL, KERNEL, 1, 2, 6 }, { NULL, KERNEL, 1, 4, 8 } }, 6 },
		{ "one within another", { { NULL, KERNEL, 1, 2, 8 }, { NULL, KERNEL, 1, 4, 5 } }, 6 },
		{ "kernels apart", { { NULL, KERNEL, 1, 0, 2 }, { NULL, KERNEL, 1, 9, 12 } }, 3 },
		{ "its own step", { { NULL, KERNEL, 2, 0, 20 } }, 0 },
		{ "a read", { { NULL, READ, 1, 0, 20 } }, 0 },
		{ "before it", { { NULL, KERNEL, 1, -9, 0 } }, 0 },
		{ "behind it", { { NULL, KERNEL, 1, 10, 20 } }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct command list[] = { { NULL, COPY, 2, 0, 10 },
						cases[i].kernel[0],
						cases[i].kernel[1] };

		set(list, 3);
		if (all_hidden_us() != cases[i].hidden)
			fail_msg("%s: %g us", cases[i].label, all_hidden_us());
	}
}

static void test_time_without_a_kernel(void **state)
{
	static const struct command list[] = { { NULL, KERNEL, 1, 0, 10 },  { NULL, KERNEL, 1, 12, 20 },
					       { NULL, KERNEL, 2, 25, 40 }, { NULL, KERNEL, 2, 30, 35 },
					       { NULL, KERNEL, 2, 40, 50 }, { NULL, COPY, 3, 0, 50 } };
	struct idle idle;

	(void)state;
	set(list, 6);
	idle = find_idle();
	assert_true(idle.all_us == 50 && idle.within_steps_us == 2 && idle.between_steps_us == 5);
	assert_true(idle.kernels_us == 43);
}

static void test_kernels_of_a_step_are_joined(void **state)
{
	static const struct command list[] = { { NULL, KERNEL, 1, 0, 1 },
					       { NULL, KERNEL, 2, 15, 16 },
					       { NULL, READ, 1, 10, 11 },
					       { NULL, READ, 2, 30, 31 } };

	(void)state;
	set(list, 4);
	join_kernels();
	assert_true(command[0].end_us == 10);
	assert_true(command[2].kind == KERNEL && command[2].end_us == 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hidden_part_of_a_copy),
		cmocka_unit_test(test_time_without_a_kernel),
		cmocka_unit_test(test_kernels_of_a_step_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
