/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/set.h"

#include "cli/prep/dataset.h"
#include "cli/prep/encode_bert.h"
#include "cli/prep/output.h"
#include "core/base/paths.h"
#include "core/run/dataset.h"
#include "core/run/manifest.h"
#include "drivers/digest/digest.h"
#include "trained/set_tokenizer.h"
#include "trained/whole.h"

#include <inttypes.h>
#include <string.h>

#define FILE_MAX (UINT64_C(4) << 30)

void set_done(struct prep_there *there)
{
	json_free(&there->dataset);
}

/* ---- What is there ---- */

/* Reads a small file of a set; *ret_text stays NULL where the store has none. */
static int read_mark(struct store *store, const char *key, char **ret_text, struct error *err)
{
	uint64_t bytes;
	int r = store_get_all(store, key, DATASET_BYTES_MAX, ret_text, &bytes, err);

	return r == -ENOENT ? 0 : r;
}

/* A dataset.json that is not JSON counts as that of an unknown set. */
static int read_marks(struct store *store, struct prep_there *there, struct error *err)
{
	CLEANUP(free_ptr) char *dataset = NULL, *incomplete = NULL;
	struct store_object object;
	int r;

	if ((r = read_mark(store, DATASET_NAME, &dataset, err)) < 0 ||
	    (r = read_mark(store, MANIFEST_INCOMPLETE_NAME, &incomplete, err)) < 0 ||
	    ((r = store_stat(store, MANIFEST_NAME, &object, err)) < 0 && r != -ENOENT))
		return r;
	there->manifest_bytes = r == 0 ? object.pin.bytes : 0;
	there->incomplete = incomplete != NULL;
	there->appending = incomplete && strncmp(incomplete, PREP_APPENDING, strlen(PREP_APPENDING)) == 0;
	there->marked = dataset || incomplete || r == 0;
	if (dataset)
		(void)!json_parse(DATASET_NAME, dataset, strlen(dataset), &there->dataset, NULL);
	return 0;
}

int set_look(struct prep *prep, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const struct store_options options = { 0 };
	char own[STORE_KEY_MAX + 1], foreign[STORE_KEY_MAX + 1];
	int r = store_open(&prep->where, &options, &store, err);

	if (r < 0 || (r = prep_lock(prep->where.url, &prep->lock, err)) < 0 ||
	    (r = prep_find_shards(prep, store, own, foreign, err)) < 0 ||
	    (r = read_marks(store, &prep->there, err)) < 0)
		return r;
	if (*foreign)
		return error_set(
			err, -EEXIST,
			"%s: found %s, which kiln prep did not write: a run would read it and the new "
			"shards together; choose an empty folder",
			prep->where.url, foreign);
	if (*own && !prep->there.marked)
		return error_set(err, -EEXIST,
				 "%s: found %s, but no " DATASET_NAME " or " MANIFEST_NAME
				 ": kiln prep did not write this set and does not replace it; move it away "
				 "or choose another folder",
				 prep->where.url, own);
	/* A first set that was not finished has no dataset.json: it is written anew. */
	if (prep->mode == PREP_APPEND && !prep->there.dataset) {
		if (prep->there.marked && !prep->there.incomplete)
			return error_set(err, -EBADMSG,
					 "%s: --append: the set there has no " DATASET_NAME
					 " that can be read",
					 prep->where.url);
		prep->mode = PREP_NEW;
	}
	return 0;
}

/* ---- What an added set shares with the first ---- */

static int follow_classes(struct prep *prep, struct error *err)
{
	const cJSON *classes = dataset_classes(prep->there.dataset);
	const uint32_t count = (uint32_t)cJSON_GetArraySize(classes);
	const char *names[TEXTS_LABELS_MAX];
	uint32_t i = 0;
	const cJSON *item;

	if (count < 2 || count > TEXTS_LABELS_MAX)
		return error_set(err, -EBADMSG, "%s/" DATASET_NAME ": found %u classes, expected 2 .. %u",
				 prep->where.url, count, TEXTS_LABELS_MAX);
	cJSON_ArrayForEach(item, classes) {
		if (!cJSON_IsString(item) || strlen(item->valuestring) >= TEXTS_LABEL_BYTES)
			return error_set(err, -EBADMSG, "%s/" DATASET_NAME ": class %u is not a name",
					 prep->where.url, i);
		names[i++] = item->valuestring;
	}
	prep->classes = count;
	if (prep->kind == &prep_images)
		return 0;
	return texts_use_labels(&prep->texts, names, count, err) < 0 ? error_prefix(err, "%s", prep->input[0])
								     : 0;
}

