/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The champion: the model that was promoted last, in the folder models/<run.name>/ of the sink.
 *
 *     champion.json                 the champion; written last, in one step
 *     champions/<n>.json            champion.json of each number, the history
 *     saved_model/<n>/, onnx/<n>/   the model's files; TensorFlow Serving polls saved_model/
 *     kiln/<n>/                     model.safetensors and the files beside it, with which it is judged again
 *     next.json                     {number, run_id}: the number that was taken last, and the run that
 *                                   trained its model
 *
 * n is 1 for the first champion and grows, also when the former champion comes back. A number has the files
 * of one model: a promotion that does not end leaves its number to a promotion of the same run. The members:
 *
 *     version, name (run.name), number (n), kiln_version
 *     run_id, series, trial   the run that trained the model; series and trial are "" for a run of its own
 *     promoted_s              Unix time
 *     metrics                 {train, validation, test} of run.json
 *     files                   [{key, bytes, sha256}], keys below this folder
 *     saved_model, onnx, kiln n, or null where the run wrote no such file
 *     test                    the paired test that it won (paired.h), or null
 *     lost                    the trials of the series that have a value, and the champion, that lost to it
 *     before                  number of the former champion, 0 = none
 *     rolled_back             number of the champion that it replaced again; missing otherwise
 *
 * One writer: kiln-oneshot promote. Everybody who may write into the bucket can replace the files, so a
 * reader checks them; kiln-oneshot promote checks the SHA-256 of those that it judges or copies.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

#define CHAMPION_VERSION   1u
#define CHAMPION_BYTES_MAX (4u << 20)
#define CHAMPION_FOLDERS   3u

/* The folders of a champion's files, as listed above. */
extern const char *const champion_folders[CHAMPION_FOLDERS];

struct champion {
	cJSON *record; /* owned; the strings below belong to this record */
	const char *run_id;
	uint64_t number, before;
};

/* Opens the folder models/<run.name>/ of `sink`: the sink of the configuration, with the branch that is asked
 * for where it has branches (merge.h). */
MUST_CHECK int champion_store(const struct config *config, const struct config_store *sink,
			      struct store **ret_models, struct error *err);

/* Gets the champion; ret_champion->record stays NULL where there is none. The caller calls champion_done().
 * Errors: -EBADMSG; those of a store. */
MUST_CHECK int champion_get(struct store *models, struct champion *ret_champion, struct error *err);
/* Gets an earlier champion. Errors: also -ENOENT. */
MUST_CHECK int champion_get_former(struct store *models, uint64_t number, struct champion *ret_champion,
				   struct error *err);
/* Returns the SHA-256 of a file of a champion, as its record has it; "": the record does not have it. */
const char *champion_sha256(const struct champion *champion, const char *key);
/* Returns the Unix time at which the champion was promoted. */
int64_t champion_promoted_s(const struct champion *champion);
void champion_done(struct champion *champion); /* for CLEANUP() */

/* Takes the number of the next champion, for the model of `run_id`, before a file is copied: larger than
 * every number in next.json, champion.json and the folders, or that of an unfinished promotion of the same
 * run. `champion`: the one so far; its record may be NULL. Errors: those of a store. */
MUST_CHECK int champion_take_number(struct store *models, const struct champion *champion, const char *run_id,
				    uint64_t *ret_number, struct error *err);

/* Writes champions/<n>.json, then champion.json. A kill between the two leaves the former champion. */
MUST_CHECK int champion_put(struct store *models, const cJSON *record, uint64_t number, struct error *err);

/* Notes for the tracking server that the model of this run is the champion `number` (core/run/tracking.h). A
 * failure is logged: the champion is the champion. May be called again. */
void champion_track(const struct config *config, const struct store *models, const char *run_id,
		    uint64_t number);
