/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/trials.h"

#include "core/base/json.h"
#include "core/config/config_tree.h"
#include "core/series/trials_draft.h"

#include <string.h>

typedef void check_fn(const struct config *config, struct mistakes *mistakes);

/* ---- Mistakes of many trials ---- */

#define TOLD_MAX 4096u /* different mistakes that are remembered */

/* Passes the mistakes of a file and of its trials on, each once. */
struct teller {
	struct mistakes *to;
	const char *trial; /* NULL: the file */
	uint32_t told;
	uint64_t hash[TOLD_MAX]; /* each made of a line and a text */
};

/* FNV-1a: Fowler, Noll, Vo. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static void tell(void *listener, unsigned line, const char *text)
{
	struct teller *teller = listener;
	const uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325) + line, text);

	for (uint32_t i = 0; i < teller->told; i++)
		if (teller->hash[i] == hash)
			return;
	if (teller->told < TOLD_MAX)
		teller->hash[teller->told++] = hash;
	if (teller->trial)
		mistakes_add(teller->to, line, "trial \"%s\": %s", teller->trial, text);
	else
		mistakes_add(teller->to, line, "%s", text);
}

/* ---- The check of every trial ---- */

/* A trial's configuration, to compare it with those of the others. */
struct print {
	uint64_t hash;
	bool known;
};

/* Hashes the whole configuration. A value counts the same whether the file gives it or it is the default. */
static int hash_config(struct config *config, uint64_t *ret, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	memset(config->memory->given, true, sizeof(config->memory->given));
	config->memory->schema_given = config->memory->layers_given = true;
	r = config_print(config, &text, err);
	if (r == 0)
		*ret = hash_text(UINT64_C(0xcbf29ce484222325), text);
	return r;
}

static void compare(const struct draft *draft, const struct print *prints, uint32_t index,
		    struct mistakes *mistakes)
{
	for (uint32_t i = 0; i < index; i++)
		if (prints[i].known && prints[i].hash == prints[index].hash) {
			mistakes_add(mistakes, draft->trial[index].line,
				     "found the configuration of trial \"%s\", allowed: another one in every "
				     "trial",
				     draft->trial[i].name ? draft->trial[i].name : "");
			return;
		}
}

static int check_trial(const struct draft *draft, uint32_t index, check_fn *check, struct teller *teller,
		       struct print *prints)
{
	const struct draft_trial *trial = &draft->trial[index];
	CLEANUP(config_done) struct config config = { 0 };
	struct mistakes mistakes = {
		.file = teller->to->file, .err = teller->to->err, .hear = tell, .listener = teller
	};
	int r;

	teller->trial = trial->name ? trial->name : "";
	r = config_open(&trial->overlay, &mistakes, &config);
	if (r < 0)
		return r;
	if (check)
		check(&config, &mistakes);
	if (mistakes.count)
		return 0;
	r = hash_config(&config, &prints[index].hash, mistakes.err);
	prints[index].known = r == 0;
	compare(draft, prints, index, &mistakes);
	return r;
}

static void check_names(const struct draft *draft, struct teller *teller)
{
	for (uint32_t i = 0; i < draft->count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const char *name = draft->trial[i].name, *other = draft->trial[k].name;

			if (!name || !other || strcmp(name, other) != 0)
				continue;
			mistakes_add(
				teller->to, draft->trial[i].line,
				"experiments.name: found \"%s\" twice, allowed: once, and another name than "
				"those of the trials of `vary`",
				name);
			break;
		}
}

static int check_trials(const struct draft *draft, check_fn *check, struct teller *teller)
{
	CLEANUP(free_ptr) struct print *prints = calloc(draft->count + 1, sizeof(*prints));
	int r = prints ? 0 : -ENOMEM;

	check_names(draft, teller);
	for (uint32_t i = 0; r == 0 && i < draft->count; i++)
		r = check_trial(draft, i, check, teller, prints);
	return r;
}

/* ---- The list ---- */

static cJSON *overrides_of(const struct draft_trial *trial)
{
	cJSON *json = cJSON_CreateObject();

	for (uint32_t i = 0; i < trial->overlay.count; i++)
		(void)cJSON_AddItemToObject(json, trial->override[i].key,
					    config_tree_json(trial->override[i].value));
	return json;
}

static int take_trials(const struct draft *draft, struct trials *ret)
{
	CLEANUP(trials_done)
	struct trials trials = { .method = draft->method, .seed = draft->reading.config->run.seed };

	trials.trial = calloc(draft->count + 1, sizeof(*trials.trial));
	if (!trials.trial)
		return -ENOMEM;
	for (; trials.count < draft->count; trials.count++) {
		struct trial *trial = &trials.trial[trials.count];

		(void)snprintf(trial->name, sizeof(trial->name), "%s", draft->trial[trials.count].name);
		trial->overrides = overrides_of(&draft->trial[trials.count]);
		if (!trial->overrides)
			return -ENOMEM;
	}
	*ret = trials;
	trials.trial = NULL;
	trials.count = 0;
	return 0;
}

