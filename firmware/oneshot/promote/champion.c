/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/champion.h"
#include "core/base/log.h"
#include "core/base/url.h"
#include "core/run/tracking.h"

#include <inttypes.h>
#include <string.h>

#define FILE_NAME    "champion.json"
#define NEXT_NAME    "next.json"
#define NEXT_MAX     4096u
#define NUMBER_MAX   (UINT64_C(1) << 52) /* a double holds it */
#define KEY_BYTES    64u
#define FILE_KEY_MAX (STORE_KEY_MAX - 32u) /* leaves room for the digits of a later number */

const char *const champion_folders[CHAMPION_FOLDERS] = { "saved_model", "onnx", "kiln" };

static char *history_key(uint64_t number, char out[static KEY_BYTES])
{
	(void)snprintf(out, KEY_BYTES, "champions/%" PRIu64 ".json", number);
	return out;
}

int champion_store(const struct config *config, const struct config_store *sink, struct store **ret_models,
		   struct error *err)
{
	const struct store_options options = store_options_of(config);
	struct config_store where = *sink;
	char url[PATH_BYTES];

	where.url = url_below(url, sizeof(url), sink->url, "models/%s", config->run.name);
	return store_open(&where, &options, ret_models, err);
}

/* Returns whether no part of a key is empty, "." or "..": a key below a folder then stays below it. */
static bool is_plain(const char *key)
{
	for (;;) {
		const size_t bytes = strcspn(key, "/");

		if (bytes == 0 || (bytes <= 2 && strncmp(key, "..", bytes) == 0))
			return false;
		if (!key[bytes])
			return true;
		key += bytes + 1;
	}
}

/* Returns whether the files of a champion lie in the folders of its number. */
static bool files_are_its_own(const cJSON *record, uint64_t number)
{
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(record, "files"), *file;
	char folder[KEY_BYTES];

	cJSON_ArrayForEach(file, files) {
		const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "key"));
		bool known = false;

		for (size_t i = 0; key && i < CHAMPION_FOLDERS; i++) {
			(void)snprintf(folder, sizeof(folder), "%s/%" PRIu64 "/", champion_folders[i],
				       number);
			known |= strncmp(key, folder, strlen(folder)) == 0 && strlen(key) < FILE_KEY_MAX &&
				 is_plain(key);
		}
		if (!known)
			return false;
	}
	return cJSON_IsArray(files);
}

static int check(const char *what, struct champion *champion, struct error *err)
{
	uint64_t version;
	int r;

	if ((r = json_get_u64(what, champion->record, "version", &version, err)) < 0 ||
	    (r = json_get_u64(what, champion->record, "number", &champion->number, err)) < 0 ||
	    (r = json_get_u64(what, champion->record, "before", &champion->before, err)) < 0 ||
	    (r = json_get_string(what, champion->record, "run_id", &champion->run_id, err)) < 0)
		return r;
	if (!run_is_id(champion->run_id))
		return error_set(err, -EBADMSG, "%s: found run_id \"%.100s\", expected the id of a run", what,
				 champion->run_id);
	if (version != CHAMPION_VERSION || champion->number >= NUMBER_MAX ||
	    champion->before >= champion->number || !files_are_its_own(champion->record, champion->number))
		return error_set(err, -EBADMSG,
				 "%s: found version %" PRIu64 ", number %" PRIu64 ", before %" PRIu64
				 ", expected version %u, a number below 2^52 and a smaller one before, files "
				 "of this number",
				 what, version, champion->number, champion->before, CHAMPION_VERSION);
	return 0;
}

static int get(struct store *models, const char *key, struct champion *ret_champion, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL, *what = NULL;
	uint64_t bytes;
	int r = store_get_all(models, key, CHAMPION_BYTES_MAX, &text, &bytes, err);

	if (r < 0)
		return r;
	if (asprintf(&what, "%s/%s", store_url(models), key) < 0)
		return error_set(err, -ENOMEM, "no memory for a name");
	r = json_parse(what, text, bytes, &ret_champion->record, err);
	return r < 0 ? r : check(what, ret_champion, err);
}

int champion_get(struct store *models, struct champion *ret_champion, struct error *err)
{
	int r = get(models, FILE_NAME, ret_champion, err);

	return r == -ENOENT ? 0 : r;
}

int champion_get_former(struct store *models, uint64_t number, struct champion *ret_champion,
			struct error *err)
{
	char key[KEY_BYTES];

