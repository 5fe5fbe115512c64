/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/head.h"

#include "model/base/base.h"
#include "model/build.h"
#include "model/config_text.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_MARK " # default"
#define BASE_KEYS    "  base"

/* ---- What can be computed once ---- */

static int refuse(const struct job *job, const char *key, const char *found, const char *expected,
		  struct error *err)
{
	return error_set(err, -EINVAL, "%s:%u: %s: found %s, expected %s", job->file,
			 config_line(&job->config, key), key, found, expected);
}

static int check_config(const struct job *job, struct error *err)
{
	const struct config *config = &job->config;
	const struct config_feature *input = config_feature_named(config, config->model.input);
	char found[CONFIG_FEATURE_NAME_BYTES + 64];

	if (!base_is_given(config))
		return refuse(job, "model.base", "nothing", "the image network that computes the features",
			      err);
	if (base_reads_texts(config->model.base))
		return refuse(job, "model.base", config->model.base, "an image network", err);
	if (*config->model.base_after)
		return refuse(job, "model.base_after", config->model.base_after,
			      "\"\": a picture that layers change before the base has no one set of features",
			      err);
	if (config->model.base_trainable)
		return refuse(job, "model.base_trainable", "true",
			      "false: the features of a base that learns change with every step", err);
	if (*config->model.base_unfreeze_from)
		return refuse(job, "model.base_unfreeze_from", config->model.base_unfreeze_from,
			      "\"\": the features of a base that learns change with every step", err);
	if (input && input->random_crop) {
		(void)snprintf(found, sizeof(found), "random_crop = true of '%s'", input->name);
		return refuse(job, "schema", found,
			      "false: a picture that is cut at another place in every epoch has no one set "
			      "of features",
			      err);
	}
	if (config->run.start_from == START_LATEST)
		return refuse(job, "run.start_from", "\"latest\"",
			      "\"scratch\", with model.weights for the base", err);
	if (config->sources != 1)
		return refuse(job, "sources", "several",
			      "one source: features have one folder for each split", err);
	return 0;
}

/* Returns the tensor that the head may read: the output of the base. */
static int check_reads(const struct job *job, struct error *err)
{
	const struct graph *graph = &job->graph;
	const uint32_t output = graph->node[graph->base_nodes - 1].output;

	for (uint32_t i = graph->base_nodes; i < graph->nodes; i++)
		for (uint32_t k = 0; k < graph->node[i].inputs; k++) {
			const uint32_t input = graph->node[i].input[k];
			const struct tensor *tensor = graph_at(graph, input);

			if (input != output && (input < graph->base_tensors || tensor->role == ROLE_INPUT))
				return error_set(
					err, -EINVAL,
					"%s:%u: model.layers.inputs: layer '%s': found '%s', expected a "
					"later layer than '%s', whose output alone is written as features",
					job->file, graph->node[i].line, graph->node[i].name, tensor->name,
					graph_at(graph, output)->name);
		}
	return 0;
}

int head_check(struct job *job, struct error *err)
{
	int r = check_config(job, err);

	if (r < 0 || (r = graph_build(&job->config, false, &job->graph, err)) < 0)
		return r;
	return check_reads(job, err);
}

/* ---- features.conf ---- */

/* Copies the layers of the head, each with the name that it has behind the base, from which its initial
 * numbers and its dropout are drawn. */
static void name_layers(const struct job *job, struct config_layer *layer)
{
	const struct graph *graph = &job->graph;
	const char *output = graph->node[graph->base_nodes - 1].name;
	uint32_t used = 0;

	memcpy(layer, job->config.model.layer, job->config.model.layers * sizeof(*layer));
	for (uint32_t i = graph->base_nodes; i < graph->nodes; i++) {
		if (graph->node[i].is_activation)
			continue;
		layer[used].name = graph->node[i].name;
		for (uint32_t k = 0; k < layer[used].inputs; k++)
			if (strcmp(layer[used].input[k], output) == 0)
				layer[used].input[k] = JOB_COLUMN;
		used++;
	}
}

static const char *glob_of(const struct job *job, enum split split)
{
	static const char *const globs[SPLIT_MAX] = { [SPLIT_TRAIN] = "train/*.tfrecord",
						      [SPLIT_VALIDATION] = "validation/*.tfrecord",
						      [SPLIT_TEST] = "test/*.tfrecord" };

	return plan_shards(job->plan, split) ? globs[split] : "";
}

static void set_schema(const struct job *job, struct config *head)
{
	const struct config *config = &job->config;
	const struct tensor *output = job_output(job);
	const char *const kept[] = { config->model.label, config->model.sample_weight };

	head->features = 1;
	head->feature[0] = (struct config_feature){ .name = JOB_COLUMN,
						    .dtype = CONFIG_FLOAT32,
						    .rank = output->rank,
						    .bytes_max = config->feature[0].bytes_max };
	memcpy(head->feature[0].shape, output->shape, output->rank * sizeof(output->shape[0]));
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const struct config_feature *feature = config_feature_named(config, kept[i]);

		if (feature)
			head->feature[head->features++] = *feature;
	}
}

