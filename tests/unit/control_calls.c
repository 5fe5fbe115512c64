/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a client's line to its method and back, without sockets: the method table, the rights of each role,
 * the checks of parameters, and answers under idempotency keys. The methods are stubs that note their name.
 */
#include "controld/call/call.c"     // NOLINT(bugprone-suspicious-include)
#include "controld/call/recall.c"   // NOLINT(bugprone-suspicious-include)
#include "controld/methods/table.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *ran;
static int runs, join_answer;

#define STUB(name)                                              \
	int method_##name(struct call *call, struct error *err) \
	{                                                       \
		ran = #name;                                    \
		runs++;                                         \
		return call_result_true(call, "done", err);     \
	}
STUB(status)
STUB(node_info)
STUB(stalls)
STUB(metrics)
STUB(log_tail)
STUB(events_subscribe)
STUB(run_list)
STUB(run_show)
STUB(checkpoint_list)
STUB(run_start)
STUB(run_stop)
STUB(run_pause)
STUB(run_resume)
STUB(run_abandon)
STUB(checkpoint_now)
STUB(config_show)
STUB(config_check)
STUB(config_apply)
STUB(cache_status)
STUB(cache_preload)
STUB(experiments_list)
STUB(experiments_show)
STUB(experiments_promote)
STUB(experiments_rollback)
STUB(cache_pin)
STUB(cache_drop)
STUB(factory_reset)
STUB(power_off)
STUB(update_install)
STUB(rank_check)
STUB(rank_start)
STUB(rank_stop)

int steer_join(struct call *call, struct error *err)
{
	(void)call;
	(void)err;
	return join_answer;
}

/* ---- One client ---- */

struct answer {
	int count, r, code;
	char text[256];
	bool same; /* the result was {"done": true} */
};

static void take_down(void *client, struct call *call, int r, struct error *err)
{
	struct answer *answer = client;

	answer->count++;
	answer->r = r;
	answer->code = (int)call->code;
	answer->same = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call->result, "done"));
	(void)snprintf(answer->text, sizeof(answer->text), "%.255s", r < 0 ? err->text : "");
}

static struct answer send_line(struct calls *calls, const char *line, enum control_role role, uint64_t caller)
{
	struct answer answer = { 0 };
	struct call *call = call_new(calls, NULL, take_down, &answer);
	struct error err = { 0 };
	int r;

	assert_non_null(call);
	ran = NULL;
	call->caller = caller;
	r = control_request_parse(line, strlen(line), role, &call->request, &call->code, &err);
	if (r == 0)
		r = methods_run(call, &err);
	if (r == CALL_LATER)
		call_free(call); /* kiln-steer never answers */
	else
		call_end(call, r, &err);
	return answer;
}

#define LINE(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

/* ---- The table ---- */

static void test_each_method_has_its_function(void **state)
{
	(void)state;
	methods_check();
	for (size_t i = 0; i < control_methods_count; i++) {
		struct call call = { .request.method = &control_methods[i] };
		char name[64];
		struct error err;

		(void)snprintf(name, sizeof(name), "%s", control_methods[i].name);
		for (char *c = name; *c; c++)
			if (*c == '.')
				*c = '_';
		ran = NULL;
		assert_int_equal(methods_run(&call, &err), 0);
		assert_string_equal(ran, name);
		cJSON_Delete(call.result);
	}
}

/* ---- Roles and parameters ---- */

