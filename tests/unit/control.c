/* SPDX-License-Identifier: Apache-2.0 */
#include "core/control/control.h"
#include "core/run/run.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static_assert(CONTROL_RUN_ID_MAX == RUN_ID_BYTES - 1, "a parameter can hold every run's id");

#define ENVELOPE "\"jsonrpc\":\"2.0\",\"id\":1"

#define PLAN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *label, *line;
	enum control_role role;
	int code; /* expected error code; 0 = the request is accepted */
	const char *words;
} cases[] = {
	{ "the least", "{" ENVELOPE ",\"method\":\"status\"}", CONTROL_VIEW, 0, "" },
	{ "a text as id", "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"status\"}", CONTROL_VIEW, 0, "" },
	{ "no parameters", "{" ENVELOPE ",\"method\":\"status\",\"params\":{}}", CONTROL_VIEW, 0, "" },
	{ "all of them",
	  "{" ENVELOPE
	  ",\"method\":\"run.start\",\"params\":{\"epochs\":3,\"seed\":0,\"start_from\":\"latest\","
	  "\"idempotency_key\":\"k-1\"}}",
	  CONTROL_OPERATE, 0, "" },
	{ "a greater role", "{" ENVELOPE ",\"method\":\"status\"}", CONTROL_ADMIN, 0, "" },

	{ "nothing", "", CONTROL_ADMIN, CONTROL_PARSE, "not JSON" },
	{ "a cut line", "{" ENVELOPE, CONTROL_ADMIN, CONTROL_PARSE, "not JSON" },
	{ "two objects", "{}{}", CONTROL_ADMIN, CONTROL_PARSE, "after the JSON value" },
	{ "a key twice", "{\"id\":1,\"id\":2}", CONTROL_ADMIN, CONTROL_PARSE, "twice" },
	{ "bad UTF-8", "{\"id\":\"\xff\"}", CONTROL_ADMIN, CONTROL_PARSE, "not UTF-8" },
	{ "a rounded integer", "{\"id\":9007199254740993}", CONTROL_ADMIN, CONTROL_PARSE, "2^53" },
	{ "a batch", "[{" ENVELOPE ",\"method\":\"status\"}]", CONTROL_ADMIN, CONTROL_REQUEST, "batches" },
	{ "no id", "{\"jsonrpc\":\"2.0\",\"method\":\"status\"}", CONTROL_VIEW, 0, "" },
	{ "null as id", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"status\"}", CONTROL_ADMIN,
	  CONTROL_REQUEST, "\"id\"" },
	{ "half an id", "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"status\"}", CONTROL_ADMIN,
	  CONTROL_REQUEST, "\"id\"" },
	{ "a huge id", "{\"jsonrpc\":\"2.0\",\"id\":1e300,\"method\":\"status\"}", CONTROL_ADMIN,
	  CONTROL_REQUEST, "\"id\"" },
	{ "another version", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\"}", CONTROL_ADMIN,
	  CONTROL_REQUEST, "\"2.0\"" },
	{ "no method", "{" ENVELOPE "}", CONTROL_ADMIN, CONTROL_REQUEST, "\"method\"" },
	{ "a list as params", "{" ENVELOPE ",\"method\":\"status\",\"params\":[]}", CONTROL_ADMIN,
	  CONTROL_REQUEST, "\"params\"" },
	{ "one member more", "{" ENVELOPE ",\"method\":\"status\",\"param\":{}}", CONTROL_ADMIN,
	  CONTROL_REQUEST, "\"param\"" },
	{ "no such method", "{" ENVELOPE ",\"method\":\"run.go\"}", CONTROL_ADMIN, CONTROL_METHOD, "run.go" },
	{ "nobody", "{" ENVELOPE ",\"method\":\"status\"}", CONTROL_NOBODY, CONTROL_REFUSED,
	  "needs the role view, yours is nobody" },
	{ "view stops no run", "{" ENVELOPE ",\"method\":\"run.stop\"}", CONTROL_VIEW, CONTROL_REFUSED,
	  "needs the role operate" },
	{ "operate applies no config",
	  "{" ENVELOPE ",\"method\":\"config.apply\",\"params\":{\"text\":\"x\"}}", CONTROL_OPERATE,
	  CONTROL_REFUSED, "needs the role admin" },
	{ "operate updates nothing", "{" ENVELOPE ",\"method\":\"update.install\"}", CONTROL_OPERATE,
	  CONTROL_REFUSED, "needs the role admin" },
	{ "operate erases nothing", "{" ENVELOPE ",\"method\":\"factory.reset\"}", CONTROL_OPERATE,
	  CONTROL_REFUSED, "needs the role admin" },
	{ "operate switches nothing off", "{" ENVELOPE ",\"method\":\"power.off\"}", CONTROL_OPERATE,
	  CONTROL_REFUSED, "needs the role admin" },
	{ "ranks starts its part of a job",
	  "{" ENVELOPE
	  ",\"method\":\"rank.start\",\"params\":{\"job\":\"night-1\",\"run\":\"t-1\",\"plan\":\"" PLAN
	  "\",\"arguments\":[\"-mca\"]}}",
	  CONTROL_RANKS, 0, "" },
	{ "ranks sees nothing", "{" ENVELOPE ",\"method\":\"status\"}", CONTROL_RANKS, CONTROL_REFUSED,
	  "status needs the role view, yours is ranks" },
	{ "ranks replaces no configuration", "{" ENVELOPE ",\"method\":\"config.apply\"}", CONTROL_RANKS,
	  CONTROL_REFUSED, "needs the role admin, yours is ranks" },
	{ "admin starts no rank", "{" ENVELOPE ",\"method\":\"rank.start\"}", CONTROL_ADMIN, CONTROL_REFUSED,
	  "rank.start needs the role ranks, yours is admin" },
	{ "a list without strings", "{" ENVELOPE ",\"method\":\"rank.start\",\"params\":{\"arguments\":[]}}",
	  CONTROL_RANKS, CONTROL_PARAMS,
	  "\"arguments\": found an array of 0, allowed: an array of 1 .. 24 strings" },
	{ "a number in a list",
	  "{" ENVELOPE ",\"method\":\"rank.start\",\"params\":{\"arguments\":[\"a\",1]}}", CONTROL_RANKS,
	  CONTROL_PARAMS, "\"arguments\"" },
	{ "a string for a list", "{" ENVELOPE ",\"method\":\"rank.start\",\"params\":{\"arguments\":\"a\"}}",
	  CONTROL_RANKS, CONTROL_PARAMS, "\"arguments\"" },
	{ "a path as job", "{" ENVELOPE ",\"method\":\"rank.stop\",\"params\":{\"job\":\"../x\"}}",
	  CONTROL_RANKS, CONTROL_PARAMS, "\"job\": found \"../x\", allowed: 1 .. 32 characters" },
	{ "an unknown parameter", "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"epoch\":3}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "no parameter \"epoch\"; did you mean \"epochs\"?" },
	{ "a mistyped method", "{" ENVELOPE ",\"method\":\"run.strat\"}", CONTROL_ADMIN, CONTROL_METHOD,
	  "no method \"run.strat\"; did you mean \"run.start\"?" },
	{ "a text as number", "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"epochs\":\"3\"}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "\"epochs\": found \"3\", allowed: an integer, 1 .. 1000000" },
	{ "below the bound", "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"epochs\":0}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "\"epochs\"" },
	{ "above the bound", "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"epochs\":1000001}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "\"epochs\"" },
	{ "a fraction", "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"epochs\":1.5}}", CONTROL_ADMIN,
	  CONTROL_PARAMS, "\"epochs\"" },
	{ "not one of the words",
	  "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"start_from\":\"late\"}}", CONTROL_ADMIN,
	  CONTROL_PARAMS, "one of scratch|latest" },
	{ "two words",
	  "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"start_from\":\"scratch|latest\"}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "one of scratch|latest" },
	{ "no word", "{" ENVELOPE ",\"method\":\"run.start\",\"params\":{\"start_from\":\"\"}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "one of scratch|latest" },
	{ "a path as id", "{" ENVELOPE ",\"method\":\"run.show\",\"params\":{\"id\":\"../x\"}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "\"id\"" },
	{ "1 is not true", "{" ENVELOPE ",\"method\":\"run.stop\",\"params\":{\"now\":1}}", CONTROL_ADMIN,
	  CONTROL_PARAMS, "true or false" },
	{ "one is missing", "{" ENVELOPE ",\"method\":\"config.apply\"}", CONTROL_ADMIN, CONTROL_PARAMS,
	  "\"text\" is missing" },
	{ "a key where nothing acts",
	  "{" ENVELOPE ",\"method\":\"status\",\"params\":{\"idempotency_key\":\"a\"}}", CONTROL_ADMIN,
	  CONTROL_PARAMS, "no parameter \"idempotency_key\"" },
	{ "an empty key", "{" ENVELOPE ",\"method\":\"run.stop\",\"params\":{\"idempotency_key\":\"\"}}",
	  CONTROL_ADMIN, CONTROL_PARAMS, "\"idempotency_key\": found \"\", allowed: 1 .. 64" },
};

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct control_request request;
		enum control_code code = 0;
		struct error err = { 0 };
		int r = control_request_parse(cases[i].line, strlen(cases[i].line), cases[i].role, &request,
					      &code, &err);

		if ((r < 0) != (cases[i].code != 0) || (r < 0 && (int)code != cases[i].code) ||
		    !strstr(err.text, cases[i].words))
			fail_msg("%s: found %d \"%s\"", cases[i].label, code, err.text);
		control_request_done(&request);
	}
}

