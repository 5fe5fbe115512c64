/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/init/conf.h"

#include "core/config/config_tree.h"

#include <inttypes.h>
#include <string.h>

#define PICTURE_SIDE 64u /* a picture that a first network reads */
#define DIM_MOST     16u /* numbers of the vector of a category */

/* ---- Stores ---- */

static void write_key(FILE *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, " %s = ", key);
	config_print_string(out, value);
	fputc(';', out);
}

static void write_store(FILE *out, const char *group, const char *url, const struct config_store *where)
{
	fprintf(out, "%s: {", group);
	write_key(out, "url", url);
	write_key(out, "endpoint", where->endpoint);
	write_key(out, "region", where->region);
	write_key(out, "credential", where->credential);
	write_key(out, "ca_file", where->ca_file);
	fputs(" };\n", out);
}

/* Returns the length of the URL of the folder in which the shards' folder lies; of a bucket, that of itself.
 */
static size_t parent_length(const char *url)
{
	const char *rest = strstr(url, "://") + strlen("://"), *slash = strrchr(rest, '/');

	return slash && slash > rest ? (size_t)(slash - url) : strlen(url);
}

static void write_stores(const struct seen *seen, const struct config_store *where, FILE *out)
{
	const size_t length = parent_length(where->url);
	char *sink;

	fputs("run: { name = \"first\"; epochs = 10; batch_rows = 32; };\n", out);
	write_store(out, "source", where->url, where);
	fputs("# Where the runs write checkpoints, curves and the model.\n", out);
	if (asprintf(&sink, "%.*s/runs", (int)length, where->url) >= 0) {
		write_store(out, "sink", sink, where);
		free(sink);
	}
	fputs("ring: { small_pages = true; };\n", out);
	if (seen->validation)
		fputs("# The shards validation-* validate.\nsplit: { by = \"prefix\"; };\n", out);
	else
		fputs("# About a tenth of the training shards validate, by a hash of their names.\n"
		      "split: { by = \"hash\"; };\n",
		      out);
}

/* ---- The schema ---- */

static void write_feature(const struct seen_feature *feature, bool first, FILE *out)
{
	fputs(first ? "  { name = " : ",\n  { name = ", out);
	config_print_string(out, feature->name);
	fprintf(out, "; dtype = \"%s\";", feature->dtype);
	if (feature->use == SEEN_PICTURE) {
		fprintf(out, " shape = [ %u, %u, 3 ]; fit = \"crop\"; antialias = true; }", PICTURE_SIDE,
			PICTURE_SIDE);
		return;
	}
	if (feature->values_max) {
		fprintf(out, " values_max = %" PRIu64 "; }", feature->values_max);
		return;
	}
	fputs(" shape = [", out);
	for (uint32_t i = 0; i < feature->rank; i++)
		fprintf(out, "%s %" PRIu64, i ? "," : "", feature->shape[i]);
	fprintf(out, " ];%s }", feature->missing ? " missing = \"default\"; fill = 0.0;" : "");
}

/* A picture, an image and tokens are the only input of a first network. Returns the only input; NULL: all
 * numbers and categories are inputs. */
static const struct seen_feature *only_input(const struct seen *seen)
{
	const struct seen_feature *only = NULL;
	uint32_t inputs = 0;

	for (uint32_t i = 0; i < seen->features; i++) {
		const struct seen_feature *feature = &seen->feature[i];

		if (feature->use == SEEN_PICTURE || feature->use == SEEN_IMAGE || feature->use == SEEN_TOKENS)
			return feature;
		if (feature->use == SEEN_LABEL || feature->use == SEEN_NOTHING)
			continue;
		only = feature;
		inputs++;
	}
	return inputs == 1 ? only : NULL;
}

static bool is_read(const struct seen_feature *feature, const struct seen_feature *only)
{
	return feature->use == SEEN_LABEL || (only ? feature == only : feature->use != SEEN_NOTHING);
}

static void write_schema(const struct seen *seen, FILE *out)
{
	const struct seen_feature *only = only_input(seen);
	bool first = true;

	for (uint32_t i = 0; i < seen->features; i++) {
		const struct seen_feature *feature = &seen->feature[i];

		if (is_read(feature, only))
			continue;
		fputs("# Not read: ", out);
		config_print_string(out, feature->name);
		fprintf(out, " (%s)\n",
			feature->use == SEEN_NOTHING ? feature->why : "another feature is the input");
	}
	fputs("schema = (\n", out);
	for (uint32_t i = 0; i < seen->features; i++) {
		if (!is_read(&seen->feature[i], only))
			continue;
		write_feature(&seen->feature[i], first, out);
		first = false;
	}
	fputs("\n);\n", out);
}

/* ---- The network ---- */

static void write_input(const char *name, FILE *out)
{
	fputs("inputs = [ ", out);
	config_print_string(out, name);
	fputs(" ]; ", out);
}

/* A small vector for a small category: about the fourth root of its values, times two. */
static uint64_t dim_of(uint64_t ids)
{
	uint64_t dim = 2;

	while (dim < DIM_MOST && (dim / 2) * (dim / 2) * (dim / 2) * (dim / 2) < ids)
		dim++;
	return dim;
}

