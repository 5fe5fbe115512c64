/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints on their way to the store, and latest.json, the small object that names the newest of them.
 *
 * Why latest.json moves last: a reader (another box, a restore) trusts it alone. So an object is uploaded,
 * then looked at in the store, and only then does latest.json name it. A crash between leaves latest.json at
 * an older checkpoint that is whole; the next pass finds the object in the store and moves latest.json on.
 */
#pragma once

#include "uploadd/state.h"

/* Reads which checkpoints the store has and what latest.json names. A damaged latest.json is written anew by
 * the next checkpoint. */
MUST_CHECK int checkpoints_find(struct upload *upload, struct error *err);
/* Uploads what is wanted of `local`, newest first, and moves latest.json; then retain_apply(). Damaged
 * checkpoints are removed from `local`, so that nothing is deleted because of them. */
MUST_CHECK int checkpoints_upload(struct upload *upload, struct steps *local, struct error *err);
