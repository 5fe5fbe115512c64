/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys as the documented kiln.conf. */
#include "core/config/config_keys.h"

#include <string.h>

static void print_documented(FILE *out, const struct config_key *key, const char *indent, const char *end)
{
	char allowed[256];
	bool plain = key->type == KEY_INT || key->type == KEY_FLOAT || key->type == KEY_BOOL;
	const char *before = plain ? "" : key->type == KEY_NUMBERS ? "[ " : "\"";
	const char *behind = plain ? "" : key->type == KEY_NUMBERS ? "]" : "\"";
	bool wide =
		key->type == KEY_INT && strtoull(key->fallback ? key->fallback : "", NULL, 10) > INT32_MAX;
	const char *name = strchr(key->name, '.') ? strchr(key->name, '.') + 1 : key->name;

	config_allowed(key, allowed, sizeof(allowed));
	fprintf(out, "%s# %s.\n%s# %s%s%s%s\n", indent, key->help, indent, allowed,
		*key->unit ? "; unit: " : "", key->unit, key->fallback ? "" : "; must be given");
	if (key->fallback)
		fprintf(out, "%s%s = %s%s%s%s%s\n", indent, name, before, key->fallback, behind,
			wide ? "L" : "", end);
	else
		fprintf(out, "%s%s = \"%s\"%s\n", indent, name,
			key->type == KEY_URL
				? (strncmp(key->name, "source", 6) == 0 ? "file:///data/kiln/store/data"
									: "file:///data/kiln/store/runs")
				: "",
			end);
}

static void print_element_help(FILE *out, const struct config_key *keys, size_t count)
{
	int width = 8;

	for (size_t i = 0; i < count; i++)
		width = (int)strlen(keys[i].name) > width ? (int)strlen(keys[i].name) : width;
	for (size_t i = 0; i < count; i++) {
		const char *fallback = keys[i].fallback;
		char allowed[256];

		config_allowed(&keys[i], allowed, sizeof(allowed));
		fprintf(out, "#   %-*s %s (%s)%s%s\n", width, keys[i].name, keys[i].help, allowed,
			!fallback   ? "; must be given"
			: *fallback ? "; default "
				    : "",
			fallback ? fallback : "");
	}
}

/* The list `sources` replaces the group `source`; its elements have the keys of the group, too. */
static void print_source_help(FILE *out)
{
	size_t first = 0;

	while (config_source_keys[first].type != KEY_FLOAT)
		first++;
	fputs("# Several sources, mixed by weight: in the place of `source` a list\n"
	      "#   sources = ( { url = \"s3://bucket/a\"; weight = 2.0; }, { url = \"s3://bucket/b\"; } );\n"
	      "# An epoch is one pass over the first; the others begin anew as often as they end. Each { } "
	      "has "
	      "the keys of `source`\n# and these:\n",
	      out);
	print_element_help(out, config_source_keys + first, config_source_keys_count - first);
	fputs("\n", out);
}

static void print_feature_help(FILE *out)
{
	fputs("# What a record holds: one { } a feature, with these keys:\n", out);
	print_element_help(out, config_feature_keys, config_feature_keys_count);
	fputs("#   shape    sizes of its dimensions, [ ] for a single value\n", out);
}

int config_reference(FILE *out, struct error *err)
{
	fputs("# Kiln's configuration: every key with its default. Written by `kiln config reference`; a "
	      "file of your own needs\n"
	      "# only source.url, sink.url and what differs. Integers above 2147483647 carry an L.\n\n",
	      out);
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];

		if (config_opens_group(i))
			fprintf(out, "%.*s: {\n", config_group_length(key), key->name);
		print_documented(out, key, "  ", ";");
		if (config_closes_group(i) && strncmp(key->name, "model.", 6) == 0)
			fprintf(out,
				"  # The network, first layer first: { op; name; inputs = [ names ]; and "
				"what the op takes }.\n"
				"  # Without `inputs` a layer gets the one before it.\n"
				"  %s",
				config_default_layers);
		if (config_closes_group(i))
			fputs("};\n\n", out);
		if (config_closes_group(i) && strncmp(key->name, "source.", 7) == 0)
			print_source_help(out);
	}
	print_feature_help(out);
	fputs(config_default_schema, out);
	return ferror(out) ? error_set(err, -EIO, "cannot write the reference") : 0;
}
