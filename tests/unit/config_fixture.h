/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of configurations share. Each test program runs in a folder of its own, so that every
 * message begins with a known file name.
 */
#pragma once

#include "core/config/config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char repository[PATH_MAX], folder[] = "/tmp/kiln-config-XXXXXX";

/* The first line of most test configurations. */
#define STORES              "source: { url = \"file:///a\"; }; sink: { url = \"s3://bkt/c\"; };\n"
#define SINK                "sink: { url = \"s3://bkt/c\"; };\n"
#define FEATURE(name, type) "{ name = \"" name "\"; dtype = \"" type "\"; shape = [ 2 ]; }"
#define LAYERS              "model: { layers = (\n"

static inline void write_file(const char *name, const char *text, size_t bytes)
{
	FILE *out = fopen(name, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, bytes, out), bytes);
	assert_int_equal(fclose(out), 0);
}

static inline int load(const char *text, size_t bytes, struct config *ret_config, struct error *err)
{
	write_file("k.conf", text, bytes);
	return config_load("k.conf", ret_config, err);
}

/* ---- What is refused, word for word ---- */

struct refusal {
	const char *label, *text, *words;
};

static inline void check_refusals(const struct refusal *cases, size_t count)
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

/* ---- The folder ---- */

static inline int setup(void **state)
{
	(void)state;
	return !getcwd(repository, sizeof(repository)) || !mkdtemp(folder) || chdir(folder) < 0;
}

static inline int teardown(void **state)
{
	(void)state;
	(void)unlink("k.conf");
	(void)unlink("shown.conf");
	return rmdir(folder);
}