	return get(models, history_key(number, key), ret_champion, err);
}

const char *champion_sha256(const struct champion *champion, const char *key)
{
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(champion->record, "files"), *file;
	const char *name, *sha256;

	cJSON_ArrayForEach(file, files) {
		name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "key"));
		sha256 = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "sha256"));
		if (sha256 && strcmp(name, key) == 0)
			return sha256;
	}
	return "";
}

int64_t champion_promoted_s(const struct champion *champion)
{
	return (int64_t)json_number(champion->record, "promoted_s", 0);
}

void champion_done(struct champion *champion)
{
	json_free(&champion->record);
}

int champion_put(struct store *models, const cJSON *record, uint64_t number, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[KEY_BYTES];
	int r = json_print(record, &text, err);

	if (r < 0 ||
	    (r = store_put_checked(models, history_key(number, key), text, strlen(text), NULL, err)) < 0)
		return r;
	return store_put_checked(models, FILE_NAME, text, strlen(text), NULL, err);
}

/* ---- The next number ---- */

/* A store_list() function: FOLDER/NUMBER/... raises *context to NUMBER. */
static int raise(void *context, const struct store_object *object)
{
	uint64_t *largest = context;
	const char *text = strchr(object->key, '/') + 1;
	const uint64_t number = strtoull(text, NULL, 10);

	if (*text >= '0' && *text <= '9' && number < NUMBER_MAX && number > *largest)
		*largest = number;
	return 0;
}

static int find_largest(struct store *models, uint64_t *ret_largest, struct error *err)
{
	char glob[KEY_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < CHAMPION_FOLDERS; i++) {
		(void)snprintf(glob, sizeof(glob), "%s/*", champion_folders[i]);
		r = store_list(models, glob, raise, ret_largest, err);
	}
	return r;
}

/* Reads the number that a promotion has taken last, and for which run. A damaged file counts as none. */
static int get_taken(struct store *models, const char *run_id, uint64_t *ret_number, bool *ret_ours,
		     struct error *err)
{
	CLEANUP(json_free) cJSON *taken = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	const char *owner;
	uint64_t bytes;
	int r = store_get_all(models, NEXT_NAME, NEXT_MAX, &text, &bytes, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (json_parse(NEXT_NAME, text, bytes, &taken, NULL) < 0 ||
	    json_get_string(NEXT_NAME, taken, "run_id", &owner, NULL) < 0 ||
	    json_get_u64(NEXT_NAME, taken, "number", ret_number, NULL) < 0 || *ret_number >= NUMBER_MAX)
		*ret_number = 0;
	else
		*ret_ours = strcmp(owner, run_id) == 0;
	return 0;
}

static int put_taken(struct store *models, const char *run_id, uint64_t number, struct error *err)
{
	CLEANUP(json_free) cJSON *taken = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!json_add_u64(taken, "number", number) || !cJSON_AddStringToObject(taken, "run_id", run_id))
		return error_set(err, -ENOMEM, "no memory for the number of a champion");
	r = json_print(taken, &text, err);
	return r < 0 ? r : store_put_checked(models, NEXT_NAME, text, strlen(text), NULL, err);
}

int champion_take_number(struct store *models, const struct champion *champion, const char *run_id,
			 uint64_t *ret_number, struct error *err)
{
	const uint64_t now = champion->record ? champion->number : 0;
	uint64_t number = 0;
	bool ours = false;
	int r = get_taken(models, run_id, &number, &ours, err);

	if (r == 0 && ours && number > now) {
		*ret_number = number;
		return 0;
	}
	if (number < now)
		number = now;
	if (r < 0 || (r = find_largest(models, &number, err)) < 0 ||
	    (r = put_taken(models, run_id, number + 1, err)) < 0)
		return r;
	*ret_number = number + 1;
	return 0;
}

void champion_track(const struct config *config, const struct store *models, const char *run_id,
		    uint64_t number)
{
	char source[PATH_BYTES];
	const struct tracking_champion champion = {
		.model = config->run.name, .run_id = run_id, .source = source, .number = number
	};
	struct error err;

	(void)snprintf(source, sizeof(source), "%s/saved_model/%" PRIu64, store_url(models), number);
	if (tracking_champion(config, &champion, &err) < 0)
		log_warning("%s: the tracking server is not told of the champion: %s", run_id, err.text);
}
