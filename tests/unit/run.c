/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/run.h"
#include "core/base/json.h"
#include "core/base/paths.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char config_file[128];

#define RECORD_MAX (4u << 20) /* readers of run.json take no more */

#define PLAN_SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void write_config(const char *name, unsigned seed, const char *start_from)
{
	char text[512];
	struct error err = { 0 };

	(void)snprintf(text, sizeof(text),
		       "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n"
		       "run: { name = \"%s\"; seed = %u; start_from = \"%s\"; };\n",
		       name, seed, start_from);
	if (file_write_durable(config_file, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	if (scratch_setup(state))
		return -1;
	(void)snprintf(config_file, sizeof(config_file), "%s/kiln.conf", root);
	write_config("night", 7, "scratch");
	return 0;
}

/* Makes a new root for the next row of a table. */
static void start_anew(void)
{
	assert_int_equal(scratch_teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
}

/* Begins a run. Returns whether an unfinished run goes on; writes the id. */
static bool begin(char id[static RUN_ID_BYTES])
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };
	bool adopted = false;

	if (run_begin(config_file, "", NULL, &run, &adopted, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(run.state, RUN_RUNNING);
	(void)snprintf(id, RUN_ID_BYTES, "%s", run.id);
	return adopted;
}

static void set_state(enum run_state run_state)
{
	struct error err = { 0 };

	if (run_state_set(run_state, &err) < 0)
		fail_msg("%s", err.text);
}

static char *json_now(void)
{
	struct error err = { 0 };
	char *text = NULL;

	if (run_json(&text, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

static void test_new_record(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *text = NULL, *frozen = NULL;
	char id[RUN_ID_BYTES], path[PATH_BYTES];
	struct error err = { 0 };
	const char *string;
	uint64_t number;

	(void)state;
	assert_int_equal(run_load(&run, &err), -ENOENT);
	assert_false(begin(id));
	assert_int_equal(strncmp(id, "night-20", 8), 0);
	assert_int_equal(strlen(id), strlen("night-YYYYMMDD-HHMMSS"));
	assert_int_equal(run_load(&run, &err), 0);
	assert_string_equal(run.id, id);
	assert_string_equal(run.plan_sha256, "");
	assert_string_equal(run.start_run, "");
	assert_true(run.started_s > 1700000000);
	assert_true(run.config.run.seed == 7);

	/* run.json alone is enough to go on on another disk. */
	text = json_now();
	assert_int_equal(json_parse("run.json", text, strlen(text), &json, &err), 0);
	assert_int_equal(json_get_string("run.json", json, "state", &string, &err), 0);
	assert_string_equal(string, "running");
	assert_int_equal(json_get_u64("run.json", json, "seed", &number, &err), 0);
	assert_true(number == 7);
	assert_int_equal(json_get_string("run.json", json, "config", &string, &err), 0);
	assert_int_equal(file_read(path_of(PATH_RUN, "config", path), 4096, &frozen, NULL, &err), 0);
	assert_string_equal(string, frozen);
}

static void test_wrong_config_makes_no_record(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct error err = { 0 };
	bool adopted;

	(void)state;
	write_config("not a name", 7, "scratch");
	assert_int_equal(run_begin(config_file, "", NULL, &run, &adopted, &err), -EINVAL);
	assert_int_equal(run_load(&run, &err), -ENOENT);
}

/* An unfinished run goes on with its frozen configuration; a final run is replaced. */
static void test_what_follows_each_state(void **state)
{
	(void)state;
	for (int i = 0; i < RUN_STATE_MAX; i++) {
		CLEANUP(run_done) struct run run = { 0 }, archived = { 0 };
		char first[RUN_ID_BYTES], second[RUN_ID_BYTES];
		enum run_state found;
		struct error err = { 0 };
		bool final = run_state_is_final((enum run_state)i);

		start_anew();
		(void)begin(first);
		set_state((enum run_state)i);
		assert_int_equal(run_state_get(&found, &err), 0);
		assert_int_equal(found, i);
		write_config("later", 8, "scratch");
		assert_int_equal(begin(second), !final);
		assert_int_equal(strcmp(first, second) == 0, !final);
		assert_int_equal(run_load(&run, &err), 0);
		assert_string_equal(run.config.run.name, final ? "later" : "night");
		assert_int_equal(run_load_archived(first, &archived, &err), final ? 0 : -ENOENT);
		if (final) {
			assert_int_equal(archived.state, i);
			assert_string_equal(archived.config.run.name, "night");
		}
	}
}

static void test_a_final_state_stays(void **state)
{
	char id[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run_state_set(RUN_PAUSED, &err), -ENOENT);
	(void)begin(id);
	set_state(RUN_FINISHED);
	set_state(RUN_FINISHED);
	assert_int_equal(run_state_set(RUN_RUNNING, &err), -EPERM);
	assert_string_equal(err.text, "the run is finished, it cannot become running");
	assert_int_equal(run_state_set(RUN_FAILED, &err), -EPERM);
}

static void test_notes(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char id[RUN_ID_BYTES];
	struct error err = { 0 };
	double number;

	(void)state;
	(void)begin(id);
	assert_int_equal(run_note("{\"a\": 1, \"plan_sha256\": \"" PLAN_SHA256 "\"}", &err), 0);
	assert_int_equal(run_note("{\"a\": 0.30000000000000004, \"epochs\": [{\"loss\": 1}]}", &err), 0);
	assert_int_equal(run_note("{\"a\": ", &err), -EBADMSG);
	assert_int_equal(run_load(&run, &err), 0);
	assert_string_equal(run.plan_sha256, PLAN_SHA256);
	text = json_now();
	assert_int_equal(json_parse("run.json", text, strlen(text), &json, &err), 0);
	assert_int_equal(json_get_double("run.json", json, "a", &number, &err), 0);
	assert_true(number == 0.30000000000000004);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "epochs")), 1);

	/* A null in run_note() removes the member. */
	assert_int_equal(run_note("{\"a\": null, \"never\": null}", &err), 0);
	free(TAKE(text));
	text = json_now();
	assert_null(strstr(text, "\"a\""));
	assert_null(strstr(text, "never"));
}

/* Returns run.json of the current run with a member of `count` short numbers, which take more bytes when they
 * are printed. */
static char *padded_json(uint64_t count)
{
	CLEANUP(free_ptr) char *text = json_now();
	char *padded = malloc(strlen(text) + 2 * count + 64);
	size_t used = strcspn(text, "{") + 1;

	assert_non_null(padded);
	(void)memcpy(padded, text, used);
	used += (size_t)sprintf(padded + used, "\"x\":[0");
	for (uint64_t i = 1; i < count; i++, used += 2)
		(void)memcpy(padded + used, ",0", 2);
	(void)sprintf(padded + used, "],%s", strchr(text, '{') + 1);
	return padded;
}

/* A writer never makes a record that no reader takes, and the record in its place stays whole. */
static void test_notes_are_bounded(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *before = NULL, *after = NULL, *pad = malloc(RECORD_MAX + 1);
	char id[RUN_ID_BYTES], *note = NULL;
	struct error err = { 0 };

	(void)state;
	assert_non_null(pad);
	(void)begin(id);
	before = json_now();
	memset(pad, 'a', RECORD_MAX);
	pad[RECORD_MAX] = '\0';
	assert_true(asprintf(&note, "{\"x\": \"%s\"}", pad) > 0);
	assert_int_equal(run_note(note, &err), -E2BIG);
	free(note);
	assert_non_null(strstr(err.text, "run.json"));
	assert_int_equal(run_load(&run, &err), 0);
	after = json_now();
	assert_string_equal(after, before);
	run_done(&run);

	/* The largest record that is written, with its state, is not too large for the store's readers. */
	for (size_t length = RECORD_MAX; length > 0; length -= 512) {
		int r;

		pad[length] = '\0';
		assert_true(asprintf(&note, "{\"x\": \"%s\"}", pad) > 0);
		r = run_note(note, &err);
		free(note);
		if (r == 0)
			break;
		assert_int_equal(r, -E2BIG);
	}
	free(TAKE(after));
	after = json_now();
	assert_true(strlen(after) > RECORD_MAX - 4096 && strlen(after) <= RECORD_MAX);
	assert_int_equal(run_load(&run, &err), 0);
}

/* A record that no program can read does not stand in the way of the next run, and stays on the disk. */
static void test_set_aside(void **state)
{
	static const struct {
		const char *label, *json; /* NULL: a run.json of more than RECORD_MAX bytes */
		bool archived;
		int code;
	} cases[] = {
		{ "too large", NULL, false, 1 },        { "too large and archived", NULL, true, 1 },
		{ "cut", "{\"version\":1,", false, 1 }, { "of a later version", "{\"version\":2}", false, 0 },
		{ "readable", "{}", false, 0 },
	};
	CLEANUP(free_ptr) char *large = malloc(RECORD_MAX + 1);

	(void)state;
	assert_non_null(large);
	memset(large, ' ', RECORD_MAX + 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(run_done) struct run run = { 0 };
		const char *json = cases[i].json ? cases[i].json : large;
		uint64_t bytes = cases[i].json ? strlen(json) : RECORD_MAX + 1;
		char id[RUN_ID_BYTES], path[PATH_BYTES], aside[PATH_BYTES] = "", file[PATH_BYTES + 16];
		struct error err = { 0 };
		struct stat st;
		int r;

		start_anew();
		assert_int_equal(run_set_aside(aside, &err), 0); /* no record at all */
		(void)begin(id);
		set_state(RUN_FINISHED);
		assert_int_equal(cases[i].archived ? run_archive(&err) : 0, 0);
		assert_int_equal(file_write_durable(path_of(PATH_RUN, "run.json", path), json, bytes, &err),
				 0);
		r = run_set_aside(aside, &err);
		if (r != cases[i].code)
			fail_msg("%s: found %d \"%s\"", cases[i].label, r, err.text);
		if (r == 0)
			continue;
		(void)snprintf(file, sizeof(file), "%s/run.json", aside);
		assert_int_equal(stat(file, &st), 0);
		assert_true((uint64_t)st.st_size == bytes);
		assert_int_equal(run_load(&run, &err), -ENOENT);
		assert_false(begin(id));
	}
}

/* A record of the store that becomes too large when it is printed is not made the current record. */
static void test_restore_is_bounded(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *large = NULL, *small = NULL;
	char id[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	large = padded_json(1500000);
	small = padded_json(500000);
	start_anew();
	assert_true(strlen(large) < RECORD_MAX);
	assert_int_equal(run_check_room("a/run.json", large, strlen(large), &err), -EBADMSG);
	assert_non_null(strstr(err.text, "a/run.json: "));
	assert_int_equal(run_restore(large, strlen(large), NULL, NULL, &run, &err), -EBADMSG);
	assert_int_equal(run_load(&run, &err), -ENOENT);
	assert_int_equal(run_check_room("a/run.json", small, strlen(small), &err), 0);
	assert_int_equal(run_restore(small, strlen(small), NULL, NULL, &run, &err), 0);
}

/* A repeat takes over no member of another type or size than begin writes. */
static void test_repeat_refuses_seeds(void **state)
{
	static const char *const seeds[] = { "\"aaaaaaaa\"", "[1, 2, 3]", "{}", "-1", "null" };
	char first[RUN_ID_BYTES], note[256];

	(void)state;
	(void)begin(first);
	set_state(RUN_FINISHED);
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		CLEANUP(run_done) struct run run = { 0 };
		CLEANUP(free_ptr) char *text = NULL;
		struct error err = { 0 };

		(void)snprintf(note, sizeof(note), "{\"seed\": %s}", seeds[i]);
		assert_int_equal(run_note(note, &err), 0);
		text = json_now();
		if (run_repeat(text, strlen(text), NULL, NULL, &run, &err) != -EBADMSG ||
		    !strstr(err.text, "seed"))
			fail_msg("%s: \"%s\"", seeds[i], err.text);
		assert_int_equal(run_load(&run, &err), 0);
		assert_string_equal(run.id, first);
	}
}

static void test_damaged_records(void **state)
{
#define RECORD(version, id, start, plan)                                                          \
	"{\"version\":" version ",\"id\":\"" id "\",\"started_s\":1,\"start_run\":\"" start "\"," \
	"\"plan_sha256\":\"" plan "\",\"config\":\"\"}"
	static const struct {
		const char *label, *file, *text; /* NULL: the file is missing */
		int code;
		const char *words;
	} cases[] = {
		{ "as it should be", "run.json", RECORD("1", "a", "", PLAN_SHA256), 0, "" },
		{ "no state", "state", NULL, -EBADMSG, "lacks state or config" },
		{ "no config", "config", NULL, -EBADMSG, "lacks state or config" },
		{ "no run.json: no record", "run.json", NULL, -ENOENT, "run.json" },
		{ "an empty run.json", "run.json", "", -EBADMSG, "not JSON" },
		{ "a cut run.json", "run.json", "{\"version\":1,", -EBADMSG, "not JSON" },
		{ "a member missing", "run.json", "{\"version\":1}", -EBADMSG, "\"id\": found nothing" },
		{ "a later version", "run.json", RECORD("2", "a", "", ""), -EBADMSG, "found version 2" },
		{ "an id that is a path", "run.json", RECORD("1", "../a", "", ""), -EBADMSG,
		  "expected run ids" },
		{ "no id", "run.json", RECORD("1", "", "", ""), -EBADMSG, "expected run ids" },
		{ "a start that is a path", "run.json", RECORD("1", "a", "b/c", ""), -EBADMSG,
		  "expected run ids" },
		{ "a plan that is no digest", "run.json", RECORD("1", "a", "", "12"), -EBADMSG,
		  "expected a SHA-256" },
		{ "an unknown state", "state", "asleep\n", -EBADMSG, "found state \"asleep\"" },
		{ "an empty state", "state", "", -EBADMSG, "found state \"\"" },
		{ "a wrong config", "config", "x = 1;", -EINVAL, "x: found an unknown group" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(run_done) struct run run = { 0 };
		char id[RUN_ID_BYTES], path[PATH_BYTES];
		struct error err = { 0 };
		int r;

		start_anew();
		(void)begin(id);
		(void)path_of(PATH_RUN, cases[i].file, path);
		assert_int_equal(unlink(path), 0);
		if (cases[i].text)
			assert_int_equal(file_write_durable(path, cases[i].text, strlen(cases[i].text), &err),
					 0);
		r = run_load(&run, &err);
		if (r != cases[i].code || !strstr(err.text, cases[i].words))
			fail_msg("%s: found %d \"%s\"", cases[i].label, r, err.text);
	}
}

/* A run can be restored on a new disk. */
static void test_restore(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *before = NULL, *after = NULL, *plan = NULL;
	char id[RUN_ID_BYTES], again[RUN_ID_BYTES], path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	assert_int_equal(run_note("{\"plan_sha256\": \"" PLAN_SHA256 "\"}", &err), 0);
	before = json_now();

	start_anew();
	(void)snprintf(path, sizeof(path), "%s/plan", root);
	assert_int_equal(file_write_durable(path, "the plan", 8, &err), 0);
	assert_int_equal(run_restore(before, strlen(before), path, NULL, &run, &err), 0);
	assert_string_equal(run.id, id);
	assert_int_equal(run.state, RUN_RUNNING);
	assert_string_equal(run.plan_sha256, PLAN_SHA256);
	assert_int_equal(file_read(path_of(PATH_RUN, "plan", path), 64, &plan, NULL, &err), 0);
	assert_string_equal(plan, "the plan");
	after = json_now();
	assert_string_equal(after, before);
	assert_true(begin(again));
	assert_string_equal(again, id);
}

static void test_parse(void **state)
{
	CLEANUP(free_ptr) char *text = NULL;
	char id[RUN_ID_BYTES];
	struct error err = { 0 };
	struct run run = { 0 };

	(void)state;
	(void)begin(id);
	set_state(RUN_FAILED);
	text = json_now();
	assert_int_equal(run_parse("a/run.json", text, strlen(text), &run, &err), 0);
	assert_string_equal(run.id, id);
	assert_int_equal(run.state, RUN_FAILED);
	memcpy(strstr(text, "failed"), "FAILED", 6);
	assert_int_equal(run_parse("a/run.json", text, strlen(text), &run, &err), -EBADMSG);
	assert_string_equal(err.text,
			    "a/run.json: found state \"FAILED\", expected running, paused ... pruned");
}

/* A box is a machine and a root on it. */
static void test_whose(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	char id[RUN_ID_BYTES], note[PATH_BYTES + 128], folder[PATH_BYTES], path[PATH_BYTES];
	const char *machine = "0123456789abcdef0123456789abcdef";
	struct error err = { 0 };

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/etc", root);
	assert_int_equal(path_make(folder, &err), 0);
	assert_int_equal(file_write_durable(path_of(PATH_MACHINE_ID, NULL, path), machine, 32, &err), 0);
	(void)begin(id);
	assert_int_equal(run_load(&run, &err), 0);
	assert_int_equal(run_is_ours(&run, NULL), 0);
	(void)snprintf(run.machine, sizeof(run.machine), "%s", machine);
	assert_int_equal(run_is_ours(&run, NULL), 0);
	run_done(&run);
	(void)snprintf(note, sizeof(note), "{\"machine\": \"%s\", \"root\": \"%s\"}", machine, root);
	assert_int_equal(run_note(note, &err), 0);
	assert_int_equal(run_load(&run, &err), 0);
	assert_int_equal(run_is_ours(&run, NULL), 1);
	run.machine[0] = 'f';
	assert_int_equal(run_is_ours(&run, NULL), 0);
	run_done(&run);
	assert_int_equal(run_note("{\"root\": \"tmp\"}", &err), 0);
	assert_int_equal(run_load(&run, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "found root \"tmp\", expected an absolute path"));
	run = (struct run){ 0 };
}

/* Begins a repeat of the current run, which is final. */
static void repeat(char id[static RUN_ID_BYTES])
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *text = json_now();
	char plan[PATH_BYTES];
	struct error err = { 0 };

	(void)snprintf(plan, sizeof(plan), "%s/plan", root);
	assert_int_equal(file_write_durable(plan, "the plan", 8, &err), 0);
	if (run_repeat(text, strlen(text), plan, NULL, &run, &err) < 0)
		fail_msg("%s", err.text);
	(void)snprintf(id, RUN_ID_BYTES, "%s", run.id);
}

/* A repeat reads the same plan and starts from the same weights: what the record says about them stays true.
 */
static void test_repeat_keeps_what_is_known_of_the_data(void **state)
{
	static const char known[] = "{\"manifests\": [{\"bytes\": 7, \"etag\": \"e\", \"version\": \"v\"}], "
				    "\"validation_seen\": {\"run\": \"a-1\", \"shards\": 1, \"replaced\": 0, "
				    "\"of\": 3}, \"test_seen\": {\"run\": \"a-1\", \"shards\": 0, "
				    "\"replaced\": 2, \"of\": 2}, \"changed\": [\"x\"]}";
	CLEANUP(json_free) cJSON *record = NULL, *expected = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char id[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	set_state(RUN_FINISHED);
	assert_int_equal(run_note(known, &err), 0);
	repeat(id);
	text = json_now();
	assert_int_equal(json_parse("run.json", text, strlen(text), &record, &err), 0);
	assert_int_equal(json_parse("known", known, sizeof(known) - 1, &expected, &err), 0);
	cJSON_DeleteItemFromObject(expected, "changed");
	for (const cJSON *item = expected->child; item; item = item->next)
		if (!cJSON_Compare(item, cJSON_GetObjectItemCaseSensitive(record, item->string), true))
			fail_msg("%s is lost: %s", item->string, text);
	assert_null(cJSON_GetObjectItemCaseSensitive(record, "changed"));
}

static void test_repeat_refuses_what_begin_does_not_write(void **state)
{
	static const char *const notes[][2] = {
		{ "{\"manifests\": 7}", "manifests" },
		{ "{\"manifests\": [7]}", "manifests" },
		{ "{\"manifests\": [{\"bytes\": \"x\", \"etag\": \"e\", \"version\": \"\"}]}", "bytes" },
		{ "{\"manifests\": [{\"bytes\": 7, \"etag\": [], \"version\": \"\"}]}", "etag" },
		{ "{\"manifests\": null, \"validation_seen\": []}", "validation_seen" },
		{ "{\"validation_seen\": {\"run\": \"../x\", \"shards\": 1, \"replaced\": 0, \"of\": 3}}",
		  "run" },
		{ "{\"validation_seen\": null, \"test_seen\": {\"run\": \"a\", \"shards\": -1}}", "shards" },
	};
	char first[RUN_ID_BYTES];

	(void)state;
	(void)begin(first);
	set_state(RUN_FINISHED);
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		CLEANUP(run_done) struct run run = { 0 };
		CLEANUP(free_ptr) char *text = NULL;
		struct error err = { 0 };

		assert_int_equal(run_note(notes[i][0], &err), 0);
		text = json_now();
		if (run_repeat(text, strlen(text), NULL, NULL, &run, &err) != -EBADMSG ||
		    !strstr(err.text, notes[i][1]))
			fail_msg("%s: \"%s\"", notes[i][0], err.text);
	}
}

static void test_give_back(void **state)
{
	CLEANUP(run_done) struct run run = { 0 }, failed = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	char first[RUN_ID_BYTES], second[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(first);
	assert_int_equal(run_give_back("why", &err), 0);
	set_state(RUN_FINISHED);
	repeat(second);
	assert_int_equal(run_give_back("why", &err), 0);
	assert_int_equal(run_load(&run, &err), 0);
	assert_string_equal(run.id, first);
	assert_int_equal(run.state, RUN_FINISHED);
	assert_int_equal(run_load_archived(second, &failed, &err), 0);
	assert_int_equal(failed.state, RUN_FAILED);
	assert_string_equal(failed.repeats, first);
	assert_int_equal(run_json_archived(second, &text, &err), 0);
	assert_non_null(strstr(text, "why"));
	run_done(&run);
	repeat(second);
	set_state(RUN_FINISHED);
	assert_int_equal(run_give_back("why", &err), 0);
	assert_int_equal(run_load(&run, &err), 0);
	assert_string_equal(run.id, second);
}

/* Where there was no run before the repeat there is none after it. */
static void test_give_back_to_none(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	char first[RUN_ID_BYTES], plan[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(first);
	text = json_now();
	start_anew();
	(void)snprintf(plan, sizeof(plan), "%s/plan", root);
	assert_int_equal(file_write_durable(plan, "the plan", 8, &err), 0);
	assert_int_equal(run_repeat(text, strlen(text), plan, NULL, &run, &err), 0);
	assert_int_equal(run_give_back("why", &err), 0);
	run_done(&run);
	assert_int_equal(run_load(&run, &err), -ENOENT);
	run = (struct run){ 0 };
}

/* The id of a repeat begins with the name in the record: it must not lead out of the folder of records, and
 * the time must fit behind it. */
static void test_repeat_refuses_names(void **state)
{
	static const char long_name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
					"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const char *const names[] = { "../../../tmp/x", "a/b",         "",       ".hidden",
					     "two words",      "a\\u001b[2J", long_name };
	char first[RUN_ID_BYTES], note[256];

	(void)state;
	(void)begin(first);
	set_state(RUN_FINISHED);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(run_done) struct run run = { 0 };
		CLEANUP(free_ptr) char *text = NULL;
		struct error err = { 0 };

		(void)snprintf(note, sizeof(note), "{\"name\": \"%s\"}", names[i]);
		assert_int_equal(run_note(note, &err), 0);
		text = json_now();
		assert_int_equal(run_repeat(text, strlen(text), NULL, NULL, &run, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "the name is not that of a run"));
		assert_int_equal(run_load(&run, &err), 0);
		assert_string_equal(run.id, first);
	}
}

static void test_restore_refuses(void **state)
{
	static const struct {
		const char *label, *text;
	} cases[] = {
		{ "no JSON", "x" },
		{ "an id that is a path", RECORD("1", "../../a", "", "") },
		{ "no configuration", "{\"version\":1,\"id\":\"a\",\"started_s\":1,\"start_run\":\"\","
				      "\"plan_sha256\":\"\"}" },
		{ "a wrong configuration", RECORD("1", "a", "", "") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(run_done) struct run run = { 0 };
		struct error err = { 0 };

		if (run_restore(cases[i].text, strlen(cases[i].text), NULL, NULL, &run, &err) >= 0)
			fail_msg("%s: taken", cases[i].label);
		assert_int_equal(run_load(&run, &err), -ENOENT);
	}
}

static unsigned entries_of(const char *folder)
{
	DIR *entries = opendir(folder);
	unsigned count = 0;

	assert_non_null(entries);
	for (const struct dirent *entry; (entry = readdir(entries));)
		count += entry->d_name[0] != '.';
	(void)closedir(entries);
	return count;
}

/* The newest records stay, whatever their names. The test sets the folders' times, because its runs are
 * shorter than the clock's steps. */
static void test_archive_is_trimmed(void **state)
{
	struct timespec times[2] = { 0 };
	char ids[RUN_ARCHIVES_MAX + 4][RUN_ID_BYTES], path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX + 4; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%c%u", "ba"[i % 2], i);
		write_config(name, i, "scratch");
		assert_false(begin(ids[i]));
		set_state(i % 3 ? RUN_FINISHED : RUN_FAILED);
		times[0].tv_sec = times[1].tv_sec = 1700000000 + i;
		assert_int_equal(utimensat(AT_FDCWD, path_of(PATH_RUN, NULL, path), times, 0), 0);
	}
	assert_int_equal(entries_of(path_of(PATH_ARCHIVE, NULL, path)), RUN_ARCHIVES_MAX);
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX + 3; i++) {
		CLEANUP(run_done) struct run run = { 0 };
		int r = run_load_archived(ids[i], &run, &err);

		assert_int_equal(r, i < 3 ? -ENOENT : 0);
		if (r == 0)
			assert_true(run.config.run.seed == i);
	}
	assert_int_equal(run_load_archived("../current", &(struct run){ 0 }, &err), -ENOENT);
	assert_int_equal(run_load_archived("", &(struct run){ 0 }, &err), -ENOENT);
}

/* run_expire() leaves a record that has changed since it was loaded. */
static void test_expire(void **state)
{
	CLEANUP(run_done) struct run seen = { 0 }, now = { 0 };
	struct error err = { 0 };
	char id[RUN_ID_BYTES];
	bool expired;

	(void)state;
	(void)begin(id);
	assert_int_equal(run_load(&seen, &err), 0);
	assert_int_equal(run_note("{\"ends_s\": 2000000000}", &err), 0);
	assert_int_equal(run_expire(&seen, &expired, &err), 0);
	assert_false(expired);
	set_state(RUN_STOPPED);
	assert_int_equal(run_load(&now, &err), 0);
	set_state(RUN_RUNNING);
	assert_int_equal(run_expire(&now, &expired, &err), 0);
	assert_false(expired);
	now.state = RUN_RUNNING;
	assert_int_equal(run_expire(&now, &expired, &err), 0);
	assert_true(expired);
	assert_int_equal(run_state_get(&now.state, &err), 0);
	assert_int_equal(now.state, RUN_EXPIRED);
}

/* The archived run stays the current run until the next one begins. */
static void test_archive_stays_current(void **state)
{
	CLEANUP(run_done) struct run now = { 0 }, archived = { 0 }, next = { 0 };
	CLEANUP(free_ptr) char *before = NULL, *after = NULL, *noted = NULL;
	char id[RUN_ID_BYTES], second[RUN_ID_BYTES], path[PATH_BYTES];
	enum run_state found;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run_archive(&err), -ENOENT);
	(void)begin(id);
	assert_int_equal(run_archive(&err), -EPERM);
	assert_non_null(strstr(err.text, " is running: only a run that has ended"));
	assert_int_equal(run_load_archived(id, &archived, &err), -ENOENT);
	set_state(RUN_FINISHED);
	before = json_now();
	for (int i = 0; i < 2; i++)
		assert_int_equal(run_archive(&err), 0);
	assert_int_equal(run_load_archived(id, &archived, &err), 0);
	assert_int_equal(run_load(&now, &err), 0);
	assert_string_equal(now.id, id);
	assert_int_equal(now.state, RUN_FINISHED);
	assert_int_equal(run_state_get(&found, &err), 0);
	assert_int_equal(found, RUN_FINISHED);
	after = json_now();
	assert_string_equal(before, after);
	assert_int_equal(entries_of(path_of(PATH_ARCHIVE, NULL, path)), 1);

	/* Later changes go to the archived record. */
	assert_int_equal(run_note("{\"late\": 7}", &err), 0);
	assert_int_equal(run_json_archived(id, &noted, &err), 0);
	assert_non_null(strstr(noted, "\"late\":\t7"));
	assert_int_equal(run_state_set(RUN_RUNNING, &err), -EPERM);

	assert_false(begin(second));
	assert_int_equal(run_load(&next, &err), 0);
	assert_string_equal(next.id, second);
	assert_int_equal(entries_of(path_of(PATH_ARCHIVE, NULL, path)), 1);
}

/* After a person removed the archive there is no run, and the next one begins. */
static void test_an_archive_that_is_gone(void **state)
{
	CLEANUP(run_done) struct run run = { 0 };
	char id[RUN_ID_BYTES], path[PATH_BYTES], aside[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	set_state(RUN_FAILED);
	assert_int_equal(run_archive(&err), 0);
	(void)snprintf(aside, sizeof(aside), "%s/aside", root);
	assert_int_equal(rename(path_of(PATH_ARCHIVE, NULL, path), aside), 0);
	assert_int_equal(run_load(&run, &err), -ENOENT);
	assert_false(begin(id));
	assert_int_equal(run_load(&run, &err), 0);
	assert_int_equal(run.state, RUN_RUNNING);
}

/* The last run is never removed as the oldest, even if the clock was wrong when it was archived. */
static void test_the_last_run_is_not_trimmed(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	CLEANUP(run_done) struct run run = { 0 };
	char id[RUN_ID_BYTES], name[16], path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	for (unsigned i = 0; i < RUN_ARCHIVES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "a-%u", i);
		assert_int_equal(path_make(path_of(PATH_ARCHIVE, name, path), &err), 0);
	}
	set_state(RUN_FINISHED);
	assert_int_equal(utimensat(AT_FDCWD, path_of(PATH_RUN, NULL, path), times, 0), 0);
	assert_int_equal(run_archive(&err), 0);
	assert_int_equal(run_load(&run, &err), 0);
	assert_string_equal(run.id, id);
	assert_int_equal(entries_of(path_of(PATH_ARCHIVE, NULL, path)), RUN_ARCHIVES_MAX);
}

/* The weights are moved into the record, which names their run; the archive does not keep them. */
static void test_start(void **state)
{
	CLEANUP(run_done) struct run run = { 0 }, second = { 0 };
	CLEANUP(free_ptr) char *weights = NULL;
	char file[128], path[PATH_BYTES], id[RUN_ID_BYTES];
	const struct run_start start = { .run_id = "old-1", .file = file };
	struct error err = { 0 };
	bool adopted;

	(void)state;
	(void)snprintf(file, sizeof(file), "%s/weights", root);
	assert_int_equal(file_write_durable(file, "weights", 7, &err), 0);
	assert_int_equal(run_begin(config_file, "", &start, &run, &adopted, &err), 0);
	assert_false(adopted);
	assert_string_equal(run.start_run, "old-1");
	assert_int_equal(file_read(path_of(PATH_RUN, RUN_START_FILE, path), 64, &weights, NULL, &err), 0);
	assert_string_equal(weights, "weights");
	assert_int_equal(access(file, F_OK), -1);
	set_state(RUN_FINISHED);
	assert_false(begin(id));
	assert_int_equal(run_load(&second, &err), 0);
	assert_string_equal(second.start_run, "");
	assert_int_equal(access(path_of(PATH_RUN, RUN_START_FILE, path), F_OK), -1);
	(void)snprintf(file, sizeof(file), "%s/%s", run.id, RUN_START_FILE);
	assert_int_equal(access(path_of(PATH_ARCHIVE, run.id, path), F_OK), 0);
	assert_int_equal(access(path_of(PATH_ARCHIVE, file, path), F_OK), -1);
}

/* When several processes begin at once, one makes the run and the others go on with it. */
static void test_begins_at_once(void **state)
{
	enum { BEGINS = 6 };
	char old[RUN_ID_BYTES], ids[BEGINS][RUN_ID_BYTES];
	unsigned adopted = 0;
	int from[2], gate[2];

	(void)state;
	(void)begin(old);
	set_state(RUN_FINISHED);
	assert_int_equal(pipe(from), 0);
	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < BEGINS; i++)
		if (fork() == 0) {
			char answer[RUN_ID_BYTES] = "";
			bool was_adopted;

			(void)close(gate[1]);
			(void)!read(gate[0], answer, 1);
			was_adopted = begin(answer);
			answer[RUN_ID_BYTES - 1] = (char)was_adopted;
			_exit(write(from[1], answer, sizeof(answer)) != sizeof(answer));
		}
	(void)close(gate[1]);
	(void)close(from[1]);
	for (int i = 0; i < BEGINS; i++) {
		assert_int_equal(read(from[0], ids[i], RUN_ID_BYTES), RUN_ID_BYTES);
		adopted += (unsigned)ids[i][RUN_ID_BYTES - 1];
		assert_string_equal(ids[i], ids[0]);
	}
	while (wait(NULL) > 0)
		;
	assert_int_equal(adopted, BEGINS - 1);
	assert_string_not_equal(ids[0], old);
	(void)close(from[0]);
	(void)close(gate[0]);
}

