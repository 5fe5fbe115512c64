/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of a night that is not judged yet (promote.against), because the wait for its uploads ended
 * before the store had all of its files, or because a server was away. Two files in PATH_RUNS, without
 * content:
 *
 *     unjudged   kiln-oneshot finished writes it when its wait has ended, kiln-oneshot promote after an error
 *                that may pass
 *     judge      kiln-uploadd renames unjudged to it, once the store has all files, and again after growing
 *                pauses; kiln-promote.path waits for it, and kiln-oneshot promote removes it before it judges
 *
 * A crash between two steps loses nothing: after a boot kiln-oneshot resume looks whether the last night has
 * its outcome.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

/* Notes that the model of the last night is to be judged later. */
MUST_CHECK int unjudged_note(struct error *err);
bool unjudged_is_noted(void);
/* The uploads are complete: asks for the judgement. */
MUST_CHECK int unjudged_ask(struct error *err);
/* The judgement begins, or is pointless: removes both files. */
void unjudged_forget(void);
