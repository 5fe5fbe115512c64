/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of tokenizer.json by their path, with errors that name it. A member that is not listed is refused,
 * because it may change the ids. For data/tokenizer/ only.
 */
#pragma once

#include "core/base/json.h"

#define PATH_NAME_BYTES 192u

/* An object of the file, and its path, such as "post_processor.processors[1]". */
struct path_object {
	const cJSON *json;
	char path[PATH_NAME_BYTES];
};

/* Tells whether a member is there and is not null. */
bool path_has(const struct path_object *object, const char *key);
/* Returns the member `key`, which is an object, and checks that it is one. -EBADMSG: it is not. */
MUST_CHECK int path_object(const struct path_object *object, const char *key, struct path_object *ret,
			   struct error *err);
/* Returns an item, which is an object, of the array `key`; `index` is its place. */
MUST_CHECK int path_item(const struct path_object *object, const char *key, const cJSON *item, unsigned index,
			 struct path_object *ret, struct error *err);
/* Returns a member, or `otherwise` where there is none. */
MUST_CHECK int path_bool(const struct path_object *object, const char *key, bool otherwise, bool *ret,
			 struct error *err);
/* Returns a string, which must be there. */
MUST_CHECK int path_string(const struct path_object *object, const char *key, const char **ret,
			   struct error *err);
/* Returns a whole number below `limit`. */
MUST_CHECK int path_id(const struct path_object *object, const char *key, uint32_t limit, uint32_t *ret,
		       struct error *err);
/* Returns the array `key`; it has no items where there is none. */
MUST_CHECK int path_array(const struct path_object *object, const char *key, const cJSON **ret,
			  struct error *err);

/* Refuses each member whose key is not among `keys`, which has a space after each key: "type vocab ". */
MUST_CHECK int path_only(const struct path_object *object, const char *keys, struct error *err);
/* Refuses a member that is there, and is not null, false, 0, "" or empty. */
MUST_CHECK int path_empty_member(const struct path_object *object, const char *key, struct error *err);
/* Refuses the value of a member, with what was expected. Returns -EBADMSG. */
int path_refuse(const struct path_object *object, const char *key, const char *expected, struct error *err);
