/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"

#include "core/base/paths.h"
#include "core/base/visible.h"
#include "import/keras/archive.h"
#include "import/keras/hdf5.h"
#include "import/keras/model.h"
#include "import/network/conf.h"

#include <inttypes.h>
#include <string.h>

#define CONF_NAME     "kiln.conf"
#define WEIGHTS_NAME  "weights.safetensors"
#define UNPACKED_NAME ".unpacked.h5"

struct import {
	const char *path;
	char folder[PATH_BYTES], conf[PATH_BYTES], weights[PATH_BYTES];
	char unpacked[PATH_BYTES]; /* the weights of the archive, until they are read */
	cJSON *json;
	struct network *network;
	char *text; /* what kiln.conf will have */
	struct config config;
	struct graph graph;
	uint64_t outputs; /* numbers of a row of the output */
	uint32_t tensors;
	uint64_t numbers;
};

/* ---- Sentences ---- */

static void print_all(const cJSON *list, const char *before, FILE *out)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list) {
		fputs(before, out);
		visible_print(item->valuestring, out);
		fputc('\n', out);
	}
}

/* Prints all that cannot be had. Returns -EINVAL, or 0 where there is nothing. */
static int say_refusals(const struct import *import, struct error *err)
{
	const int count = cJSON_GetArraySize(import->network->refusals);

	if (count == 0)
		return 0;
	print_all(import->network->refusals, "", stderr);
	return error_set(err, -EINVAL, "%s: not imported, Kiln lacks %d thing%s of it", import->path, count,
			 count == 1 ? "" : "s");
}

static void say_features(const struct import *import)
{
	const cJSON *feature, *item;

	cJSON_ArrayForEach(feature, import->network->features) {
		const cJSON *shape = cJSON_GetObjectItemCaseSensitive(feature, "shape");

		printf("input: %s, %s [", cJSON_GetObjectItemCaseSensitive(feature, "name")->valuestring,
		       cJSON_GetObjectItemCaseSensitive(feature, "dtype")->valuestring);
		cJSON_ArrayForEach(item, shape)
			printf("%s %.0f", item == shape->child ? "" : ",", item->valuedouble);
		puts(" ]");
	}
}

static void say(const struct import *import)
{
	printf("%s: %u layers\n%s: %u tensors, %" PRIu64 " numbers\n", import->conf, import->network->layers,
	       import->weights, import->tensors, import->numbers);
	say_features(import);
	print_all(import->network->notes, "", stdout);
	printf("Next: fill in source, sink and the schema in %s, then\n"
	       "  kiln check %s\n  kiln run --config %s\n",
	       import->conf, import->conf, import->conf);
}

/* ---- Steps ---- */

static int refuse_existing(const char *path, struct error *err)
{
	const int r = file_exists(path, err);

	return r <= 0 ? r : error_set(err, -EEXIST, "%s: the file is there, and is not changed", path);
}

static int open_folder(struct import *import, const char *folder, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(folder, err);

	if (r < 0)
		return r;
	if (!realpath(folder, path))
		return error_set(err, -errno, "%s: %s", folder, strerror(errno));
	(void)snprintf(import->folder, sizeof(import->folder), "%s", path);
	if (snprintf(import->conf, sizeof(import->conf), "%s/%s", folder, CONF_NAME) >= (int)PATH_BYTES ||
	    snprintf(import->weights, sizeof(import->weights), "%s/%s", folder, WEIGHTS_NAME) >=
		    (int)PATH_BYTES ||
	    snprintf(import->unpacked, sizeof(import->unpacked), "%s/%s.%d", folder, UNPACKED_NAME,
		     getpid()) >= (int)PATH_BYTES)
		return error_set(err, -ENAMETOOLONG, "%s: the path is too long", folder);
	r = refuse_existing(import->conf, err);
	return r < 0 ? r : refuse_existing(import->weights, err);
}

static int print_conf(const struct import *import, const char *url, uint64_t outputs, char **ret_text,
		      struct error *err)
{
	const char *slash = strrchr(import->path, '/');
	const struct conf conf = { slash ? slash + 1 : import->path, url, outputs };
	size_t bytes;
	FILE *out = open_memstream(ret_text, &bytes);

