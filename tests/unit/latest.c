/* SPDX-License-Identifier: Apache-2.0 */
/* latest.json: what is written is read again, and what somebody else wrote is refused. */
#include "core/run/latest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LATEST(version, step, key, sha256)                               \
	"{\"version\": " version ", \"step\": " step ", \"key\": \"" key \
	"\", \"bytes\": 5, \"sha256\": \"" sha256 "\"}"

static void test_round(void **state)
{
	struct latest latest = { .step = 40, .bytes = 5, .sha256 = SHA256 }, again;
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	(void)state;
	(void)spool_checkpoint_name(latest.step, latest.name);
	assert_int_equal(latest_print(&latest, &text, &err), 0);
	assert_int_equal(latest_parse("latest.json", text, strlen(text), &again, &err), 0);
	assert_int_equal(again.step, 40);
	assert_int_equal(again.bytes, 5);
	assert_string_equal(again.name, "checkpoints/ckpt-000000000040.safetensors");
	assert_string_equal(again.sha256, SHA256);
}

static void test_refused(void **state)
{
	static const struct {
		const char *label, *text, *words;
	} cases[] = {
		{ "no JSON", "x", "x/latest.json" },
		{ "a later version", LATEST("2", "7", "checkpoints/ckpt-000000000007.safetensors", SHA256),
		  "found version 2, expected 1" },
		{ "a path", LATEST("1", "7", "../ckpt-000000000007.safetensors", SHA256),
		  "expected checkpoints/ckpt-N.safetensors" },
		{ "two steps", LATEST("1", "8", "checkpoints/ckpt-000000000007.safetensors", SHA256),
		  "found step 8 and key" },
		{ "no digest", LATEST("1", "7", "checkpoints/ckpt-000000000007.safetensors", "0"),
		  "found sha256 \"0\", expected a SHA-256" },
		{ "a negative step", LATEST("1", "-7", "checkpoints/ckpt-000000000007.safetensors", SHA256),
		  "step" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct latest latest = { .step = 1 };
		struct error err = { 0 };

		if (latest_parse("x/latest.json", cases[i].text, strlen(cases[i].text), &latest, &err) !=
		    -EBADMSG)
			fail_msg("%s: taken", cases[i].label);
		if (!strstr(err.text, cases[i].words))
			fail_msg("%s: %s", cases[i].label, err.text);
		assert_int_equal(latest.step, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
