/* SPDX-License-Identifier: Apache-2.0 */
#include "model/bert_files.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "model/config_text.h"
#include "model/formats/names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX     "bert."
#define NAME_BYTES 256u /* of a name with its prefix */

/* ---- config.json ---- */

static const struct size {
	const char *key;
	size_t at;
	uint64_t max;
} sizes[] = {
#define SIZE(name, max)                                        \
	{                                                      \
#name, offsetof(struct config_bert, name), max \
	}
	SIZE(hidden_size, 1u << 14),         SIZE(num_hidden_layers, CONFIG_BERT_LAYERS_MAX),
	SIZE(num_attention_heads, 1u << 10), SIZE(intermediate_size, 1u << 16),
	SIZE(vocab_size, 1u << 22),          SIZE(max_position_embeddings, 1u << 16),
#undef SIZE
};

static const struct number {
	const char *key;
	size_t at;
	double usual, max;
} numbers[] = {
#define NUMBER(name, usual, max)                                      \
	{                                                             \
#name, offsetof(struct config_bert, name), usual, max \
	}
	NUMBER(layer_norm_eps, 1e-12, 1),
	NUMBER(hidden_dropout_prob, 0.1, 0.999999),
	NUMBER(attention_probs_dropout_prob, 0.1, 0.999999),
#undef NUMBER
};

static int read_sizes(const char *what, const cJSON *json, struct config_bert *bert, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t *size = (uint64_t *)((char *)bert + sizes[i].at);

		r = json_get_u64(what, json, sizes[i].key, size, err);
		if (r == 0 && (*size == 0 || *size > sizes[i].max))
			r = error_set(err, -EINVAL, "%s: %s: found %" PRIu64 ", allowed: 1 .. %" PRIu64, what,
				      sizes[i].key, *size, sizes[i].max);
	}
	if (r == 0 && bert->hidden_size % bert->num_attention_heads)
		r = error_set(err, -EINVAL,
			      "%s: num_attention_heads: found %" PRIu64
			      ", allowed: a divisor of hidden_size, %" PRIu64,
			      what, bert->num_attention_heads, bert->hidden_size);
	return r;
}

static int read_numbers(const char *what, const cJSON *json, struct config_bert *bert, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(*numbers); i++) {
		double *number = (double *)((char *)bert + numbers[i].at);

		*number = numbers[i].usual;
		if (json_member(json, numbers[i].key))
			r = json_get_double(what, json, numbers[i].key, number, err);
		if (r == 0 && !(*number >= 0 && *number <= numbers[i].max))
			r = error_set(err, -EINVAL, "%s: %s: found %.9g, allowed: 0 .. %.9g", what,
				      numbers[i].key, *number, numbers[i].max);
	}
	return r;
}

/* Checks a member that is a name. A file without the member has the usual one. */
static int check_name(const char *what, const cJSON *json, const char *key, const char *allowed,
		      struct error *err)
{
	const char *found = allowed;
	int r = json_member(json, key) ? json_get_string(what, json, key, &found, err) : 0;

	if (r == 0 && strcmp(found, allowed) != 0)
		r = error_set(err, -EINVAL, "%s: %s: found \"%.64s\", allowed: \"%s\"", what, key, found,
			      allowed);
	return r;
}

static int check_kind(const char *what, const cJSON *json, struct error *err)
{
	double pad = 0;
	int r = check_name(what, json, "model_type", "bert", err);

	if (r == 0)
		r = check_name(what, json, "hidden_act", "gelu", err);
	if (r == 0)
		r = check_name(what, json, "position_embedding_type", "absolute", err);
	if (r == 0 && json_member(json, "pad_token_id"))
		r = json_get_double(what, json, "pad_token_id", &pad, err);
	if (r == 0 && pad != 0)
		r = error_set(err, -EINVAL,
			      "%s: pad_token_id: found %g, allowed: 0, the id of padding in Kiln", what, pad);
	if (r == 0 && cJSON_IsTrue(json_member(json, "is_decoder")))
		r = error_set(err, -EINVAL, "%s: is_decoder: found true, allowed: false", what);
	return r;
}

