/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a model and exports it in every form. The input is a configuration, then a line "----", then a line
 * NAME DTYPE SIZE... for each tensor. The model file is made of these, with the right CRCs and hash, so that
 * a changed input reaches the checks behind them. A configuration that begins with "# checkpoint" makes a
 * checkpoint, which may have more tensors than the network. An input without the line is the bytes of a file.
 */
#include "core/base/json.h"
#include "data/crc32c.h"
#include "model/build.h"
#include "model/checkpoint.h"
#include "model/export/export.h"
#include "model/formats/names.h"
#include "model/formats/safetensors_types.h"
#include "model/model_file.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define SEPARATOR     "\n----\n"
#define DATA_MAX      (1u << 20)
#define OF_CHECKPOINT "# checkpoint\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* ---- The model file ---- */

struct making {
	cJSON *header, *metadata;
	uint64_t bytes; /* of the data so far */
};

/* Adds the tensor of one line. Returns false where the line has no form or the data becomes too large. */
static bool add_tensor(struct making *making, char *line)
{
	static const uint8_t zeros[DATA_MAX];
	const char *name = strsep(&line, " "), *dtype = strsep(&line, " ");
	uint64_t bytes = dtype ? safetensors_width(dtype) : 0;
	cJSON *tensor, *shape, *offsets;
	char key[256], crc[16];

	if (!bytes)
		return false;
	tensor = cJSON_AddObjectToObject(making->header, name);
	cJSON_AddStringToObject(tensor, "dtype", dtype);
	shape = cJSON_AddArrayToObject(tensor, "shape");
	for (char *dimension; (dimension = strsep(&line, " "));) {
		const uint64_t count = strtoul(dimension, NULL, 10) % (DATA_MAX + 1);

		cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)count));
		if ((bytes *= count) > DATA_MAX)
			return false;
	}
	offsets = cJSON_AddArrayToObject(tensor, "data_offsets");
	cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)making->bytes));
	making->bytes += bytes;
	cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)making->bytes));
	(void)snprintf(key, sizeof(key), SAFETENSORS_CRC_PREFIX "%s", name);
	(void)snprintf(crc, sizeof(crc), "%08x", (unsigned)crc32c(0, zeros, bytes));
	cJSON_AddStringToObject(making->metadata, key, crc);
	return making->bytes <= DATA_MAX;
}

/* Adds the hash of the configuration's network, where it is a right one. */
static void add_hash(struct making *making, const char *text)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct graph graph;
	char path[64];
	int fd = memfd_create("config", 0);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	if (config_load(path, &config, NULL) == 0 && graph_build(&config, false, &graph, NULL) == 0) {
		cJSON_AddStringToObject(making->metadata, "graph_hash", graph.hash);
		graph_done(&graph);
	}
	(void)close(fd);
}

/* Returns the bytes of a model file; NULL where the lines are not those of tensors. */
static uint8_t *make(const char *config, char *lines, uint64_t *ret_bytes)
{
	CLEANUP(json_free) cJSON *header = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	struct making making = { .header = header };
	uint8_t *file;
	uint64_t length;

	making.metadata = cJSON_AddObjectToObject(header, "__metadata__");
	cJSON_AddStringToObject(making.metadata, "format",
				strncmp(config, OF_CHECKPOINT, strlen(OF_CHECKPOINT)) == 0 ? CHECKPOINT_FORMAT
											   : MODEL_FORMAT);
	cJSON_AddStringToObject(making.metadata, "config", config);
	add_hash(&making, config);
	for (char *line; (line = strsep(&lines, "\n"));)
		if (*line && !add_tensor(&making, line))
			return NULL;
	text = cJSON_PrintUnformatted(header);
	must(text != NULL);
	length = strlen(text);
	*ret_bytes = sizeof(length) + length + making.bytes;
	file = calloc(1, *ret_bytes);
	must(file != NULL);
	memcpy(file, &length, sizeof(length));
	memcpy(file + sizeof(length), text, length);
	return file;
}

/* ---- What is true of a model that loads ---- */

static void export_forms(const struct model_file *model)
{
	struct export_weights weights;

	weights.tensor = safetensors_tensors(model->file, &weights.count);
	for (enum export_form form = 0; form < EXPORT_FORMS; form++) {
		CLEANUP(free_ptr) uint8_t *out = NULL;
		struct error err = { 0 };
		uint64_t bytes = 0;

		must(export_model(&model->graph, &weights, NULL, form, &out, &bytes, &err) == 0 && bytes > 0);
	}
}

static bool is_checkpoint(const struct safetensors *file)
{
	const char *format = safetensors_value(file, "format");

	return format && strcmp(format, CHECKPOINT_FORMAT) == 0;
}

static void try_load(const uint8_t *file, uint64_t bytes)
{
	CLEANUP(model_file_done) struct model_file model = { 0 };
	struct error err = { 0 };
	const struct model_tensor *tensors;
	uint32_t count, parameters = 0;

	if (model_file_open("fuzz", file, bytes, &model, &err) < 0 ||
	    model_file_build("fuzz", NULL, &model, &err) < 0) {
		must(*err.text != '\0');
		return;
	}
	tensors = safetensors_tensors(model.file, &count);
	for (uint32_t i = 0; i < model.graph.tensors; i++) {
		const struct tensor *tensor = graph_at(&model.graph, i);

		if (tensor->role != ROLE_PARAMETER && tensor->role != ROLE_STATE)
			continue;
		parameters++;
		must(name_find(tensors, count, tensor->name)->bytes == tensor->bytes);
	}
	must(parameters == count || (parameters < count && is_checkpoint(model.file)));
	export_forms(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free_ptr) char *text = strndup((const char *)data, size);
	CLEANUP(free_ptr) uint8_t *file = NULL;
	char *separator;
	uint64_t bytes;

	must(text != NULL);
	separator = strstr(text, SEPARATOR);
	if (!separator) {
		try_load(data, size);
		return 0;
	}
	separator[1] = '\0';
	file = make(text, separator + strlen(SEPARATOR), &bytes);
	if (file)
		try_load(file, bytes);
	return 0;
}
