/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/look/place.h"

#include "core/base/paths.h"
#include "trained/location.h"
#include "trained/whole_shard.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define RECORD_MAX (UINT64_C(1) << 30)

void look_place_done(struct look_place *place)
{
	store_close(place->store);
	for (uint32_t i = 0; i < place->keys; i++)
		free(place->key[i]);
	free(place->key);
	free(place->url);
}

static int add_key(void *context, const struct store_object *object)
{
	struct look_place *place = context;
	char **key = realloc(place->key, ((size_t)place->keys + 1) * sizeof(*key));

	if (!key)
		return -ENOMEM;
	place->key = key;
	key[place->keys] = strdup(object->key);
	if (!key[place->keys])
		return -ENOMEM;
	place->keys++;
	return 0;
}

/* Tells whether a name is that of one shard: a file, or a URL whose last part matches the pattern. */
static bool is_one(const char *name, const char *glob)
{
	const char *path = strncmp(name, "file://", strlen("file://")) == 0 ? name + strlen("file://") : name;
	const char *slash = strrchr(name, '/');
	struct stat st;

	if (location_is_url(path))
		return slash[1] && fnmatch(glob, slash + 1, 0) == 0;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int open_folder(const struct config_store *where, const char *name, struct look_place *place,
		       struct error *err)
{
	const struct store_options options = { 0 };
	struct config_store at = *where;
	CLEANUP(free_ptr) char *path = NULL;

	if (location_is_url(name)) {
		place->url = strdup(name);
	} else {
		path = realpath(name, NULL);
		if (!path)
			return error_set(err, -errno, "%s: %s", name, strerror(errno));
		if (asprintf(&place->url, "file://%s", path) < 0)
			place->url = NULL;
	}
	if (!place->url)
		return error_set(err, -ENOMEM, "no memory for a URL");
	at.url = place->url;
	return store_open(&at, &options, &place->store, err);
}

int look_place_open(const struct config_store *where, const char *name, const char *glob,
		    struct look_place *ret_place, struct error *err)
{
	struct look_place *place = ret_place;
	const char *key;
	int r;

	*place = (struct look_place){ 0 };
	if (is_one(name, glob)) {
		struct store_object object = { 0 };

		if ((r = location_open(where, name, &place->store, &key, err)) < 0)
			return r;
		(void)snprintf(object.key, sizeof(object.key), "%s", key);
		place->url = strdup(store_url(place->store));
		return add_key(place, &object) < 0 || !place->url
			       ? error_set(err, -ENOMEM, "no memory for a key")
			       : 0;
	}
	if ((r = open_folder(where, name, place, err)) < 0)
		return r;
	r = store_list(place->store, glob, add_key, place, err);
	return r == -ENOMEM ? error_set(err, r, "%s: no memory for its keys", name) : r;
}

static int read_shard(const struct look_place *place, struct whole_shard *shard, const char *key,
		      uint64_t *left,
		      int (*each)(void *context, const void *data, uint64_t bytes, struct error *err),
		      void *context, struct error *err)
{
	int r = whole_shard_get(shard, place->store, key, err);

	if (r < 0)
		return r;
	if ((r = whole_shard_inflate(shard, err)) < 0)
		return error_prefix(err, "%s", key);
	while (*left && shard->at < shard->bytes) {
		const uint64_t number = shard->record;
		struct tfrecord record;

		r = whole_shard_next(shard, NULL, RECORD_MAX, &record, err);
		if (r >= 0)
			r = each(context, record.data, record.bytes, err);
		if (r < 0)
			return error_prefix(err, "%s: record %" PRIu64, key, number);
		(*left)--;
	}
	return 0;
}

int look_records(const struct look_place *place, uint64_t most,
		 int (*each)(void *context, const void *data, uint64_t bytes, struct error *err),
		 void *context, struct error *err)
{
	CLEANUP(whole_shard_done) struct whole_shard shard = { 0 };
	uint64_t left = most;
	int r = 0;

	for (uint32_t i = 0; r == 0 && left && i < place->keys; i++)
		r = read_shard(place, &shard, place->key[i], &left, each, context, err);
	return r;
}
