/* SPDX-License-Identifier: Apache-2.0 */
/* Finds pictures in folders and stores. */
#include "cli/prep/pictures_list.h"

#include <fts.h>
#include <string.h>

/* ---- A folder ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Handles one entry of the walk. A folder counts the files and folders in it. */
static int take_entry(struct pictures_list *list, FTS *walk, FTSENT *entry, struct error *err)
{
	struct picture_item *item;

	if (entry->fts_level > 0 && entry->fts_name[0] == '.') {
		(void)fts_set(walk, entry, FTS_SKIP);
		return 0;
	}
	switch (entry->fts_info) {
	case FTS_F:
		entry->fts_parent->fts_number++;
		return pictures_list_add(list, entry->fts_path + strlen(list->input) + 1, &item, err);
	case FTS_DP:
		entry->fts_parent->fts_number++;
		return entry->fts_level > 0 && entry->fts_number == 0
			       ? error_set(err, -EBADMSG, "%s: found an empty folder, expected pictures",
					   entry->fts_path)
			       : 0;
	case FTS_DC:
		return error_set(err, -ELOOP, "%s: a link to a folder above it", entry->fts_path);
	case FTS_SLNONE:
		return error_set(err, -ENOENT, "%s: a link to nothing", entry->fts_path);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return error_set(err, -entry->fts_errno, "%s: cannot read it: %s", entry->fts_path,
				 strerror(entry->fts_errno));
	default:
		return 0;
	}
}

int pictures_find_folder(struct pictures *pictures, struct texts *texts, const char *folder,
			 enum texts_split split, struct error *err)
{
	CLEANUP(free_ptr) char *root = strdup(folder);
	char *const roots[] = { root, NULL };
	struct pictures_list list = { pictures, texts, root, split, PICTURE_FILE, pictures->items, { 0 } };
	FTSENT *entry;
	FTS *walk;
	int r = 0;

	if (!root)
		return error_set(err, -ENOMEM, "no memory for a name");
	for (size_t end = strlen(root); end > 1 && root[end - 1] == '/'; end--)
		root[end - 1] = '\0';
	walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	if (!walk)
		return error_set(err, -errno, "%s: cannot read it: %s", folder, strerror(errno));
	while (r >= 0 && (entry = fts_read(walk)))
		r = take_entry(&list, walk, entry, err);
	(void)fts_close(walk);
	return r < 0 ? r : pictures_list_end(&list, err);
}

/* ---- Objects ---- */

static int take_object(void *context, const struct store_object *object)
{
	struct pictures_list *list = context;
	const size_t length = strlen(object->key);
	struct picture_item *item;
	int r;

	/* "daisy/" is an object that some programs make for a folder. */
	if (length == 0 || object->key[length - 1] == '/')
		return 0;
	r = pictures_list_add(list, object->key, &item, &list->err);
	if (r <= 0)
		return r;
	item->store = list->pictures->stores - 1;
	item->bytes = object->pin.bytes;
	return 0;
}

int pictures_find_objects(struct pictures *pictures, struct texts *texts, const struct config_store *where,
			  enum texts_split split, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct pictures_list list = { pictures,       texts,           where->url, split,
				      PICTURE_OBJECT, pictures->items, { 0 } };
	const struct store_options options = { 0 };
	int r;

	if (pictures->stores == PICTURES_STORES_MAX)
		return error_set(err, -EINVAL, "%s: more than %u prefixes", where->url, PICTURES_STORES_MAX);
	if ((r = pictures_open_pool(pictures, err)) < 0 || (r = store_open(where, &options, &store, err)) < 0)
		return r;
	stores_init(&pictures->store[pictures->stores++], where);
	r = store_list(store, NULL, take_object, &list, err);
	if (r < 0 && list.err.code) {
		*err = list.err;
		return err->code;
	}
	if (r < 0 || (r = pictures_list_end(&list, err)) < 0)
		return r;
	return pictures->items > list.first
		       ? 0
		       : error_set(err, -ENOENT,
				   "%s: found neither an object of this name nor class folders with pictures "
				   "below it",
				   where->url);
}
