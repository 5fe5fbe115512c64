/* SPDX-License-Identifier: Apache-2.0 */
/* The member "sink_branch" of run.json. */
#include "core/run/run_record.h"

#include <string.h>

#define BRANCH "sink_branch"

/* Tells whether a text can be the name of a branch, or the id of a commit: it becomes a part of keys. */
static bool is_ref(const char *text)
{
	return text && *text && *text != '-' && strlen(text) <= CONFIG_REF_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
		       strlen(text);
}

bool run_branch_add(cJSON *members, const char *name, const char *from)
{
	cJSON *branch = cJSON_AddObjectToObject(members, BRANCH);

	return cJSON_AddStringToObject(branch, "name", name) && cJSON_AddStringToObject(branch, "from", from);
}

int run_branch_use(const char *what, const cJSON *record, struct config_store *sink,
		   char from[static CONFIG_REF_MAX + 1], struct error *err)
{
	const char *name = cJSON_GetStringValue(json_member(record, BRANCH ".name")),
		   *begins = cJSON_GetStringValue(json_member(record, BRANCH ".from"));

	*from = '\0';
	if (!cJSON_HasObjectItem(record, BRANCH))
		return 0;
	if (!is_ref(name) || !is_ref(begins))
		return error_set(err, -EBADMSG,
				 "%s: " BRANCH ": expected the name of a branch, and the commit where it "
				 "begins",
				 what);
	(void)snprintf(sink->at, sizeof(sink->at), "%s", name);
	(void)snprintf(from, CONFIG_REF_MAX + 1, "%s", begins);
	return 0;
}
