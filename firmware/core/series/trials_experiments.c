/* SPDX-License-Identifier: Apache-2.0 */
/* Reads `experiments`: trials by name. */
#include "core/series/trials_draft.h"

#include "core/base/nearest.h"

#include <string.h>

/* Adds the values of nested groups to a trial. */
static void read_overrides(struct draft *draft, struct draft_trial *trial, const char *prefix,
			   const config_setting_t *group)
{
	char key[DRAFT_KEY_BYTES];

	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
		const unsigned line = config_setting_source_line(member);
		const char *kept;

		draft_join(prefix, member, key);
		if (config_setting_is_group(member)) {
			read_overrides(draft, trial, key, member);
		} else if (draft_key_allowed(draft->reading.mistakes, key, line)) {
			kept = draft_keep_key(draft, key);
			if (!kept || !draft_override(draft, trial, kept, member))
				draft->r = -ENOMEM;
		}
	}
}

static void read_member(struct draft *draft, struct draft_trial *trial, const config_setting_t *member)
{
	static const struct config_key name_row = { .name = "name",
						    .type = KEY_NAME,
						    .offset = offsetof(struct draft_trial, name) };
	const char *name = config_setting_name(member);
	const unsigned line = config_setting_source_line(member);
	struct nearest nearest = { .typed = name };
	char found[128], meant[NEAREST_TEXT_BYTES];

	if (strcmp(name, "name") == 0) {
		config_read_value(&draft->reading, &name_row, member, trial);
	} else if (strcmp(name, "overrides") != 0) {
		nearest_try(&nearest, "name");
		nearest_try(&nearest, "overrides");
		mistakes_add(draft->reading.mistakes, line,
			     "experiments.%.100s: found an unknown key, allowed: name, overrides%s", name,
			     nearest_text(&nearest, meant));
	} else if (!config_setting_is_group(member)) {
		mistakes_add(
			draft->reading.mistakes, line,
			"experiments.overrides: found %s, allowed: groups as in kiln.conf, { optimizer = { "
			"learning_rate = 0.1; }; }",
			config_found(member, found, sizeof(found)));
	} else {
		read_overrides(draft, trial, "", member);
	}
}

static void read_experiment(struct config_reading *reading, const config_setting_t *group)
{
	struct draft *draft = (struct draft *)(void *)reading;
	struct draft_trial *trial = draft_add(draft, config_setting_source_line(group));

	if (!trial)
		return;
	for (int i = 0; i < config_setting_length(group); i++)
		read_member(draft, trial, config_setting_get_elem(group, (unsigned)i));
	if (!config_setting_get_member(group, "name"))
		mistakes_add(reading->mistakes, trial->line,
			     "experiments.name: found nothing, it must be given");
}

int draft_read_experiments(struct draft *draft)
{
	const config_setting_t *list = config_lookup(&draft->reading.config->memory->file, "experiments");

	if (list)
		config_read_list(&draft->reading, list, "experiments", TRIALS_MAX, "trials", read_experiment);
	return draft->r;
}
