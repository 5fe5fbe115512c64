/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/encode_bert_folder.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "model/bert_files.h"

#include <inttypes.h>
#include <string.h>

#define SMALL_FILE_MAX (1u << 20)
#define MODULE         "sentence_transformers.models."

/* Reads a file of JSON in the folder. Returns 1 if it is there, 0 if not; `ret_path` is its name for errors.
 */
static int read_json(const struct bert_folder *folder, const char *name, char ret_path[static PATH_BYTES],
		     cJSON **ret_json, struct error *err)
{
	int r;

	(void)snprintf(ret_path, PATH_BYTES, "%s/%s", folder->path, name);
	r = json_read(ret_path, SMALL_FILE_MAX, ret_json, err);
	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

static int read_size(struct bert_folder *folder, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r;

	(void)snprintf(path, sizeof(path), "%s/" BERT_CONFIG_NAME, folder->path);
	r = file_read(path, BERT_CONFIG_BYTES_MAX, &text, &bytes, err);
	return r < 0 ? r : bert_config_parse(path, text, bytes, &folder->size, err);
}

static int read_weights(struct bert_folder *folder, struct error *err)
{
	char path[PATH_BYTES];
	const struct model_tensor *tensors;
	uint32_t count;
	int r;

	(void)snprintf(path, sizeof(path), "%s/" BERT_WEIGHTS_NAME, folder->path);
	if ((r = safetensors_open(path, &folder->file, err)) < 0 ||
	    (r = digest_file(path, folder->weights_sha256, err)) < 0)
		return r;
	tensors = safetensors_tensors(folder->file, &count);
	return convert_open("bert", &folder->size, folder->path, tensors, count, &folder->convert, err);
}

static int read_tokenizer(struct bert_folder *folder, struct error *err)
{
	static const char *const names[] = { "tokenizer.json", "vocab.txt" };
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
		r = file_read(path, TOKENIZER_FILE_MAX, &text, &bytes, err);
	}
	if (r < 0)
		return r;
	digest_sha256(text, bytes, folder->tokenizer_sha256);
	r = tokenizer_parse(text, bytes, &folder->tokenizer, err);
	if (r < 0)
		return error_prefix(err, "%s", path);
	tokenizer_cut_at(folder->tokenizer, UINT64_MAX);
	if (tokenizer_size(folder->tokenizer) > folder->size.vocab_size)
		return error_set(err, -EINVAL,
				 "%s: found %u ids, allowed: vocab_size of " BERT_CONFIG_NAME ", %" PRIu64,
				 path, tokenizer_size(folder->tokenizer), folder->size.vocab_size);
	return 0;
}

static int check_longest(const struct bert_folder *folder, const char *path, struct error *err)
{
	const uint64_t least = tokenizer_specials(folder->tokenizer) + 1;

	if (folder->longest >= least && folder->longest <= folder->size.max_position_embeddings)
		return 0;
	return error_set(err, -EINVAL,
			 "%s: max_seq_length: found %" PRIu64 ", allowed: %" PRIu64 " .. %" PRIu64
			 ", max_position_embeddings of " BERT_CONFIG_NAME,
			 path, folder->longest, least, folder->size.max_position_embeddings);
}

static int read_longest(struct bert_folder *folder, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	int r = read_json(folder, "sentence_bert_config.json", path, &json, err);

	folder->longest = folder->size.max_position_embeddings;
	if (r < 0)
		return r;
	if (cJSON_IsTrue(json_member(json, "do_lower_case")))
		return error_set(
			err, -EINVAL,
			"%s: do_lower_case: found true, allowed: false, and small letters by the tokenizer",
			path);
	if (cJSON_IsNumber(json_member(json, "max_seq_length")) &&
	    (r = json_get_u64(path, json, "max_seq_length", &folder->longest, err)) < 0)
		return r;
	return check_longest(folder, path, err);
}

/* ---- What stands behind the network ---- */

static int check_pooling(const struct bert_folder *folder, const char *module, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES], name[512];
	const cJSON *member;
	int r;

	(void)snprintf(name, sizeof(name), "%s/config.json", module);
	r = read_json(folder, name, path, &json, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, -ENOENT, "%s: found no such file", path);
	cJSON_ArrayForEach(member, json) {
		const bool mean = member->string && strcmp(member->string, "pooling_mode_mean_tokens") == 0;

		if (!member->string || strncmp(member->string, "pooling_mode_", 13) != 0)
			continue;
		if (!cJSON_IsBool(member) || cJSON_IsTrue(member) != mean)
			return error_set(
				err, -EINVAL,
				"%s: %s: allowed: the mean of the tokens, pooling_mode_mean_tokens, alone",
				path, member->string);
	}
	return 0;
}

/* Reads one module of modules.json, number `at`. */
static int read_module(struct bert_folder *folder, const char *path, const cJSON *module, int at,
		       struct error *err)
{
	static const char *const order[] = { MODULE "Transformer", MODULE "Pooling", MODULE "Normalize" };
	const char *type, *place;
	int r = json_get_string(path, module, "type", &type, err);

	if (r < 0 || (r = json_get_string(path, module, "path", &place, err)) < 0)
		return r;
	if (at > 2 || strcmp(type, order[at]) != 0)
		return error_set(err, -EINVAL, "%s: module %d: found \"%.100s\", allowed: %s", path, at, type,
				 at > 2 ? "three modules" : order[at]);
	if (at == 0 && *place)
		return error_set(err, -EINVAL, "%s: module 0: path: found \"%.100s\", allowed: \"\"", path,
				 place);
	folder->normalizes = at == 2;
	return at == 1 ? check_pooling(folder, place, err) : 0;
}

static int read_modules(struct bert_folder *folder, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	const cJSON *module;
	int r = read_json(folder, "modules.json", path, &json, err), at = 0;

	if (r <= 0)
		return r;
	r = 0;
	cJSON_ArrayForEach(module, json)
		if (r == 0)
			r = read_module(folder, path, module, at++, err);
	if (r == 0 && at < 2)
		r = error_set(err, -EINVAL, "%s: found %d modules, allowed: a transformer and a pooling",
			      path, at);
	return r;
}

int bert_folder_read(const char *path, struct bert_folder *ret_folder, struct error *err)
{
	int r;

	*ret_folder = (struct bert_folder){ .path = path };
	if ((r = read_size(ret_folder, err)) < 0 || (r = read_tokenizer(ret_folder, err)) < 0 ||
	    (r = read_longest(ret_folder, err)) < 0 || (r = read_modules(ret_folder, err)) < 0)
		return r;
	return read_weights(ret_folder, err);
}

void bert_folder_done(struct bert_folder *folder)
{
	convert_close(folder->convert);
	safetensors_close(folder->file);
	tokenizer_free(folder->tokenizer);
}
