/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln preview`: the first training pictures as the network will see them, as PNG files. */
#include "cli/base/arguments.h"
#include "cli/base/cache.h"
#include "cli/base/say.h"
#include "cli/preview/first_batches.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"
#include "data/png_write.h"
#include "drivers/gpu/gpu.h"
#include "drivers/store/dataset.h"
#include "model/view.h"
#include "trained/trained.h"

#include <inttypes.h>
#include <string.h>

#define ROWS       16u
#define NAME_BYTES 64u
#define INDEX      "index.html"

struct preview {
	struct config config;
	struct first_batches batches;
	struct view *view;
	struct gpu *gpu; /* NULL: no layer changes the pictures */
	const char *folder;
	FILE *index;
	uint8_t *pixels; /* of a batch, behind the layers */
	uint64_t most, written;
	uint32_t picture, label; /* features; label: UINT32_MAX = none of numbers */
	cJSON *dataset;          /* NULL: there is no dataset.json */
	bool json;
};

static int find_features(struct preview *preview, struct error *err)
{
	const struct config *config = &preview->config;

	preview->label = UINT32_MAX;
	preview->picture = view_feature(config);
	for (uint32_t i = 0; i < config->features; i++)
		if (strcmp(config->feature[i].name, config->model.label) == 0 &&
		    config->feature[i].dtype == CONFIG_INT64 && !config->feature[i].values_max)
			preview->label = i;
	return preview->picture != UINT32_MAX
		       ? 0
		       : error_set(err, -EINVAL,
				   "%s: schema: found no pictures, expected a feature of dtype \"picture\", "
				   "or of uint8 with the shape [ height, width, 1 or 3 ]",
				   config->file);
}

/* ---- Names ---- */

static int read_dataset(struct preview *preview, struct error *err)
{
	int r = plan_is_of_objects(preview->batches.plan)
			? -ENOENT
			: store_get_dataset(preview->batches.store[0], &preview->dataset, err);

	return r == -ENOENT ? 0 : r;
}

/* Returns the class of a row: a number, or the largest element of a one-hot row. */
static uint64_t class_of(const struct preview *preview, uint32_t row)
{
	const struct batch_slot *batch = &preview->batches.batch;
	const uint64_t elements = batch->schema->feature[preview->label].elements;
	const int64_t *values = (const int64_t *)(const void *)batch->values[preview->label] + row * elements;
	uint64_t best = 0;

	if (elements == 1)
		return (uint64_t)values[0];
	for (uint64_t i = 1; i < elements; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

static const char *class_name(const struct preview *preview, uint64_t class)
{
	const struct plan *plan = preview->batches.plan;

	if (plan_is_of_objects(plan))
		return class < plan_class_count(plan) ? plan_class(plan, class) : NULL;
	return dataset_class(preview->dataset, class);
}

/* Writes the name of the class of a row with letters, digits, '.', '_' and '-' alone. */
static void name_row(const struct preview *preview, uint32_t row, char out[static NAME_BYTES])
{
	const uint64_t class = preview->label == UINT32_MAX ? 0 : class_of(preview, row);
	const char *name = class_name(preview, class);

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

/* ---- Files ---- */

static int print_picture(const struct preview *preview, const char *path, uint32_t row, const char *label)
{
	const struct first_batches *batches = &preview->batches;
	const struct first_origin *origin = &batches->origin[row];
	CLEANUP(json_free) cJSON *json = NULL;

	if (!preview->json)
		return printf("%s\n", path) < 0 ? -EIO : 0;
	json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "file", json_string(path));
	cJSON_AddItemToObject(json, "shard", json_string(origin->key));
	cJSON_AddNumberToObject(json, "record", origin->number);
	cJSON_AddNumberToObject(json, "row",
				(double)(batches->passed - preview->config.order.skip_rows +
					 order_batch_row(&batches->part, row)));
	cJSON_AddStringToObject(json, "label", label);
	return cli_print_json_line(json) == CLI_OK ? 0 : -EIO;
}

/* The page shows each picture with its class; neither name has a character that HTML gives a meaning. */
static int add_to_index(struct preview *preview, const char *file, const char *label, struct error *err)
{
	return fprintf(preview->index,
		       "<figure><img src=\"%s\" alt=\"\"><figcaption>%s</figcaption></figure>\n", file,
		       label) < 0
		       ? error_set(err, -EIO, "%s/" INDEX ": cannot write it", preview->folder)
		       : 0;
}

static int write_picture(struct preview *preview, uint32_t row, struct error *err)
{
	const struct view_shape shape = view_shape(preview->view);
	const uint64_t pixels = (uint64_t)shape.height * shape.width * shape.channels;
	char file[NAME_BYTES + 32], path[PATH_BYTES], label[NAME_BYTES];
	CLEANUP(free_ptr) void *png = NULL;
	uint64_t bytes;
	int r;

	name_row(preview, row, label);
	(void)snprintf(file, sizeof(file), "%04" PRIu64 "-%s.png", preview->written++, label);
	(void)snprintf(path, sizeof(path), "%s/%s", preview->folder, file);
	if ((r = png_make(preview->pixels + row * pixels, shape.height, shape.width, shape.channels, &png,
			  &bytes, err)) < 0 ||
	    (r = file_write_durable(path, png, bytes, err)) < 0 ||
	    (r = add_to_index(preview, file, label, err)) < 0)
		return r;
	return print_picture(preview, path, row, label) < 0
		       ? error_set(err, -EIO, "cannot write to the standard output")
		       : 0;
}

/* Writes the pictures of the first rows of a batch, as the layers see them in step `step`. */
static int write_batch(struct preview *preview, uint64_t step, uint32_t rows, struct error *err)
{
	const struct first_batches *batches = &preview->batches;
	int r = view_draw(preview->view, batches->batch.values[preview->picture],
			  batches->part.lanes > 1 ? batches->slot_rows : rows, step,
			  batches->passed - preview->config.order.skip_rows, preview->pixels, err);

	for (uint32_t i = 0; r == 0 && i < rows; i++) {
		uint32_t row = order_slot_row(&batches->part, i);

		if (batches->origin[row].key)
			r = write_picture(preview, row, err);
	}
	return r;
}

static int write_batches(struct preview *preview, struct error *err)
{
	int r = 1;

	for (uint64_t step = 0; preview->written < preview->most; step++) {
		const uint64_t left = preview->most - preview->written, most = preview->batches.most,
			       rows = left < most ? left : most;

		if ((r = first_batches_next(&preview->batches, rows, err)) <= 0)
			return r;
		if ((r = write_batch(preview, step, (uint32_t)rows, err)) < 0)
			return r;
	}
	return 0;
}

/* ---- The verb ---- */

static int open_view(struct preview *preview, struct error *err)
{
	struct view_shape shape;
	int r = view_new(&preview->config, preview->picture, (uint32_t)preview->config.run.batch_rows,
			 &preview->view, err);

	if (r < 0)
		return r;
	shape = view_shape(preview->view);
	preview->pixels =
		calloc(preview->batches.slot_rows, (uint64_t)shape.height * shape.width * shape.channels);
	if (!preview->pixels)
		return error_set(err, -ENOMEM, "no memory for a batch of pictures");
	if (view_layers(preview->view) == 0)
		return 0;
	cache_find();
	r = trained_open_device(&preview->config, "the configuration names", &preview->gpu, err);
	return r < 0 ? r : view_start(preview->view, preview->gpu, err);
}

static int open_index(struct preview *preview, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(preview->folder, err);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/" INDEX, preview->folder);
	preview->index = fopen(path, "w");
	if (!preview->index ||
	    fputs("<!doctype html><meta charset=\"utf-8\"><title>kiln preview</title>\n"
		  "<style>figure { display: inline-block; margin: 8px; text-align: center; }</style>\n",
		  preview->index) < 0)
		return error_set(err, -errno, "%s: cannot write it: %s", path, strerror(errno));
	return 0;
}

static int write_pictures(struct preview *preview, const char *file, struct error *err)
{
	int r;

	if ((r = config_load(file, &preview->config, err)) < 0 || (r = find_features(preview, err)) < 0 ||
	    (r = first_batches_open(&preview->config, preview->most, &preview->batches, err)) < 0 ||
	    (r = read_dataset(preview, err)) < 0 || (r = open_view(preview, err)) < 0 ||
	    (r = open_index(preview, err)) < 0 || (r = write_batches(preview, err)) < 0)
		return r;
	return fclose(TAKE(preview->index)) == 0
		       ? 0
		       : error_set(err, -errno, "%s/" INDEX ": %s", preview->folder, strerror(errno));
}

static void done(struct preview *preview)
{
	if (preview->index)
		(void)fclose(preview->index);
	view_free(preview->view);
	gpu_close(preview->gpu);
	free(preview->pixels);
	first_batches_done(&preview->batches);
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
	{ .name = "json", .help = "print a JSON object for each picture: file, shard, record, row, label" },
	{ 0 },
};

const struct verb verb_preview = {
	.name = "preview",
	.summary = "write the first training pictures as the network will see them",
	.synopsis = "preview CONF --output FOLDER [OPTION...]",
	.about = "Reads the records of the first batches of a run with CONF, in their order. Decodes them as "
		 "the run does: resized, turned by their orientation and, with random_crop, cut at the place "
		 "of epoch 1. Applies the layers that change pictures: rescaling, center_crop and those that "
		 "augment, up to the first other layer, with the draws that the run has for these rows; the "
		 "effect of rescaling on the colours is undone. Writes each picture as a PNG file, whose "
		 "name has its number and its class, and index.html, a page with all of them. With "
		 "order.mode \"fast\", the order of a run depends on what arrives first; the pictures are "
		 "those of \"exact\".",
	.operands = operands,
	.options = { options },
	.here = true,
	.run = preview_verb,
};