static int examine_trials(struct config *config, check_fn *check, struct teller *teller, struct trials *ret)
{
	struct mistakes mistakes = {
		.file = teller->to->file, .err = teller->to->err, .hear = tell, .listener = teller
	};
	CLEANUP(free_ptr) struct draft *draft = calloc(1, sizeof(*draft));
	int r;

	if (!draft)
		return error_set(teller->to->err, -ENOMEM, "%s: no memory", teller->to->file);
	draft_open(config, &mistakes, draft);
	r = draft_read_experiments(draft);
	draft_read_vary(draft);
	if (r == 0)
		r = draft_expand(draft);
	if (r == 0)
		r = check_trials(draft, check, teller);
	if (r == 0 && ret && teller->to->count == 0)
		r = take_trials(draft, ret);
	draft_done(draft);
	return r == -ENOMEM ? error_set(teller->to->err, r, "%s: no memory", teller->to->file) : r;
}

/* Reads the file and its trials, and notes the mistakes of all. `ret` may be NULL. */
static int examine(struct mistakes *to, check_fn *check, struct trials *ret)
{
	CLEANUP(free_ptr) struct teller *teller = calloc(1, sizeof(*teller));
	CLEANUP(config_done) struct config config = { 0 };
	struct mistakes mistakes = { .file = to->file, .err = to->err, .hear = tell, .listener = teller };
	int r;

	if (!teller)
		return error_set(to->err, -ENOMEM, "%s: no memory", to->file);
	teller->to = to;
	r = config_open(NULL, &mistakes, &config);
	if (r < 0)
		return r;
	if (check)
		check(&config, &mistakes);
	if (config_has_trials(&config))
		r = examine_trials(&config, check, teller, ret);
	return r == 0 && to->count ? -EINVAL : r;
}

int trials_make(const char *file, struct trials *ret, struct error *err)
{
	struct mistakes mistakes = { .file = file, .err = err };
	struct trials trials = { .method = "list" };
	int r = examine(&mistakes, NULL, &trials);

	if (r == 0)
		*ret = trials;
	return r;
}

void trials_done(struct trials *trials)
{
	for (uint32_t i = 0; i < trials->count; i++)
		cJSON_Delete(trials->trial[i].overrides);
	free(trials->trial);
	memset(trials, 0, sizeof(*trials));
}

int trials_check(const char *file, check_fn *check, FILE *out)
{
	struct error err = { 0 };
	struct mistakes mistakes = { .file = file, .out = out, .err = &err };
	int r = examine(&mistakes, check, NULL);

	if (r < 0 && mistakes.count == 0)
		fprintf(out, "%s\n", err.text);
	return r;
}

int trials_check_text(const char *file, check_fn *check, char **ret_text, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	int r = out ? trials_check(file, check, out) : 0;

	if (!out || fclose(out) != 0)
		return error_set(err, -ENOMEM, "no memory");
	*ret_text = TAKE(text);
	return r;
}

/* ---- One trial ---- */

/* Makes the list of an overlay from JSON, and returns its length. `tree` owns the values, `overrides` the
 * keys. */
static uint32_t overlay_of(const cJSON *overrides, config_t *tree, struct config_override *list,
			   struct mistakes *mistakes)
{
	config_setting_t *values = config_setting_add(config_root_setting(tree), "values", CONFIG_TYPE_LIST);
	const cJSON *item;
	uint32_t count = 0;

	cJSON_ArrayForEach(item, overrides) {
		const config_setting_t *value;

		if (!draft_key_allowed(mistakes, item->string, 1))
			continue;
		value = values ? config_tree_add_json(values, NULL, item, 0) : NULL;
		if (!value)
			mistakes_add(mistakes, 1, "%.200s: found a value that kiln.conf cannot have",
				     item->string);
		else
			list[count++] = (struct config_override){ .key = item->string, .value = value };
	}
	return count;
}

int trials_config(const char *file, const cJSON *overrides, struct config *ret, struct error *err)
{
	CLEANUP(config_destroy) config_t tree;
	struct mistakes mistakes = { .file = file, .err = err };
	CLEANUP(free_ptr)
	struct config_override *list = calloc((size_t)cJSON_GetArraySize(overrides) + 1, sizeof(*list));
	struct config_overlay overlay = { .override = list };

	config_init(&tree);
	if (!list)
		return error_set(err, -ENOMEM, "%s: no memory", file);
	overlay.count = overlay_of(overrides, &tree, list, &mistakes);
	return config_open_good(&overlay, &mistakes, ret);
}