static int get_file(const struct prep *prep, const char *key, char **ret_data, uint64_t *ret_bytes,
		    struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const struct store_options options = { 0 };
	int r = store_open(&prep->where, &options, &store, err);

	return r < 0 ? r : whole_get(store, key, FILE_MAX, ret_data, ret_bytes, err);
}

static const char *encoder_program(const struct prep *prep)
{
	const char *program = cJSON_GetStringValue(json_member(prep->there.dataset, "encoder.program"));

	return program ? program : "";
}

/* A BERT must be named again, because it is no file of the set: it has to be the same one. */
static int follow_bert(struct prep *prep, const char *of_set, struct error *err)
{
	int r;

	if (!bert_encoder_is(prep->encoder_name))
		return error_set(
			err, -EINVAL,
			"%s: --append: the set was made with the encoder %.100s: give its folder, with "
			"--encoder bert:DIR",
			prep->where.url, of_set);
	r = bert_encoder_open(prep->encoder_name, &prep->bert, err);
	if (r == 0 && (r = bert_encoder_check(prep->bert, prep->there.dataset, err)) < 0)
		return error_prefix(err, "%s: --append", prep->where.url);
	return r;
}

/* The encoder is the set's: a program must be named again, because dataset.json may come from somebody else.
 */
static int follow_encoder(struct prep *prep, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	const char *program = encoder_program(prep), *of_bert = bert_encoder_of(prep->there.dataset);
	uint64_t bytes;
	int r;

	if (*program && strcmp(program, prep->encoder_name) != 0)
		return error_set(
			err, -EINVAL,
			"%s: --append: the set was made with the encoder %s: give it again, with --encoder",
			prep->where.url, program);
	if (*program)
		return 0;
	if (of_bert)
		return follow_bert(prep, of_bert, err);
	if (prep->encoder_given)
		return error_set(err, -EINVAL,
				 "%s: --append: found --encoder, but the set has its own, " PREP_ENCODER_KEY,
				 prep->where.url);
	if ((r = get_file(prep, PREP_ENCODER_KEY, &data, &bytes, err)) < 0)
		return r;
	r = text_encoder_load(data, bytes, &prep->encoder, err);
	if (r < 0)
		return error_prefix(err, "%s/" PREP_ENCODER_KEY, prep->where.url);
	prep->dims = text_encoder_dims(prep->encoder);
	return 0;
}

/* Reads the vocabulary or the tokenizer of the set. */
static int follow_tokens(struct prep *prep, struct error *err)
{
	const char *key =
		json_member(prep->there.dataset, "tokenizer") ? PREP_TOKENIZER_KEY : PREP_VOCABULARY_KEY;
	const cJSON *feature = cJSON_GetArrayItem(json_member(prep->there.dataset, "schema"), 0);
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;
	int r;

	if ((r = json_get_u64(DATASET_NAME, feature, "values_max", &prep->tokens_max, err)) < 0 ||
	    (r = get_file(prep, key, &data, &bytes, err)) < 0)
		return r;
	if (prep->tokenizer_name)
		return error_set(err, -EINVAL, "%s: --append: found --tokenizer, but the set has its own, %s",
				 prep->where.url, key);
	if (prep->tokens_max > PREP_TOKENS_MAX)
		return error_set(err, -EBADMSG,
				 "%s/" DATASET_NAME ": found values_max %" PRIu64 ", expected at most %u",
				 prep->where.url, prep->tokens_max, PREP_TOKENS_MAX);
	if (strcmp(key, PREP_TOKENIZER_KEY) == 0) {
		prep->kind = &prep_ids;
		r = set_tokenizer_parse(prep->there.dataset, data, bytes, &prep->tokenizer, err);
	} else {
		r = vocabulary_parse(data, bytes, &prep->vocabulary, err);
	}
	return r < 0 ? error_prefix(err, "%s/%s", prep->where.url, key) : 0;
}

