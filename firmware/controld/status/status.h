/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status object, schema 1: what `kiln status`, the watch screen and the metrics show. Each request makes
 * it anew from the status pages, the run record, the disk and the journal. Every member is always present,
 * null if its value is not known.
 */
#pragma once

#include "controld/status/box.h"

/* Makes the status object. NULL: no memory. */
cJSON *status_object(struct box *box);
