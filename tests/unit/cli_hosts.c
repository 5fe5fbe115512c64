/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/exit.h"
#include "cli/client/host.h"
#include "cli/client/hosts.h"
#include "cli/verbs/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_parse(void **state)
{
	static const struct {
		const char *text, *name, *address, *port;
	} cases[] = {
		{ "a=10.0.0.1", "a", "10.0.0.1", "7443" },
		{ "a=10.0.0.1:1", "a", "10.0.0.1", "1" },
		{ "box-1=box.example", "box-1", "box.example", "7443" },
		{ "a=fe80::1", "a", "fe80::1", "7443" },
		{ "a=[fe80::1]", "a", "fe80::1", "7443" },
		{ "a=[fe80::1]:65535", "a", "fe80::1", "65535" },
		{ "", NULL, NULL, NULL },
		{ "a", NULL, NULL, NULL },
		{ "a=", NULL, NULL, NULL },
		{ "=b", NULL, NULL, NULL },
		{ "a=b:", NULL, NULL, NULL },
		{ "a=b:x", NULL, NULL, NULL },
		{ "a=b:-1", NULL, NULL, NULL },
		{ "a=b:123456", NULL, NULL, NULL },
		{ "a=[b]:x", NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct client_host host;
		bool good = host_parse(cases[i].text, strlen(cases[i].text), &host);

		if (good != (cases[i].name != NULL))
			fail_msg("\"%s\": %s", cases[i].text, good ? "accepted" : "refused");
		if (!good)
			continue;
		assert_string_equal(host.name, cases[i].name);
		assert_string_equal(host.address, cases[i].address);
		assert_string_equal(host.port, cases[i].port);
		assert_false(host.one_of_many);
	}
}

static void test_parse_lengths(void **state)
{
	struct client_host host;
	char text[512];

	(void)state;
	memset(text, 'n', sizeof(text));
	text[63] = '=';
	assert_true(host_parse(text, 64 + 255, &host));
	assert_int_equal(strlen(host.name), 63);
	assert_int_equal(strlen(host.address), 255);
	assert_false(host_parse(text, 64 + 256, &host));
	assert_false(host_parse(text, sizeof(text), &host));
	text[63] = 'n';
	text[64] = '=';
	assert_false(host_parse(text, 70, &host));
	assert_true(host_parse("a=b,c=d", 3, &host));
	assert_string_equal(host.address, "b");
}

static void test_sum_up(void **state)
{
	static const struct {
		int codes[3], sum;
	} cases[] = {
		{ { CLI_OK, CLI_OK, CLI_OK }, CLI_OK },
		{ { CLI_IDLE, CLI_IDLE, CLI_IDLE }, CLI_IDLE },
		{ { CLI_OK, CLI_IDLE, CLI_OK }, CLI_OK },
		{ { CLI_IDLE, CLI_DEGRADED, CLI_OK }, CLI_DEGRADED },
		{ { CLI_FAILED, CLI_DEGRADED, CLI_IDLE }, CLI_FAILED },
		{ { CLI_FAILED, CLI_ERROR, CLI_OK }, CLI_ERROR },
		{ { CLI_USAGE, CLI_FAILED, CLI_OK }, CLI_USAGE },
		{ { CLI_NO_HOST, CLI_FAILED, CLI_ERROR }, CLI_SOME_HOSTS },
		{ { CLI_NO_HOST, CLI_NO_HOST, CLI_NO_HOST }, CLI_NO_HOST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hosts_sum_up(cases[i].codes, 3), cases[i].sum);
}

static void test_state(void **state)
{
	static const struct {
		const char *state;
		int code;
	} cases[] = {
		{ "running", CLI_OK },   { "beginning", CLI_OK },      { "paused", CLI_OK },
		{ "stopping", CLI_OK },  { "degraded", CLI_DEGRADED }, { "failed", CLI_FAILED },
		{ "idle", CLI_IDLE },    { "stopped", CLI_IDLE },      { "finished", CLI_IDLE },
		{ "expired", CLI_IDLE }, { "pruned", CLI_IDLE },       { "new to us", CLI_IDLE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *status = cJSON_CreateObject();

		cJSON_AddStringToObject(status, "state", cases[i].state);
		assert_int_equal(screen_exit_code(status), cases[i].code);
	}
}

static void test_screen_of_nothing(void **state)
{
	CLEANUP(json_free) cJSON *status = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	screen_print_brief(status, out);
	screen_print(status, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strncmp(text, "-, - %, loss -, -\n", 18), 0);
	assert_non_null(strstr(text, "state      -\n"));
	assert_non_null(strstr(text, "disk       - of - free (- %)\n"));
}

static void test_screen_of_series(void **state)
{
	static const struct {
		const char *json, *expected;
	} cases[] = {
		{ "{\"series\":{\"id\":\"s\",\"state\":\"running\",\"trials\":3,\"trial\":\"wide\","
		  "\"number\":2}}",
		  "series     wide, trial 2 of 3 of s, running\n" },
		{ "{\"series\":{\"id\":\"s\",\"state\":\"running\",\"trials\":3,\"trial\":null,\"next\":"
		  "\"wide\","
		  "\"number\":2,\"best\":\"a\",\"objective\":\"train.loss\",\"best_value\":0.5}}",
		  "series     next wide, trial 2 of 3 of s, running; best so far: a, train.loss 0.5\n" },
		{ "{\"series\":{\"id\":\"s\",\"state\":\"stopped\",\"trials\":3,\"trial\":null,\"next\":null}"
		  "}",
		  "series     3 trials of s, stopped\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *status = cJSON_Parse(cases[i].json);
		CLEANUP(free_ptr) char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);

		screen_print(status, out);
		assert_int_equal(fclose(out), 0);
		if (!strstr(text, cases[i].expected))
			fail_msg("found:\n%sexpected:\n%s", text, cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_lengths),
		cmocka_unit_test(test_sum_up),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_screen_of_nothing),
		cmocka_unit_test(test_screen_of_series),
	};

	return cmocka_run_group_tests_name("cli_hosts", tests, NULL, NULL);
}
