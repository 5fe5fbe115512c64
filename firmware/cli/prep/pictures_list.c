/* SPDX-License-Identifier: Apache-2.0 */
/* Takes class and split of pictures from their names. */
#include "cli/prep/pictures_list.h"

#include <string.h>

/* ---- Names ---- */

bool pictures_is_name(const char *name)
{
	static const char *const ends[] = { ".jpg", ".jpeg", ".jpe", ".png",  ".gif", ".webp",
					    ".bmp", ".heic", ".tif", ".tiff", ".avif" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcasecmp(dot, ends[i]) == 0)
			return true;
	return false;
}

/* Returns the split of a folder with this name; TEXTS_SPLITS: none. */
static enum texts_split split_of(const char *folder, size_t bytes)
{
	static const struct {
		const char *name;
		enum texts_split split;
	} names[] = {
		{ "train", TEXTS_TRAIN },           { "training", TEXTS_TRAIN },
		{ "val", TEXTS_VALIDATION },        { "valid", TEXTS_VALIDATION },
		{ "validation", TEXTS_VALIDATION }, { "test", TEXTS_TEST },
		{ "testing", TEXTS_TEST },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == bytes && strncmp(names[i].name, folder, bytes) == 0)
			return names[i].split;
	return TEXTS_SPLITS;
}

static bool is_hidden(const char *name)
{
	return name[0] == '.' || strstr(name, "/.");
}

/* Finds the class, which is the last folder of the name, and the split, which is a folder above it. Returns
 * false where the name has no folder. */
static bool find_class(struct picture_item *item, enum texts_split *ret_split)
{
	const char *end = strrchr(item->name, '/'), *at = item->name, *slash;

	*ret_split = TEXTS_SPLITS;
	if (!end || end == item->name)
		return false;
	while ((slash = strchr(at, '/')) < end) {
		const enum texts_split split = split_of(at, (size_t)(slash - at));

		*ret_split = split == TEXTS_SPLITS ? *ret_split : split;
		at = slash + 1;
	}
	item->class = at;
	item->class_bytes = (uint32_t)(end - at);
	return true;
}

/* ---- The list ---- */

static int grow(struct pictures *pictures, struct error *err)
{
	const uint32_t capacity = pictures->capacity ? 2 * pictures->capacity : 1024;
	struct picture_item *item;

	if (pictures->items < pictures->capacity)
		return 0;
	item = pictures->items < UINT32_MAX / 4 ? realloc(pictures->item, capacity * sizeof(*item)) : NULL;
	if (!item)
		return error_set(err, -ENOMEM, "no memory for %u pictures", pictures->items);
	pictures->item = item;
	pictures->capacity = capacity;
	return 0;
}

static int join(const char *input, const char *name, char **ret_path, const char **ret_name,
		struct error *err)
{
	const size_t length = strlen(input);

	if (asprintf(ret_path, "%s/%s", input, name) < 0)
		return error_set(err, -ENOMEM, "no memory for a name");
	*ret_name = *ret_path + length + 1;
	return 0;
}

int pictures_list_add(struct pictures_list *list, const char *name, struct picture_item **ret_item,
		      struct error *err)
{
	struct picture_item item = { .from = list->from };
	struct pictures *pictures = list->pictures;
	enum texts_split split;
	int r;

	while (strncmp(name, "./", 2) == 0)
		name += 2;
	if (is_hidden(name))
		return 0;
	if (strlen(name) > PICTURES_NAME_MAX)
		return error_set(err, -EBADMSG, "%s/%s: a name of %zu bytes, at most %u", list->input, name,
				 strlen(name), PICTURES_NAME_MAX);
	if ((r = grow(pictures, err)) < 0 || (r = join(list->input, name, &item.path, &item.name, err)) < 0)
		return r;
	if (!find_class(&item, &split)) {
		pictures->outside++;
		free(item.path);
		return 0;
	}
	item.in_split = split != TEXTS_SPLITS;
	item.split = list->split != TEXTS_TRAIN ? list->split : split == TEXTS_SPLITS ? TEXTS_TRAIN : split;
	pictures->item[pictures->items] = item;
	*ret_item = &pictures->item[pictures->items++];
	return 1;
}

/* Returns the bytes of the name of a file's folder, with its slash. */
static size_t folder_bytes(const struct picture_item *item)
{
	return (size_t)(strrchr(item->name, '/') + 1 - item->name);
}

/* Tells whether another file of the input lies in a folder below the folder of this one. */
static bool has_folders_beside(const struct pictures_list *list, const struct picture_item *item)
{
	const size_t bytes = folder_bytes(item);

	for (uint32_t i = list->first; i < list->pictures->items; i++) {
		const struct picture_item *other = &list->pictures->item[i];

		if (strncmp(other->name, item->name, bytes) == 0 && strchr(other->name + bytes, '/'))
			return true;
	}
	return false;
}

/* Takes out files such as flower_photos/LICENSE.txt: beside class folders, and without the name of a picture.
 */
static void take_out_others(struct pictures_list *list)
{
	struct pictures *pictures = list->pictures;
	const struct picture_item *last = NULL;
	uint32_t kept = list->first;
	bool beside = false;

	for (uint32_t i = list->first; i < pictures->items; i++) {
		struct picture_item *item = &pictures->item[i];

		item->other = !pictures_is_name(item->name);
		if (!item->other)
			continue;
		/* The files of a folder come one after the other, and have one answer. */
		if (!last || folder_bytes(last) != folder_bytes(item) ||
		    strncmp(last->name, item->name, folder_bytes(item)) != 0)
			beside = has_folders_beside(list, item);
		last = item;
		item->other = beside;
	}
	for (uint32_t i = list->first; i < pictures->items; i++) {
		if (!pictures->item[i].other)
			pictures->item[kept++] = pictures->item[i];
		else
			free(pictures->item[i].path);
	}
	pictures->outside += pictures->items - kept;
	pictures->items = kept;
}

int pictures_list_end(struct pictures_list *list, struct error *err)
{
	const char *inside = NULL, *outside = NULL;

	take_out_others(list);
	for (uint32_t i = list->first; i < list->pictures->items; i++) {
		struct picture_item *item = &list->pictures->item[i];
		int r = texts_label(list->texts, item->class, item->class_bytes, &item->label, err);

		if (r < 0)
			return error_prefix(err, "%s", item->path);
		if (item->in_split)
			inside = inside ? inside : item->path;
		else
			outside = outside ? outside : item->path;
	}
	if (list->split != TEXTS_TRAIN || !inside || !outside)
		return 0;
	return error_set(err, -EBADMSG, "%s: found in no folder train, val or test, but %s is in one",
			 outside, inside);
}
