/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/records_options.h"

#include "cli/table/rows.h"
#include "cli/table/table.h"

#include <string.h>

const struct verb_option records_options[] = {
	{ .name = "split",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "train|validation|test",
	  .help = "read the shards of this split, as the run's plan lists them; default test" },
	{ .name = "data",
	  .value = VERB_LOCATION,
	  .argument = "INPUT",
	  .help = "read other data: shards below s3://bucket/prefix or file:///folder whose names match the "
		  "split's glob of the model's configuration; a table whose name ends with .csv, .tsv, "
		  ".jsonl or .ndjson, also with .gz or .zst; - = standard input, JSON objects {\"FEATURE\": "
		  "VALUES, ...}, one per line, or CSV with a header" },
	{ .name = "data-as-it-is-now",
	  .help = "read a shard of the plan that has changed since the run as it is now; without this "
		  "option, such a shard is an error" },
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

int records_open_table(struct records_source *source, const struct trained *trained, const char *name,
		       struct error *err)
{
	struct config_store where = trained->where;

	where.at[0] = '\0'; /* the commit belongs to the sink */
	source->data = name;
	return table_rows_open(&where, name, &source->rows, err);
}

int records_open_rows(struct records_source *source, const struct trained *trained, struct error *err)
{
	if (!source->data || (strcmp(source->data, "-") != 0 && table_format_of(source->data) < 0))
		return 0;
	return records_open_table(source, trained, source->data, err);
}