/* JSON-RPC 2.0, 4.1: a request without an id gets no answer, also where it fails. Section 5.1 and the
 * examples: a line that is no request gets an error with the id null. */
static void test_notifications(void **state)
{
	static const struct {
		const char *line;
		bool fails, gets_no_answer;
	} lines[] = {
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"status\"}", false, true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"status\",\"params\":{}}", false, true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}", true, true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"status\",\"params\":{\"x\":1}}", true, true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"power.off\"}", true, true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":1}", true, false },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"status\",\"params\":[]}", true, false },
		{ "{\"jsonrpc\":\"1.0\",\"method\":\"status\"}", true, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"status\"}", true, false },
		{ "{" ENVELOPE ",\"method\":\"status\"}", false, false },
		{ "{" ENVELOPE ",\"method\":\"no.such\"}", true, false },
		{ "{}", true, false },
		{ "[]", true, false },
		{ "{", true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct control_request request;
		enum control_code code = 0;
		struct error err = { 0 };
		int r = control_request_parse(lines[i].line, strlen(lines[i].line), CONTROL_VIEW, &request,
					      &code, &err);

		if ((r < 0) != lines[i].fails || request.gets_no_answer != lines[i].gets_no_answer)
			fail_msg("%s: found %d, %d", lines[i].line, r, request.gets_no_answer);
		control_request_done(&request);
	}
}

