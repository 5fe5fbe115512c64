/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads checkpoints, and writes latest.json, the small object that names the newest checkpoint in the
 * store.
 *
 * Why latest.json is written last: readers (another box, a restore) rely only on it. So a checkpoint is first
 * uploaded, then checked in the store, and only then named in latest.json. After a crash between these steps
 * latest.json names an older, complete checkpoint; the next pass finds the new one in the store and writes
 * latest.json.
 */
#pragma once

#include "uploadd/state.h"

/* Reads which checkpoints the store has and what latest.json names. A damaged latest.json is replaced when
 * the next checkpoint is uploaded. */
MUST_CHECK int checkpoints_find(struct upload *upload, struct error *err);
/* Uploads those checkpoints of the spool (`local`) that the store should have, newest first, and writes
 * latest.json; then calls retain_apply(). Removes damaged checkpoints from `local`, so that no good
 * checkpoint is deleted because a newer, damaged one exists. */
MUST_CHECK int checkpoints_upload(struct upload *upload, struct steps *local, struct error *err);
