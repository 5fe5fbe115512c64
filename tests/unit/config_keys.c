/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_keys.h"
#include "tests/unit/config_fixture.h"

#include <math.h>

/* A key or a group that is near none gets no suggestion. */
static void test_meant(void **state)
{
	static const struct refusal cases[] = {
		{ "a key of another group", STORES "run: { learning_rate = 3; };",
		  "k.conf:2: run.learning_rate: found an unknown key, allowed: the keys of `kiln config "
		  "reference`; did you mean \"optimizer.learning_rate\"?" },
		{ "a key of several other groups", STORES "run: { monitor = \"loss\"; };",
		  "k.conf:2: run.monitor: found an unknown key, allowed: the keys of `kiln config "
		  "reference`" },
		{ "a group of no similar name", STORES "\nwindow: { };",
		  "k.conf:3: window: found an unknown group, allowed: the groups of `kiln config "
		  "reference`" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_keys(void **state)
{
	static const struct refusal cases[] = {
		{ "an unknown key", STORES "run: {\n  epoch = 3; };",
		  "k.conf:3: run.epoch: found an unknown key, allowed: the keys of `kiln config reference`; "
		  "did "
		  "you mean \"run.epochs\"?" },
		{ "a key in the wrong case", STORES "run: { Epochs = 3; };",
		  "k.conf:2: run.Epochs: found an unknown key, allowed: the keys of `kiln config "
		  "reference`; did you mean \"run.epochs\"?" },
		{ "an unknown group", STORES "\nruns: { };",
		  "k.conf:3: runs: found an unknown group, allowed: the groups of `kiln config reference`; "
		  "did you "
		  "mean \"run\"?" },
		{ "a key outside of its group", STORES "method = \"grid\";",
		  "k.conf:2: method: found an unknown group, allowed: the groups of `kiln config reference`; "
		  "did you mean \"series.method\"?" },
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
		  "k.conf:2: optimizer.epsilon: found true, allowed: a number, 1e-30 .. 1" },
		{ "an epsilon that lets an update divide by 0", STORES "optimizer: { epsilon = 0.0; };",
		  "k.conf:2: optimizer.epsilon: found 0.0, allowed: a number, 1e-30 .. 1" },
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
		  "k.conf:2: fetch.nic: found \"a\\x0aExecStartPre=b\", allowed: a string without control "
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
	{ "ranks: { network",
	  { "", "10.7.0.0/24", "192.0.2.252/30" },
	  { " ", "10.7.0.0", "10.7.0.1/24", "10.7.0.0/0", "10.7.0.0/31", "fd00::/8", "10.7.0.0/24\\n" } },
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
	  { "mon..sun", "mon", "sat,sun", "mon..fri,sun", "wed..wed", "none" },
	  { "", "Mon", "monday", "sun..mon", "mon..", "..mon", "mon,", ",mon", "mon-fri", "mon tue", "mon\\n",
	    "mon..fri..sun", "mon%n", "none,mon" } },
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

/* A store from the command line has the same forms as one from a file. */
static void test_store_from_elsewhere(void **state)
{
	static const struct config_store good[] = {
		{ .url = "s3://bkt/x" },
		{ .url = "file:///a", .endpoint = "", .region = "" },
		{ .url = "lakefs://rep/main", .endpoint = "http://h:8000", .presign = true },
		{ .url = "lakefs://rep/main~1/a/b/", .endpoint = "http://h" },
	};
	static const struct {
		struct config_store store;
		const char *words;
	} bad[] = {
		{ { .url = "s3://a b/?x" },
		  "url: found \"s3://a b/?x\", allowed: s3://bucket[/prefix], file:///folder or "
		  "lakefs://repository/branch[/prefix]; " },
		{ { .url = "s3://bkt", .endpoint = "http://h:99999" },
		  "endpoint: found \"http://h:99999\", allowed: https://" },
		{ { .url = "" }, "url: found \"\", allowed: s3://" },
		{ { .url = NULL }, "url: found \"\", allowed: s3://" },
		{ { .url = "lakefs://rep/main" },
		  "endpoint: allowed with the url \"lakefs://rep/main\": the lakeFS server" },
		{ { .url = "s3://bkt", .presign = true },
		  "presign: allowed with the url \"s3://bkt\": false, or" },
		{ { .url = "lakefs://rep" }, "url: found \"lakefs://rep\", allowed: s3://" },
		{ { .url = "lakefs://re/main" }, "url: found \"lakefs://re/main\", allowed: s3://" },
		{ { .url = "lakefs://Rep/main" }, "url: found \"lakefs://Rep/main\", allowed: s3://" },
		{ { .url = "lakefs://rep/a b" }, "url: found \"lakefs://rep/a b\", allowed: s3://" },
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

#define LANES " order: { lanes = 16; };" /* for the most devices */

/* For every number of the table: its bounds are allowed, and the next value beyond is not. */
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
			(void)snprintf(text, sizeof(text), STORES "%.*s: { %s = %s; };%s", group, key->name,
				       key->name + group + 1, value,
				       strcmp(key->name, "device.count") == 0 ? LANES : "");
			r = load(text, strlen(text), &config, &err);
			if (r != cases[c].code)
				fail_msg("%s = %s: found %d \"%s\"", key->name, value, r, err.text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_meant),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_store_from_elsewhere),
		cmocka_unit_test(test_bounds_of_every_number),
	};

	return cmocka_run_group_tests_name("config_keys", tests, setup, teardown);
}