static void test_too_long(void **state)
{
	CLEANUP(free_ptr) char *line = calloc(1, CONTROL_REQUEST_MAX);
	struct control_request request;
	enum control_code code = 0;
	struct error err = { 0 };

	(void)state;
	assert_non_null(line);
	memset(line, ' ', CONTROL_REQUEST_MAX);
	assert_true(control_request_parse(line, CONTROL_REQUEST_MAX, CONTROL_ADMIN, &request, &code, &err) <
		    0);
	assert_int_equal(code, CONTROL_LIMIT);
	control_request_done(&request);
}

static void test_values(void **state)
{
	static const char line[] = "{" ENVELOPE ",\"method\":\"log.tail\",\"params\":{\"lines\":7,\"unit\":"
				   "\"traind\"}}";
	struct control_request request;
	enum control_code code;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(control_request_parse(line, strlen(line), CONTROL_VIEW, &request, &code, &err), 0);
	assert_int_equal(control_integer(&request, "lines", 50), 7);
	assert_int_equal(control_integer(&request, "priority", 6), 6);
	assert_string_equal(control_text(&request, "unit", ""), "traind");
	assert_false(control_flag(&request, "now"));
	assert_null(request.key);
	control_request_done(&request);
}

static void test_lines(void **state)
{
	CLEANUP(free_ptr) char *result = control_reply(NULL, cJSON_CreateObject());
	CLEANUP(free_ptr) char *failed = control_reply_error(NULL, CONTROL_STATE, "no\nrun \xff");
	CLEANUP(free_ptr) char *event = control_event("event", cJSON_CreateObject());
	CLEANUP(free_ptr) char *call = control_call(7, "status", NULL);

	(void)state;
	assert_string_equal(result, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"protocol\":1}}\n");
	assert_string_equal(failed,
			    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":2,\"message\":\"no\\nrun "
			    "\xef\xbf\xbd\",\"data\":{\"protocol\":1,\"name\":\"state\"}}}\n");
	assert_string_equal(event,
			    "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"protocol\":1}}\n");
	assert_string_equal(call, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"status\",\"params\":{}}\n");
}

/* Each row of the tables is well-formed. */
static void test_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < control_methods_count; i++) {
		const struct control_method *method = &control_methods[i];

		assert_ptr_equal(control_method_find(method->name), method);
		assert_true(method->role >= CONTROL_VIEW && method->role < CONTROL_ROLE_MAX);
		assert_true(!method->acts || method->role >= CONTROL_OPERATE);
		assert_true(method->help && *method->help && method->result && *method->result);
		assert_null(method->params[CONTROL_PARAMS_MAX].name);
		for (const struct control_param *param = method->params; param->name; param++) {
			assert_true(param->min <= param->max);
			assert_true((param->type == CONTROL_WORD) == (param->words != NULL));
			assert_true(param->type != CONTROL_TEXT ||
				    param->max * 2 + 1024 <= CONTROL_REQUEST_MAX + 1024);
		}
	}
	for (size_t i = 0; i < control_errors_count; i++)
		assert_string_equal(control_code_name(control_errors[i].code), control_errors[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests), cmocka_unit_test(test_notifications),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_values),
		cmocka_unit_test(test_lines),    cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
