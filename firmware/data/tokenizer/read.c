/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tokenizer.json, but for the member "model". */
#include "data/tokenizer/parts.h"
#include "data/tokenizer/path.h"

#include <string.h>

#define DIGITS_OF_LLAMA3 "{1,3}"

/* The two patterns of SPLIT_LLAMA3 that are read. */
#define LLAMA3_PATTERN(digits)                                                     \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" digits \
	"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* ---- normalizer ---- */

static int read_normaliser(struct tokenizer *tokenizer, const struct path_object *root, struct error *err)
{
	struct normal *normal = &tokenizer->normal;
	struct path_object object;
	const char *type;
	int r;

	if (!path_has(root, "normalizer"))
		return 0;
	if ((r = path_object(root, "normalizer", &object, err)) < 0 ||
	    (r = path_string(&object, "type", &type, err)) < 0)
		return r;
	if (strcmp(type, "BertNormalizer") != 0)
		return path_refuse(&object, "type", "BertNormalizer, or no normalizer", err);
	if ((r = path_only(&object, "type clean_text handle_chinese_chars strip_accents lowercase ", err)) <
		    0 ||
	    (r = path_bool(&object, "clean_text", true, &normal->clean, err)) < 0 ||
	    (r = path_bool(&object, "handle_chinese_chars", true, &normal->chinese, err)) < 0 ||
	    (r = path_bool(&object, "lowercase", true, &normal->lower, err)) < 0 ||
	    (r = path_bool(&object, "strip_accents", normal->lower, &normal->accents, err)) < 0)
		return r;
	normal_prepare(normal);
	tokenizer->normalises = true;
	return 0;
}

/* ---- pre_tokenizer ---- */

/* Reads ByteLevel. `alone`: no Split stands before it, so it splits itself. */
static int read_byte_level(struct tokenizer *tokenizer, const struct path_object *object, bool alone,
			   struct error *err)
{
	bool splits;
	int r;

	if ((r = path_only(object, "type add_prefix_space trim_offsets use_regex ", err)) < 0 ||
	    (r = path_bool(object, "add_prefix_space", true, &tokenizer->prefix_space, err)) < 0 ||
	    (r = path_bool(object, "use_regex", true, &splits, err)) < 0)
		return r;
	if (splits != alone)
		return path_refuse(object, "use_regex",
				   alone ? "true, or a Split before it" : "false behind a Split", err);
	if (!alone && tokenizer->prefix_space)
		return path_refuse(object, "add_prefix_space", "false behind a Split", err);
	if (alone)
		tokenizer->split.kind = SPLIT_GPT2;
	return 0;
}

static int read_split(struct tokenizer *tokenizer, const struct path_object *object, struct error *err)
{
	struct path_object pattern;
	const char *behavior, *regex;
	int r;

	if ((r = path_only(object, "type pattern behavior invert ", err)) < 0 ||
	    (r = path_empty_member(object, "invert", err)) < 0 ||
	    (r = path_string(object, "behavior", &behavior, err)) < 0 ||
	    (r = path_object(object, "pattern", &pattern, err)) < 0 ||
	    (r = path_only(&pattern, "Regex ", err)) < 0 ||
	    (r = path_string(&pattern, "Regex", &regex, err)) < 0)
		return r;
	if (strcmp(behavior, "Isolated") != 0)
		return path_refuse(object, "behavior", "\"Isolated\"", err);
	tokenizer->split.kind = SPLIT_LLAMA3;
	if (strcmp(regex, LLAMA3_PATTERN(DIGITS_OF_LLAMA3)) == 0)
		tokenizer->split.digits = 3;
	else if (strcmp(regex, LLAMA3_PATTERN("")) == 0)
		tokenizer->split.digits = 1;
	else
		return path_refuse(&pattern, "Regex", "the pattern of Llama 3 or of Qwen 2", err);
	return 0;
}

