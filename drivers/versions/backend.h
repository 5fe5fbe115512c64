/* SPDX-License-Identifier: Apache-2.0 */
/* Inside drivers/versions: the table of operations that each backend provides; contracts in versions.h. */
#pragma once

#include "drivers/versions/versions.h"

struct versions_ops {
	void (*close)(struct versions *versions);
	int (*resolve)(struct versions *versions, const char *ref, char *ret_id, struct error *err);
	int (*head)(struct versions *versions, const char *branch, char *ret_id, struct error *err);
	int (*find_commit)(struct versions *versions, const char *branch, const cJSON *metadata, char *ret_id,
			   struct error *err);
	int (*branch)(struct versions *versions, const char *branch, const char *commit, const cJSON *mine,
		      struct error *err);
	int (*branch_new)(struct versions *versions, const char *branch, const char *commit,
			  struct error *err);
	int (*branches)(struct versions *versions, const char *prefix,
			int (*each)(void *context, const char *branch), void *context, struct error *err);
	int (*branch_delete)(struct versions *versions, const char *branch, struct error *err);
	int (*commit)(struct versions *versions, const char *branch, const char *message,
		      const cJSON *metadata, bool empty, char *ret_id, struct error *err);
	int (*merge)(struct versions *versions, const char *from, const char *into, const char *message,
		     const cJSON *metadata, bool from_wins, char *ret_id, struct error *err);
	int (*tag)(struct versions *versions, const char *tag, const char *commit, struct error *err);
	int (*diff)(struct versions *versions, const char *left, const char *right,
		    int (*each)(void *context, enum versions_change change, const char *path, uint64_t bytes),
		    void *context, struct error *err);
	int (*create)(struct versions *versions, const char *storage, struct error *err);
	int (*import)(struct versions *versions, const struct versions_import *import, char *ret_id,
		      uint64_t *ret_objects, struct error *err);
};

/* The first member of a backend's own structure. */
struct versions {
	const struct versions_ops *ops;
};

int versions_lakefs_open(const struct config_store *where, const struct store_options *options,
			 struct versions **ret_versions, struct error *err);
int versions_plain_open(const struct config_store *where, const struct store_options *options,
			struct versions **ret_versions, struct error *err);