/* Refuses records of another kind before an encoder of the set is looked for. */
static int check_kind(const struct prep *prep, struct error *err)
{
	const char *mine = prep->raw ? PICTURES_RAW : prep->kind->feature;
	const char *name = cJSON_GetStringValue(
		json_member(cJSON_GetArrayItem(json_member(prep->there.dataset, "schema"), 0), "name"));

	if (name && strcmp(name, mine) == 0)
		return 0;
	return error_set(
		err, -EINVAL,
		"%s: --append: found %s, whose feature is \"%s\", but the set has the feature \"%s\"",
		prep->input[0], prep->kind->what, mine, name ? name : "");
}

/* Tells whether the texts have the groups that the member "group" of dataset.json (dataset.c) names. */
static bool is_same_group(const struct prep *prep, const cJSON *group)
{
	if (prep->group)
		return cJSON_IsNumber(group) && group->valuedouble == (double)prep->group;
	return prep->texts.films ? cJSON_IsString(group) : !group;
}

/* Refuses another column of groups than the first set's: its texts would have another form. */
static int check_group(const struct prep *prep, struct error *err)
{
	const cJSON *group = json_member(prep->there.dataset, "group");
	CLEANUP(free_ptr) char *text = group ? cJSON_PrintUnformatted(group) : NULL;

	if (is_same_group(prep, group))
		return 0;
	if (prep->group)
		return error_set(err, -EINVAL,
				 "%s: --append: found --group %" PRIu64 ", but the set was made with %s%s",
				 prep->where.url, prep->group, group ? "--group " : "no --group",
				 text ? text : "");
	return error_set(err, -EINVAL, "%s: --append: found no --group, but the set was made with --group %s",
			 prep->where.url, text ? text : "");
}

int set_follow(struct prep *prep, struct error *err)
{
	int r;

	if (prep->mode != PREP_APPEND || prep->table) /* a table follows in make() */
		return 0;
	if ((r = check_kind(prep, err)) < 0 || (r = check_group(prep, err)) < 0 ||
	    (r = follow_classes(prep, err)) < 0)
		return r;
	if (prep->kind == &prep_vectors)
		return follow_encoder(prep, err);
	return strcmp(prep->kind->feature, prep_tokens.feature) == 0 ? follow_tokens(prep, err) : 0;
}

/* ---- The id ---- */

/* Goes on from the digest `id` over further bytes. */
static void absorb(char id[static DIGEST_HEX_BYTES], const void *data, uint64_t bytes)
{
	char both[2 * DIGEST_HEX_BYTES], one[DIGEST_HEX_BYTES];

	digest_sha256(data, bytes, one);
	(void)snprintf(both, sizeof(both), "%s%s", id, one);
	digest_sha256(both, strlen(both), id);
}

static void absorb_row(const struct prep *prep, enum texts_split split, uint32_t row,
		       char id[static DIGEST_HEX_BYTES])
{
	const struct idx_images *images = prep->from[split];
	const struct text_row *text;
	uint64_t pixels;
	uint32_t index;

	if (!images) {
		text = &prep->texts.row[split][row];
		absorb(id, prep->texts.label[text->label], strlen(prep->texts.label[text->label]));
		absorb(id, text->text, text->bytes);
		if (prep->kind == &prep_pictures) /* the group is the SHA-256 of the file */
			absorb(id, text->group, strlen(text->group));
		return;
	}
	index = prep->order[split][row];
	pixels = (uint64_t)images->height * images->width * images->channels;
	absorb(id, &images->label[index], 1);
	absorb(id, images->pixel + index * pixels, pixels);
}

/* The kind has made the id where it does not have all records in memory. */
static void make_id(struct prep *prep)
{
	char id[DIGEST_HEX_BYTES] = "";

	if (*prep->id)
		return;
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		if (!dataset_names_split(prep, (enum texts_split)s))
			continue;
		absorb(id, prep_split_names[s], strlen(prep_split_names[s]));
		for (uint32_t row = 0; row < prep->rows[s]; row++)
			absorb_row(prep, (enum texts_split)s, row, id);
	}
	(void)snprintf(prep->id, sizeof(prep->id), "%.*s", (int)sizeof(prep->id) - 1, id);
}

