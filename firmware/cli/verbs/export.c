/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/export.h"
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/trained/operand.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"
#include "trained/location.h"

#include <string.h>
#include <sys/stat.h>

struct export_verb {
	struct trained trained;
	const char *output, *form;
	bool json;
	struct store *store; /* the store that the output is written to */
	cJSON *dataset;
	struct about about;
	cJSON *said;
};

static int write_form(struct export_verb *verb, enum export_form form, struct error *err)
{
	const struct model_file *saved = &verb->trained.saved;
	CLEANUP(free_ptr) uint8_t *data = NULL;
	struct export_weights weights;
	uint64_t bytes;
	cJSON *said;
	int r;

	weights.tensor = safetensors_tensors(saved->file, &weights.count);
	r = export_model(&saved->graph, &weights, &verb->about, form, &data, &bytes, err);
	if (r < 0)
		return error_prefix(err, "%s", verb->trained.name);
	r = store_put_checked(verb->store, export_file(form), data, bytes, NULL, err);
	if (r < 0)
		return r;
	if (!verb->json)
		printf("%s/%s: %ju bytes\n", verb->output, export_file(form), (uintmax_t)bytes);
	said = cJSON_CreateObject();
	cJSON_AddStringToObject(said, "form", export_name(form));
	cJSON_AddStringToObject(said, "file", export_file(form));
	cJSON_AddNumberToObject(said, "bytes", (double)bytes);
	cJSON_AddItemToArray(cJSON_GetObjectItem(verb->said, "files"), said);
	return 0;
}

static int open_output(struct export_verb *verb, struct error *err)
{
	CLEANUP(free_ptr) char *with_slash = NULL;
	const bool local = !strstr(verb->output, "://");
	const char *key;

	if (local && mkdir(verb->output, 0777) < 0 && errno != EEXIST)
		return error_set(err, -errno, "%s: cannot make it: %s", verb->output, strerror(errno));
	if (asprintf(&with_slash, "%s/", verb->output) < 0)
		return error_set(err, -ENOMEM, "no memory for a name");
	return location_open(&verb->trained.where, with_slash, &verb->store, &key, err);
}

static bool is_read(const struct graph *graph, const struct config_feature *feature)
{
	for (uint32_t i = 0; i < graph->inputs; i++)
		if (graph_at(graph, graph->input[i])->feature == feature)
			return true;
	return false;
}

/* Says which inputs of the network `preprocess` makes: no form has these rows, so the caller of the exported
 * network computes them. */
static void say_left_out(const struct export_verb *verb)
{
	const struct config *config = &verb->trained.saved.config;
	cJSON *list = cJSON_AddArrayToObject(verb->said, "left_out");

	for (uint32_t i = config->features - config->made; i < config->features; i++) {
		const struct config_feature *feature = &config->feature[i];

		if (!is_read(&verb->trained.saved.graph, feature))
			continue;
		cJSON_AddItemToArray(list, cJSON_CreateString(feature->name));
		if (!verb->json)
			printf("left out: the row \"%s\" of preprocess; the input \"%s\" takes what it makes "
			       "of "
			       "\"%s\"\n",
			       feature->name, feature->name, feature->made_by->input);
	}
}

static int run(struct export_verb *verb, struct error *err)
{
	int r = trained_load(&verb->trained, err);

	if (r < 0 || (r = trained_dataset(&verb->trained, &verb->dataset, err)) < 0 ||
	    (r = about_make(&verb->trained.saved.config, verb->dataset, &verb->about, err)) < 0 ||
	    (r = open_output(verb, err)) < 0)
		return r;
	verb->said = cJSON_CreateObject();
	cJSON_AddStringToObject(verb->said, "output", verb->output);
	cJSON_AddArrayToObject(verb->said, "files");
	for (enum export_form form = 0; r == 0 && form < EXPORT_FORMS; form++)
		if (!verb->form || strcmp(verb->form, export_name(form)) == 0)
			r = write_form(verb, form, err);
	if (r == 0)
		say_left_out(verb);
	if (r == 0 && verb->json)
		(void)cli_print_json(verb->said);
	return r;
}

static void done(struct export_verb *verb)
{
	cJSON_Delete(verb->said);
	cJSON_Delete(verb->dataset);
	about_done(&verb->about);
	store_close(verb->store);
	trained_done(&verb->trained);
}

static int export_verb(const struct arguments *arguments)
{
	CLEANUP(done) struct export_verb verb = { 0 };
	struct error err = { 0 };

	verb.json = arguments_have(arguments, "json");
	verb.output = arguments_text(arguments, "output");
	verb.form = arguments_text(arguments, "form");
	if (!verb.output)
		return cli_usage(arguments->name, "--output is missing");
	return operand_read(arguments, &verb.trained, &err) < 0 || run(&verb, &err) < 0 ? cli_error(&err)
											: CLI_OK;
}

static const struct verb_option options[] = {
	{ .name = "output",
	  .value = VERB_LOCATION,
	  .argument = "FOLDER",
	  .help = "local folder, which is made if needed, or folder in a store; existing files are "
		  "replaced" },
	{ .name = "form",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "onnx|saved_model",
	  .help = "write this form only; default: all forms" },
	{ 0 },
};

static const struct verb_option json_option[] = {
	{ .name = "json", .help = "print what was written, as one JSON object" },
	{ 0 },
};

const struct verb verb_export = {
	.name = "export",
	.summary = "write a trained network as ONNX and as TensorFlow's SavedModel",
	.synopsis = "export MODEL --output FOLDER [OPTION...]",
	.about = "Writes a trained network in the forms that other tools load: model.onnx for ONNX, "
		 "saved_model/ for TensorFlow and TensorFlow Serving. The exported network has no rows of "
		 "`preprocess`: its inputs are what these rows make, and the output names "
		 "them. " OPERAND_MODEL,
	.operands = operand_model,
	.options = { options, operand_options, where_options, json_option },
	.here = true,
	.run = export_verb,
};
