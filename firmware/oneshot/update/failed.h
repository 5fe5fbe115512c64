/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/box/update.h"

/* Ends an update as failed: removes the bundle, writes the note, sends the event. Returns the exit code. */
MUST_CHECK int update_failed(struct update *update, struct error *err);
