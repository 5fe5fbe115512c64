/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config_fixture.h"

static void test_integers_that_would_wrap(void **state)
{
	static const struct refusal cases[] = {
		{ "an integer that would wrap", STORES "fetch: {\n  memory_bytes = 4294967296; };",
		  "k.conf:3: fetch.memory_bytes: found 4294967296, allowed: an integer, 1048576 .. "
		  "1099511627776, with an L after it beyond 32 bits" },
		{ "hexadecimal that would become -1", STORES "run: { seed = 0xFFFFFFFF; };",
		  "k.conf:2: run.seed: found 0xFFFFFFFF, allowed: an integer, 0 .. 9007199254740992, with an "
		  "L after it beyond 32 bits" },
		{ "outside of its bounds, too", STORES "run: { epochs = 4294967297; seed = -4294967295; };",
		  "k.conf:2: run.epochs: found 4294967297, allowed: an integer, 1 .. 1000000\n"
		  "k.conf:2: run.seed: found -4294967295, allowed: an integer, 0 .. 9007199254740992" },
		{ "digits before a name", STORES "run: { batch_rows = 4294967424epochs = 5; };",
		  "k.conf:2: run.batch_rows: found 4294967424, allowed: an integer, 1 .. 65536" },
		{ "digits before an e that is no exponent", STORES "run: { seed = 4294967424e; };",
		  "k.conf:2: run.seed: found 4294967424, allowed: an integer, 0 .. 9007199254740992, with an "
		  "L after it beyond 32 bits\nk.conf:2: syntax error: run: { seed = 4294967424e; };" },
		{ "digits before a small l", STORES "run: { batch_rows = 4294967424l = 5; };",
		  "k.conf:2: run.batch_rows: found 4294967424, allowed: an integer, 1 .. 65536\n"
		  "k.conf:2: run.l: found an unknown key, allowed: the keys of `kiln config reference`" },
		{ "zeros before digits are not octal", STORES "run: { batch_rows = 0004294967424; };",
		  "k.conf:2: run.batch_rows: found 4294967424, allowed: an integer, 1 .. 65536" },
		{ "a sign before hexadecimal is none", STORES "run: { batch_rows = -0x100000080; };",
		  "k.conf:2: syntax error: run: { batch_rows = -0x100000080; };" },
		{ "above 64 bits, L or not",
		  STORES "run: { seed = 99999999999999999999L; };\nx = -9223372036854775809;",
		  "k.conf:2: run.seed: found 99999999999999999999, allowed: an integer, 0 .. "
		  "9007199254740992\n"
		  "k.conf:3: x: found -9223372036854775809, allowed: integers of 64 bits" },
		{ "an integer in an array",
		  STORES "schema = ( { name = \"a\"; shape = [ 1,\n 3000000000 ]; } );",
		  "k.conf:3: schema.shape: found 3000000000, allowed: integers of 32 bits" },
		{ "all of them, with the mistakes of other keys",
		  STORES
		  "run: { seed = 4294967296;\n seed2 = 1; /* 4294967296 */ name = \"4294967296\"; };\n"
		  "schema = ( { name = \"sentence\"; dtype = \"float32\"; fill = 4294967296; },\n"
		  "  { name = \"label\", dtype = \"int64\", fill = 4294967296 } );\n"
		  "model = { layers = ( { op = \"relu\"; },\n { op = \"relu\"; x = 4294967296; } ); };\n"
		  "fetch: { memory_bytes: 4294967296 part_bytes: -1 };",
		  "k.conf:2: run.seed: found 4294967296, allowed: an integer, 0 .. 9007199254740992, with an "
		  "L after it beyond 32 bits\n"
		  "k.conf:4: schema.fill: found 4294967296, allowed: a number, -3.40282e+38 .. 3.40282e+38, "
		  "with an L after it beyond 32 bits\n"
		  "k.conf:5: schema.fill: found 4294967296, allowed: a number, -3.40282e+38 .. 3.40282e+38, "
		  "with an L after it beyond 32 bits\n"
		  "k.conf:8: fetch.memory_bytes: found 4294967296, allowed: an integer, 1048576 .. "
		  "1099511627776, with an L after it beyond 32 bits\n"
		  "k.conf:3: run.seed2: found an unknown key, allowed: the keys of `kiln config reference`; "
		  "did "
		  "you mean \"run.seed\"?\n"
		  "k.conf:8: fetch.part_bytes: found -1, allowed: an integer, 0 .. 1073741824" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_raw_text(void **state)
{
	static const struct refusal cases[] = {
		{ "another file", STORES "/* @include\n*/ # @include\n@include \"other\"\n",
		  "k.conf:4: found @include, allowed: one file that holds everything" },
		{ "not UTF-8", STORES "\n# gr\xfc\xdf", "k.conf:3: found byte 0xfc, allowed: text in UTF-8" },
		{ "a key twice", STORES "run: { epochs = 1;\n  epochs = 2; };",
		  "k.conf:3: duplicate setting name: epochs = 2; };" },
		{ "a group twice", STORES "run: { };\nrun: { };",
		  "k.conf:3: duplicate setting name: run: { };" },
		{ "no value", STORES "run: {\n  epochs = ; };", "k.conf:3: syntax error: epochs = ; };" },
		{ "a dotted key", STORES "run: {\n  optimizer.learning_rate = 1e-3; };",
		  "k.conf:3: syntax error: optimizer.learning_rate = 1e-3; }; (a key has no dots here; write "
		  "groups: "
		  "optimizer: { learning_rate = ...; };)" },
		{ "one of three groups", STORES "experiments = ( { overrides = { a.b.c_1: 1.5; }; } );",
		  "k.conf:2: syntax error: experiments = ( { overrides = { a.b.c_1: 1.5; }; } ); (a key has "
		  "no dots "
		  "here; write groups: a: { b: { c_1 = ...; }; };)" },
		{ "numbers with points are no keys", STORES "a = 1.5 b.c;",
		  "k.conf:2: syntax error: a = 1.5 b.c;" },
		{ "cut", STORES "run: { epochs = 1;\n", "k.conf:3: syntax error: at the end of the file" },
		{ "brackets that no key needs", "x = ((((((((((((((((((((((((((((((((((((\n\"y\"",
		  "k.conf:1: found more than 32 brackets in each other, allowed: 32" },
	};
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	CHECK_REFUSALS(cases);
	assert_int_equal(load(STORES "\n\0", sizeof(STORES "\n\0") - 1, &config, &err), -EINVAL);
	assert_string_equal(err.text, "k.conf:3: found a NUL byte, allowed: text");
	assert_int_equal(load(STORES "# a comment without a newline",
			      sizeof(STORES "# a comment without a newline") - 1, &config, &err),
			 0);
}

/* libconfig compares each key of a group with all before it: 26 000 keys took seconds. */
static void test_many_keys(void **state)
{
	char text[16384];
	struct error err = { 0 };

	(void)state;
	for (unsigned keys = 256; keys <= 257; keys++) {
		CLEANUP(config_done) struct config config = { 0 };
		size_t used = (size_t)snprintf(text, sizeof(text), "run: {\n");

		for (unsigned i = 0; i < keys; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "key%u = 1; ", i);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "};");
		assert_int_equal(load(text, used, &config, &err), -EINVAL);
		if (keys == 256)
			assert_non_null(strstr(err.text, "run.key0: found an unknown key"));
		else
			assert_string_equal(err.text,
					    "k.conf:2: found more than 256 keys in a group, allowed: 256");
	}
}

#define STRING_MISTAKE(string) \
	"found the string " string ", allowed: a string after = or in a list; is a quote missing before it?"

/* libconfig would not free these strings: LeakSanitizer finds it, because libconfig is not in
 * tests/lsan.supp. */
static void test_strings_where_none_is_allowed(void **state)
{
	static const struct refusal cases[] = {
		{ "a quote is missing", "run: { name = \"a;\n  at = \"02:30\"; };",
		  "k.conf:2: " STRING_MISTAKE("\"; };") },
		{ "first", "\"a\"", "k.conf:1: " STRING_MISTAKE("\"a\"") },
		{ "no =", "run\n\"a\"", "k.conf:2: " STRING_MISTAKE("\"a\"") },
		{ "a value more", "a = 5 /* , */ \"b\"", "k.conf:1: " STRING_MISTAKE("\"b\"") },
		{ "in a group", "a = { \"b\"", "k.conf:1: " STRING_MISTAKE("\"b\"") },
		{ "after a comma in a group", "a = { b = 1, \"c\"", "k.conf:1: " STRING_MISTAKE("\"c\"") },
		{ "after a comma", "b = 1, \"c\"", "k.conf:1: " STRING_MISTAKE("\"c\"") },
		{ "after a list", "a = ( 1 ) \"c\"", "k.conf:1: " STRING_MISTAKE("\"c\"") },
		{ "no comma", "a = ( 1 \"c\" )", "k.conf:1: " STRING_MISTAKE("\"c\" )") },
		{ "after a sign that is none", "a = ! \"c\"", "k.conf:1: " STRING_MISTAKE("\"c\"") },
		{ "a semicolon for a comma", "a = [ \"c\"; \"d\" ]", "k.conf:1: " STRING_MISTAKE("\"d\" ]") },
		{ "not closed", "a = 1; \"c", "k.conf:1: " STRING_MISTAKE("\"c") },
		{ "long", "\"0123456789012345678901234567890123456789\"",
		  "k.conf:1: " STRING_MISTAKE("\"012345678901234567890123456789012345678") },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_strings_where_they_are_allowed(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	static const char text[] =
		STORES "run: { name = \"a\" # \"\n \"b\" /* \" */ \"\\\"c\\\\\"; at : \"02:30\" };\n"
		       "fetch: { nic = \"x\" };\n"
		       "schema = ( { name = \"a\", dtype = \"float32\"; shape = [ 1 ]; } );\n"
		       "model = { layers = ( { op = \"dense\"; inputs = [ \"a\", \"b\" ]; } ) };\n"
		       "sources = ( \"a\", \"b\", ( \"c\" ) );\n";

	(void)state;
	assert_int_equal(load(text, strlen(text), &config, &err), -EINVAL);
	assert_null(strstr(err.text, "a quote"));
	assert_null(strstr(err.text, "syntax"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers_that_would_wrap),
		cmocka_unit_test(test_raw_text),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_strings_where_none_is_allowed),
		cmocka_unit_test(test_strings_where_they_are_allowed),
	};

	return cmocka_run_group_tests_name("config_scan", tests, setup, teardown);
}
