/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln preview`: the first training pictures as the network will see them, as PNG files. */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/preview/first_records.h"
#include "cli/preview/png_write.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"

#include <inttypes.h>
#include <string.h>

#define DATASET_MAX (4u << 20)
#define ROWS        16u
#define NAME_BYTES  64u

struct preview {
	struct config config;
	struct first_records records;
	const char *folder;
	uint64_t most;
	uint32_t picture, label; /* features; label: UINT32_MAX = none of numbers */
	cJSON *dataset;          /* NULL: there is no dataset.json */
	bool json;
};

static bool is_picture(const struct config_feature *feature)
{
	return feature->dtype == CONFIG_PICTURE || (feature->dtype == CONFIG_UINT8 && feature->rank == 3 &&
						    (feature->shape[2] == 1 || feature->shape[2] == 3));
}

static int find_features(struct preview *preview, struct error *err)
{
	const struct config *config = &preview->config;

	preview->picture = preview->label = UINT32_MAX;
	for (uint32_t i = 0; i < config->features; i++) {
		if (preview->picture == UINT32_MAX && is_picture(&config->feature[i]))
			preview->picture = i;
		if (strcmp(config->feature[i].name, config->model.label) == 0 &&
		    config->feature[i].dtype == CONFIG_INT64 && !config->feature[i].values_max)
			preview->label = i;
	}
	return preview->picture != UINT32_MAX
		       ? 0
		       : error_set(
				 err, -EINVAL,
				 "%s: schema: found no pictures, expected a feature of dtype \"picture\", or "
				 "of uint8 with the shape [ height, width, 1 or 3 ]",
				 config->file);
}

static int read_dataset(struct preview *preview, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = store_get_all(preview->records.store, "dataset.json", DATASET_MAX, &text, &bytes, err);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : json_parse("dataset.json", text, bytes, &preview->dataset, err);
}

/* Returns the class of the record: a number, or the largest element of a one-hot row. */
static uint64_t class_of(const struct preview *preview)
{
	const struct example_feature *feature = &preview->records.schema.feature[preview->label];
	const int64_t *values = (const int64_t *)(const void *)preview->records.batch.values[preview->label];
	uint64_t best = 0;

	if (feature->elements == 1)
		return (uint64_t)values[0];
	for (uint64_t i = 1; i < feature->elements; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

/* Writes the name of the record's class with letters, digits, '.', '_' and '-' alone. */
static void name_class(const struct preview *preview, char out[static NAME_BYTES])
{
	const cJSON *classes = json_member(preview->dataset, "classes");
	const uint64_t class = preview->label == UINT32_MAX ? 0 : class_of(preview);
	const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(classes, (int)class));

	if (preview->label == UINT32_MAX)
		(void)snprintf(out, NAME_BYTES, "picture");
	else if (name)
		(void)snprintf(out, NAME_BYTES, "%s", name);
	else
		(void)snprintf(out, NAME_BYTES, "%" PRIu64, class);
	for (char *at = out; *at; at++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *at))
			*at = '_';
}

static int write_picture(const struct preview *preview, uint64_t number, struct error *err)
{
	const struct config_feature *feature = &preview->config.feature[preview->picture];
	char path[PATH_BYTES], name[NAME_BYTES];
	CLEANUP(json_free) cJSON *json = NULL;
	int r;

	name_class(preview, name);
	(void)snprintf(path, sizeof(path), "%s/%04" PRIu64 "-%s.png", preview->folder, number, name);
	r = png_write(path, preview->records.batch.values[preview->picture], (uint32_t)feature->shape[0],
		      (uint32_t)feature->shape[1], (uint32_t)feature->shape[2], err);
	if (r < 0)
		return r;
	if (!preview->json) {
		printf("%s\n", path);
		return 0;
	}
	json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "file", json_string(path));
	cJSON_AddItemToObject(json, "shard", json_string(preview->records.key[preview->records.shard - 1]));
	cJSON_AddStringToObject(json, "label", name);
	(void)cli_print_json_line(json);
	return 0;
}

static int write_pictures(struct preview *preview, const char *file, struct error *err)
{
	int r;

	if ((r = config_load(file, &preview->config, err)) < 0 || (r = find_features(preview, err)) < 0 ||
	    (r = first_records_open(&preview->config, &preview->records, err)) < 0 ||
	    (r = read_dataset(preview, err)) < 0 || (r = path_make(preview->folder, err)) < 0)
		return r;
	for (uint64_t i = 0; i < preview->most; i++) {
		if ((r = first_records_next(&preview->records, err)) <= 0)
			return r;
		if ((r = write_picture(preview, i, err)) < 0)
			return r;
	}
	return 0;
}

static void done(struct preview *preview)
{
	first_records_done(&preview->records);
	cJSON_Delete(preview->dataset);
	config_done(&preview->config);
}

static int preview_verb(const struct arguments *arguments)
{
	CLEANUP(done)
	struct preview preview = { .folder = arguments_text(arguments, "output"),
				   .most = arguments_number(arguments, "rows", ROWS),
				   .json = arguments_have(arguments, "json") };
	struct error err = { 0 };

	if (!preview.folder)
		return cli_usage(arguments->name, "expected --output FOLDER");
	return write_pictures(&preview, arguments_operand(arguments, 0), &err) < 0 ? cli_error(&err) : CLI_OK;
}

static const struct verb_operand operands[] = { { .name = "CONF", .value = VERB_FILE }, { 0 } };

static const struct verb_option options[] = {
	{ .name = "output",
	  .value = VERB_FOLDER,
	  .argument = "FOLDER",
	  .help = "folder for the PNG files, which is made where it is missing" },
	{ .name = "rows",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = 10000,
	  .help = "number of pictures, default 16" },
	{ .name = "json", .help = "print a JSON object for each picture: file, shard, label" },
	{ 0 },
};

const struct verb verb_preview = {
	.name = "preview",
	.summary = "write the first training pictures as the network will see them",
	.synopsis = "preview CONF --output FOLDER [OPTION...]",
	.about = "Decodes the first records of the first training shards of CONF as epoch 1 does: resized, "
		 "turned "
		 "by their orientation and, with random_crop, cut at the place of epoch 1. Writes each "
		 "picture as a "
		 "PNG file, whose name has its number and its class. The records come in the order of the "
		 "shards, "
		 "not in that of the training. Layers of the network do not change the pictures.",
	.operands = operands,
	.options = { options },
	.here = true,
	.run = preview_verb,
};
