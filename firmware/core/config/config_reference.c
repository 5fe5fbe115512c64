/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of keys as the documented kiln.conf. */
#include "core/base/wrap.h"
#include "core/config/config_keys.h"

#include <string.h>

#define WIDTH 112 /* longest line in columns */

/* Keys that a new file should not leave at their defaults. The defaults stay what they were, so that a file
 * from before the better value existed keeps its meaning. */
static const struct {
	const char *key, *value;
} in_new_file[] = { { "split.by", "hash" } };

static const char *value_in_new_file(const struct config_key *key)
{
	for (size_t i = 0; i < sizeof(in_new_file) / sizeof(in_new_file[0]); i++)
		if (strcmp(key->name, in_new_file[i].key) == 0)
			return in_new_file[i].value;
	return key->fallback;
}

/* Prints text as comment lines of at most WIDTH columns. The first line begins with `first`, the other lines
 * with `next`. */
static void print_comment(FILE *out, const char *first, const char *next, const char *text)
{
	char further[64];

	(void)snprintf(further, sizeof(further), "%s ", next);
	fprintf(out, "%s ", first);
	wrap_print(text, strlen(first) + 1, further, WIDTH, out);
}

static void print_documented(FILE *out, const struct config_key *key, const char *indent, const char *end)
{
	char allowed[256], text[1024], hash[8];
	bool plain = key->type == KEY_INT || key->type == KEY_FLOAT || key->type == KEY_BOOL;
	const char *before = plain ? "" : key->type == KEY_NUMBERS ? "[ " : "\"";
	const char *after = plain ? "" : key->type == KEY_NUMBERS ? "]" : "\"";
	bool wide =
		key->type == KEY_INT && strtoull(key->fallback ? key->fallback : "", NULL, 10) > INT32_MAX;
	const char *name = strchr(key->name, '.') ? strchr(key->name, '.') + 1 : key->name;

	config_allowed(key, allowed, sizeof(allowed));
	(void)snprintf(hash, sizeof(hash), "%s#", indent);
	(void)snprintf(text, sizeof(text), "%s.", key->help);
	print_comment(out, hash, hash, text);
	(void)snprintf(text, sizeof(text), "%s%s%s%s", allowed, *key->unit ? "; unit: " : "", key->unit,
		       key->fallback ? "" : "; must be given");
	print_comment(out, hash, hash, text);
	if (key->fallback)
		fprintf(out, "%s%s = %s%s%s%s%s\n", indent, name, before, value_in_new_file(key), after,
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
		char allowed[256], first[32], next[32], text[1024];

		config_allowed(&keys[i], allowed, sizeof(allowed));
		(void)snprintf(first, sizeof(first), "#   %-*s", width, keys[i].name);
		(void)snprintf(next, sizeof(next), "#   %*s", width, "");
		(void)snprintf(text, sizeof(text), "%s (%s)%s%s", keys[i].help, allowed,
			       !fallback   ? "; must be given"
			       : *fallback ? "; default "
					   : "",
			       fallback ? fallback : "");
		print_comment(out, first, next, text);
	}
}

/* Prints the help for the list `sources`, which replaces the group `source`, and whose elements have the keys
 * of this group. */
static void print_source_help(FILE *out)
{
	size_t first = 0;

	while (config_source_keys[first].type != KEY_FLOAT)
		first++;
	fputs("# Several sources, mixed by weight: instead of the group `source` a list\n"
	      "#   sources = ( { url = \"s3://bucket/a\"; weight = 2.0; }, { url = \"s3://bucket/b\"; } );\n"
	      "# An epoch is one pass over the first source; each other source starts again when it ends.\n"
	      "# Each { } has the keys of `source`, and these:\n",
	      out);
	print_element_help(out, config_source_keys + first, config_source_keys_count - first);
	fputs("\n", out);
}

static void print_feature_help(FILE *out)
{
	fputs("# The features of a record: a { } for each, with these keys:\n", out);
	print_element_help(out, config_feature_keys, config_picture_keys);
	fputs("#   shape      sizes of the dimensions; [ ] = a single value\n", out);
	fputs("# A feature of dtype \"picture\" also has these keys:\n", out);
	print_element_help(out, config_feature_keys + config_picture_keys,
			   config_feature_keys_count - config_picture_keys);
}

static void print_preprocess_help(FILE *out)
{
	fputs("# Features that are made of features while training, as Keras's preprocessing layers make "
	      "them: a list\n"
	      "#   preprocess = ( { op = \"string_lookup\"; name = \"city_id\"; input = \"city\"; vocabulary "
	      "= [ \"Bonn\", "
	      "\"Oslo\" ]; } );\n"
	      "# A layer reads them by name. Each { } has these keys:\n",
	      out);
	print_element_help(out, config_preprocess_keys, config_preprocess_keys_count);
	fputs("#   vocabulary  lookups: the known values, strings or integers, in the order of their "
	      "numbers\n"
	      "#   mask_token  lookups: a value that means nothing, and gets the number 0 (output_mode int)\n"
	      "#   mask_value  hashing: the same\n"
	      "#   salt        hashing: an integer, or [ ] of two: SipHash with this key, instead of "
	      "FarmHash\n",
	      out);
}

/* Prints the help for the two lists of trials, which have keys of other groups. */
static void print_trials_help(FILE *out)
{
	fputs("# Several trials in a night: a list of them, or a sweep, or both. A trial is this file with "
	      "other "
	      "values.\n"
	      "#   experiments = ( { name = \"wide\"; overrides = { optimizer = { learning_rate = 0.01; };\n"
	      "#                     model = { layers = { dense_1 = { units = 512; }; }; }; }; } );\n"
	      "#   vary = { optimizer = { learning_rate = { min = 1e-4; max = 1e-1; scale = \"log\"; };\n"
	      "#                          name = [ \"adam\", \"sgd\" ]; }; };\n"
	      "# A layer has its `name` or, as in Keras, dense, dense_1, ... `scale` is linear or log.\n",
	      out);
}

int config_reference(FILE *out, struct error *err)
{
	fputs("# Kiln's configuration: every key with its default, printed by `kiln config reference`.\n"
	      "# split.by alone has another value than the default: the one that a new file should have.\n"
	      "# A file of your own needs only source.url, sink.url and the keys that differ.\n"
	      "# Integers above 2147483647 end in L.\n\n",
	      out);
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];

		if (config_opens_group(i) && strncmp(key->name, "series.", 7) == 0)
			print_trials_help(out);
		if (config_opens_group(i))
			fprintf(out, "%.*s: {\n", config_group_length(key), key->name);
		print_documented(out, key, "  ", ";");
		if (config_closes_group(i) && strncmp(key->name, "model.", 6) == 0)
			fprintf(out,
				"  # The network, first layer first: { op; name; inputs = [ names ]; and the "
				"attributes of the op }.\n"
				"  # A layer without `inputs` reads the layer before it.\n"
				"  %s",
				config_default_layers);
		if (config_closes_group(i))
			fputs("};\n\n", out);
		if (config_closes_group(i) && strncmp(key->name, "source.", 7) == 0)
			print_source_help(out);
	}
	print_feature_help(out);
	fputs(config_default_schema, out);
	fputs("\n", out);
	print_preprocess_help(out);
	return ferror(out) ? error_set(err, -EIO, "cannot write the reference") : 0;
}