/* A reader sees whole records of one run, while runs begin and end. */
static void test_readers_see_one_record(void **state)
{
	enum { RUNS = 40 };
	char id[RUN_ID_BYTES];
	int status;
	pid_t reader;

	(void)state;
	write_config("n0", 0, "scratch");
	(void)begin(id);
	reader = fork();
	if (reader == 0) {
		uint64_t seed = 0;

		while (seed < RUNS) {
			CLEANUP(run_done) struct run run = { 0 };
			struct error err = { 0 };
			char name[32];

			free(json_now());
			if (run_load(&run, &err) < 0)
				_exit(1);
			(void)snprintf(name, sizeof(name), "n%d-", (int)run.config.run.seed);
			if (strncmp(run.id, name, strlen(name)) != 0 || run.config.run.seed < seed)
				_exit(2);
			seed = run.config.run.seed;
		}
		_exit(0);
	}
	for (unsigned i = 1; i <= RUNS; i++) {
		struct error err = { 0 };
		char name[32];

		set_state(RUN_FINISHED);
		if (i % 2)
			assert_int_equal(run_archive(&err), 0);
		(void)snprintf(name, sizeof(name), "n%u", i);
		write_config(name, i, "scratch");
		assert_false(begin(id));
	}
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

static void test_want(void **state)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{ "", "want" },
		{ "{\"seq\": 1, \"checkpoint_seq\": 0}", "state" },
		{ "{\"seq\": 1, \"checkpoint_seq\": 0, \"state\": \"finished\"}",
		  "running, paused or stopped" },
		{ "{\"seq\": -1, \"checkpoint_seq\": 0, \"state\": \"paused\"}", "seq" },
	};
	const struct run_want want = { .seq = UINT64_MAX, .checkpoint_seq = 3, .state = RUN_PAUSED };
	char id[RUN_ID_BYTES], path[PATH_BYTES];
	struct run_want found;
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	assert_int_equal(run_want_get(&found, &err), 0);
	assert_true(found.seq == 0 && found.checkpoint_seq == 0 && found.state == RUN_RUNNING);
	assert_int_equal(run_want_set(&want, &err), 0);
	assert_int_equal(run_want_get(&found, &err), 0);
	assert_true(found.seq == want.seq && found.checkpoint_seq == 3 && found.state == RUN_PAUSED);
	assert_false(run_want_is_stop());
	assert_int_equal(run_want_set(&(struct run_want){ .state = RUN_STOPPED }, &err), 0);
	assert_true(run_want_is_stop());
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(file_write_durable(path_of(PATH_RUN, "want", path), wrong[i].text,
						    strlen(wrong[i].text), &err),
				 0);
		assert_int_equal(run_want_get(&found, &err), -EBADMSG);
		assert_non_null(strstr(err.text, wrong[i].words));
		assert_false(run_want_is_stop());
	}
	set_state(RUN_FINISHED);
	(void)begin(id);
	assert_int_equal(run_want_get(&found, &err), 0);
	assert_true(found.seq == 0 && found.state == RUN_RUNNING);
}