/* Reads a Sequence of a Split and a ByteLevel. */
static int read_sequence(struct tokenizer *tokenizer, const struct path_object *object, struct error *err)
{
	struct path_object split, bytes;
	const cJSON *steps;
	const char *type;
	int r;

	if ((r = path_only(object, "type pretokenizers ", err)) < 0 ||
	    (r = path_array(object, "pretokenizers", &steps, err)) < 0)
		return r;
	if (cJSON_GetArraySize(steps) != 2)
		return path_refuse(object, "pretokenizers", "two: a Split and a ByteLevel", err);
	if ((r = path_item(object, "pretokenizers", steps->child, 0, &split, err)) < 0 ||
	    (r = path_item(object, "pretokenizers", steps->child->next, 1, &bytes, err)) < 0 ||
	    (r = path_string(&split, "type", &type, err)) < 0)
		return r;
	if (strcmp(type, "Split") != 0)
		return path_refuse(&split, "type", "\"Split\"", err);
	if ((r = path_string(&bytes, "type", &type, err)) < 0)
		return r;
	if (strcmp(type, "ByteLevel") != 0)
		return path_refuse(&bytes, "type", "\"ByteLevel\"", err);
	r = read_split(tokenizer, &split, err);
	return r < 0 ? r : read_byte_level(tokenizer, &bytes, false, err);
}

static int read_splitter(struct tokenizer *tokenizer, const struct path_object *root, struct error *err)
{
	struct path_object object;
	const char *type;
	int r;

	if ((r = path_object(root, "pre_tokenizer", &object, err)) < 0 ||
	    (r = path_string(&object, "type", &type, err)) < 0)
		return r;
	if (strcmp(type, "BertPreTokenizer") == 0)
		return path_only(&object, "type ", err);
	if (strcmp(type, "ByteLevel") == 0)
		return read_byte_level(tokenizer, &object, true, err);
	if (strcmp(type, "Sequence") == 0)
		return read_sequence(tokenizer, &object, err);
	return path_refuse(&object, "type", "BertPreTokenizer, ByteLevel or Sequence", err);
}

/* ---- added_tokens ---- */

static int read_token(struct tokenizer *tokenizer, const struct path_object *object, struct error *err)
{
	struct added_token token = { 0 };
	const char *content;
	bool normalised;
	uint32_t known;
	int r;

	if ((r = path_only(object, "id content single_word lstrip rstrip normalized special ", err)) < 0 ||
	    (r = path_string(object, "content", &content, err)) < 0 ||
	    (r = path_empty_member(object, "single_word", err)) < 0 ||
	    (r = path_bool(object, "lstrip", false, &token.left, err)) < 0 ||
	    (r = path_bool(object, "rstrip", false, &token.right, err)) < 0 ||
	    (r = path_bool(object, "normalized", false, &normalised, err)) < 0 ||
	    (r = path_id(object, "id", TOKENIZER_IDS_MAX, &token.id, err)) < 0)
		return r;
	known = id_of(tokenizer, content);
	if (known != MERGES_NONE && known != token.id)
		return path_refuse(object, "id", "the token's id in model.vocab", err);
	if (tokenizer->next_added < tokenizer->vocabulary)
		tokenizer->next_added = tokenizer->vocabulary;
	if (known == MERGES_NONE && token.id != tokenizer->next_added)
		return path_refuse(object, "id", "the first id behind model.vocab and the tokens before",
				   err);
	if (token.id >= tokenizer->next_added)
		tokenizer->next_added = token.id + 1;
	keep_id(tokenizer, token.id);
	return keep_token(tokenizer, content, token, normalised, err);
}

static int read_tokens(struct tokenizer *tokenizer, const struct path_object *root, struct error *err)
{
	const cJSON *tokens, *item;
	unsigned index = 0;
	int r = path_array(root, "added_tokens", &tokens, err);

	if (r < 0)
		return r;
	if (cJSON_GetArraySize(tokens) > (int)TOKENIZER_ADDED_MAX)
		return path_refuse(root, "added_tokens", "at most 4096 tokens", err);
	cJSON_ArrayForEach(item, tokens) {
		struct path_object token;

		if ((r = path_item(root, "added_tokens", item, index++, &token, err)) < 0 ||
		    (r = read_token(tokenizer, &token, err)) < 0)
			return r;
	}
	return 0;
}

/* ---- post_processor ---- */

