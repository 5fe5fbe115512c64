/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"

#include "core/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static int parse(const char *text, uint64_t bytes, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;

	return json_parse("x.json", text, bytes, &json, err);
}

static void test_parse(void **state)
{
	static const struct {
		const char *label, *text;
		int code;
		const char *words;
	} cases[] = {
		{ "object", "{\"a\": [1, 2.5, -3, \"b\", null, true]}", 0, "" },
		{ "white space around", " \n{ }\r\n\t ", 0, "" },
		{ "a lone value", "5", 0, "" },
		{ "UTF-8", "\"gr\xc3\xbc\xc3\x9f\xe2\x82\xac\xf0\x9f\x94\xa5\"", 0, "" },
		{ "2^53", "9007199254740992", 0, "" },
		{ "minus 2^53", "[-9007199254740992]", 0, "" },
		{ "a large number that is no integer", "1e300", 0, "" },
		{ "digits in a string", "\"99999999999999999999\"", 0, "" },
		{ "an escaped backslash before u0000", "\"\\\\u0000\"", 0, "" },
		{ "an escaped quote", "\"\\\"99999999999999999999\"", 0, "" },
		{ "same key in two objects", "[{\"a\":1},{\"a\":1}]", 0, "" },
		{ "keys that differ in case", "{\"a\":1,\"A\":2}", 0, "" },

		{ "nothing", "", -EBADMSG, "not JSON" },
		{ "white space alone", "  ", -EBADMSG, "not JSON" },
		{ "a cut object", "{\"a\": 1", -EBADMSG, "not JSON" },
		{ "a cut string", "\"abc", -EBADMSG, "not JSON" },
		{ "a cut escape", "\"abc\\", -EBADMSG, "not JSON" },
		{ "trailing bytes", "{} x", -EBADMSG, "after the JSON value at byte 3" },
		{ "two values", "{}{}", -EBADMSG, "after the JSON value" },
		{ "a key twice", "{\"a\":1,\"b\":2,\"a\":3}", -EBADMSG, "\"a\" is there twice" },
		{ "a key twice, deep", "[[{\"k\":{\"a\":1,\"a\":1}}]]", -EBADMSG, "\"a\" is there twice" },
		{ "a key twice, once escaped", "{\"a\":1,\"\\u0061\":3}", -EBADMSG, "\"a\" is there twice" },
		{ "2^53 + 1", "9007199254740993", -EBADMSG, "above 2^53" },
		{ "below -2^53", "{\"a\": -9007199254740993}", -EBADMSG, "above 2^53" },
		{ "64 bits", "[18446744073709551615]", -EBADMSG, "above 2^53" },
		{ "an escaped NUL", "{\"a\\u0000b\":1}", -EBADMSG, "\\u0000" },
		{ "a control character", "\"a\nb\"", -EBADMSG, "control character" },
		{ "an overlong form", "\"\xc0\xaf\"", -EBADMSG, "byte 1 is not UTF-8" },
		{ "a surrogate", "\"\xed\xa0\x80\"", -EBADMSG, "not UTF-8" },
		{ "above U+10FFFF", "\"\xf4\x90\x80\x80\"", -EBADMSG, "not UTF-8" },
		{ "a cut character", "\"\xe2\x82\"", -EBADMSG, "not UTF-8" },
		{ "Latin-1", "\"gr\xfc\"", -EBADMSG, "byte 3 is not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		int r = parse(cases[i].text, strlen(cases[i].text), &err);

		if (r != cases[i].code || !strstr(err.text, cases[i].words))
			fail_msg("%s: found %d, \"%s\"", cases[i].label, r, err.text);
	}
}

static void test_nul_byte(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse("{}\0{}", 5, &err), -EBADMSG);
	assert_int_equal(parse("{}\0", 3, &err), -EBADMSG);
}

static void test_depth(void **state)
{
	char text[4 * JSON_DEPTH_MAX];
	struct error err = { 0 };

	(void)state;
	for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(parse(text, 2 * depth, &err), depth > JSON_DEPTH_MAX ? -EBADMSG : 0);
	}
	assert_non_null(strstr(err.text, "nested too deep"));
}

static void test_size(void **state)
{
	CLEANUP(free_ptr) char *text = malloc(JSON_BYTES_MAX + 1u);
	struct error err = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, ' ', JSON_BYTES_MAX + 1u);
	text[0] = '1';
	assert_int_equal(parse(text, JSON_BYTES_MAX, &err), 0);
	assert_int_equal(parse(text, JSON_BYTES_MAX + 1u, &err), -E2BIG);
}

/* The search for duplicates is not quadratic: 100 000 keys take a moment. */
static void test_many_keys(void **state)
{
	CLEANUP(free_ptr) char *text = malloc(2000000);
	struct error err = { 0 };
	size_t used = 1;

	(void)state;
	assert_non_null(text);
	text[0] = '{';
	for (int i = 0; i < 100000; i++)
		used += (size_t)sprintf(text + used, "\"k%d\":1,", i);
	text[used - 1] = '}';
	assert_int_equal(parse(text, used, &err), 0);
}

