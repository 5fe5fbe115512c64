/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/encode_bert_folder.h"

#include "core/base/json.h"
#include "model/bert_files.h"

#include <inttypes.h>
#include <string.h>

#define SMALL_FILE_MAX (1u << 20)
#define MODULE         "sentence_transformers.models."

#define TOKENIZER_CONFIG "tokenizer_config.json"
#define LIMIT_KEY        "model_max_length"
#define NO_LIMIT_DIGITS  15u
#define NO_LIMIT         1e14 /* has NO_LIMIT_DIGITS digits */

static const char *path_in(const struct bert_folder *folder, const char *name, char out[static PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%s/%s", folder->path, name);
	return out;
}

/* Reads a file of JSON in the folder. Returns 1 if it is there, 0 if not; `ret_path` is its name for errors.
 */
static int read_json(const struct bert_folder *folder, const char *name, char ret_path[static PATH_BYTES],
		     cJSON **ret_json, struct error *err)
{
	const int r = json_read(path_in(folder, name, ret_path), SMALL_FILE_MAX, ret_json, err);

	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

static int check_object(const char *path, const cJSON *json, struct error *err)
{
	return cJSON_IsObject(json) ? 1 : error_set(err, -EINVAL, "%s: found no object, expected one", path);
}

/* Does the same as read_json(), for a file that has to be an object. */
static int read_object(const struct bert_folder *folder, const char *name, char ret_path[static PATH_BYTES],
		       cJSON **ret_json, struct error *err)
{
	const int r = read_json(folder, name, ret_path, ret_json, err);

	return r <= 0 ? r : check_object(ret_path, *ret_json, err);
}

static int read_weights(struct bert_folder *folder, struct error *err)
{
	const char *path = path_in(folder, BERT_WEIGHTS_NAME, folder->weights);
	const struct model_tensor *tensors;
	uint32_t count;
	int r;

	if ((r = safetensors_open(path, &folder->file, err)) < 0 ||
	    (r = digest_file(path, folder->weights_sha256, err)) < 0)
		return r;
	tensors = safetensors_tensors(folder->file, &count);
	return convert_open("bert", &folder->size, path, tensors, count, &folder->convert, err);
}

/* ---- The tokenizer ---- */

static int check_ids(const struct bert_folder *folder, const char *path, struct error *err)
{
	const struct tokenizer *tokenizer = folder->tokenizer;

	if (tokenizer_size(tokenizer) > folder->size.vocab_size)
		return error_set(err, -EINVAL,
				 "%s: found %u ids, allowed: vocab_size of " BERT_CONFIG_NAME ", %" PRIu64,
				 path, tokenizer_size(tokenizer), folder->size.vocab_size);
	if (tokenizer_id(tokenizer, "[PAD]") != 0 && tokenizer_id(tokenizer, "<pad>") != 0)
		return error_set(err, -EINVAL,
				 "%s: id 0: found another token, allowed: [PAD] or <pad>, because id 0 is "
				 "padding in Kiln",
				 path);
	return 0;
}

static int read_tokenizer(struct bert_folder *folder, struct error *err)
{
	static const char *const names[] = { "tokenizer.json", "vocab.txt" };
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sizeof(names) / sizeof(*names); i++)
		r = file_read(path_in(folder, names[i], path), TOKENIZER_FILE_MAX, &text, &bytes, err);
	if (r < 0)
		return r;
	digest_sha256(text, bytes, folder->tokenizer_sha256);
	r = tokenizer_parse(text, bytes, &folder->tokenizer, err);
	if (r < 0)
		return error_prefix(err, "%s", path);
	tokenizer_cut_at(folder->tokenizer, UINT64_MAX);
	return check_ids(folder, path, err);
}

/* Refuses a setting of tokenizer_config.json that differs from what the tokenizer does. */
static int check_setting(const char *path, const cJSON *json, const char *key, bool does, struct error *err)
{
	const cJSON *found = json_member(json, key);

	if (!found || cJSON_IsNull(found) || (cJSON_IsBool(found) && cJSON_IsTrue(found) == does))
		return 0;
	return error_set(err, -EINVAL, "%s: %s: found %s, allowed: %s, as the tokenizer does", path, key,
			 !cJSON_IsBool(found) ? "no boolean"
			 : does               ? "false"
					      : "true",
			 does ? "true" : "false");
}

/* Reads the most tokens of a text; UINT64_MAX: the file does not say it. */
static int read_limit(const char *path, const cJSON *json, const char *key, uint64_t *ret_tokens,
		      struct error *err)
{
	const cJSON *found = json_member(json, key);

	*ret_tokens = UINT64_MAX;
	if (!found || cJSON_IsNull(found) || (cJSON_IsNumber(found) && found->valuedouble >= NO_LIMIT))
		return 0;
	if (!cJSON_IsNumber(found))
		return error_set(err, -EINVAL, "%s: %s: found no number, allowed: a number of tokens", path,
				 key);
	return json_get_u64(path, json, key, ret_tokens, err);
}

/* Writes spaces over all but the first digits of model_max_length: transformers says that there is no limit
 * by an integer of 31 digits, which json_parse() refuses. */
static void shorten_limit(char *text)
{
	static const char key[] = "\"" LIMIT_KEY "\"", digits[] = "0123456789";
	char *at = strstr(text, key);
	size_t count;

	if (!at)
		return;
	at += strlen(key);
	at += strspn(at, " \t\r\n:");
	count = strspn(at, digits);
	if (count > NO_LIMIT_DIGITS)
		memset(at + NO_LIMIT_DIGITS, ' ', count - NO_LIMIT_DIGITS);
}

/* Reads tokenizer_config.json if it is there: the most tokens of a text, and what has to be as in the
 * tokenizer's own file. */
static int read_tokenizer_config(const struct bert_folder *folder, uint64_t *ret_tokens, struct error *err)
{
	const struct tokenizer_normal does = tokenizer_normal(folder->tokenizer);
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(path_in(folder, TOKENIZER_CONFIG, path), SMALL_FILE_MAX, &text, &bytes, err);

	*ret_tokens = UINT64_MAX;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	shorten_limit(text);
	if ((r = json_parse(path, text, bytes, &json, err)) < 0 || (r = check_object(path, json, err)) < 0 ||
	    (r = check_setting(path, json, "do_lower_case", does.lower, err)) < 0 ||
	    (r = check_setting(path, json, "strip_accents", does.accents, err)) < 0 ||
	    (r = check_setting(path, json, "tokenize_chinese_chars", does.chinese, err)) < 0)
		return r;
	return read_limit(path, json, LIMIT_KEY, ret_tokens, err);
}

/* ---- The most tokens of a text ---- */

/* Checks `longest`, which the member `key` of the file `path` says. */
static int check_longest(const struct bert_folder *folder, const char *path, const char *key,
			 struct error *err)
{
	const uint64_t least = tokenizer_specials(folder->tokenizer) + 1;

	if (folder->longest >= least && folder->longest <= folder->size.max_position_embeddings)
		return 0;
	return error_set(err, -EINVAL,
			 "%s: %s: found %" PRIu64 ", allowed: %" PRIu64 " .. %" PRIu64
			 ", max_position_embeddings of " BERT_CONFIG_NAME,
			 path, key, folder->longest, least, folder->size.max_position_embeddings);
}

/* The most tokens of a text where sentence_bert_config.json does not say it. */
static int take_usual_longest(struct bert_folder *folder, uint64_t of_tokenizer, struct error *err)
{
	const uint64_t positions = folder->size.max_position_embeddings;
	const bool shorter = of_tokenizer < positions;
	char path[PATH_BYTES];

	folder->longest = shorter ? of_tokenizer : positions;
	return check_longest(folder, path_in(folder, shorter ? TOKENIZER_CONFIG : BERT_CONFIG_NAME, path),
			     shorter ? LIMIT_KEY : "max_position_embeddings", err);
}

static int read_longest(struct bert_folder *folder, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	uint64_t of_tokenizer;
	int r;

	if ((r = read_tokenizer_config(folder, &of_tokenizer, err)) < 0 ||
	    (r = read_object(folder, "sentence_bert_config.json", path, &json, err)) < 0)
		return r;
	if (cJSON_IsTrue(json_member(json, "do_lower_case")))
		return error_set(
			err, -EINVAL,
			"%s: do_lower_case: found true, allowed: false, and small letters by the tokenizer",
			path);
	if ((r = read_limit(path, json, "max_seq_length", &folder->longest, err)) < 0)
		return r;
	return folder->longest == UINT64_MAX ? take_usual_longest(folder, of_tokenizer, err)
					     : check_longest(folder, path, "max_seq_length", err);
}

/* ---- What stands around the network ---- */

/* Refuses a prompt that sentence-transformers puts before each text. */
static int check_prompt(const struct bert_folder *folder, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	const cJSON *prompt;
	char path[PATH_BYTES];
	const int r = read_object(folder, "config_sentence_transformers.json", path, &json, err);

	if (r <= 0)
		return r;
	prompt = json_member(json, "default_prompt_name");
	if (!prompt || cJSON_IsNull(prompt))
		return 0;
	return error_set(err, -EINVAL,
			 "%s: default_prompt_name: found \"%.100s\", allowed: null, because no prompt is put "
			 "before a text",
			 path, cJSON_IsString(prompt) ? prompt->valuestring : "");
}

/* Refuses a member that asks for another pooling than the mean of the tokens. */
static int check_pooling_mode(const char *path, const cJSON *member, struct error *err)
{
	const char *name = member->string;
	const bool mean = strcmp(name, "pooling_mode_mean_tokens") == 0;

	if (strcmp(name, "pooling_mode") == 0 && cJSON_IsString(member) &&
	    strcmp(member->valuestring, "mean") == 0)
		return 0;
	if (strcmp(name, "pooling_mode") == 0)
		return error_set(err, -EINVAL, "%s: pooling_mode: found %s%.100s%s, allowed: \"mean\"", path,
				 cJSON_IsString(member) ? "\"" : "no text",
				 cJSON_IsString(member) ? member->valuestring : "",
				 cJSON_IsString(member) ? "\"" : "");
	if (strncmp(name, "pooling_mode_", strlen("pooling_mode_")) != 0 ||
	    (cJSON_IsBool(member) && cJSON_IsTrue(member) == mean))
		return 0;
	return error_set(err, -EINVAL,
			 "%s: %s: allowed: the mean of the tokens, pooling_mode_mean_tokens, alone", path,
			 name);
}

static int check_pooling(const struct bert_folder *folder, const char *module, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES], name[512];
	const cJSON *member;
	int r;

	(void)snprintf(name, sizeof(name), "%s/config.json", module);
	r = read_object(folder, name, path, &json, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, -ENOENT, "%s: found no such file", path);
	cJSON_ArrayForEach(member, json) {
		r = check_pooling_mode(path, member, err);
		if (r < 0)
			return r;
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
	if ((r = bert_config_read(path, &ret_folder->size, err)) < 0 ||
	    (r = read_tokenizer(ret_folder, err)) < 0 || (r = read_longest(ret_folder, err)) < 0 ||
	    (r = read_modules(ret_folder, err)) < 0 || (r = check_prompt(ret_folder, err)) < 0)
		return r;
	return read_weights(ret_folder, err);
}

void bert_folder_done(struct bert_folder *folder)
{
	convert_close(folder->convert);
	safetensors_close(folder->file);
	tokenizer_free(folder->tokenizer);
}
