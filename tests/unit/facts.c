/* SPDX-License-Identifier: Apache-2.0 */
/* What two boxes must have in common before they train together. */
#include "core/ranks/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NOW 1764323000000000u
#define GPU "NVIDIA CUDA, NVIDIA H200"

static const struct ranks_facts here = { "aa01", GPU, NOW, "" };

static const struct {
	const char *label;
	struct ranks_facts found;
	uint64_t way_us;
	bool mixed;
	const char *text; /* NULL = the boxes fit */
} cases[] = {
	{ "the same", { "aa01", GPU, NOW, "" }, 0, false, NULL },
	{ "another build",
	  { "aa02", GPU, NOW, "" },
	  0,
	  true,
	  "found the build aa02 of kiln-traind, expected aa01 as here" },
	{ "another device",
	  { "aa01", "p, cpu", NOW, "" },
	  0,
	  false,
	  "found the device \"p, cpu\", expected \"" GPU "\" as here" },
	{ "a device that nobody knows", { "aa01", "", NOW, "" }, 0, false, NULL },
	{ "a box that is busy",
	  { "aa01", GPU, NOW, "trains a run of its own" },
	  0,
	  true,
	  "it trains a run of its own" },
	{ "another device where devices are mixed", { "aa01", "p, cpu", NOW, "" }, 0, true, NULL },
	{ "2 s ahead", { "aa01", GPU, NOW + 2000000, "" }, 0, false, NULL },
	{ "more than 2 s ahead",
	  { "aa01", GPU, NOW + 2001000, "" },
	  0,
	  false,
	  "found its clock 2.001 s ahead, expected at most 2 s" },
	{ "2 s behind", { "aa01", GPU, NOW - 2000000, "" }, 0, false, NULL },
	{ "a day behind",
	  { "aa01", GPU, NOW - 86400000000u, "" },
	  0,
	  false,
	  "found its clock 86400.000 s behind" },
	{ "late by its way", { "aa01", GPU, NOW + 2500000, "" }, 500000, false, NULL },
	{ "later than its way", { "aa01", GPU, NOW + 2600000, "" }, 500000, false, "2.600 s ahead" },
	{ "in 1970", { "aa01", GPU, 0, "" }, 0, false, "behind" },
};

static void test_compare(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		const int r =
			ranks_facts_compare(&cases[i].found, &here, cases[i].way_us, cases[i].mixed, &err);

		if (r != (*cases[i].found.busy ? -EBUSY
			  : cases[i].text      ? -ESTALE
					       : 0) ||
		    (cases[i].text && !strstr(err.text, cases[i].text)))
			fail_msg("%s: found %d \"%s\"", cases[i].label, r, err.text);
	}
}

static void test_wire(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"build\":\"a\",\"device\":\"\"}",
		"{\"build\":1,\"device\":\"\",\"time_us\":1}",
		"{\"build\":\"0123456789012345678901234567890123456789x\",\"device\":\"\",\"time_us\":1}",
		"{\"build\":\"a\",\"device\":\"\",\"time_us\":-1}",
		"{\"build\":\"a\",\"device\":\"\",\"time_us\":1}",
	};
	CLEANUP(json_free) cJSON *json = ranks_facts_json(&here);
	struct ranks_facts back = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ranks_facts_of(json, &back, &err), 0);
	assert_int_equal(ranks_facts_compare(&back, &here, 0, false, &err), 0);
	assert_true(back.time_us == here.time_us);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(json_free) cJSON *other = cJSON_Parse(bad[i]);

		assert_int_equal(ranks_facts_of(other, &back, &err), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_compare), cmocka_unit_test(test_wire) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
