/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How records lie in the ring: a column a feature of the schema, then BATCH_COLUMN_EMPTY.
 */
#pragma once

#include "core/config.h"
#include "core/ring.h"
#include "data/example.h"

/* uint8: 1 = a record that was skipped or a lane that has ended, the row counts for nothing. */
#define BATCH_COLUMN_EMPTY "empty"

/* Names are the config's. Errors: -EINVAL a feature is too large. */
MUST_CHECK int batch_schema(const struct config *config, struct example_schema *ret_schema,
			    struct error *err);

/* The ring of run.batch_rows and ring.slots for it. */
void batch_geometry(const struct config *config, const struct example_schema *schema,
		    struct ring_geometry *ret_geometry);
