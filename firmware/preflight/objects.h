/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of a source of objects (source.format = "objects"), from the listings of its splits. Private to
 * preflight. Order: objects_note() for each key, train first; objects_say() at the
 * end; objects_done().
 */
#pragma once

#include "core/ring/cursor.h"
#include "data/plan_classes.h"
#include "preflight/preflight.h"

struct objects {
	struct plan_classes classes; /* of the train split */
	bool cut;                    /* the train split has more objects than were listed */
	struct error homeless;       /* the first key without a folder; code 0 = none */
	struct error stray;          /* the first key whose class does not train */
};

void objects_note(struct objects *objects, enum split split, const char *key);
/* Adds rows for what was found. `url`: the source's. */
void objects_say(struct preflight *preflight, const char *url, const struct objects *objects);
void objects_done(struct objects *objects);
