/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the scalars of one tensorflow.Event, the data of a record of an event file (tfevents.h). Pure. */
#pragma once

#include "model/formats/tfevents.h"

struct tfevents_point {
	double wall_s; /* Unix time at which the point was written */
	uint64_t step;
	uint32_t count;
	struct {
		char tag[TFEVENTS_TAG_MAX + 1];
		float value;
	} scalar[TFEVENTS_SCALARS_MAX];
};

/* Returns how many scalars the event has; 0 where it is an event of another kind. Scalars beyond
 * TFEVENTS_SCALARS_MAX and those with a longer tag are left out. Errors: -EBADMSG broken bytes. */
MUST_CHECK int tfevents_read(const void *event, uint64_t bytes, struct tfevents_point *ret_point);
