/* SPDX-License-Identifier: Apache-2.0 */
/* config.json of a .keras file: a network, an error with a text, or refusals with texts. Of a network without
 * refusals a text is printed, whose layers Kiln accepts or refuses. */
#include "import/keras/model.h"
#include "import/network/conf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void build(struct network *network)
{
	const struct conf conf = { .what = "fuzz" };
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	struct graph graph = { 0 };
	struct error err = { 0 };
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	must(out);
	conf_print(network, &conf, out);
	must(fclose(out) == 0);
	must(conf_build(network, text, &config, &graph, &err) == 0 || *err.text);
	graph_done(&graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(network_closep) struct network *network = NULL;
	struct error err = { 0 };
	const cJSON *refusal;
	int r = json_parse("fuzz", (const char *)data, size, &json, &err);

	if (r == 0)
		r = network_open(&network, &err);
	if (r == 0)
		r = keras_model_read(json, network, &err);
	must(r == 0 || *err.text);
	if (r < 0)
		return 0;
	cJSON_ArrayForEach(refusal, network->refusals)
		must(cJSON_IsString(refusal) && *refusal->valuestring);
	if (!network->refusals->child)
		build(network);
	return 0;
}
