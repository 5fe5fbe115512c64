/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints for tests. KILN_S3_ENDPOINT is the S3 server.
 *   - make_checkpoint RUN_ID STEP BYTES [CONFIG]: writes a whole safetensors file of about BYTES into
 *     the spool under KILN_ROOT, with the graph hash of CONFIG's network.
 *   - make_checkpoint --check FILE: exits 0 if the file is whole.
 *   - make_checkpoint --latest RUN_URL: downloads the checkpoint that checkpoints/latest.json names,
 *     checks its size, SHA-256 and content, and prints its step; prints "none" without latest.json.
 */
#include "core/base/json.h"
#include "core/run/spool.h"
#include "drivers/digest/digest.h"
#include "drivers/store/store.h"
#include "model/build.h"
#include "model/formats/safetensors.h"

#include <inttypes.h>
#include <string.h>

static int hash_of(const char *config_file, char ret_hash[static GRAPH_HASH_BYTES], struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct graph graph;
	int r = config_load(config_file, &config, err);

	if (r < 0 || (r = graph_build(&config, true, &graph, err)) < 0)
		return r;
	memcpy(ret_hash, graph.layers_hash, GRAPH_HASH_BYTES);
	graph_done(&graph);
	return 0;
}

static int write_one(const char *run_id, uint64_t step, uint64_t bytes, const char *config_file,
		     struct error *err)
{
	CLEANUP(free_ptr) uint8_t *data = malloc(bytes);
	struct model_tensor tensor = { .name = "dense/kernel",
				       .dtype = "U8",
				       .rank = 1,
				       .shape = { bytes },
				       .data = data,
				       .bytes = bytes };
	char hash[GRAPH_HASH_BYTES] = "";
	const struct safetensors_note notes[] = { { "run_id", run_id }, { "layers_hash", hash } };
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES];
	uint64_t state = step + 1;
	int r;

	if (!data)
		return error_set(err, -ENOMEM, "no memory");
	for (uint64_t i = 0; i < bytes; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = (uint8_t)(state >> 56);
	}
	r = spool_make(run_id, err);
	if (r == 0 && config_file)
		r = hash_of(config_file, hash, err);
	if (r < 0)
		return r;
	return safetensors_write(spool_path(run_id, spool_checkpoint_name(step, name), path), &tensor, 1,
				 notes, config_file ? 2 : 1, err);
}

static int check_file(const char *path, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;

	return safetensors_open(path, &file, err);
}

static int check_object(struct store *store, const cJSON *latest, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	CLEANUP(free_ptr) char *data = NULL;
	char found[DIGEST_HEX_BYTES];
	const char *key, *sha256;
	uint64_t bytes, wanted, step;
	int r;

	if ((r = json_get_string("latest", latest, "key", &key, err)) < 0 ||
	    (r = json_get_string("latest", latest, "sha256", &sha256, err)) < 0 ||
	    (r = json_get_u64("latest", latest, "bytes", &wanted, err)) < 0 ||
	    (r = json_get_u64("latest", latest, "step", &step, err)) < 0 ||
	    (r = store_get_all(store, key, UINT32_MAX, &data, &bytes, err)) < 0)
		return r;
	digest_sha256(data, bytes, found);
	if (bytes != wanted || strcmp(found, sha256) != 0)
		return error_set(err, -EBADMSG, "%s: %" PRIu64 " bytes, %s; expected %" PRIu64 ", %s", key,
				 bytes, found, wanted, sha256);
	r = safetensors_parse(key, data, bytes, &file, err);
	if (r == 0)
		printf("%" PRIu64 "\n", step);
	return r;
}

static int check_latest(const char *url, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *latest = NULL;
	const char *endpoint = getenv("KILN_S3_ENDPOINT");
	struct config_store where = { .url = url,
				      .endpoint = endpoint ? endpoint : "",
				      .region = "us-east-1",
				      .credential = "",
				      .ca_file = "" };
	struct store_options options = { 0 };
	uint64_t bytes;
	int r = store_open(&where, &options, &store, err);

	if (r < 0)
		return r;
	r = store_get_all(store, "checkpoints/latest.json", 65536, &text, &bytes, err);
	if (r == -ENOENT)
		return puts("none") < 0;
	if (r < 0 || (r = json_parse("latest", text, bytes, &latest, err)) < 0)
		return r;
	return check_object(store, latest, err);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int r = -EINVAL;

	if (argc == 3 && strcmp(argv[1], "--check") == 0)
		r = check_file(argv[2], &err);
	else if (argc == 3 && strcmp(argv[1], "--latest") == 0)
		r = check_latest(argv[2], &err);
	else if (argc == 4 || argc == 5)
		r = write_one(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4],
			      &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r < 0;
}
