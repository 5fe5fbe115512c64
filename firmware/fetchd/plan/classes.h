/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of a plan of objects (source.format = "objects"). Called when the plan is made. Main thread.
 */
#pragma once

#include "core/config/config.h"
#include "data/plan.h"

/* Checks that there are two classes or more, that each one trains, and that a one-hot label has a value for
 * each; a plan without objects is good. Errors: -EINVAL what was found and what is expected; -ENOMEM. */
MUST_CHECK int classes_check(const struct config *config, const struct plan *plan, struct error *err);

/* Notes the names of the classes in the run record, as "classes"; a plan without objects has none. Blocks: on
 * the disk. */
MUST_CHECK int classes_note(const struct plan *plan, struct error *err);
