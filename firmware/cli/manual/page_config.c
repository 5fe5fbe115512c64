/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual/pages.h"
#include "cli/manual/roff.h"
#include "core/config/config_keys.h"

#include <string.h>

static const char *fallback_text(const struct config_key *key)
{
	if (!key->fallback)
		return "must be given";
	return *key->fallback ? key->fallback : "empty";
}

static void put_key(FILE *out, const struct config_key *key)
{
	char allowed[256];

	config_allowed(key, allowed, sizeof(allowed));
	roff_item(out, key->name, "%s.", key->help);
	roff_item_more(out, "%s%s%s; %s%s", allowed, *key->unit ? "; unit: " : "", key->unit,
		       key->fallback ? "default: " : "", fallback_text(key));
}

/* Starts a new group on the page where the key's group differs from that of the key before. */
static void put_group(FILE *out, const struct config_key *key, const struct config_key *before)
{
	const size_t length = strcspn(key->name, ".");
	char heading[64];

	if (before && strncmp(key->name, before->name, length + 1) == 0)
		return;
	(void)snprintf(heading, sizeof(heading), "%.*s", (int)length, key->name);
	roff_group(out, heading);
}

static void put_keys(FILE *out, const struct config_key *keys, size_t count, bool grouped)
{
	for (size_t i = 0; i < count; i++) {
		if (grouped)
			put_group(out, &keys[i], i ? &keys[i - 1] : NULL);
		put_key(out, &keys[i]);
	}
}

static void put_form(FILE *out)
{
	roff_section(out, "DESCRIPTION");
	roff_paragraph(
		out,
		"One file in libconfig's syntax holds the whole configuration of a box. A group is written "
		"`run: { epochs = 3; };`, a string in double quotes, a list of groups `( { ... }, { ... } "
		")`. "
		"An integer above 2147483647 ends in L. Only `source.url` and `sink.url` must be given; "
		"every "
		"other key has a default.");
	roff_paragraph(
		out,
		"An unknown key, a key given twice and a value out of bounds are errors. `kiln config check` "
		"prints all of them at once with file, line, key, what was found and what is allowed. "
		"`kiln config show` prints the values in effect.");
	roff_paragraph(out, "When a run begins, Kiln makes a copy of the file for the run. A later edit of "
			    "the file does not change this run.");
}

static void put_lists(FILE *out)
{
	size_t own = 0;

	while (config_source_keys[own].type != KEY_FLOAT)
		own++;
	roff_section(out, "SEVERAL SOURCES");
	roff_paragraph(out,
		       "The list `sources`, given instead of the group `source`, mixes the records of "
		       "several stores by weight. An epoch is one pass over the first source; each other "
		       "source begins again when it ends. An element has the keys of `source` and these:");
	put_keys(out, config_source_keys + own, config_source_keys_count - own, false);
	roff_section(out, "SCHEMA");
	roff_paragraph(
		out, "The list `schema` says what a record holds: one element per feature, with these keys:");
	put_keys(out, config_feature_keys, config_feature_keys_count, false);
	roff_item(out, "shape", "sizes of the feature's dimensions, [ ] for a single value");
	roff_paragraph(out, "Without `schema` the file means:");
	roff_example(out, config_default_schema);
	roff_section(out, "PREPROCESS");
	roff_paragraph(out,
		       "The list `preprocess` makes features of the features of a record: one element per "
		       "new feature, with these keys:");
	put_keys(out, config_preprocess_keys, config_preprocess_keys_count, false);
	roff_item(out, "vocabulary", "string_lookup, integer_lookup: list of the known strings or integers");
	roff_item(out, "mask_token", "string_lookup, integer_lookup: the string or integer that is masked");
	roff_item(out, "mask_value", "hashing: the string or integer that gets the number 0");
	roff_item(out, "salt", "hashing: an integer or a list of two, the key of SipHash");
	roff_section(out, "LAYERS");
	roff_paragraph(
		out, "The list `model.layers` is the network, first layer first. An element has `op`, "
		     "`name`, `inputs` (names of earlier layers and features; default: the layer before) and "
		     "the attributes of its op. `kiln model layers` prints every op with its attributes, "
		     "what is allowed and the defaults. Without `model.layers` the file means:");
	roff_example(out, config_default_layers);
}

static void put_trials(FILE *out)
{
	roff_section(out, "TRIALS");
	roff_paragraph(
		out,
		"A night can train several trials. A trial is the file with other values. The list "
		"`experiments` has a group for each trial: `name`, and `overrides`, a group that is written "
		"as the file is. An attribute of a layer stands below the layer's name: its `name`, or its "
		"op "
		"with the number of layers of this op before it, as in Keras. A list such as `layers = ( ... "
		")` replaces the whole list.");
	roff_example(out, "experiments = ( { name = \"wide\"; overrides = {\n"
			  "    optimizer = { learning_rate = 0.01; };\n"
			  "    model = { layers = { dense_1 = { units = 512; }; }; }; }; } );");
	roff_paragraph(
		out,
		"The group `vary` has, in the place of a value, a list of values or a range `{ min; max; "
		"scale "
		"}`, whose `scale` is \"linear\" or \"log\". The group `series` says how trials are made of "
		"it. The file has at most 1000 trials, no two with one configuration.");
	roff_example(out, "vary = { optimizer = { name = [ \"adam\", \"sgd\" ];\n"
			  "    learning_rate = { min = 1e-4; max = 1e-1; scale = \"log\"; }; }; };");
	roff_paragraph(
		out,
		"A trial cannot change `run.name`, `run.days`, `run.at`, `run.zone`, `run.ends_at`, "
		"`run.catch_up` and the keys of `sink`, `power`, `update`, `notify`, `control`, `clock`, "
		"`heat`, `series`, `promote` and `tracking`.");
}

void page_config(FILE *out)
{
	roff_title(out, "kiln.conf", "5", "configuration of a Kiln box");
	roff_section(out, "SYNOPSIS");
	roff_synopsis(out, "/etc/kiln/kiln.conf");
	put_form(out);
	roff_section(out, "KEYS");
	put_keys(out, config_keys, config_keys_count, true);
	put_lists(out);
	put_trials(out);
	roff_section(out, "EXAMPLE");
	roff_example(out, "source: { url = \"s3://reviews/shards\"; endpoint = \"https://minio.lan:9000\"; "
			  "credential = \"minio\"; };\n"
			  "sink: { url = \"s3://reviews/runs\"; endpoint = \"https://minio.lan:9000\"; "
			  "credential = \"minio\"; };\n"
			  "run: { at = \"22:00\"; ends_at = \"06:00\"; zone = \"Europe/Berlin\"; };");
	roff_section(out, "FILES");
	roff_item(out, "/etc/kiln/kiln.conf",
		  "The file of this box. The variable `KILN_CONFIG` can name another file.");
	roff_item(out, "/etc/kiln/kiln.conf.reference",
		  "Every key with its default, as comments and values.");
	roff_item(
		out, "/data/kiln/credentials/NAME",
		"The credential that `source.credential`, `sink.credential` and the keys of `notify` name.");
	roff_see_also(out, "kiln(1), kiln-control(7), kiln-events(7)");
}
