/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the files of a model to the folders of a champion (champion.h): from a run's folder `model`, or from
 * the folders of an earlier champion. Each file goes through this disk, and is checked on both ways. The file
 * saved_model.pb comes last: a server that finds it finds the whole folder.
 *
 * Order: copies_of_run or copies_of_champion -> copies_make -> copies_json -> copies_done. A kill at any
 * moment leaves files below a number that no champion.json names, and that no other model gets
 * (champion_take_number()); the same copy again gives the same files.
 */
#pragma once

#include "oneshot/promote/champion.h"

struct copy {
	char *from, *to;      /* keys */
	const char *expected; /* SHA-256 of the file, in the champion's record; NULL = any */
	uint64_t bytes;
	char sha256[65];
};

struct copies {
	uint64_t number; /* number of the champion that gets the files */
	uint32_t count;
	struct copy *copy;
};

/* List what to copy. `model`: the store of the run's folder `model`. `champion` must outlive the copies.
 * Errors: -ENOENT the run has no finished model; -ENOMEM. The caller calls copies_done(), also after an
 * error. */
MUST_CHECK int copies_of_run(struct store *model, uint64_t number, struct copies *ret_copies,
			     struct error *err);
MUST_CHECK int copies_of_champion(const struct champion *champion, uint64_t number, struct copies *ret_copies,
				  struct error *err);

/* Copies all files, and sets bytes and sha256. Errors: those of a store; -EBADMSG the file of a champion is
 * another than its record says. First removes the unfinished uploads that a killed promotion
 * has left. */
MUST_CHECK int copies_make(struct copies *copies, struct store *from, struct store *models,
			   struct error *err);

/* Adds "files" to a champion's record, and "saved_model", "onnx" and "kiln": the number, or null where no
 * file went there. */
MUST_CHECK int copies_json(const struct copies *copies, cJSON *record, struct error *err);
void copies_done(struct copies *copies);