static void test_getters(void **state)
{
	static const char text[] = "{\"s\":\"a\", \"n\":5, \"big\":\"18446744073709551615\", \"f\":0.5, "
				   "\"minus\":-1, \"huge\":1e999, \"over\":\"18446744073709551616\"}";
	CLEANUP(json_free) cJSON *json = NULL;
	struct error err = { 0 };
	const char *string;
	char copy[2];
	uint64_t number;
	double real;

	(void)state;
	assert_int_equal(json_parse("x", text, strlen(text), &json, &err), 0);
	assert_int_equal(json_get_string("x", json, "s", &string, &err), 0);
	assert_string_equal(string, "a");
	assert_int_equal(json_copy_string("x", json, "s", copy, sizeof(copy), &err), 0);
	assert_string_equal(copy, "a");
	assert_int_equal(json_get_u64("x", json, "n", &number, &err), 0);
	assert_true(number == 5);
	assert_int_equal(json_get_u64("x", json, "big", &number, &err), 0);
	assert_true(number == UINT64_MAX);
	assert_int_equal(json_get_double("x", json, "f", &real, &err), 0);
	assert_true(real == 0.5);

	assert_int_equal(json_get_string("x", json, "n", &string, &err), -EBADMSG);
	assert_string_equal(err.text, "x: \"n\": found a number, expected a string");
	assert_int_equal(json_get_string("x", json, "none", &string, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "found nothing"));
	assert_int_equal(json_copy_string("x", json, "s", copy, 1, &err), -EBADMSG);
	assert_string_equal(err.text, "x: \"s\": found 1 bytes, expected at most 0");
	assert_int_equal(json_copy_string("x", json, "none", copy, sizeof(copy), &err), -EBADMSG);
	assert_int_equal(json_get_u64("x", json, "f", &number, &err), -EBADMSG);
	assert_int_equal(json_get_u64("x", json, "minus", &number, &err), -EBADMSG);
	assert_int_equal(json_get_u64("x", json, "s", &number, &err), -EBADMSG);
	assert_int_equal(json_get_u64("x", json, "over", &number, &err), -EBADMSG);
	assert_int_equal(json_get_double("x", json, "s", &real, &err), -EBADMSG);
	assert_int_equal(json_get_double("x", json, "huge", &real, &err), -EBADMSG);
}

static void test_u64_there_and_back(void **state)
{
	static const uint64_t values[] = {
		0, 1, UINT32_MAX, (1ull << 53) - 1, 1ull << 53, (1ull << 53) + 1, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		CLEANUP(json_free) cJSON *json = cJSON_CreateObject(), *again = NULL;
		CLEANUP(free_ptr) char *text = NULL;
		struct error err = { 0 };
		uint64_t found = 7;

		assert_true(json_add_u64(json, "v", values[i]));
		assert_int_equal(json_print(json, &text, &err), 0);
		assert_int_equal(json_parse("x", text, strlen(text), &again, &err), 0);
		assert_int_equal(json_get_u64("x", again, "v", &found, &err), 0);
		assert_true(found == values[i]);
	}
}

/* Reading a record and writing it again changes no number. */
static void test_numbers_stay(void **state)
{
	static const char text[] = "[9007199254740991,0.1,1e-7,0.30000000000000004,1.7976931348623157e+308,3,"
				   "-2.2250738585072014e-308]";
	CLEANUP(json_free) cJSON *json = NULL, *again = NULL;
	CLEANUP(free_ptr) char *printed = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(json_parse("x", text, strlen(text), &json, &err), 0);
	assert_int_equal(json_print(json, &printed, &err), 0);
	assert_int_equal(json_parse("x", printed, strlen(printed), &again, &err), 0);
	for (int i = 0; i < cJSON_GetArraySize(json); i++)
		assert_true(cJSON_GetArrayItem(json, i)->valuedouble ==
			    cJSON_GetArrayItem(again, i)->valuedouble);
}

/* Printed JSON has no byte that a terminal obeys, and reading it gives the same text again. */
static void test_hidden_characters(void **state)
{
	static const char text[] = "[\"\\u001b]0;x\\n\\u0080 \\u009b \\u202e \\u007f \xc3\xb6\"]";
	CLEANUP(json_free) cJSON *json = NULL, *again = NULL;
	CLEANUP(free_ptr) char *line = NULL, *pretty = NULL, *bad = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(json_parse("x", text, strlen(text), &json, &err), 0);
	assert_int_equal(json_print_line(json, &line, &err), 0);
	assert_string_equal(line, "[\"\\u001b]0;x\\n\\u0080 \\u009b \\u202e \\u007f \xc3\xb6\"]\n");
	assert_int_equal(json_print(json, &pretty, &err), 0);
	assert_int_equal(json_parse("x", pretty, strlen(pretty), &again, &err), 0);
	assert_true(cJSON_Compare(json, again, true));
	cJSON_AddItemToArray(json, cJSON_CreateString("gr\xf6"));
	assert_int_equal(json_print_line(json, &bad, &err), 0);
	assert_non_null(strstr(bad, ",\"gr\\ufffd\"]\n"));
}