/* Writes a layer for each feature of a table, and the layer that joins them. */
static void write_table(const struct seen *seen, FILE *out)
{
	const char *join = "";

	for (uint32_t i = 0; i < seen->features; i++) {
		const struct seen_feature *feature = &seen->feature[i];

		if (feature->use == SEEN_NUMBERS || feature->use == SEEN_VECTOR) {
			fprintf(out, "    { op = \"normalization\"; name = \"in%u\"; ", i);
			write_input(feature->name, out);
			fputs("},\n", out);
		} else if (feature->use == SEEN_CATEGORY) {
			fprintf(out, "    { op = \"embedding\"; name = \"vector%u\"; ", i);
			write_input(feature->name, out);
			fprintf(out,
				"input_dim = %" PRIu64 "; output_dim = %" PRIu64
				"; }, { op = \"flatten\"; name = \"in%u\"; },\n",
				feature->ids, dim_of(feature->ids), i);
		}
	}
	fputs("    { op = \"concatenate\"; inputs = [", out);
	for (uint32_t i = 0; i < seen->features; i++) {
		if (!is_read(&seen->feature[i], NULL) || seen->feature[i].use == SEEN_LABEL)
			continue;
		fprintf(out, "%s \"in%u\"", join, i);
		join = ",";
	}
	fputs(" ]; },\n", out);
}

static void write_convolutions(FILE *out)
{
	for (uint32_t filters = 16; filters <= 64; filters *= 2)
		fprintf(out,
			"    { op = \"conv2d\"; filters = %u; kernel_size = 3; padding = \"same\"; "
			"activation = "
			"\"relu\"; }, { op = \"max_pooling2d\"; },\n",
			filters);
	fputs("    { op = \"flatten\"; }, { op = \"dropout\"; rate = 0.3; },\n", out);
}

static void write_layers_of_input(const struct seen *seen, const struct seen_feature *only, FILE *out)
{
	if (!only) {
		fputs("    # Numbers are scaled by mean and variance of the training split; each id of a "
		      "category gets a "
		      "vector.\n",
		      out);
		write_table(seen, out);
	} else if (only->use == SEEN_PICTURE) {
		fputs("    { op = \"random_flip\"; mode = \"horizontal\"; }, { op = \"random_rotation\"; "
		      "factor = 0.05; "
		      "},\n"
		      "    { op = \"rescaling\"; scale = 0.00392156862745098; },\n",
		      out);
		write_convolutions(out);
	} else if (only->use == SEEN_IMAGE) {
		if (strcmp(only->dtype, "uint8") == 0)
			fputs("    { op = \"rescaling\"; scale = 0.00392156862745098; },\n", out);
		write_convolutions(out);
	} else if (only->use == SEEN_TOKENS) {
		fprintf(out,
			"    { op = \"embedding_bag\"; input_dim = %" PRIu64
			"; output_dim = 32; combiner = \"sqrtn\"; },\n    { op = \"dropout\"; rate = 0.5; "
			"},\n",
			only->ids);
		return;
	} else if (only->use == SEEN_CATEGORY) {
		fprintf(out,
			"    { op = \"embedding\"; input_dim = %" PRIu64 "; output_dim = %" PRIu64
			"; }, { op = \"flatten\"; },\n",
			only->ids, dim_of(only->ids));
	} else if (only->use == SEEN_NUMBERS) {
		fputs("    # The numbers are scaled by mean and variance of the training split.\n"
		      "    { op = \"normalization\"; },\n",
		      out);
	}
	fputs("    { op = \"dense\"; units = 64; activation = \"relu\"; }, { op = \"dropout\"; rate = 0.2; "
	      "},\n",
	      out);
}

/* Returns how many numbers the label has. */
static uint64_t label_values(const struct seen *seen)
{
	const struct seen_feature *label = &seen->feature[seen->label];
	uint64_t values = 1;

	for (uint32_t i = 0; i < label->rank; i++)
		values *= label->shape[i];
	return values;
}

static void write_model(const struct seen *seen, FILE *out)
{
	const struct seen_feature *only = only_input(seen);
	const uint64_t values = label_values(seen);

	fputs("model: {\n", out);
	if (only) {
		fputs("  input = ", out);
		config_print_string(out, only->name);
		fputs(";\n", out);
	}
	fputs("  label = ", out);
	config_print_string(out, seen->feature[seen->label].name);
	if (seen->classes)
		fprintf(out,
			";\n  # One of %" PRIu64
			" classes. The metrics are the loss and the accuracy.\n  loss = \"%s\";\n",
			seen->classes,
			values > 1 ? "categorical_crossentropy" : "sparse_categorical_crossentropy");
	else
		fputs(";\n  # A number. The metric is the loss.\n  loss = \"mean_squared_error\";\n", out);
	fputs("  layers = (\n", out);
	write_layers_of_input(seen, only, out);
	if (seen->classes)
		fprintf(out,
			"    { op = \"dense\"; name = \"classes\"; units = %" PRIu64
			"; }, { op = \"softmax\"; }\n",
			seen->classes);
	else
		fprintf(out, "    { op = \"dense\"; name = \"number\"; units = %" PRIu64 "; }\n", values);
	fputs("  );\n};\n", out);
}

int conf_write(const struct seen *seen, const struct config_store *where, FILE *out, struct error *err)
{
	uint32_t inputs = 0;

	for (uint32_t i = 0; i < seen->features; i++)
		inputs += seen->feature[i].use != SEEN_LABEL && seen->feature[i].use != SEEN_NOTHING;
	if (inputs == 0)
		return error_set(err, -EINVAL,
				 "%s: found no feature beside the label that a network can read", where->url);
	fputs("# Written by kiln init. Every other key has a default: see kiln.conf(5).\n", out);
	write_stores(seen, where, out);
	fputs("# What a record has.\n", out);
	write_schema(seen, out);
	fputs("# A first network. `kiln model layers` lists all layers.\n", out);
	write_model(seen, out);
	fputs("optimizer: { name = \"adam\"; learning_rate = 0.001; };\n"
	      "# The model of the epoch with the lowest validation loss is kept.\n"
	      "keep_best: { monitor = \"val_loss\"; };\n",
	      out);
	return 0;
}
