/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by tests whose JSON is text in the source. Include it after cmocka.h. */
#pragma once

#include "core/base/json.h"

#include <string.h>

/* Returns the parsed text, which the caller frees; fails the test if it is no JSON. */
static cJSON *parse(const char *text)
{
	cJSON *json = NULL;
	struct error err = { 0 };

	if (json_parse("test", text, strlen(text), &json, &err) < 0)
		fail_msg("%s", err.text);
	return json;
}
