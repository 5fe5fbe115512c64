/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/records_options.h"

#include <string.h>

const struct verb_option records_options[] = {
	{ .name = "split",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "train|validation|test",
	  .help = "read the shards of this split, as the run's plan lists them; default test" },
	{ .name = "data",
	  .value = VERB_URL,
	  .argument = "URL",
	  .help = "read other shards: those below s3://bucket/prefix or file:///folder whose names match the "
		  "split's glob in a source of the model's configuration; - = read standard input, one JSON "
		  "object per line: {\"FEATURE\": VALUES, ...}" },
	{ .name = "data-as-it-is-now",
	  .help = "read a shard of the plan that has changed since the run as it is now; without this "
		  "option, "
		  "such a shard is an error" },
	{ 0 },
};

void records_read(struct records_source *source, const struct arguments *arguments)
{
	const char *name = arguments_text(arguments, "split");

	source->data = arguments_text(arguments, "data");
	source->as_it_is_now = arguments_have(arguments, "data-as-it-is-now");
	source->given = name || source->data || source->as_it_is_now;
	source->split = SPLIT_TEST;
	for (enum split split = 0; name && split < SPLIT_MAX; split++)
		if (strcmp(name, split_name(split)) == 0)
			source->split = split;
}