/* Makes the configuration of the head; its strings belong to the job. `layer` has room for the layers. */
static struct config configure(const struct job *job, const char *weights, struct config_layer *layer)
{
	struct config head = job->config;
	struct config_source *source = &head.source[0];

	source->store = job->where;
	source->store.url = job->url;
	source->format = FORMAT_TFRECORD;
	source->train_glob = head.split.train_glob = glob_of(job, SPLIT_TRAIN);
	source->validation_glob = head.split.validation_glob = glob_of(job, SPLIT_VALIDATION);
	source->test_glob = head.split.test_glob = glob_of(job, SPLIT_TEST);
	head.split.by = SPLIT_BY_PREFIX;
	head.order.filter = "";
	set_schema(job, &head);
	head.model.input = JOB_COLUMN;
	head.model.features_of = head.model.base;
	head.model.base = "";
	head.model.base_trainable = true;
	head.model.base_pooling = POOLING_NONE;
	head.model.base_scaling = SCALING_AUTO;
	head.model.weights = weights;
	head.model.weights_layers = "";
	head.model.weights_skip_mismatch = false;
	name_layers(job, layer);
	head.model.layer = layer;
	return head;
}

/* Returns whether `text` has the line. */
static bool has_line(const char *text, const char *line, size_t bytes)
{
	for (; text && *text; text = strchr(text, '\n'), text += text != NULL)
		if (strncmp(text, line, bytes) == 0)
			return true;
	return false;
}

static size_t line_bytes(const char *text)
{
	const size_t bytes = strcspn(text, "\n");

	return bytes + (text[bytes] == '\n');
}

/* Prints a line, or leaves it out where CONF has the same default: then CONF does not have the key. The keys
 * of model.base have their defaults, as there is no base. */
static void put_line(const char *line, size_t bytes, const char *conf, FILE *out)
{
	const size_t mark = strlen(DEFAULT_MARK);

	if (strncmp(line, BASE_KEYS, strlen(BASE_KEYS)) == 0)
		return;

	if (bytes <= mark || strncmp(line + bytes - 1 - mark, DEFAULT_MARK, mark) != 0)
		(void)fwrite(line, 1, bytes, out);
	else if (!has_line(conf, line, bytes))
		fprintf(out, "%.*s\n", (int)(bytes - 1 - mark), line);
}

/* Shortens the text of a configuration: leaves out defaults, and groups that have nothing else. */
static void shorten(const char *text, const char *conf, FILE *out)
{
	while (*text) {
		CLEANUP(free_ptr) char *group = NULL;
		size_t bytes = line_bytes(text), size = 0, kept = 0;
		const bool opens = bytes > 3 && strncmp(text + bytes - 4, ": {\n", 4) == 0 && *text != ' ';
		FILE *body = opens ? open_memstream(&group, &size) : NULL;
		const char *first = text;

		if (!body) {
			put_line(text, bytes, conf, out);
			text += bytes;
			continue;
		}
		for (text += bytes; *text && *text != '}'; text += line_bytes(text))
			put_line(text, line_bytes(text), conf, body);
		if (fclose(body) == 0)
			kept = size;
		if (kept)
			fprintf(out, "%.*s%s};\n", (int)bytes, first, group);
		text += line_bytes(text);
	}
}

static int write_short(const struct job *job, const char *text, const char *conf, char **ret_text,
		       struct error *err)
{
	size_t bytes = 0;
	FILE *out = open_memstream(ret_text, &bytes);

	if (!out)
		return error_set(err, -ENOMEM, "no memory for " JOB_CONFIG_KEY);
	fprintf(out,
		"# Trains the layers after %s on its features, which kiln prep --features has computed of\n# "
		"the "
		"pictures of %s. The finished model has %s, too, and reads pictures.\n",
		job->config.model.base, job->config.source[0].store.url, job->config.model.base);
	shorten(text, conf, out);
	return fclose(out) == 0 ? 0 : error_set(err, -ENOMEM, "no memory for " JOB_CONFIG_KEY);
}

/* Checks that the text is a configuration whose head is a network. */
static int check_text(const char *text, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(graph_done) struct graph graph = { 0 };
	int r = config_text_load(text, &config, err);

	if (r == 0)
		r = graph_build(&config, true, &graph, err);
	return r < 0 ? error_prefix(err, JOB_CONFIG_KEY) : 0;
}

int head_configure(struct job *job, struct error *err)
{
	CLEANUP(free_ptr) struct config_layer *layer = calloc(job->config.model.layers, sizeof(*layer));
	CLEANUP(free_ptr) char *weights = NULL, *text = NULL, *conf = NULL;
	struct config head;
	int r;

	if (!layer || asprintf(&weights, "%s/" FEATURES_BASE_FILE, job->url) < 0)
		return error_set(err, -ENOMEM, "no memory for " JOB_CONFIG_KEY);
	head = configure(job, weights, layer);
	if ((r = config_print(&head, &text, err)) < 0 || (r = config_print(&job->config, &conf, err)) < 0 ||
	    (r = write_short(job, text, conf, &job->conf, err)) < 0)
		return r;
	return check_text(job->conf, err);
}
