/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"
#include "core/base/json.h"
#include "core/config/config_keys.h"
#include "model/build.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Every test runs in a folder of its own, so that messages begin with a name that is known. */
static char repository[PATH_MAX], folder[] = "/tmp/kiln-config-XXXXXX";

/* Line 1 of most texts. */
#define STORES "source: { url = \"file:///a\"; }; sink: { url = \"s3://bkt/c\"; };\n"

static void write_file(const char *name, const char *text, size_t bytes)
{
	FILE *out = fopen(name, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, bytes, out), bytes);
	assert_int_equal(fclose(out), 0);
}

static int load(const char *text, size_t bytes, struct config *ret_config, struct error *err)
{
	write_file("k.conf", text, bytes);
	return config_load("k.conf", ret_config, err);
}

/* ---- What is refused, word for word ---- */

struct refusal {
	const char *label, *text, *words;
};

static void check_refusals(const struct refusal *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };
		int r = load(cases[i].text, strlen(cases[i].text), &config, &err);

		if (r != -EINVAL || err.code != r || strcmp(err.text, cases[i].words) != 0)
			fail_msg("%s: found %d \"%s\"\nexpected \"%s\"", cases[i].label, r, err.text,
				 cases[i].words);
		assert_null(config.memory);
	}
}
#define CHECK_REFUSALS(cases) check_refusals(cases, sizeof(cases) / sizeof((cases)[0]))

