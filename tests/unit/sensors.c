/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/sensors/sensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void put(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/sys/class/hwmon/hwmon0/%s", root, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void note(void *context, const char *name, double celsius)
{
	char *said = context;

	(void)snprintf(said + strlen(said), 256 - strlen(said), "%s %.1f;", name, celsius);
}

static void test_temperatures(void **state)
{
	char root[] = "/tmp/kiln-sensors-XXXXXX", command[256], said[256] = "";

	(void)state;
	assert_non_null(mkdtemp(root));
	sensors_temperatures(root, note, said);
	assert_string_equal(said, "");
	(void)snprintf(command, sizeof(command), "mkdir -p %s/sys/class/hwmon/hwmon0", root);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
	put(root, "name", "coretemp\n");
	put(root, "temp1_input", "45500\n");
	put(root, "temp1_label", "Package id 0\n");
	put(root, "temp2_input", "-3000\n");
	put(root, "temp3_input", "not a number\n");
	put(root, "temp4_input", "");
	sensors_temperatures(root, note, said);
	assert_string_equal(said, "coretemp Package id 0 45.5;coretemp temp2 -3.0;");
	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_temperatures) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
