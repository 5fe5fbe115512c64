/* SPDX-License-Identifier: Apache-2.0 */
#include "data/plan_classes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *last_slash(const char *key, const char *before)
{
	while (before > key && before[-1] != '/')
		before--;
	return before > key ? before - 1 : NULL;
}

int plan_class_of(const char *key, char ret_name[static PLAN_CLASS_BYTES], struct error *err)
{
	const char *end = strrchr(key, '/'), *slash = end ? last_slash(key, end) : NULL;
	const char *begin = slash ? slash + 1 : key;

	if (!end || end == begin || (size_t)(end - begin) >= PLAN_CLASS_BYTES)
		return error_set(err, -EINVAL,
				 "object \"%.200s\": found no folder in its key, expected CLASS/NAME or "
				 "FOLDER/CLASS/NAME: the folder of an object is its class",
				 key);
	memcpy(ret_name, begin, (size_t)(end - begin));
	ret_name[end - begin] = '\0';
	return 0;
}

bool plan_is_folder(const char *key)
{
	const size_t bytes = strlen(key);

	return bytes > 0 && key[bytes - 1] == '/';
}

bool plan_classes_find(const struct plan_classes *classes, const char *name, uint64_t *ret_number)
{
	uint64_t low = 0, high = classes->count;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		const int order = strcmp(classes->name[middle], name);

		if (order == 0) {
			*ret_number = middle;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_number = low;
	return false;
}

bool plan_classes_number(struct plan_classes *classes, const char *key, uint64_t *ret_number)
{
	char name[PLAN_CLASS_BYTES];

	if (plan_class_of(key, name, NULL) < 0)
		return false;
	if (classes->near >= classes->count || strcmp(classes->name[classes->near], name) != 0)
		if (!plan_classes_find(classes, name, &classes->near))
			return false;
	*ret_number = classes->near;
	return true;
}

static int grow(struct plan_classes *classes, struct error *err)
{
	const uint64_t capacity = classes->capacity ? 2 * classes->capacity : 64;
	const char **name;

	if (classes->count == PLAN_CLASSES_MAX)
		return error_set(err, -EINVAL, "found more than %u folders with objects, allowed: %u classes",
				 PLAN_CLASSES_MAX, PLAN_CLASSES_MAX);
	if (classes->count < classes->capacity)
		return 0;
	name = realloc(classes->name, capacity * sizeof(*name));
	if (!name)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " classes", capacity);
	classes->name = name;
	classes->capacity = capacity;
	return 0;
}

int plan_classes_add(struct plan_classes *classes, const char *key, struct error *err)
{
	char name[PLAN_CLASS_BYTES], *own;
	uint64_t at;
	int r = plan_class_of(key, name, err);

	if (r < 0)
		return r;
	if (plan_classes_number(classes, key, &at))
		return 0;
	(void)plan_classes_find(classes, name, &at);
	if ((r = grow(classes, err)) < 0)
		return r;
	own = strdup(name);
	if (!own)
		return error_set(err, -ENOMEM, "no memory for the name of a class");
	memmove(classes->name + at + 1, classes->name + at, (classes->count - at) * sizeof(*classes->name));
	classes->name[at] = own;
	classes->count++;
	classes->near = at;
	return 0;
}

int plan_classes_read(struct plan_classes *classes, const char *text, uint64_t bytes, uint64_t count,
		      struct error *err)
{
	uint64_t at = 0;

	*classes = (struct plan_classes){ .borrowed = true };
	if (count > PLAN_CLASSES_MAX)
		return error_set(err, -EBADMSG, "found %" PRIu64 " classes, at most %u", count,
				 PLAN_CLASSES_MAX);
	classes->name = calloc(count + 1, sizeof(*classes->name));
	if (!classes->name)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " classes", count);
	for (; classes->count < count; classes->count++) {
		const char *name = text + at, *end = at < bytes ? memchr(name, '\0', bytes - at) : NULL;

		if (!end || end == name || (uint64_t)(end - name) >= PLAN_CLASS_BYTES ||
		    (classes->count > 0 && strcmp(classes->name[classes->count - 1], name) >= 0))
			return error_set(err, -EBADMSG,
					 "the name of class %" PRIu64 " is not a text in bytewise order",
					 classes->count);
		classes->name[classes->count] = name;
		at += (uint64_t)(end - name) + 1;
	}
	return at == bytes ? 0
			   : error_set(err, -EBADMSG,
				       "found %" PRIu64 " bytes of names of classes, expected %" PRIu64,
				       bytes, at);
}

void plan_classes_done(struct plan_classes *classes)
{
	for (uint64_t i = 0; i < classes->count && !classes->borrowed; i++)
		free((void *)(uintptr_t)classes->name[i]);
	free(classes->name);
	*classes = (struct plan_classes){ 0 };
}