/* ---- The decision ---- */

/* Compares all members that the new set describes; sets that were written before there was an id have none.
 */
static bool is_same(const cJSON *there, const cJSON *now)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, now) {
		const cJSON *other = cJSON_GetObjectItemCaseSensitive(there, item->string);

		if (other ? !cJSON_Compare(other, item, true) : strcmp(item->string, "id") != 0)
			return false;
	}
	return true;
}

static int refuse(const struct prep *prep, const char *with, const cJSON *now, struct error *err)
{
	const cJSON *there = json_member(prep->there.dataset, "schema");
	const bool fits = cJSON_Compare(there, json_member(now, "schema"), true);
	const cJSON *feature = cJSON_GetArrayItem(there, 0);
	const cJSON *train = json_member(prep->there.dataset, "records.train");
	const char *name = cJSON_GetStringValue(json_member(feature, "name"));

	return error_set(err, -EEXIST,
			 "%s: found another set%s (%.0f training records, feature \"%s\"; now %u, \"%s\"): "
			 "--replace removes it, %s",
			 prep->where.url, with, cJSON_IsNumber(train) ? train->valuedouble : 0,
			 name ? name : "?", prep->rows[TEXTS_TRAIN], prep->kind->feature,
			 fits ? "--append adds a second set beside it"
			      : "and --append takes only records with the schema of the set");
}

static int check_schema(const struct prep *prep, const cJSON *now, struct error *err)
{
	CLEANUP(free_ptr) char *found = NULL, *expected = NULL;
	const cJSON *there = json_member(prep->there.dataset, "schema"), *schema = json_member(now, "schema");

	if (cJSON_Compare(there, schema, true))
		return 0;
	found = cJSON_PrintUnformatted(schema);
	expected = cJSON_PrintUnformatted(there);
	return error_set(err, -EINVAL, "%s: --append: the new records have the schema %s, the set has %s",
			 prep->where.url, found ? found : "?", expected ? expected : "?");
}

static bool is_first_set(const struct prep *prep)
{
	const char *first = cJSON_GetStringValue(json_member(prep->there.dataset, "id"));

	return first && strcmp(first, prep->id) == 0;
}

static int decide_append(struct prep *prep, const cJSON *now, struct error *err)
{
	const struct prep_there *there = &prep->there;

	if (is_first_set(prep) && !there->incomplete) {
		fprintf(stderr, "%s: the set there has exactly these records: nothing to add\n",
			prep->where.url);
		return 1;
	}
	if (is_first_set(prep) && !there->appending) {
		prep->mode = PREP_NEW;
		return 0;
	}
	if (there->incomplete && !there->appending)
		return error_set(
			err, -EBUSY,
			"%s: --append: kiln prep did not finish the set there: run that kiln prep again",
			prep->where.url);
	if (there->manifest_bytes > MANIFEST_BYTES_MAX)
		return error_set(err, -EFBIG,
				 "%s: --append: " MANIFEST_NAME " has %" PRIu64
				 " bytes, of which a run reads at most %" PRIu64,
				 prep->where.url, there->manifest_bytes, MANIFEST_BYTES_MAX);
	return check_schema(prep, now, err);
}

int set_decide(struct prep *prep, const struct example_schema *schema, struct error *err)
{
	const struct prep_there *there = &prep->there;
	CLEANUP(json_free) cJSON *now = NULL;

	make_id(prep);
	now = dataset_describe(prep, schema);
	if (prep->mode == PREP_APPEND)
		return decide_append(prep, now, err);
	if (prep->mode == PREP_REPLACE || !there->marked)
		return 0;
	if (!there->dataset)
		return there->incomplete
			       ? 0
			       : refuse(prep, ", without a " DATASET_NAME " that can be read", now, err);
	if (cJSON_HasObjectItem(there->dataset, "sets"))
		return refuse(prep, ", with added sets", now, err);
	return is_same(there->dataset, now) ? 0 : refuse(prep, "", now, err);
}