int bert_config_parse(const char *what, const char *text, uint64_t bytes, struct config_bert *ret_bert,
		      struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	struct config_bert bert = { 0 };
	int r = json_parse(what, text, bytes, &json, err);

	if (r == 0)
		r = check_kind(what, json, err);
	if (r == 0)
		r = read_sizes(what, json, &bert, err);
	if (r == 0)
		r = read_numbers(what, json, &bert, err);
	if (r == 0)
		*ret_bert = bert;
	return r;
}

int bert_config_read(const char *folder, struct config_bert *ret_bert, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r;

	(void)snprintf(path, sizeof(path), "%s/" BERT_CONFIG_NAME, folder);
	r = file_read(path, BERT_CONFIG_BYTES_MAX, &text, &bytes, err);
	return r < 0 ? r : bert_config_parse(path, text, bytes, ret_bert, err);
}

/* Writes a number so that kiln.conf reads the same one, and as a number with a fraction. */
static const char *number_text(double number, char out[static 32])
{
	for (int digits = 1; digits <= 17; digits++) {
		(void)snprintf(out, 32, "%.*g", digits, number);
		if (strtod(out, NULL) == number)
			break;
	}
	if (!strpbrk(out, ".e"))
		(void)strcat(out, ".0");
	return out;
}

const char *bert_keys(const struct config_bert *bert, char out[static BERT_KEYS_BYTES])
{
	size_t used = 0;
	char text[32];

	*out = '\0';
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		used += (size_t)snprintf(out + used, BERT_KEYS_BYTES - used, "bert_%s = %" PRIu64 "; ",
					 sizes[i].key, *(const uint64_t *)((const char *)bert + sizes[i].at));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		used += (size_t)snprintf(
			out + used, BERT_KEYS_BYTES - used, "bert_%s = %s;%s", numbers[i].key,
			number_text(*(const double *)((const char *)bert + numbers[i].at), text),
			i + 1 < sizeof(numbers) / sizeof(*numbers) ? " " : "");
	return out;
}

int bert_config_load(const struct config_bert *bert, uint64_t tokens, uint64_t rows,
		     struct config *ret_config, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char keys[BERT_KEYS_BYTES];

	if (asprintf(&text,
		     "run: { batch_rows = %" PRIu64 "; };\n"
		     "source: { url = \"file:///none\"; };\nsink: { url = \"file:///none\"; };\n"
		     "schema = ( { name = \"tokens\"; dtype = \"int64\"; shape = [ %" PRIu64 " ]; },\n"
		     "           { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"
		     "model: { input = \"tokens\"; base = \"bert\"; base_pooling = \"avg\"; %s\n"
		     "         layers = ( { op = \"dense\"; units = 2; }, { op = \"softmax\"; } ); };\n",
		     rows, tokens, bert_keys(bert, keys)) < 0)
		return error_set(err, -ENOMEM, "no memory for a configuration of bert");
	return config_text_load(text, ret_config, err);
}

/* ---- model.safetensors ---- */

static const struct model_tensor *with_prefix(const struct model_tensor *tensors, uint32_t count,
					      const char *name)
{
	const struct model_tensor *found = name_find(tensors, count, name);
	char longer[NAME_BYTES];

	if (found)
		return found;
	(void)snprintf(longer, sizeof(longer), PREFIX "%s", name);
	return name_find(tensors, count, longer);
}

const struct model_tensor *bert_tensor(const struct model_tensor *tensors, uint32_t count, const char *name)
{
	static const char *const olds[][2] = { { "LayerNorm.weight", "LayerNorm.gamma" },
					       { "LayerNorm.bias", "LayerNorm.beta" } };
	const struct model_tensor *found = with_prefix(tensors, count, name);

	for (size_t i = 0; !found && i < sizeof(olds) / sizeof(*olds); i++) {
		const char *at = strstr(name, olds[i][0]);
		char old[NAME_BYTES - sizeof(PREFIX)];

		if (!at)
			continue;
		(void)snprintf(old, sizeof(old), "%.*s%s", (int)(at - name), name, olds[i][1]);
		found = with_prefix(tensors, count, old);
	}
	return found;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

bool bert_is_of_head(const char *name)
{
	name += begins(name, PREFIX) ? strlen(PREFIX) : 0;
	return !begins(name, "embeddings.") && !begins(name, "encoder.");
}