static void test_end(void **state)
{
	CLEANUP(free_ptr) char *text = NULL;
	char id[RUN_ID_BYTES];
	enum run_state found;
	struct error err = { 0 };

	(void)state;
	(void)begin(id);
	assert_int_equal(run_end(RUN_FAILED, "no power", &err), 0);
	assert_int_equal(run_state_get(&found, &err), 0);
	assert_int_equal(found, RUN_FAILED);
	text = json_now();
	assert_non_null(strstr(text, "no power"));
	assert_int_equal(run_end(RUN_PRUNED, "later", &err), -EPERM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_want),
		TEST(test_end),
		TEST(test_new_record),
		TEST(test_wrong_config_makes_no_record),
		TEST(test_what_follows_each_state),
		TEST(test_a_final_state_stays),
		TEST(test_notes),
		TEST(test_notes_are_bounded),
		TEST(test_set_aside),
		TEST(test_restore_is_bounded),
		TEST(test_repeat_refuses_seeds),
		TEST(test_damaged_records),
		TEST(test_restore),
		TEST(test_parse),
		TEST(test_restore_refuses),
		TEST(test_whose),
		TEST(test_repeat_keeps_what_is_known_of_the_data),
		TEST(test_repeat_refuses_what_begin_does_not_write),
		TEST(test_give_back),
		TEST(test_give_back_to_none),
		TEST(test_repeat_refuses_names),
		TEST(test_archive_is_trimmed),
		TEST(test_expire),
		TEST(test_archive_stays_current),
		TEST(test_an_archive_that_is_gone),
		TEST(test_the_last_run_is_not_trimmed),
		TEST(test_start),
		TEST(test_begins_at_once),
		TEST(test_readers_see_one_record),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
