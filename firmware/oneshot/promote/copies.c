/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/copies.h"

#include "core/base/paths.h"
#include "drivers/digest/digest.h"

#include <inttypes.h>
#include <string.h>

#define PART_FILE    "promote.part" /* the file that is copied now; it lies in PATH_RUNS */
#define LAST_FILE    "/saved_model.pb"
#define MODEL_FILE   "model.safetensors"
#define SAVED_FOLDER "saved_model/1/"
#define ONNX_SUFFIX  ".onnx"

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- The list ---- */

static int add(struct copies *copies, const char *from, const char *folder, const char *tail)
{
	struct copy *grown = reallocarray(copies->copy, copies->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	copies->copy = grown;
	grown[copies->count] = (struct copy){ .from = strdup(from) };
	if (!grown[copies->count].from)
		return -ENOMEM;
	copies->count++;
	return asprintf(&grown[copies->count - 1].to, "%s/%" PRIu64 "/%s", folder, copies->number, tail) < 0
		       ? -ENOMEM
		       : 0;
}

static int add_of_run(void *context, const struct store_object *object)
{
	const char *key = object->key;

	if (strncmp(key, SAVED_FOLDER, strlen(SAVED_FOLDER)) == 0)
		return add(context, key, "saved_model", key + strlen(SAVED_FOLDER));
	return add(context, key, ends_with(key, ONNX_SUFFIX) ? "onnx" : "kiln", key);
}

/* saved_model.pb comes last, the others by name. */
static int compare(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;
	const int last = ends_with(x->to, LAST_FILE) - ends_with(y->to, LAST_FILE);

	return last ? last : strcmp(x->to, y->to);
}

static int listed(struct copies *copies, int r, struct error *err)
{
	if (r == -ENOMEM)
		return error_set(err, r, "no memory for the names of a model's files");
	if (r == 0 && copies->count)
		qsort(copies->copy, copies->count, sizeof(*copies->copy), compare);
	return r;
}

int copies_of_run(struct store *model, uint64_t number, struct copies *ret_copies, struct error *err)
{
	int r;

	ret_copies->number = number;
	r = listed(ret_copies, store_list(model, NULL, add_of_run, ret_copies, err), err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < ret_copies->count; i++)
		if (strcmp(ret_copies->copy[i].from, MODEL_FILE) == 0)
			return 0;
	return error_set(err, -ENOENT, "%s: the run has no finished model", store_url(model));
}

int copies_of_champion(const struct champion *champion, uint64_t number, struct copies *ret_copies,
		       struct error *err)
{
	const cJSON *file;
	int r = 0;

	ret_copies->number = number;
	cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(champion->record, "files")) {
		const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "key"));

		/* FOLDER/NUMBER/TAIL, as champion_get() has checked */
		for (size_t i = 0; r == 0 && i < CHAMPION_FOLDERS; i++)
			if (strncmp(key, champion_folders[i], strlen(champion_folders[i])) == 0)
				r = add(ret_copies, key, champion_folders[i],
					strchr(key + strlen(champion_folders[i]) + 1, '/') + 1);
		if (r == 0)
			ret_copies->copy[ret_copies->count - 1].expected = champion_sha256(champion, key);
	}
	return listed(ret_copies, r, err);
}

/* ---- The copy ---- */

static int check_digest(const struct copy *copy, const char *path, const struct store *from,
			struct error *err)
{
	char found[DIGEST_HEX_BYTES];
	int r = copy->expected ? digest_file(path, found, err) : 0;

	if (r < 0 || !copy->expected || strcmp(found, copy->expected) == 0)
		return r;
	return error_set(err, -EBADMSG,
			 "%s/%s: found SHA-256 %s, expected %s, which the champion's record has",
			 store_url(from), copy->from, found, copy->expected);
}

static int copy_one(struct copy *copy, struct store *from, struct store *models, struct error *err)
{
	char path[PATH_BYTES];
	int r = store_get_file(from, copy->from, path_of(PATH_RUNS, PART_FILE, path), STORE_OBJECT_MAX, err);

	if (r == 0)
		r = check_digest(copy, path, from, err);
	if (r == 0)
		r = store_put_file(models, copy->to, path, copy->sha256, &copy->bytes, err);
	(void)unlink(path);
	return r;
}

int copies_make(struct copies *copies, struct store *from, struct store *models, struct error *err)
{
	int r = store_abort_stale(models, err);

	for (uint32_t i = 0; r >= 0 && i < copies->count; i++)
		r = copy_one(&copies->copy[i], from, models, err);
	return r < 0 ? r : 0;
}

/* ---- JSON ---- */

static bool add_number(const struct copies *copies, const char *folder, cJSON *record)
{
	const size_t length = strlen(folder);

	for (uint32_t i = 0; i < copies->count; i++)
		if (strncmp(copies->copy[i].to, folder, length) == 0)
			return json_add_u64(record, folder, copies->number);
	return cJSON_AddNullToObject(record, folder);
}

int copies_json(const struct copies *copies, cJSON *record, struct error *err)
{
	cJSON *files = cJSON_AddArrayToObject(record, "files");
	bool done = files;

	for (uint32_t i = 0; done && i < copies->count; i++) {
		const struct copy *copy = &copies->copy[i];
		cJSON *file = cJSON_CreateObject();

		done = cJSON_AddItemToArray(files, file) && cJSON_AddStringToObject(file, "key", copy->to) &&
		       json_add_u64(file, "bytes", copy->bytes) &&
		       cJSON_AddStringToObject(file, "sha256", copy->sha256);
	}
	for (size_t i = 0; done && i < CHAMPION_FOLDERS; i++)
		done = add_number(copies, champion_folders[i], record);
	return done ? 0 : error_set(err, -ENOMEM, "no memory for the record of a champion");
}

void copies_done(struct copies *copies)
{
	for (uint32_t i = 0; i < copies->count; i++) {
		free(copies->copy[i].from);
		free(copies->copy[i].to);
	}
	free(copies->copy);
}
