/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of the run record (run.json) about the data: the manifests when the plan was made, which may later
 * prove that a changed object has the same bytes, and the objects that changed. Blocks: on the disk. Any
 * thread.
 */
#pragma once

#include "drivers/store/store.h"

/* Notes the pins of the sources' manifests; called when the plan is made. */
MUST_CHECK int record_note_manifests(const struct store_pin *pin, uint32_t sources, struct error *err);

/* Reads the pin of a source's manifest; 0 bytes = there was none. */
MUST_CHECK int record_manifest(uint32_t source, struct store_pin *ret_pin, struct error *err);

/* Notes that an object changed, so that the run cannot be repeated from its plan; at most 64 keys are noted.
 */
MUST_CHECK int record_note_changed(const char *key, struct error *err);