	if (!out)
		return error_set(err, -ENOMEM, "no memory for a configuration");
	conf_print(import->network, &conf, out);
	return fclose(out) == 0 ? 0 : error_set(err, -ENOMEM, "no memory for a configuration");
}

/* Builds the graph of a text; what Kiln refuses is printed. */
static int build(const struct import *import, const char *text, struct config *config, struct graph *graph,
		 struct error *err)
{
	const int r = conf_build(import->network, text, config, graph, err);

	return r < 0 && say_refusals(import, err) < 0 ? -EINVAL : r;
}

/* Finds how many outputs the network has, by its graph. */
static int find_outputs(struct import *import, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	struct graph graph = { 0 };
	int r = print_conf(import, NULL, 0, &text, err);

	if (r == 0)
		r = build(import, text, &config, &graph, err);
	if (r == 0)
		import->outputs = graph_at(&graph, graph.output)->elements;
	graph_done(&graph);
	return r;
}

static int read_network(struct import *import, struct error *err)
{
	int r = archive_read_keras(import->path, import->unpacked, &import->json, err);

	if (r == 0)
		r = network_open(&import->network, err);
	if (r == 0 && (r = keras_model_read(import->json, import->network, err)) < 0)
		return error_prefix(err, "%s", import->path);
	return r < 0 ? r : say_refusals(import, err);
}

/* Leaves out a top_k that is more than the classes. One output is two classes. */
static void limit_top_k(struct network *network, uint64_t outputs)
{
	const cJSON *top_k = cJSON_GetObjectItemCaseSensitive(network->model, "top_k");
	const double classes = outputs == 1 ? 2 : (double)outputs;

	if (!top_k || top_k->valuedouble <= classes)
		return;
	network_note(network, "not taken over: the metric top_k of %g, the network has %g classes",
		     top_k->valuedouble, classes);
	cJSON_DeleteItemFromObjectCaseSensitive(network->model, "top_k");
}

/* Builds the graph of the network with all of Kiln's own rules. */
static int build_network(struct import *import, struct error *err)
{
	int r = find_outputs(import, err);

	if (r < 0)
		return r;
	limit_top_k(import->network, import->outputs);
	r = print_conf(import, NULL, import->outputs, &import->text, err);
	return r < 0 ? r : build(import, import->text, &import->config, &import->graph, err);
}

static int write_weights(struct import *import, struct error *err)
{
	CLEANUP(hdf5_closep) struct hdf5 *file = NULL;
	int r = hdf5_open(import->unpacked, import->path, &file, err);

	return r < 0 ? r
		     : weights_write(import->network, &import->graph, import->text, import->weights,
				     hdf5_weight, file, &import->tensors, &import->numbers, err);
}

static int write_conf(struct import *import, struct error *err)
{
	CLEANUP(free_ptr) char *url = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (asprintf(&url, "file://%s/%s", import->folder, WEIGHTS_NAME) < 0)
		return error_set(err, -ENOMEM, "no memory for a URL");
	r = print_conf(import, url, import->outputs, &text, err);
	return r < 0 ? r : file_write_durable(import->conf, text, strlen(text), err);
}

static void done(struct import *import)
{
	graph_done(&import->graph);
	config_done(&import->config);
	network_close(import->network);
	cJSON_Delete(import->json);
	free(import->text);
	if (*import->unpacked)
		(void)unlink(import->unpacked);
	free(import);
}

int import_keras(const char *path, const char *folder, struct error *err)
{
	struct import *import = calloc(1, sizeof(*import));
	int r;

	if (!import)
		return error_set(err, -ENOMEM, "no memory for a network");
	import->path = path;
	r = open_folder(import, folder, err);
	if (r == 0)
		r = read_network(import, err);
	if (r == 0)
		r = build_network(import, err);
	if (r == 0)
		r = write_weights(import, err);
	if (r == 0)
		r = write_conf(import, err);
	if (r == 0)
		say(import);
	done(import);
	return r;
}
