/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that a trial may have, and the list of trials in the making. */
#include "core/series/trials_draft.h"

#include <string.h>

#define LAYERS "model.layers"

/* ---- Keys ---- */

bool trials_may_vary(const char *key)
{
	static const char *const fixed[] = { "sink",        "power",        "update",     "notify",
					     "control",     "clock",        "heat",       "series",
					     "promote",     "tracking",     "ranks",      "vary",
					     "run.name",    "run.days",     "run.at",     "run.zone",
					     "run.ends_at", "run.catch_up", "experiments" };

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
		const size_t length = strlen(fixed[i]);

		if (strncmp(key, fixed[i], length) == 0 && (!key[length] || key[length] == '.'))
			return false;
	}
	return true;
}

static unsigned count_dots(const char *key)
{
	unsigned dots = 0;

	for (; *key; key++)
		dots += *key == '.';
	return dots;
}

/* Tells whether the key has one of the forms of config_overlay.h. Whether the key exists is told by those who
 * read it. */
static bool has_form(const char *key)
{
	const unsigned dots = count_dots(key);

	if (strlen(key) >= DRAFT_KEY_BYTES - 1 || strstr(key, "..") || !*key || key[strlen(key) - 1] == '.')
		return false;
	if (strncmp(key, LAYERS ".", sizeof(LAYERS)) == 0)
		return dots == 3;
	return dots == 1 || strcmp(key, "schema") == 0 || strcmp(key, "sources") == 0;
}

bool draft_key_allowed(struct mistakes *mistakes, const char *key, unsigned line)
{
	if (!trials_may_vary(key))
		mistakes_add(
			mistakes, line,
			"%.200s: found it in a trial, allowed: outside of trials, because it belongs to the "
			"box or to the series",
			key);
	else if (!has_form(key))
		mistakes_add(
			mistakes, line,
			"%.200s: found an unknown key, allowed: GROUP.KEY, model.layers.LAYER.ATTRIBUTE, "
			"model.layers, schema, sources",
			key);
	else
		return true;
	return false;
}

void draft_join(const char *prefix, const config_setting_t *member, char out[static DRAFT_KEY_BYTES])
{
	(void)snprintf(out, DRAFT_KEY_BYTES, "%s%s%s", prefix, *prefix ? "." : "",
		       config_setting_name(member));
}

/* ---- The draft ---- */

struct draft_trial *draft_add(struct draft *draft, unsigned line)
{
	if (!draft->trial)
		draft->trial = calloc(TRIALS_MAX, sizeof(*draft->trial));
	if (!draft->trial) {
		draft->r = -ENOMEM;
		return NULL;
	}
	draft->trial[draft->count].line = line;
	return &draft->trial[draft->count++];
}

const char *draft_keep_key(struct draft *draft, const char *key)
{
	char **list = realloc(draft->key, (draft->keys + 1) * sizeof(*list));

	if (!list)
		return NULL;
	draft->key = list;
	list[draft->keys] = strdup(key);
	return list[draft->keys] ? list[draft->keys++] : NULL;
}

bool draft_override(struct draft *draft, struct draft_trial *trial, const char *key,
		    const config_setting_t *value)
{
	struct config_override *list = trial->override;

	if (trial->overlay.count == trial->room) {
		list = realloc(list, (trial->room + 8) * sizeof(*list));
		if (!list) {
			draft->r = -ENOMEM;
			return false;
		}
		trial->room += 8;
		trial->override = list;
		trial->overlay.override = list;
	}
	list[trial->overlay.count++] = (struct config_override){ .key = key, .value = value };
	return true;
}

void draft_open(struct config *config, struct mistakes *mistakes, struct draft *ret)
{
	*ret = (struct draft){ .reading = {
				       .config = config, .mistakes = mistakes, .list = "experiments." } };
	config_init(&ret->made);
}

void draft_done(struct draft *draft)
{
	for (uint32_t i = 0; i < draft->count; i++)
		free(draft->trial[i].override);
	free(draft->trial);
	for (uint32_t i = 0; i < draft->keys; i++)
		free(draft->key[i]);
	free(draft->key);
	config_destroy(&draft->made);
	memset(draft, 0, sizeof(*draft));
}
