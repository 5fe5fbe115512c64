/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of a plan of objects: the names of the folders that hold the objects, in bytewise order. The
 * number of a class is its place in this order. For data/plan*.c and for whoever sees keys before there is a
 * plan. No state; one thread per set.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_CLASSES_MAX 65536u
#define PLAN_CLASS_BYTES 1024u /* of a name, with its NUL: a key has at most so many */

/* Writes the name of the class of an object: its key between the last two slashes, or before its only slash.
 * Errors: -EINVAL naming the key: it lies in no folder, or the folder's name is empty. */
MUST_CHECK int plan_class_of(const char *key, char ret_name[static PLAN_CLASS_BYTES], struct error *err);

/* Whether a key is not an object but the mark of a folder, as some tools make them: it ends with a slash. */
bool plan_is_folder(const char *key);

/* A set of names, sorted. Zero it first. */
struct plan_classes {
	const char **name;
	uint64_t count, capacity;
	uint64_t near; /* the class that was found last: most keys are of the class of the key before */
	bool borrowed; /* the names belong to another */
};
/* Finds a name. False: the set has no such name, and *ret_number is the place where it would stand. */
bool plan_classes_find(const struct plan_classes *classes, const char *name, uint64_t *ret_number);
/* Adds the class of a key, unless the set has it. Errors: those of plan_class_of(); -EINVAL more than
 * PLAN_CLASSES_MAX; -ENOMEM. */
MUST_CHECK int plan_classes_add(struct plan_classes *classes, const char *key, struct error *err);
/* Makes the set of `count` names that follow each other in `text`, each with its NUL; the text must live as
 * long. Errors: -EBADMSG `bytes` bytes are not so many names in bytewise order; -ENOMEM. */
MUST_CHECK int plan_classes_read(struct plan_classes *classes, const char *text, uint64_t bytes,
				 uint64_t count, struct error *err);
/* Finds the class of a key. False: the key has none, or the set has no such class. */
bool plan_classes_number(struct plan_classes *classes, const char *key, uint64_t *ret_number);
void plan_classes_done(struct plan_classes *classes);
