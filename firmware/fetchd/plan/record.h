/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run record (run.json) says about the data: the manifests of the plan's day, which may vouch for an
 * object later, and the objects that changed. Blocks: on the disk. Any thread.
 */
#pragma once

#include "drivers/store/store.h"

/* Notes the sources' manifests, when the plan is made. */
MUST_CHECK int record_note_manifests(const struct store_pin *pin, uint32_t sources, struct error *err);

/* Returns the pin of a source's manifest; 0 bytes = there was none. */
MUST_CHECK int record_manifest(uint32_t source, struct store_pin *ret_pin, struct error *err);

/* Notes that an object changed, so that the run cannot be repeated from its plan: at most 64 keys. */
MUST_CHECK int record_note_changed(const char *key, struct error *err);