static void test_keys(void **state)
{
	static const struct refusal cases[] = {
		{ "an unknown key", STORES "run: {\n  epoch = 3; };",
		  "k.conf:3: run.epoch: found an unknown key, allowed: the keys of `kiln config reference`" },
		{ "a key in the wrong case", STORES "run: { Epochs = 3; };",
		  "k.conf:2: run.Epochs: found an unknown key, allowed: the keys of `kiln config "
		  "reference`" },
		{ "an unknown group", STORES "\nruns: { };",
		  "k.conf:3: runs: found an unknown group, allowed: the groups of `kiln config reference`" },
		{ "a value where a group is", STORES "run = 5;",
		  "k.conf:2: run: found an integer, allowed: a group { ... }" },
		{ "nothing at all", "",
		  "k.conf:1: source.url: found nothing, it must be given\n"
		  "k.conf:1: sink.url: found nothing, it must be given" },
		{ "a group without its key", "source: { url = \"file:///a\"; };\nsink: { };",
		  "k.conf:2: sink.url: found nothing, it must be given" },

		{ "a string for an integer", STORES "run: { epochs = \"3\"; };",
		  "k.conf:2: run.epochs: found \"3\", allowed: an integer, 1 .. 1000000" },
		{ "a number for an integer", STORES "run: { epochs = 3.0; };",
		  "k.conf:2: run.epochs: found 3.0, allowed: an integer, 1 .. 1000000" },
		{ "a list for an integer", STORES "run: { epochs = [ 3, 4 ]; };",
		  "k.conf:2: run.epochs: found a list of 2, allowed: an integer, 1 .. 1000000" },
		{ "an integer for a truth value", STORES "ring: { small_pages = 1; };",
		  "k.conf:2: ring.small_pages: found 1, allowed: true or false" },
		{ "a truth value for a number", STORES "optimizer: { epsilon = true; };",
		  "k.conf:2: optimizer.epsilon: found true, allowed: a number, 0 .. 1" },
		{ "a group for a string", STORES "fetch: { nic = { }; };",
		  "k.conf:2: fetch.nic: found a group, allowed: a string without control characters" },

		{ "a number for a list", STORES "optimizer: { values = 0.1; };",
		  "k.conf:2: optimizer.values: found 0.1, allowed: a list [ ] of numbers, 0 .. 1e+06" },
		{ "a list with a number out of bounds", STORES "optimizer: { values = [ 0.1, -1.0 ]; };",
		  "k.conf:2: optimizer.values: found a list of 2, allowed: a list [ ] of numbers, 0 .. "
		  "1e+06" },
		{ "a list of words", STORES "optimizer: { boundaries = [ \"a\" ]; };",
		  "k.conf:2: optimizer.boundaries: found a list of 1, allowed: a list [ ] of numbers, 0 .. "
		  "9.0072e+15" },

		{ "an integer beyond 2^53", STORES "run: { seed = 9007199254740993L; };",
		  "k.conf:2: run.seed: found 9007199254740993, allowed: an integer, 0 .. 9007199254740992" },
		{ "a word that is none of them", STORES "run: { start_from = \"last\"; };",
		  "k.conf:2: run.start_from: found \"last\", allowed: one of \"scratch\", \"latest\"" },
		{ "an integer where a word belongs", STORES "run: { start_from = 1; };",
		  "k.conf:2: run.start_from: found 1, allowed: one of \"scratch\", \"latest\"" },
		{ "a line feed in a string", STORES "fetch: { nic = \"a\\nExecStartPre=b\"; };",
		  "k.conf:2: fetch.nic: found \"a?ExecStartPre=b\", allowed: a string without control "
		  "characters" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static const struct {
	const char *key, *good[8], *bad[20];
} forms[] = {
	{ "run: { name", { "a", "A-b_9" }, { "", "a b", "a/b", "\xc3\xa9", "a\\n", "../a" } },
	{ "source: { url = \"file:///a\"; region",
	  { "eu-west-1", "a_b" },
	  { "", "eu west", "EU", "\xc3\xa9" } },
	{ "source: { url = \"file:///a\"; credential", { "", "store" }, { "../x", "a.b" } },
	{ "source: { url",
	  { "s3://bkt", "s3://Bkt._-9/", "s3://bkt/c d?", "file:///", "file:///a b" },
	  { "", "b", "/a", "s3:/bkt", "s3://", "s3:///a", "file://a", "http://a/b", "s3://bkt/\\n",
	    "s3://a b/?x", "s3://B_;@/x", "s3://bk", "s3://bkt?x" } },
	{ "clock: { ntp_servers",
	  { "", "ntp.lan", "ntp-1.lan 192.0.2.7 2001:db8::7", "pool" },
	  { " ", "a b ", " a", "a  b", "a,b", "-a", ".a", "a_b", "a\\n", "a%i", "2001:db8::7::1", "[::1]",
	    "\xc3\xa9" } },
	{ "source: { url = \"file:///a\"; endpoint",
	  { "", "http://h", "https://h:443", "https://[::1]:7", "http://[fe80::1]",
	    "http://127.0.0.1:65535" },
	  { "http://h:99999", "http://h:0", "http://h:", "http://h:08", "http://[::1", "http://[::1]x",
	    "http://[h]", "h", "h:80", "ftp://h", "http://", "http://:80", "http://h/", "http://u@h",
	    "http://h?x", "http://h#x", "http://a b", "http://a\\n" } },
	{ "notify: { url",
	  { "", "http://h", "https://h:443/", "https://h/a/b?c=d&e", "http://[::1]:7/x", "http://h:80/%20" },
	  { "h", "ftp://h/", "http://", "http:///x", "http://h:0/", "http://h:99999/x", "http://u:p@h/x",
	    "http://h/a b", "http://h/a\\n", "http://h?x", "http://h#x", "http://h/\xc3\xa9",
	    "http://[::1/x" } },
	{ "fetch: { cores",
	  { "auto", "0", "0-3,8", "4095", "3-3" },
	  { "", "Auto", "3-1", "4096", "1,", ",1", "1-", "-1", "1 ,2", "1,2x", "99999999999999999999",
	    "1\\n" } },
	{ "run: { days",
	  { "mon..sun", "mon", "sat,sun", "mon..fri,sun", "wed..wed" },
	  { "", "Mon", "monday", "sun..mon", "mon..", "..mon", "mon,", ",mon", "mon-fri", "mon tue", "mon\\n",
	    "mon..fri..sun", "mon%n" } },
	{ "run: { at",
	  { "00:00", "22:00", "23:59" },
	  { "", "24:00", "12:60", "1:00", "01:0", "01:00:00", "-1:00", "+1:00", "0x:00", "01:00\\n",
	    "01-00" } },
	{ "run: { ends_at", { "", "06:00" }, { "6:00", "24:00", " 06:00" } },
	{ "run: { zone",
	  { "UTC", "Europe/Berlin", "Etc/GMT+5", "America/Argentina/Buenos_Aires" },
	  { "", "Europe", "Europe/berlin", "/etc/localtime", "../zoneinfo/UTC", "Europe/Berlin ",
	    "Europe/Berlin\\n", "CET-1CEST", "zone.tab", "Europe//../UTC" } },
	{ "device: { cores", { "auto", "1-2" }, { "", "all" } },
};

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		for (int bad = 0; bad <= 1; bad++) {
			const char *const *texts = bad ? forms[i].bad : forms[i].good;

			for (size_t t = 0; texts[t]; t++) {
				CLEANUP(config_done) struct config config = { 0 };
				bool source = strncmp(forms[i].key, "source", 6) == 0;
				struct error err = { 0 };
				char text[512];
				int r;

				(void)snprintf(text, sizeof(text),
					       "sink: { url = \"file:///a\"; };%s%s = \"%s\"; };",
					       source ? "" : "source: { url = \"file:///a\"; };",
					       forms[i].key, texts[t]);
				r = load(text, strlen(text), &config, &err);
				if (r != (bad ? -EINVAL : 0))
					fail_msg("%s = \"%s\": found %d \"%s\"", forms[i].key, texts[t], r,
						 err.text);
			}
		}
}

/* A store from elsewhere, as options give it: the same forms. */
static void test_store_from_elsewhere(void **state)
{
	static const struct config_store good[] = {
		{ .url = "s3://bkt/x" },
		{ .url = "file:///a", .endpoint = "", .region = "" },
	};
	static const struct {
		struct config_store store;
		const char *words;
	} bad[] = {
		{ { .url = "s3://a b/?x" },
		  "url: found \"s3://a b/?x\", allowed: s3://bucket[/prefix] or file:///folder; " },
		{ { .url = "s3://bkt", .endpoint = "http://h:99999" },
		  "endpoint: found \"http://h:99999\", allowed: https://" },
		{ { .url = "" }, "url: found \"\", allowed: s3://" },
		{ { .url = NULL }, "url: found \"\", allowed: s3://" },
		{ { .url = "s3://bkt", .region = "EU" },
		  "region: found \"EU\", allowed: 1 .. 63 characters of [a-z0-9_-]" },
	};
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(config_store_check(&good[i], &err), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(config_store_check(&bad[i].store, &err), -EINVAL);
		if (strncmp(err.text, bad[i].words, strlen(bad[i].words)) != 0)
			fail_msg("found \"%s\"", err.text);
	}
}

static void test_integers_that_would_wrap(void **state)
{
	static const struct refusal cases[] = {
		{ "an integer that would wrap", STORES "fetch: {\n  memory_bytes = 4294967296; };",
		  "k.conf:3: fetch.memory_bytes: found 4294967296, allowed: an integer, 1048576 .. "
		  "1099511627776, with an L behind it beyond 32 bits" },
		{ "hexadecimal that would become -1", STORES "run: { seed = 0xFFFFFFFF; };",
		  "k.conf:2: run.seed: found 0xFFFFFFFF, allowed: an integer, 0 .. 9007199254740992, with an "
		  "L behind it beyond 32 bits" },
		{ "outside of its bounds, too", STORES "run: { epochs = 4294967297; seed = -4294967295; };",
		  "k.conf:2: run.epochs: found 4294967297, allowed: an integer, 1 .. 1000000\n"
		  "k.conf:2: run.seed: found -4294967295, allowed: an integer, 0 .. 9007199254740992" },
		{ "digits before a name", STORES "run: { batch_rows = 4294967424epochs = 5; };",
		  "k.conf:2: run.batch_rows: found 4294967424, allowed: an integer, 1 .. 65536" },
		{ "digits before an e that is no exponent", STORES "run: { seed = 4294967424e; };",
		  "k.conf:2: run.seed: found 4294967424, allowed: an integer, 0 .. 9007199254740992, with an "
		  "L behind it beyond 32 bits\nk.conf:2: syntax error: run: { seed = 4294967424e; };" },
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
		  "L behind it beyond 32 bits\n"
		  "k.conf:4: schema.fill: found 4294967296, allowed: a number, -3.40282e+38 .. 3.40282e+38, "
		  "with an L behind it beyond 32 bits\n"
		  "k.conf:5: schema.fill: found 4294967296, allowed: a number, -3.40282e+38 .. 3.40282e+38, "
		  "with an L behind it beyond 32 bits\n"
		  "k.conf:8: fetch.memory_bytes: found 4294967296, allowed: an integer, 1048576 .. "
		  "1099511627776, with an L behind it beyond 32 bits\n"
		  "k.conf:3: run.seed2: found an unknown key, allowed: the keys of `kiln config reference`\n"
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
		{ "cut", STORES "run: { epochs = 1;\n", "k.conf:3: syntax error: at the end of the file" },
	};
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	CHECK_REFUSALS(cases);
	assert_int_equal(load(STORES "\n\0", sizeof(STORES "\n\0") - 1, &config, &err), -EINVAL);
	assert_string_equal(err.text, "k.conf:3: found a NUL byte, allowed: text");
}

static void test_schema(void **state)
{
#define FEATURE(name, type) "{ name = \"" name "\"; dtype = \"" type "\"; shape = [ 2 ]; }"
#define LAYERS              "model: { layers = (\n"
	static const struct refusal cases[] = {
		{ "no list", STORES "schema = 5;",
		  "k.conf:2: schema: found 5, allowed: a list ( ) of 1 .. 32 features" },
		{ "an empty list", STORES "schema = ( );",
		  "k.conf:2: schema: found a list of 0, allowed: a list ( ) of 1 .. 32 features" },
		{ "no group", STORES "schema = ( 3 );",
		  "k.conf:2: schema: found an integer, allowed: groups { ... }" },
		{ "a feature's keys", STORES "schema = ( {\n name = \"a\"; type = \"b\"; } );",
		  "k.conf:3: schema.type: found an unknown key, allowed: name, dtype, missing, fill, "
		  "values_max, bytes_max, overflow, shape\n"
		  "k.conf:2: schema.dtype: found nothing, it must be given" },
		{ "a size of nothing",
		  STORES "schema = ( { name = \"a\"; dtype = \"bytes\"; shape = [ 2, 0 ]; } );",
		  "k.conf:2: schema.shape: found 0, allowed: sizes from 1, 268435456 together" },
		{ "sizes that overflow together",
		  STORES "schema = ( { name = \"a\"; dtype = \"bytes\"; shape = [ 65536, 65536 ]; } );",
		  "k.conf:2: schema.shape: found 65536, allowed: sizes from 1, 268435456 together" },
		{ "a size that is no integer",
		  STORES "schema = ( { name = \"a\"; dtype = \"bytes\"; shape = [ 1.5 ]; } );",
		  "k.conf:2: schema.shape: found 1.5, allowed: sizes from 1, 268435456 together" },
		{ "the ring's own column", STORES "schema = ( " FEATURE("empty", "bytes") " );",
		  "k.conf:2: schema.name: found \"empty\", allowed: 1 .. 63 bytes, not \"empty\"" },
		{ "int64s filled with what is none",
		  STORES "schema = ( " FEATURE(
			  "sentence",
			  "float32") ",\n"
				     "{ name = \"label\"; dtype = \"int64\"; fill = 0.5; },\n"
				     "{ name = \"a\"; fill = 1e30; dtype = \"int64\"; },\n"
				     "{ name = \"b\"; fill = -9007199254740993L; dtype = \"int64\"; },\n"
				     "{ name = \"c\"; fill = -9007199254740991L; dtype = \"int64\"; },\n"
				     "{ name = \"d\"; fill = 0.5; dtype = \"float32\"; } );",
		  "k.conf:3: schema.fill: found 0.5, allowed with dtype \"int64\": an integer, "
		  "-9007199254740991 .. 9007199254740991\n"
		  "k.conf:4: schema.fill: found 1e+30, allowed with dtype \"int64\": an integer, "
		  "-9007199254740991 .. 9007199254740991\n"
		  "k.conf:5: schema.fill: found -9007199254740993, allowed with dtype \"int64\": an integer, "
		  "-9007199254740991 .. 9007199254740991" },
		{ "a feature twice",
		  STORES "schema = ( " FEATURE("sentence", "float32") ",\n" FEATURE(
			  "label", "int64") ","
					    "\n" FEATURE("label", "int64") " );",
		  "k.conf:2: schema.name: found \"label\" twice, allowed: once" },
		{ "an input that is no feature", STORES "model: {\n input = \"text\"; };",
		  "k.conf:3: model.input: found \"text\", allowed: a float32 or int64 feature of `schema`" },
		{ "a label of the wrong type", STORES "model: { label = \"nope\"; };",
		  "k.conf:2: model.label: found \"nope\", allowed: an int64 or float32 feature of `schema`" },

		{ "cross checks behind another mistake",
		  STORES "run: { seeed = 3; };\nmodel: { input = \"nope\"; };",
		  "k.conf:2: run.seeed: found an unknown key, allowed: the keys of `kiln config reference`\n"
		  "k.conf:3: model.input: found \"nope\", allowed: a float32 or int64 feature of `schema`" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

#define FAULTY(label, text, line, one, other, other_line)                                     \
	{                                                                                     \
		label, STORES text,                                                           \
			"k.conf:" line ": checkpoint." one ": found beside checkpoint." other \
			" on line " other_line ", allowed: one of them"                       \
	}

static void test_checkpoints(void **state)
{
	static const struct refusal cases[] = {
		FAULTY("steps and minutes", "checkpoint: { every_steps = 20;\nevery_minutes = 5; };", "3",
		       "every_minutes", "every_steps", "2"),
		FAULTY("minutes and auto", "checkpoint: {\nauto = true;\n every_minutes = 0.5; };", "3",
		       "auto", "every_minutes", "4"),
		FAULTY("auto and steps", "checkpoint: { every_steps = 7;\n auto = true; };", "3", "auto",
		       "every_steps", "2"),
	};
	static const struct {
		const char *text;
		uint64_t every_steps;
		double every_minutes;
		bool automatic;
	} good[] = {
		{ "", 0, 0, true },
		{ "checkpoint: { every_steps = 20; };", 20, 0, false },
		{ "checkpoint: { every_minutes = 0.5; };", 0, 0.5, false },
		{ "checkpoint: { every_steps = 0; };", 0, 0, false },
		{ "checkpoint: { auto = false; };", 0, 0, false },
		{ "checkpoint: { every_steps = 0; every_minutes = 0.0; auto = true; };", 0, 0, true },
		{ "checkpoint: { every_steps = 3; every_minutes = 0.0; auto = false; };", 3, 0, false },
	};

	(void)state;
	CHECK_REFUSALS(cases);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };
		char text[256];

		(void)snprintf(text, sizeof(text), STORES "%s", good[i].text);
		assert_int_equal(load(text, strlen(text), &config, &err), 0);
		assert_int_equal(config.checkpoint.every_steps, good[i].every_steps);
		assert_true(config.checkpoint.every_minutes == good[i].every_minutes);
		assert_int_equal(config.checkpoint.automatic, good[i].automatic);
	}
}

static void test_callbacks(void **state)
{
	static const struct refusal cases[] = {
		{ "a figure that is none", STORES "keep_best: { monitor = \"f1\"; };",
		  "k.conf:2: keep_best.monitor: found \"f1\", allowed: one of \"none\", \"loss\", "
		  "\"accuracy\", \"val_loss\", \"val_accuracy\"" },
		{ "no validation",
		  STORES "split: { validation_percent = 0; };\nearly_stopping: { monitor = \"val_loss\"; };",
		  "k.conf:3: early_stopping.monitor: found a figure of the validation, allowed while "
		  "split.validation_percent is 0: \"loss\", \"accuracy\"" },
		{ "two that keep the best",
		  STORES "keep_best: { monitor = \"loss\"; };\nearly_stopping: { monitor = \"val_loss\";\n"
			 "restore_best = true; };",
		  "k.conf:2: keep_best.monitor: found beside early_stopping.restore_best on line 4, allowed: "
		  "one of them" },
		{ "two that change the rate",
		  STORES
		  "reduce_on_plateau: { monitor = \"loss\"; };\noptimizer: { schedule = \"cosine\"; };",
		  "k.conf:2: reduce_on_plateau.monitor: found beside optimizer.schedule on line 3, allowed "
		  "with schedule \"constant\" alone" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_ragged_schema(void **state)
{
	static const struct refusal cases[] = {
		{ "a ragged feature with what fixed ones have",
		  STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE(
			  "label",
			  "int64") ",\n{ name = \"a\"; dtype = \"bytes\"; values_max = 5; },\n"
				   "{ name = \"b\"; dtype = \"int64\"; values_max = 5; shape = [ 2 ];\n"
				   "missing = \"default\"; } );",
		  "k.conf:3: schema.values_max: found 5, allowed with dtype \"bytes\": 0\n"
		  "k.conf:4: schema.shape: found 1 sizes, allowed beside values_max: [ ]\n"
		  "k.conf:5: schema.missing: found \"default\", allowed beside values_max: nothing, as a "
		  "record "
		  "without the feature has no values of it" },
		{ "a ragged feature whose columns' names are too long",
		  STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE(
			  "label", "int64") ",\n{ name = "
					    "\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee1234567\"; "
					    "dtype = \"int64\"; values_max = 5; } );",
		  "k.conf:3: schema.name: found "
		  "\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee1234567\", "
		  "allowed beside values_max: 1 .. 56 bytes" },
		{ "a ragged label",
		  STORES "schema = ( " FEATURE(
			  "sentence",
			  "float32") ", { name = \"label\"; dtype = \"int64\"; values_max = 9; } );",
		  "k.conf:1: model.label: found \"label\", which is ragged, allowed: an int64 or float32 "
		  "feature of a "
		  "fixed "
		  "shape" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

#define SINK "sink: { url = \"s3://bkt/c\"; };\n"

static void test_sources(void **state)
{
	static const struct refusal cases[] = {
		{ "beside the group", STORES "sources = ( { url = \"file:///b\"; } );",
		  "k.conf:2: sources: found beside source, allowed: one of them" },
		{ "an empty list", SINK "sources = ( );",
		  "k.conf:2: sources: found a list of 0, allowed: a list ( ) of 1 .. 32 sources" },
		{ "no group", SINK "sources = ( \"file:///a\" );",
		  "k.conf:2: sources: found a string, allowed: groups { ... }" },
		{ "its keys",
		  SINK
		  "sources = ( {\n weight = 0.0; glob = \"*\"; }, { url = \"b\"; weight = 4294967296; } );",
		  "k.conf:3: sources.weight: found 0.0, allowed: a number, 1e-06 .. 1e+06\n"
		  "k.conf:3: sources.glob: found an unknown key, allowed: url, endpoint, region, credential, "
		  "ca_file, url_style, http2, weight, train_glob, validation_glob, test_glob\n"
		  "k.conf:2: sources.url: found nothing, it must be given\n"
		  "k.conf:3: sources.url: found \"b\", allowed: s3://bucket[/prefix] or file:///folder; a "
		  "bucket has 3 .. 255 characters of [A-Za-z0-9._-]\n"
		  "k.conf:3: sources.weight: found 4294967296, allowed: a number, 1e-06 .. 1e+06" },
		{ "more lanes than places",
		  SINK "order: { lanes = 12; };\n"
		       "sources = ( { url = \"file:///a\"; }, { url = \"file:///b\"; }, { url = "
		       "\"file:///c\"; } );",
		  "k.conf:2: order.lanes: found 12, allowed with 3 sources: 1 .. 10" },
		{ "more lanes than rows", STORES "order: { lanes = 6; };\nrun: { batch_rows = 5; };",
		  "k.conf:2: order.lanes: found 6, allowed: at most run.batch_rows, 5" },
	};
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	CHECK_REFUSALS(cases);
	assert_int_equal(load(STORES, sizeof(STORES) - 1, &config, &err), 0);
	assert_int_equal(config.sources, 1);
	assert_true(config.source[0].weight == 1);
	assert_string_equal(config.source[0].train_glob, "train-*");
	config_done(&config);
#define TWO                                                                                                  \
	SINK "split: { train_glob = \"t*\"; };\nsources = ( { url = \"file:///a\"; weight = 2.5; "           \
	     "test_glob = \"\"; }, { url = \"s3://bkt/b\"; endpoint = \"http://h:1\"; train_glob = \"u*\"; " \
	     "} );"
	assert_int_equal(load(TWO, sizeof(TWO) - 1, &config, &err), 0);
	assert_int_equal(config.sources, 2);
	assert_true(config.source[0].weight == 2.5 && config.source[1].weight == 1);
	assert_string_equal(config.source[0].train_glob, "t*");
	assert_string_equal(config.source[0].test_glob, "");
	assert_string_equal(config.source[0].store.endpoint, "");
	assert_string_equal(config.source[1].store.url, "s3://bkt/b");
	assert_string_equal(config.source[1].store.region, "us-east-1");
	assert_string_equal(config.source[1].train_glob, "u*");
	assert_string_equal(config.source[1].test_glob, "test-*");
}

static void test_layers(void **state)
{
	static const struct refusal cases[] = {
		{ "a layer without op", STORES LAYERS "{ units = 2; } ); };",
		  "k.conf:3: model.layers.op: found nothing, it must be given" },
		{ "a layer's name", STORES LAYERS "{ op = \"relu\"; name = \"a b\"; } ); };",
		  "k.conf:3: model.layers.name: found \"a b\", allowed: 1 .. 64 characters of "
		  "[A-Za-z0-9_-]" },
		{ "an attribute of another kind", STORES LAYERS "{ op = \"relu\"; x = ( ); } ); };",
		  "k.conf:3: model.layers.x: found a list, allowed: a number, truth value, string or [ ] of "
		  "integers" },
		{ "inputs that are no names", STORES LAYERS "{ op = \"relu\"; inputs = [ 3 ]; } ); };",
		  "k.conf:3: model.layers.inputs: found a list of 1, allowed: [ ] of 1 .. 8 layer names" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_all_mistakes_at_once(void **state)
{
	static const struct refusal cases[] = {
		{ "of every kind",
		  "source: {\n  url = \"b\";\n  http2 = 1;\n};\nrun: {\n  name = \"a b\";\n  epoch = 1;\n"
		  "  epochs = 0;\n};\nschema = ( 1 );\nextra = 2;\n",
		  "k.conf:2: source.url: found \"b\", allowed: s3://bucket[/prefix] or file:///folder; a "
		  "bucket has 3 .. 255 characters of [A-Za-z0-9._-]\n"
		  "k.conf:3: source.http2: found 1, allowed: true or false\n"
		  "k.conf:6: run.name: found \"a b\", allowed: 1 .. 64 characters of [A-Za-z0-9_-]\n"
		  "k.conf:7: run.epoch: found an unknown key, allowed: the keys of `kiln config reference`\n"
		  "k.conf:8: run.epochs: found 0, allowed: an integer, 1 .. 1000000\n"
		  "k.conf:11: extra: found an unknown group, allowed: the groups of `kiln config reference`\n"
		  "k.conf:1: sink.url: found nothing, it must be given\n"
		  "k.conf:10: schema: found an integer, allowed: groups { ... }" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static char *checked(const char *path, void (*check)(const struct config *, struct mistakes *), int *ret_code)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	*ret_code = config_check(path, check, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static unsigned lines_of(const char *text)
{
	unsigned lines = *text != '\0';

	for (; *text; text++)
		lines += text[0] == '\n' && text[1];
	return lines;
}

/* A sentence holds whole lines and says how many there are besides; config_check() holds them all. */
static void test_more_mistakes_than_fit(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *all = NULL;
	char text[8192] = STORES, last[64];
	struct error err = { 0 };
	int r;

	(void)state;
	for (int i = 0; i < 300; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "wrong_%d = %d;\n", i, i);
	assert_int_equal(load(text, strlen(text), &config, &err), -EINVAL);
	assert_non_null(strstr(err.text, "k.conf:2: wrong_0: "));
	(void)snprintf(last, sizeof(last), "\n... and %u more mistakes", 300 - (lines_of(err.text) - 1));
	assert_string_equal(strrchr(err.text, '\n'), last);
	all = checked("k.conf", NULL, &r);
	assert_int_equal(r, -EINVAL);
	assert_int_equal(lines_of(all), 300);
	assert_non_null(strstr(all, "\nk.conf:301: wrong_299: found an unknown group, allowed: "));
}

/* The tables of layers, losses and optimizers grow: what they list is checked where they are. */
static void assert_lines_begin(const char *found, const char *said)
{
	assert_int_equal(lines_of(found), lines_of(said));
	for (; *said; said = strchr(said, '\n') + 1, found = strchr(found, '\n') + 1)
		if (strncmp(found, said, strcspn(said, "\n")) != 0)
			fail_msg("found \"%.200s\"\nwanted \"%.200s\"", found, said);
}

/* What only the model knows comes in the same list, also behind mistakes of other keys. */
static void test_check_with_the_model(void **state)
{
	static const char text
		[] = STORES
		"run: { seeed = 3; };\noptimizer: {\n  name = \"zz\"; };\nmodel: {\n  input = \"nope\";\n"
		"  layers = (\n"
		"    { op = \"dense\"; unitz = 3; },\n    { op = \"convv\"; },\n"
		"    { op = \"dense\";\n units = -2; },\n    { op = \"dropout\"; rate = 7; },\n"
		"    { op = \"relu\"; x = ( ); y = 1; },\n    { op = \"dense\"; inputs = [ 3 ]; },\n"
		"    { op = 3; units = \"x\"; }\n  );\n  loss = \"mse\";\n};\n",
	    said[] =
		    "k.conf:2: run.seeed: found an unknown key, allowed: the keys of `kiln config "
		    "reference`\n"
		    "k.conf:13: model.layers.x: found a list, allowed: a number, truth value, string or "
		    "[ ] of integers\n"
		    "k.conf:14: model.layers.inputs: found a list of 1, allowed: [ ] of 1 .. 8 layer "
		    "names\n"
		    "k.conf:15: model.layers.op: found 3, allowed: 1 .. 64 characters of "
		    "[A-Za-z0-9_-]\n"
		    "k.conf:6: model.input: found \"nope\", allowed: a float32 or int64 feature of `schema`\n"
		    "k.conf:17: model.loss: found \"mse\", allowed: categorical_crossentropy\n"
		    "k.conf:4: optimizer.name: found \"zz\", allowed: adam, adamw, sgd\n"
		    "k.conf:8: model.layers.unitz: found an unknown key, allowed of dense: op, name, "
		    "inputs, units, use_bias, \n"
		    "k.conf:8: model.layers.units: found nothing, allowed: an integer 1 <= x <= "
		    "1048576\n"
		    "k.conf:9: model.layers.op: found \"convv\", allowed: dense, relu, \n"
		    "k.conf:11: model.layers.units: found -2, allowed: an integer 1 <= x <= "
		    "1048576\n"
		    "k.conf:12: model.layers.rate: found 7, allowed: a number 0 <= x < 1\n"
		    "k.conf:13: model.layers.y: found an unknown key, allowed of relu: op, name, "
		    "inputs\n",
	    few[] = STORES "schema = ( 3 );\nmodel: { loss = 5; input = 3; label = true; };\n"
			   "optimizer: { name = 1; };\n";
	CLEANUP(free_ptr) char *found = NULL, *unread = NULL, *absent = NULL, *good = NULL;
	int r;

	(void)state;
	write_file("k.conf", text, strlen(text));
	found = checked("k.conf", graph_check, &r);
	assert_int_equal(r, -EINVAL);
	assert_lines_begin(found, said);
	/* Nothing is said of what could not be read. */
	write_file("k.conf", few, strlen(few));
	unread = checked("k.conf", graph_check, &r);
	assert_int_equal(lines_of(unread), 5);
	absent = checked("none.conf", graph_check, &r);
	assert_int_equal(r, -ENOENT);
	assert_string_equal(absent, "none.conf: cannot read it: No such file or directory\n");
	write_file("k.conf", STORES, strlen(STORES));
	good = checked("k.conf", graph_check, &r);
	assert_int_equal(r, 0);
	assert_string_equal(good, "");
}

/* Keys that nothing reads are said to be so, with what would read them; a value that is the default, as in a
 * file that spells out all keys, is not. */
#define DENSE_OF(input) \
	"{ op = \"dense\"; inputs = [ \"" input "\" ]; units = 2; }, { op = \"softmax\"; } ); };"
#define WITH_ADAM ", which nothing reads, allowed: with optimizer.name = \"adam\" or \"adamw\"\n"
#define WITH_MONITOR(group)                                       \
	", which nothing reads, allowed: with " group             \
	".monitor, one of \"loss\", \"accuracy\", \"val_loss\", " \
	"\"val_accuracy\"\n"
static const struct {
	const char *text, *words; /* of what stands in line 2 */
} unread[] = {
	{ "early_stopping: { patience = 3;\n restore_best = true; };",
	  "k.conf:2: early_stopping.patience: found 3" WITH_MONITOR(
		  "early_stopping") "k.conf:3: early_stopping.restore_best: found "
				    "true" WITH_MONITOR("early_stopping") },
	{ "early_stopping: { patience = 0; };",
	  "k.conf:2: early_stopping.patience: found 0" WITH_MONITOR("early_stopping") },
	{ "reduce_on_plateau: { factor = 0.1; };",
	  "k.conf:2: reduce_on_plateau.factor: found 0.1" WITH_MONITOR("reduce_on_plateau") },
	{ "keep_best: { mode = \"max\"; };",
	  "k.conf:2: keep_best.mode: found \"max\"" WITH_MONITOR("keep_best") },
	{ "model: { weights_layers = \"dense\"; weights_skip_mismatch = true; layers = ( " DENSE_OF(
		  "sentence"),
	  "k.conf:2: model.weights_layers: found \"dense\", which nothing reads, allowed: with "
	  "model.weights\n"
	  "k.conf:2: model.weights_skip_mismatch: found true, which nothing reads, allowed: with "
	  "model.weights\n" },
	{ "optimizer: { schedule = \"step\"; boundaries = [ 1 ]; values = [ 0.1, 0.01 ]; learning_rate = "
	  "0.1; };",
	  "k.conf:2: optimizer.learning_rate: found 0.1, which nothing reads, allowed: with "
	  "optimizer.schedule = \"constant\" or \"cosine\"\n" },
	{ "optimizer: { momentum = 0.9; };", "k.conf:2: optimizer.momentum: found 0.9, which "
					     "nothing reads, allowed: with optimizer.name = "
					     "\"sgd\"\n" },
	{ "optimizer: { name = \"adamw\"; nesterov = true; };",
	  "k.conf:2: optimizer.nesterov: found true, which nothing reads, allowed: with "
	  "optimizer.name = "
	  "\"sgd\" and optimizer.momentum above 0\n" },
	{ "optimizer: { name = \"sgd\"; nesterov = true; beta_1 = 0.8; beta_2 = 0.8; epsilon "
	  "= 0.1; };",
	  "k.conf:2: optimizer.beta_1: found 0.8" WITH_ADAM "k.conf:2: optimizer.beta_2: found 0.8" WITH_ADAM
	  "k.conf:2: optimizer.epsilon: found 0.1" WITH_ADAM
	  "k.conf:2: optimizer.nesterov: found true, which nothing reads, allowed: with "
	  "optimizer.name = "
	  "\"sgd\" and optimizer.momentum above 0\n" },
	{ "optimizer: { ema_momentum = 0.99; };",
	  "k.conf:2: optimizer.ema_momentum: found 0.99, which nothing reads, allowed: with "
	  "optimizer.use_ema = true\n" },
	{ "optimizer: { exclude_from_weight_decay = \"bias\"; };",
	  "k.conf:2: optimizer.exclude_from_weight_decay: found \"bias\", which nothing "
	  "reads, allowed: "
	  "with optimizer.weight_decay above 0, or optimizer.name = \"adamw\"\n" },
	{ "optimizer: { lazy = true; };", "k.conf:2: optimizer.lazy: found true, which "
					  "nothing reads, allowed: with an embedding or "
					  "embedding_bag that is not frozen\n" },
	{ "model: { input = \"label\"; layers = ( " DENSE_OF("sentence"),
	  "k.conf:2: model.input: found \"label\", which nothing reads, allowed: with a "
	  "layer that takes "
	  "it\n" },
	{ "model: { layers = ( " DENSE_OF("x") "\nschema = ( " FEATURE("x", "float32") ",\n" FEATURE(
		  "label", "int64") " );",
	  "" },
	{ "early_stopping: { monitor = \"none\"; patience = 0; };", "" },
	{ "optimizer: { name = \"sgd\"; beta_1 = 0.9; nesterov = false; momentum = 0.0; lazy "
	  "= false; };",
	  "" },
	{ "optimizer: { name = \"sgd\"; nesterov = true; momentum = 0.9; };", "" },
	{ "optimizer: { use_ema = true; ema_momentum = 0.9; weight_decay = 0.1;\n"
	  "exclude_from_weight_decay = \"bias\"; };",
	  "" },
};

static void test_unread(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++) {
		CLEANUP(free_ptr) char *found = NULL;
		char text[1024];
		int r;

		(void)snprintf(text, sizeof(text), STORES "%s\n", unread[i].text);
		write_file("k.conf", text, strlen(text));
		found = checked("k.conf", graph_check, &r);
		assert_string_equal(found, unread[i].words);
		assert_int_equal(r, *unread[i].words ? -EINVAL : 0);
	}
}

/* ---- What is taken ---- */

/* Bounds belong to what is allowed, the next value does not: for every number of the table. */
static void test_bounds_of_every_number(void **state)
{
	(void)state;
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];
		bool integer = key->type == KEY_INT;
		const struct {
			double value;
			int code;
		} cases[] = { { key->min, 0 },
			      { key->max, 0 },
			      { integer ? key->min - 1 : nextafter(key->min, -1), -EINVAL },
			      { integer ? key->max + 2 : nextafter(key->max, INFINITY), -EINVAL } };

		for (size_t c = 0;
		     (integer || key->type == KEY_FLOAT) && c < sizeof(cases) / sizeof(cases[0]); c++) {
			CLEANUP(config_done) struct config config = { 0 };
			int group = (int)strcspn(key->name, ".");
			struct error err = { 0 };
			char text[256], value[64];
			int r;

			(void)snprintf(value, sizeof(value), integer ? "%.0fL" : "%.17e", cases[c].value);
			(void)snprintf(text, sizeof(text), STORES "%.*s: { %s = %s; };", group, key->name,
				       key->name + group + 1, value);
			r = load(text, strlen(text), &config, &err);
			if (r != cases[c].code)
				fail_msg("%s = %s: found %d \"%s\"", key->name, value, r, err.text);
		}
	}
}

/* One of each kind of value, away from its default. */
static void test_values(void **state)
{
	static const char text[] = STORES
		"run: { name = \"a\"; seed = 9007199254740992L; epochs = 0x10; start_from = \"latest\"; };\n"
		"ring: { small_pages = true; };\n"
		"optimizer: { learning_rate = 1; beta_1 = 5e-1; beta_2 = .30000000000000004; "
		"boundaries = [ 5, 70 ]; values = [ 0.5, 1e-3, 0.0 ]; };\n"
		"schema = ( { name = \"x y\"; dtype = \"float32\"; shape = [ 2, 3 ]; missing = \"default\"; "
		"fill = -1; },\n  { name = \"label\"; dtype = \"int64\"; } );\n"
		"model: { input = \"x y\"; layers = (\n"
		"  { op = \"dense\"; name = \"d\"; inputs = [ \"input\" ]; units = 3000000000L; rate = 0.5; "
		"bias = false; init = \"zeros\"; } ); };";
	CLEANUP(config_done) struct config config = { 0 };
	const struct config_layer *layer;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(load(text, strlen(text), &config, &err), 0);
	assert_string_equal(config.source[0].store.url, "file:///a");
	assert_string_equal(config.sink.url, "s3://bkt/c");
	assert_string_equal(config.sink.region, "us-east-1");
	assert_string_equal(config.run.name, "a");
	assert_true(config.run.seed == 1ull << 53);
	assert_true(config.run.epochs == 16);
	assert_int_equal(config.run.start_from, START_LATEST);
	assert_true(config.run.batch_rows == 128);
	assert_true(config.ring.small_pages);
	assert_true(config.optimizer.learning_rate == 1.0);
	assert_true(config.optimizer.beta_1 == 0.5);
	assert_true(config.optimizer.beta_2 == .30000000000000004);
	assert_int_equal(config.optimizer.boundaries.count, 2);
	assert_true(config.optimizer.boundaries.at[0] == 5 && config.optimizer.boundaries.at[1] == 70);
	assert_int_equal(config.optimizer.values.count, 3);
	assert_true(config.optimizer.values.at[0] == 0.5 && config.optimizer.values.at[1] == 1e-3);
	assert_int_equal(config.model.class_weights.count, 0);
	assert_true(config.fetch.memory_bytes == 2147483648u);

	assert_int_equal(config.features, 2);
	assert_string_equal(config.feature[0].name, "x y");
	assert_int_equal(config.feature[0].rank, 2);
	assert_true(config.feature[0].shape[1] == 3);
	assert_int_equal(config.feature[0].missing, 1);
	assert_true(config.feature[0].fill == -1.0);
	assert_int_equal(config.feature[1].dtype, CONFIG_INT64);
	assert_int_equal(config.feature[1].rank, 0);

	assert_int_equal(config.model.layers, 1);
	layer = &config.model.layer[0];
	assert_string_equal(layer->op, "dense");
	assert_string_equal(layer->name, "d");
	assert_string_equal(layer->input[0], "input");
	assert_int_equal(layer->line, 8);
	assert_int_equal(layer->attributes, 4);
	assert_true(layer->attribute[0].i == 3000000000);
	assert_true(layer->attribute[1].type == ATTRIBUTE_FLOAT && layer->attribute[1].f == 0.5);
	assert_true(layer->attribute[2].type == ATTRIBUTE_BOOL && layer->attribute[2].i == 0);
	assert_string_equal(layer->attribute[3].s, "zeros");
}

static void test_no_file(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(config_load("none.conf", &config, &err), -ENOENT);
	assert_string_equal(err.text, "none.conf: cannot read it: No such file or directory");
	assert_int_equal(config_load("/", &config, &err), -EINVAL);
	assert_int_equal(config_load("none.conf", &config, NULL), -ENOENT);
}

/* ---- What kiln config prints ---- */

static char *text_of(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 65536);

	assert_non_null(in);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, in) > 0);
	(void)fclose(in);
	return text;
}

static char *shown(const char *path)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct error err = { 0 };

	assert_non_null(out);
	if (config_show(path, out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void remove_marks(char *text)
{
	static const char mark[] = " # default";

	for (char *at = text; (at = strstr(at, mark));)
		memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
}

static void test_reference_is_the_file(void **state)
{
	CLEANUP(free_ptr) char *file = NULL, *text = NULL;
	char path[PATH_MAX + 32];
	struct error err = { 0 };
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/config/kiln.conf", repository);
	file = text_of(path);
	assert_non_null(out);
	assert_int_equal(config_reference(out, &err), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, file);
}

/* The reference gives every key its default, so showing it is showing a minimal file, marks apart. */
static void test_reference_gives_the_defaults(void **state)
{
	static const char minimal[] = "source: { url = \"file:///data/kiln/store/data\"; };\n"
				      "sink: { url = \"file:///data/kiln/store/runs\"; };\n";
	CLEANUP(free_ptr) char *full = NULL, *least = NULL;
	char path[PATH_MAX + 32];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/config/kiln.conf", repository);
	write_file("k.conf", minimal, strlen(minimal));
	full = shown(path);
	least = shown("k.conf");
	assert_null(strstr(full, "# default"));
	assert_non_null(strstr(least, "  epochs = 5; # default\n"));
	assert_non_null(strstr(least, "  url = \"file:///data/kiln/store/data\";\n"));
	remove_marks(least);
	assert_string_equal(least, full);
}

/* What is shown loads again as the same configuration. */
static void check_shown(const char *path)
{
	CLEANUP(free_ptr) char *first = shown(path), *second = NULL;

	write_file("shown.conf", first, strlen(first));
	second = shown("shown.conf");
	remove_marks(first);
	assert_string_equal(second, first);
}

static void test_examples(void **state)
{
	char pattern[PATH_MAX + 32];
	glob_t examples;

	(void)state;
	(void)snprintf(pattern, sizeof(pattern), "%s/config/examples/*.conf", repository);
	assert_int_equal(glob(pattern, 0, NULL, &examples), 0);
	assert_true(examples.gl_pathc >= 3);
	for (size_t i = 0; i < examples.gl_pathc; i++) {
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };
		struct graph graph;

		if (config_load(examples.gl_pathv[i], &config, &err) < 0 ||
		    graph_build(&config, true, &graph, &err) < 0)
			fail_msg("%s", err.text);
		graph_done(&graph);
		check_shown(examples.gl_pathv[i]);
	}
	globfree(&examples);
}

static void test_odd_values_are_shown_as_they_are(void **state)
{
	static const char text[] = STORES
		"run: { seed = 9007199254740992L; };\n"
		"split: { train_glob = \"a\\\"b\\\\c \xc3\xbc*\"; };\n"
		"optimizer: { learning_rate = 0.1; epsilon = 1e-300; momentum = 0.30000000000000004; "
		"values = [ 1e-9, 0.30000000000000004 ]; };\n"
		"model: { layers = ( { op = \"dense\"; inputs = [ \"a\\\\\", \"b\" ]; units = -3000000000L; "
		"rate = 1e22; name = \"x\"; on = true; s = \"\\\"\"; } ); };";

	(void)state;
	write_file("k.conf", text, strlen(text));
	check_shown("k.conf");
}

static void test_show_json(void **state)
{
	static const char text[] = STORES "run: { epochs = 7; };";
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *printed = NULL;
	struct error err = { 0 };

	(void)state;
	write_file("k.conf", text, strlen(text));
	assert_int_equal(config_show_json("k.conf", &printed, &err), 0);
	assert_int_equal(json_parse("shown", printed, strlen(printed), &json, &err), 0);
	for (size_t i = 0; i < config_keys_count; i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, config_keys[i].name);
		bool given = strcmp(config_keys[i].name, "run.epochs") == 0 || !config_keys[i].fallback;

		assert_non_null(cJSON_GetObjectItemCaseSensitive(item, "value"));
		assert_int_equal(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(item, "default")), given);
	}
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "schema")), 2);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "layers")), 8);
}

static void test_path(void **state)
{
	char *with[] = { "kiln-fetchd", "--config", "a.conf", NULL }, *without[] = { "kiln-fetchd", NULL };

	(void)state;
	(void)unsetenv("KILN_CONFIG");
	(void)setenv("KILN_ROOT", "/r", 1);
	assert_string_equal(config_path(1, without), "/r/etc/kiln/kiln.conf");
	(void)setenv("KILN_CONFIG", "b.conf", 1);
	assert_string_equal(config_path(1, without), "b.conf");
	assert_string_equal(config_path(3, with), "a.conf");
	(void)unsetenv("KILN_CONFIG");
	(void)unsetenv("KILN_ROOT");
}

static int setup(void **state)
{
	(void)state;
	return !getcwd(repository, sizeof(repository)) || !mkdtemp(folder) || chdir(folder) < 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink("k.conf");
	(void)unlink("shown.conf");
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_store_from_elsewhere),
		cmocka_unit_test(test_integers_that_would_wrap),
		cmocka_unit_test(test_raw_text),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_ragged_schema),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_all_mistakes_at_once),
		cmocka_unit_test(test_more_mistakes_than_fit),
		cmocka_unit_test(test_check_with_the_model),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_bounds_of_every_number),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_reference_is_the_file),
		cmocka_unit_test(test_reference_gives_the_defaults),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_odd_values_are_shown_as_they_are),
		cmocka_unit_test(test_show_json),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests_name("config", tests, setup, teardown);
}
