/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of one input come into struct pictures. For cli/prep/pictures*.c only. */
#pragma once

#include "cli/prep/pictures.h"

struct pictures_list {
	struct pictures *pictures;
	struct texts *texts;
	const char *input; /* name for error texts */
	enum texts_split split;
	enum picture_from from;
	uint32_t first;   /* index of the first file of this input */
	struct error err; /* the error of a callback of store_list() */
};

/* Adds a file by its name below the input. Returns 1 and the item, whose `from` is that of the list; 0 for a
 * file that does not count. Errors: -EBADMSG its name; -ENOMEM. */
MUST_CHECK int pictures_list_add(struct pictures_list *list, const char *name, struct picture_item **ret_item,
				 struct error *err);
/* Ends the list of an input: takes out files that are no pictures by name and lie beside class folders, adds
 * the labels, and checks that either all files are in folders train, val and test, or none is. */
MUST_CHECK int pictures_list_end(struct pictures_list *list, struct error *err);

/* Tells whether a file has the name of a picture of any format, such as "1.jpg". */
bool pictures_is_name(const char *name);

/* Makes the file without a name for copies, where there is none yet. */
MUST_CHECK int pictures_open_pool(struct pictures *pictures, struct error *err);
/* Appends a copy; any thread may call. Sets the item's offset and bytes. */
MUST_CHECK int pictures_keep(struct pictures *pictures, struct picture_item *item, const void *data,
			     uint64_t bytes, struct error *err);
