/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/export.h"
#include "cli/base/say.h"
#include "cli/trained/trained.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"
#include "model/build.h"

#include <string.h>
#include <sys/stat.h>

static const char usage[] = "Usage: kiln export MODEL --output FOLDER [OPTION...]\n\n"
			    "A trained network in the forms that other tools load: model.onnx for ONNX, "
			    "saved_model/ for TensorFlow and\n"
			    "TensorFlow Serving. MODEL is a run's model folder or the model.safetensors in "
			    "it: a path, or below s3:// or\n"
			    "file:///.\n\n"
			    "  --output FOLDER        a folder, which is made if needed, or a place in a "
			    "store; files there are replaced\n"
			    "  --form NAME            one of onnx and saved_model alone\n" TRAINED_USAGE
			    "  --json                 what was written, as one JSON object\n";

enum option_code { OPT_OUTPUT = 256, OPT_FORM };

static const struct option options[] = {
	{ "output", 1, NULL, OPT_OUTPUT },
	{ "form", 1, NULL, OPT_FORM },
	TRAINED_OPTIONS,
};

struct export_verb {
	struct trained trained;
	const char *output, *form;
	struct graph graph;
	struct store *store; /* of the output */
	cJSON *said;
};

static const void *weights(void *context, const char *name)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(context, &count);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return tensors[i].data;
	return NULL;
}

static int write_form(struct export_verb *verb, enum export_form form, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *data = NULL;
	uint64_t bytes;
	cJSON *said;
	int r = export_model(&verb->graph, weights, verb->trained.file, form, &data, &bytes, err);

	if (r < 0)
		return error_prefix(err, "%s", verb->trained.name);
	r = store_put(verb->store, export_file(form), data, bytes, err);
	if (r < 0)
		return r;
	if (!verb->trained.json)
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
	return trained_open_place(&verb->trained, with_slash, &verb->store, &key, err);
}

static int run(struct export_verb *verb, struct error *err)
{
	int r = trained_load(&verb->trained, err);

	if (r < 0 || (r = graph_build(&verb->trained.config, false, &verb->graph, err)) < 0 ||
	    (r = open_output(verb, err)) < 0)
		return r;
	verb->said = cJSON_CreateObject();
	cJSON_AddStringToObject(verb->said, "output", verb->output);
	cJSON_AddArrayToObject(verb->said, "files");
	for (enum export_form form = 0; r == 0 && form < EXPORT_FORMS; form++)
		if (!verb->form || strcmp(verb->form, export_name(form)) == 0)
			r = write_form(verb, form, err);
	if (r == 0 && verb->trained.json)
		(void)cli_print_json(verb->said);
	return r;
}

static bool is_form(const char *name)
{
	for (enum export_form form = 0; form < EXPORT_FORMS; form++)
		if (strcmp(name, export_name(form)) == 0)
			return true;
	return false;
}

static int take(void *context, int code, const char *value)
{
	struct export_verb *verb = context;

	if (code == OPT_OUTPUT)
		verb->output = value;
	else if (is_form(value))
		verb->form = value;
	else
		return cli_usage("export", "--form: found \"%s\", expected onnx or saved_model", value);
	return CLI_OK;
}

static void done(struct export_verb *verb)
{
	cJSON_Delete(verb->said);
	store_close(verb->store);
	graph_done(&verb->graph);
	trained_done(&verb->trained);
}

int cli_export(int argc, char **argv)
{
	CLEANUP(done) struct export_verb verb = { .trained = TRAINED_EMPTY };
	const struct trained_verb arguments = {
		.name = "export", .usage = usage, .options = options, .take = take, .context = &verb
	};
	struct error err = { 0 };
	bool finished = false;
	int code = trained_parse(&verb.trained, &arguments, argc, argv, &finished);

	if (code || finished)
		return code;
	if (!verb.output)
		return cli_usage("export", "no --output");
	return run(&verb, &err) < 0 ? cli_error(&err) : CLI_OK;
}
