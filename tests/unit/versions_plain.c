/* SPDX-License-Identifier: Apache-2.0 */
/* A store without branches and commits: every ref is "". */
#include "drivers/versions/versions.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_has_no_commits(void **state)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char url[128], id[VERSIONS_ID_BYTES] = "x";
	const struct config_store where = { .url = url };
	struct error err = { 0 };

	(void)state;
	(void)snprintf(url, sizeof(url), "file://%s/store", root);
	assert_int_equal(versions_open(&where, NULL, &versions, &err), 0);
	assert_int_equal(versions_resolve(versions, NULL, id, &err), 0);
	assert_string_equal(id, "");
	id[0] = 'x';
	assert_int_equal(versions_head(versions, "main", id, &err), 0);
	assert_string_equal(id, "");
	assert_int_equal(versions_find_commit(versions, "main", NULL, id, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has_no_commits),
	};

	return cmocka_run_group_tests_name("versions_plain", tests, scratch_setup, scratch_teardown);
}