/* Strings and keys of the whole tree, but no numbers. */
static void test_visible_tree(void **state)
{
	static const char text[] = "{\"a\\n\":[1,\"\\u001b[2J\",{\"b\":\"\\u009b\"}],\"c\":\"plain\"}";
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *line = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(json_parse("x", text, strlen(text), &json, &err), 0);
	json_visible(json);
	assert_int_equal(json_print_line(json, &line, &err), 0);
	assert_string_equal(line, "{\"a\\\\x0a\":[1,\"\\\\x1b[2J\",{\"b\":\"\\\\xc2\\\\x9b\"}],"
				  "\"c\":\"plain\"}\n");
}

/* Exactly the encoded scalar values of Unicode are valid. */
static void test_every_character(void **state)
{
	(void)state;
	for (uint32_t c = 1; c <= 0x110000;
	     c += c < 0x3000 || (c > 0xd000 && c < 0xe100) || c > 0x10fff0 ? 1 : 37) {
		char text[4];
		uint64_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		int allowed = c < 0x110000 && (c < 0xd800 || c > 0xdfff);

		for (uint64_t i = 0; i < bytes; i++)
			text[i] = (char)((i            ? 0x80
					  : bytes == 1 ? 0
						       : 0xf00 >> bytes & 0xff) |
					 (c >> (6 * (bytes - 1 - i)) & (i ? 0x3f : 0xff)));
		if (utf8_valid_bytes(text, bytes) != (allowed ? bytes : 0))
			fail_msg("U+%04x: found %d bytes valid", c, (int)utf8_valid_bytes(text, bytes));
		assert_true(utf8_valid_bytes(text, bytes - 1) == 0);
	}
}

static void test_repair(void **state)
{
	static const struct {
		const char *text, *repaired;
	} cases[] = {
		{ "", "" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "a\xff", "a\xef\xbf\xbd" },
		{ "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe9t\xe9", "\xef\xbf\xbdt\xef\xbf\xbd" },
		{ "\xe2\x82!", "\xef\xbf\xbd\xef\xbf\xbd!" },
		{ "\xef\xbf\xbd", "\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *string = json_string(cases[i].text);

		assert_non_null(string);
		assert_string_equal(string->valuestring, cases[i].repaired);
	}
}

static void test_member(void **state)
{
	static const char text[] = "{\"a\":{\"b\":{\"c\":1},\"B\":2},\"x\":null}";
	CLEANUP(json_free) cJSON *object = NULL;

	(void)state;
	assert_int_equal(json_parse("test", text, strlen(text), &object, NULL), 0);
	assert_ptr_equal(json_member(object, ""), object);
	assert_int_equal(json_member(object, "a.b.c")->valueint, 1);
	assert_int_equal(json_member(object, "a.B")->valueint, 2);
	assert_true(cJSON_IsNull(json_member(object, "x")));
	assert_null(json_member(object, "a.c"));
	assert_null(json_member(object, "a.b.c.d"));
	assert_null(json_member(object, "x.y"));
	assert_null(json_member(NULL, "a"));
	assert_float_equal(json_number(object, "a.B", 7), 2, 0);
	assert_float_equal(json_number(object, "x", 7), 7, 0);
	assert_float_equal(json_number(object, "a.c", 7), 7, 0);
}

static void test_insert(void **state)
{
	cJSON *array = cJSON_CreateArray(), *last = cJSON_CreateNumber(4), *middle = cJSON_CreateNumber(2);
	CLEANUP(free_ptr) char *text = NULL;

	(void)state;
	json_insert_before(array, last, NULL);
	json_insert_before(array, middle, last);
	json_insert_before(array, cJSON_CreateNumber(3), last);
	json_insert_before(array, cJSON_CreateNumber(1), middle);
	json_insert_before(array, cJSON_CreateNumber(5), NULL);
	text = cJSON_PrintUnformatted(array);
	assert_string_equal(text, "[1,2,3,4,5]");
	cJSON_Delete(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_getters),
		cmocka_unit_test(test_u64_there_and_back),
		cmocka_unit_test(test_numbers_stay),
		cmocka_unit_test(test_hidden_characters),
		cmocka_unit_test(test_visible_tree),
		cmocka_unit_test(test_every_character),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_member),
		cmocka_unit_test(test_insert),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
