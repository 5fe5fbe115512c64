/* SPDX-License-Identifier: Apache-2.0 */
/* The shards below a URL or a folder, or one shard, and their records one after the other. */
#pragma once

#include "core/config/config.h"
#include "drivers/store/store.h"

#define LOOK_GLOB "*tfrecord*"

struct look_place {
	struct store *store;
	char *url; /* of the folder: s3://..., lakefs://... or file:///... */
	char **key;
	uint32_t keys;
};

/* `name`: a path or URL of a folder with shards, or of one shard. A folder may have no shards. Owns: the
 * caller calls look_place_done(), after an error, too. Errors: those of a store; -ENOENT. */
MUST_CHECK int look_place_open(const struct config_store *where, const char *name, const char *glob,
			       struct look_place *ret_place, struct error *err);
void look_place_done(struct look_place *place);

/* Calls `each` for the first `most` records, in the order of the keys. Errors: those of a store and of
 * `each`, -EBADMSG a record is damaged; the text names shard and record. */
MUST_CHECK int look_records(const struct look_place *place, uint64_t most,
			    int (*each)(void *context, const void *data, uint64_t bytes, struct error *err),
			    void *context, struct error *err);