static void test_refusals(void **state)
{
	static const struct {
		const char *label, *line;
		enum control_role role;
		int code;
		const char *said; /* words that the error contains; NULL = no error, the method runs */
	} cases[] = {
		{ "a viewer looks", LINE("status", "{}"), CONTROL_VIEW, 0, NULL },
		{ "a viewer starts a run", LINE("run.start", "{}"), CONTROL_VIEW, CONTROL_REFUSED, "role" },
		{ "an operator starts a run", LINE("run.start", "{}"), CONTROL_OPERATE, 0, NULL },
		{ "an operator resets the box", LINE("factory.reset", "{}"), CONTROL_OPERATE, CONTROL_REFUSED,
		  "role" },
		{ "nobody looks", LINE("status", "{}"), CONTROL_NOBODY, CONTROL_REFUSED, "role" },
		{ "no such method", LINE("run.explode", "{}"), CONTROL_ADMIN, CONTROL_METHOD, "run.explode" },
		{ "an unknown parameter", LINE("run.start", "{\"epoch\":3}"), CONTROL_ADMIN, CONTROL_PARAMS,
		  "epoch" },
		{ "a text for a number", LINE("run.start", "{\"epochs\":\"3\"}"), CONTROL_ADMIN,
		  CONTROL_PARAMS, "epochs" },
		{ "below the bound", LINE("run.start", "{\"epochs\":0}"), CONTROL_ADMIN, CONTROL_PARAMS,
		  "epochs" },
		{ "within the bounds", LINE("run.start", "{\"epochs\":3}"), CONTROL_ADMIN, 0, NULL },
		{ "a required one is missing", LINE("update.install", "{}"), CONTROL_ADMIN, CONTROL_PARAMS,
		  "url" },
		{ "a key on a method that only looks", LINE("status", "{\"idempotency_key\":\"a\"}"),
		  CONTROL_ADMIN, CONTROL_PARAMS, "idempotency_key" },
		{ "no JSON", "{\"jsonrpc\"", CONTROL_ADMIN, CONTROL_PARSE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct calls calls = { 0 };
		struct answer answer = send_line(&calls, cases[i].line, cases[i].role, 1);
		bool good = cases[i].said ? answer.r < 0 && answer.code == cases[i].code && !ran &&
						    strstr(answer.text, cases[i].said)
					  : answer.r == 0 && answer.same && ran;

		if (!good || answer.count != 1)
			fail_msg("%s: found %d, code %d, \"%s\", ran %s", cases[i].label, answer.r,
				 answer.code, answer.text, ran ? ran : "nothing");
	}
}

/* ---- Idempotency keys ---- */

#define START(epochs, key) LINE("run.start", "{\"epochs\":" epochs ",\"idempotency_key\":\"" key "\"}")

static void test_same_key_acts_once(void **state)
{
	struct calls calls = { 0 };
	struct answer answer;

	(void)state;
	runs = join_answer = 0;
	assert_int_equal(send_line(&calls, START("3", "a"), CONTROL_OPERATE, 7).r, 0);
	answer = send_line(&calls, START("3", "a"), CONTROL_OPERATE, 7);
	assert_int_equal(answer.r, 0);
	assert_true(answer.same);
	assert_int_equal(runs, 1);
	/* Another caller's key is a different key, and so is another key of the same caller. */
	assert_int_equal(send_line(&calls, START("3", "a"), CONTROL_OPERATE, 8).r, 0);
	assert_int_equal(send_line(&calls, START("3", "b"), CONTROL_OPERATE, 7).r, 0);
	assert_int_equal(runs, 3);
	recall_done(&calls.recall);
}

static void test_key_of_another_request(void **state)
{
	struct calls calls = { 0 };
	struct answer answer;

	(void)state;
	runs = join_answer = 0;
	assert_int_equal(send_line(&calls, START("3", "a"), CONTROL_OPERATE, 7).r, 0);
	answer = send_line(&calls, START("4", "a"), CONTROL_OPERATE, 7);
	assert_int_equal(answer.code, CONTROL_PARAMS);
	assert_non_null(strstr(answer.text, "was used for another request"));
	answer = send_line(&calls, LINE("run.stop", "{\"idempotency_key\":\"a\"}"), CONTROL_OPERATE, 7);
	assert_int_equal(answer.code, CONTROL_PARAMS);
	assert_int_equal(runs, 1);
	recall_done(&calls.recall);
}

/* A failed request is done again when it is repeated with its idempotency key. While kiln-steer works on an
 * action, a second request for this action is not done: it waits for the same answer. */
static void test_what_is_not_remembered(void **state)
{
	struct calls calls = { 0 };

	(void)state;
	runs = join_answer = 0;
	assert_int_equal(send_line(&calls, START("0", "a"), CONTROL_OPERATE, 7).code, CONTROL_PARAMS);
	assert_int_equal(send_line(&calls, START("3", "a"), CONTROL_OPERATE, 7).r, 0);
	assert_int_equal(runs, 1);
	join_answer = CALL_LATER;
	assert_int_equal(send_line(&calls, START("3", "b"), CONTROL_OPERATE, 7).count, 0);
	join_answer = 0;
	assert_int_equal(runs, 1);
	recall_done(&calls.recall);
}

static void test_oldest_key_is_replaced(void **state)
{
	struct calls calls = { 0 };
	char line[128];

	(void)state;
	runs = join_answer = 0;
	for (unsigned i = 0; i <= RECALL_MAX; i++) {
		(void)snprintf(line, sizeof(line), LINE("run.pause", "{\"idempotency_key\":\"key-%u\"}"), i);
		assert_int_equal(send_line(&calls, line, CONTROL_OPERATE, 7).r, 0);
	}
	assert_int_equal(runs, RECALL_MAX + 1);
	assert_int_equal(
		send_line(&calls, LINE("run.pause", "{\"idempotency_key\":\"key-1\"}"), CONTROL_OPERATE, 7).r,
		0);
	assert_int_equal(runs, RECALL_MAX + 1);
	assert_int_equal(
		send_line(&calls, LINE("run.pause", "{\"idempotency_key\":\"key-0\"}"), CONTROL_OPERATE, 7).r,
		0);
	assert_int_equal(runs, RECALL_MAX + 2);
	recall_done(&calls.recall);
}

/* The client left: nobody gets the answer, and the result waits under the key. */
static void test_call_without_a_client(void **state)
{
	struct calls calls = { 0 };
	struct answer answer = { 0 };
	struct call *call = call_new(&calls, NULL, take_down, &answer);
	const char *line = START("3", "a");
	struct error err = { 0 };

	(void)state;
	runs = join_answer = 0;
	call->caller = 7;
	assert_int_equal(
		control_request_parse(line, strlen(line), CONTROL_OPERATE, &call->request, &call->code, &err),
		0);
	assert_int_equal(methods_run(call, &err), 0);
	call->client = NULL;
	call_end(call, 0, &err);
	assert_int_equal(answer.count, 0);
	assert_true(send_line(&calls, line, CONTROL_OPERATE, 7).same);
	assert_int_equal(runs, 1);
	recall_done(&calls.recall);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_method_has_its_function),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_same_key_acts_once),
		cmocka_unit_test(test_key_of_another_request),
		cmocka_unit_test(test_what_is_not_remembered),
		cmocka_unit_test(test_oldest_key_is_replaced),
		cmocka_unit_test(test_call_without_a_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
