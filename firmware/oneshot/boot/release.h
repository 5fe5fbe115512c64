/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the rings of slots (core/base/slot.h). */
#pragma once

#include "core/base/error.h"

/* Removes the rings of this slot: of rank 0, and of further ranks that an earlier run had. Errors: -EBUSY one
 * of them is open; the others are removed. */
MUST_CHECK int release_rings(struct error *err);

/* Removes the ring of each slot from `first` on, and its mount of hugetlbfs: a night that had more slots
 * leaves them. What is in use stays, with a line in the log. `first`: at least 1. */
void release_slots(unsigned first);