static int add_special(struct tokenizer *tokenizer, struct specials *specials, double id,
		       const struct path_object *object, const char *key, struct error *err)
{
	if (!(id >= 0 && id < TOKENIZER_IDS_MAX) || id != (double)(uint32_t)id ||
	    specials->ids == TOKENIZER_SPECIAL_MAX)
		return path_refuse(object, key, "at most 16 ids, whole numbers below 4194304", err);
	specials->id[specials->ids++] = (uint32_t)id;
	keep_id(tokenizer, (uint32_t)id);
	return 0;
}

/* Reads a member such as ["[SEP]", 102]. */
static int read_pair(struct tokenizer *tokenizer, const struct path_object *object, const char *key,
		     struct specials *specials, struct error *err)
{
	const cJSON *pair;
	const int r = path_array(object, key, &pair, err);

	if (r < 0)
		return r;
	if (cJSON_GetArraySize(pair) != 2 || !cJSON_IsNumber(cJSON_GetArrayItem(pair, 1)))
		return path_refuse(object, key, "a token and its id", err);
	return add_special(tokenizer, specials, cJSON_GetArrayItem(pair, 1)->valuedouble, object, key, err);
}

/* Adds the ids of a special token of a template. */
static int read_special(struct tokenizer *tokenizer, const struct path_object *object,
			const struct path_object *item, struct specials *specials, struct error *err)
{
	struct path_object special, tokens, token;
	const cJSON *ids, *id;
	const char *name;
	int r;

	if ((r = path_object(item, "SpecialToken", &special, err)) < 0 ||
	    (r = path_string(&special, "id", &name, err)) < 0 ||
	    (r = path_object(object, "special_tokens", &tokens, err)) < 0 ||
	    (r = path_object(&tokens, name, &token, err)) < 0 ||
	    (r = path_array(&token, "ids", &ids, err)) < 0)
		return r;
	cJSON_ArrayForEach(id, ids) {
		r = add_special(tokenizer, specials, cJSON_IsNumber(id) ? id->valuedouble : -1, &token, "ids",
				err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_template(struct tokenizer *tokenizer, const struct path_object *object, struct error *err)
{
	struct specials *specials = &tokenizer->before;
	const cJSON *single, *item;
	unsigned index = 0;
	int r;

	if ((r = path_only(object, "type single pair special_tokens ", err)) < 0 ||
	    (r = path_array(object, "single", &single, err)) < 0)
		return r;
	if (cJSON_GetArraySize(single) > (int)(2 * TOKENIZER_SPECIAL_MAX + 1))
		return path_refuse(object, "single", "a Sequence, and at most 16 special tokens on each side",
				   err);
	cJSON_ArrayForEach(item, single) {
		struct path_object step;

		r = path_item(object, "single", item, index++, &step, err);
		if (r == 0)
			r = path_only(&step, "SpecialToken Sequence ", err);
		if (r == 0 && !path_has(&step, "Sequence"))
			r = read_special(tokenizer, object, &step, specials, err);
		else if (r == 0 && specials == &tokenizer->after)
			r = path_refuse(object, "single", "one Sequence", err);
		else
			specials = &tokenizer->after;
		if (r < 0)
			return r;
	}
	return specials == &tokenizer->after ? 0 : path_refuse(object, "single", "a Sequence", err);
}

static int read_step(struct tokenizer *tokenizer, const struct path_object *object, struct error *err)
{
	const char *type;
	int r = path_string(object, "type", &type, err);

	if (r < 0)
		return r;
	if (strcmp(type, "ByteLevel") == 0)
		return path_only(object, "type add_prefix_space trim_offsets use_regex ", err);
	if (all_specials(tokenizer) > 0)
		return path_refuse(object, "type", "one step that adds tokens", err);
	if (strcmp(type, "TemplateProcessing") == 0)
		return read_template(tokenizer, object, err);
	if (strcmp(type, "BertProcessing") != 0 && strcmp(type, "RobertaProcessing") != 0)
		return path_refuse(object, "type",
				   "TemplateProcessing, BertProcessing, RobertaProcessing or ByteLevel, or "
				   "one Sequence of these",
				   err);
	if ((r = path_only(object, "type sep cls trim_offsets add_prefix_space ", err)) < 0 ||
	    (r = read_pair(tokenizer, object, "cls", &tokenizer->before, err)) < 0)
		return r;
	return read_pair(tokenizer, object, "sep", &tokenizer->after, err);
}

static int read_specials(struct tokenizer *tokenizer, const struct path_object *root, struct error *err)
{
	struct path_object object, step;
	const cJSON *steps, *item;
	unsigned index = 0;
	const char *type;
	int r;

	if (!path_has(root, "post_processor"))
		return 0;
	if ((r = path_object(root, "post_processor", &object, err)) < 0 ||
	    (r = path_string(&object, "type", &type, err)) < 0)
		return r;
	if (strcmp(type, "Sequence") != 0)
		return read_step(tokenizer, &object, err);
	if ((r = path_only(&object, "type processors ", err)) < 0 ||
	    (r = path_array(&object, "processors", &steps, err)) < 0)
		return r;
	cJSON_ArrayForEach(item, steps)
		if ((r = path_item(&object, "processors", item, index++, &step, err)) < 0 ||
		    (r = read_step(tokenizer, &step, err)) < 0)
			return r;
	return 0;
}

/* ---- truncation, and all ---- */

static int read_truncation(struct tokenizer *tokenizer, const struct path_object *root, struct error *err)
{
	struct path_object object;
	const char *strategy = "LongestFirst", *direction = "Right";
	uint32_t most;
	int r;

	if (!path_has(root, "truncation"))
		return 0;
	if ((r = path_object(root, "truncation", &object, err)) < 0 ||
	    (r = path_only(&object, "max_length strategy stride direction ", err)) < 0 ||
	    (r = path_id(&object, "max_length", UINT32_MAX, &most, err)) < 0)
		return r;
	if ((path_has(&object, "strategy") && (r = path_string(&object, "strategy", &strategy, err)) < 0) ||
	    (path_has(&object, "direction") && (r = path_string(&object, "direction", &direction, err)) < 0))
		return r;
	if (strcmp(strategy, "LongestFirst") != 0 && strcmp(strategy, "OnlyFirst") != 0)
		return path_refuse(&object, "strategy", "LongestFirst or OnlyFirst", err);
	if (strcmp(direction, "Right") != 0 && strcmp(direction, "Left") != 0)
		return path_refuse(&object, "direction", "Right or Left", err);
	if (most <= all_specials(tokenizer))
		return path_refuse(&object, "max_length", "more than the special tokens", err);
	tokenizer->most = most;
	tokenizer->cut_left = strcmp(direction, "Left") == 0;
	return 0;
}

/* Refuses a model whose words are not made by the pre_tokenizer it needs. */
static int check_words(const struct tokenizer *tokenizer, const struct path_object *root, struct error *err)
{
	if (tokenizer->merging == (tokenizer->split.kind != SPLIT_BERT))
		return 0;
	return path_refuse(root, "pre_tokenizer",
			   tokenizer->merging ? "ByteLevel, because the model is BPE"
					      : "BertPreTokenizer, because the model is WordPiece",
			   err);
}

int read_json(struct tokenizer *tokenizer, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	struct path_object root = { 0 }, model;
	int r = json_parse("tokenizer.json", tokenizer->file, tokenizer->bytes, &json, err);

	root.json = json;
	if (r < 0 ||
	    (r = path_only(&root,
			   "version truncation padding added_tokens normalizer pre_tokenizer post_processor "
			   "decoder model ",
			   err)) < 0 ||
	    (r = read_normaliser(tokenizer, &root, err)) < 0 ||
	    (r = read_splitter(tokenizer, &root, err)) < 0 ||
	    (r = path_object(&root, "model", &model, err)) < 0 ||
	    (r = read_model(tokenizer, &model, err)) < 0 || (r = check_words(tokenizer, &root, err)) < 0 ||
	    (r = read_tokens(tokenizer, &root, err)) < 0 || (r = read_specials(tokenizer, &root, err)) < 0)
		return r;
	return read_truncation(tokenizer, &root, err);
}
