/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's identity does not depend on KILN_ROOT; a test may give a root an identity of its own. */
#include "core/base/machine.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void give_root(const char *id)
{
	char folder[PATH_BYTES], path[PATH_BYTES];
	struct error err;

	(void)snprintf(folder, sizeof(folder), "%s/etc", root);
	assert_int_equal(path_make(folder, &err), 0);
	assert_int_equal(file_write_durable(path_of(PATH_MACHINE_ID, NULL, path), id, strlen(id), &err), 0);
}

static void test_identity(void **state)
{
	static const char *const given = "0123456789abcdef0123456789abcdef\n";
	char own[MACHINE_ID_BYTES], below[MACHINE_ID_BYTES];

	(void)state;
	(void)machine_id(below);
	assert_int_equal(unsetenv("KILN_ROOT"), 0);
	assert_string_equal(below, machine_id(own));
	assert_int_equal(setenv("KILN_ROOT", root, 1), 0);
	give_root(given);
	assert_memory_equal(machine_id(below), given, MACHINE_ID_BYTES - 1);
	give_root("0123456789ABCDEF0123456789abcdef\n");
	assert_string_equal(machine_id(below), "");
	give_root("");
	assert_string_equal(machine_id(below), "");
}

static void test_root(void **state)
{
	char found[PATH_BYTES], again[PATH_BYTES + 8];

	(void)state;
	assert_string_equal(machine_root(found), root);
	(void)snprintf(again, sizeof(again), "%s/./", root);
	assert_int_equal(setenv("KILN_ROOT", again, 1), 0);
	assert_string_equal(machine_root(found), root);
	assert_int_equal(setenv("KILN_ROOT", "/", 1), 0);
	assert_string_equal(machine_root(found), "");
	assert_int_equal(unsetenv("KILN_ROOT"), 0);
	assert_string_equal(machine_root(found), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_identity, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_root, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
