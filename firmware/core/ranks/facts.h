/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two boxes must have in common before they train together: the leading box asks each other box
 * (rank.check of the control protocol) and compares the answer with itself, before it starts anything there.
 * The ranks themselves compare plan and model once more when they join (`same` in drivers/ranks/ranks.h).
 *
 * Pure functions, but ranks_facts_here(), which blocks on files. No state.
 */
#pragma once

#include "core/base/build.h"
#include "core/base/json.h"

#define RANKS_CLOCK_US     UINT64_C(2000000) /* longest difference of two boxes' clocks */
#define RANKS_DEVICE_BYTES 128u
#define RANKS_BUSY_BYTES   192u

struct ranks_facts {
	char build[BUILD_ID_BYTES]; /* build id of the program kiln-traind */
	/* platform and name of the device that trains; "" = not known, because no run has looked yet */
	char device[RANKS_DEVICE_BYTES];
	uint64_t time_us; /* since 1970 */
	/* what the box does that keeps it from taking part, as words after "it "; "" = nothing */
	char busy[RANKS_BUSY_BYTES];
};

/* Finds out about this box, but not whether it is busy. Errors: -ENOENT kiln-traind is not there, and
 * the like. */
MUST_CHECK int ranks_facts_here(struct ranks_facts *ret_facts, struct error *err);

/* Returns the facts as a new object; NULL: no memory. */
cJSON *ranks_facts_json(const struct ranks_facts *facts);
/* Errors: -EBADMSG a member is missing or too long. */
MUST_CHECK int ranks_facts_of(const cJSON *object, struct ranks_facts *ret_facts, struct error *err);

/* Compares another box with this one. `way_us`: how long its answer took, the time by which its clock may
 * seem to differ. `mixed`: devices may differ. A device that is not known yet is no
 * difference: the ranks compare their devices when they join. Errors: -EBUSY, -ESTALE; the text says what was
 * found and what was expected, and the caller puts the box's name before it. */
MUST_CHECK int ranks_facts_compare(const struct ranks_facts *found, const struct ranks_facts *here,
				   uint64_t way_us, bool mixed, struct error *err);
