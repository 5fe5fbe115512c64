/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run and a series that a test begins on its own node (scratch.h).
 */
#pragma once

#include "core/base/paths.h"
#include "core/series/series.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static inline void must(int r, const struct error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

/* Begins a run. `more`: keys of the configuration after source, sink and run.name. */
static inline void begin_a_run(const char *more, struct run *ret_run)
{
	const struct run_start start = { 0 };
	struct error err = { 0 };
	char path[128], text[512];
	bool adopted;

	(void)snprintf(text, sizeof(text),
		       "source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };\n"
		       "run: { name = \"night\"; }; %s\n",
		       more);
	(void)snprintf(path, sizeof(path), "%s/kiln.conf", root);
	must(file_write_durable(path, text, strlen(text), &err), &err);
	must(run_begin(path, "", &start, ret_run, &adopted, &err), &err);
}

/* Creates a series of one trial in this state. The caller deletes it. */
static inline cJSON *create_a_series(const char *trial_state)
{
	cJSON *series = cJSON_Parse("{\"objective\":\"validation.accuracy\",\"direction\":\"max\","
				    "\"method\":\"grid\",\"config\":\"\",\"trials\":[{\"name\":\"a\","
				    "\"run\":\"\"}]}");
	struct error err = { 0 };

	cJSON_AddStringToObject(series_trial(series, 0), "state", trial_state);
	must(series_create("night", series, &err), &err);
	return series;
}
