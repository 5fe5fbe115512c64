/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the rings of slots (core/base/slot.h). */
#pragma once

/* Removes the ring of each slot from `first` on, and its mount of hugetlbfs: a night that had more slots
 * leaves them. What is in use stays, with a line in the log. `first`: at least 1. */
void release_slots(unsigned first);
