/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set that is in the output before this `kiln prep`, and what this one may do with it:
 *
 *     the folder has                        without options   --replace    --append
 *     ------------------------------------  ----------------  -----------  --------------------------------
 *     nothing                               writes the set    writes it    writes the set
 *     the same records in the same form     writes what is    writes it    adds nothing, the records are
 *                                           missing                        there
 *     another set that kiln prep wrote      refuses           replaces it  adds a set of the same schema,
 *                                                                          classes and encoder
 *     shards that kiln prep did not write   refuses           refuses      refuses
 *
 * The id of a set is made of its records, so the same input gives the same id. The shards of an added set
 * have the id in their names, "train-1a2b3c4d-00000-of-00002.tfrecord.gz", and the set has its own manifest,
 * "manifest-1a2b3c4d.jsonl"; the lines of all sets are in manifest.jsonl. dataset.json lists the added sets
 * in "sets". So shards that are there keep their names, and with split.by = "hash" their side.
 */
#pragma once

#include "cli/prep/prep.h"
#include "drivers/store/store.h"

/* Looks at the output before any work: sets prep->there. Locks it where it is a folder: sets prep->lock. With
 * PREP_APPEND and an empty output the mode becomes PREP_NEW. Errors: those of a store; -EBUSY another kiln
 * prep works in the folder; -EEXIST shards of others, by name; -EBADMSG with PREP_APPEND, a
 * dataset.json that cannot be followed. */
MUST_CHECK int set_look(struct prep *prep, struct error *err);

/* With PREP_APPEND: takes from the set that is there what the new records must share with it: classes,
 * encoder or vocabulary, dims, the most tokens. Call it after the input is read and before make(). Errors:
 * those of a store; -EINVAL the input or an option does not fit, with what was found and what the set has. */
MUST_CHECK int set_follow(struct prep *prep, struct error *err);

/* Sets prep->id, and decides by the table above. Call it after make(). With PREP_APPEND and the records of a
 * first set that was not finished, the mode becomes PREP_NEW. Returns 1 where the records are there and
 * nothing is to be written. Errors: -EEXIST another set is there, and no option says what to do with it;
 * -EINVAL with PREP_APPEND, another schema; -EBUSY with PREP_APPEND, another kiln prep did not finish the set
 * that is there. */
MUST_CHECK int set_decide(struct prep *prep, const struct example_schema *schema, struct error *err);

void set_done(struct prep_there *there);
