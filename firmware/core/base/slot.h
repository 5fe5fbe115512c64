/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot is a place on the box where one run works. Slot 0 is always there, and has the runs that are no
 * trials. Trials of a series work side by side in slots 0 .. P - 1 (series.parallel), each on a device of its
 * own. A slot has
 *
 *     its current run        PATH_RUN, and the notes beside it in PATH_SLOT (core/base/paths.h)
 *     its ring               PATH_RING
 *     its status pages       PATH_SLOT_STATUS, of fetchd and traind
 *     its units of systemd   kiln-run, -begin, -fetchd, -traind, -hugepages, -finished, -run-failed: from
 * slot 1 on templates of the same text (rootfs/install), as kiln-traind@1.service its device             the
 * slot'th one that the configuration may use (drivers/gpu/choose.h)
 *
 * All else belongs to the box: the lock of the records, the archive, parked runs, series, the spool, the
 * cache, kiln-uploadd, kiln-controld.
 *
 * A process works for the slot in its environment variable KILN_SLOT, without one for slot 0. The programs of
 * the whole box look at the slots one after the other with slot_use().
 *
 * State: the slot, a number for each thread; the rank and its index on the box, numbers for the process; and
 * the environment, which is read once for each thread. No errors: a KILN_SLOT that is no slot counts as 0.
 */
#pragma once

#define SLOTS_MAX       16u
#define SLOT_UNIT_BYTES 64u

/* Returns the slot whose paths this thread uses. */
unsigned slot_now(void);
/* Makes this thread use the paths of a slot. Returns the slot before, to go back to. */
unsigned slot_use(unsigned slot);

/* The ranks of a run, which share its lanes (data/order.h), work side by side in a slot. Rank 0 uses the ring
 * and the status pages of the slot; from rank 1 on, each rank has its own. Returns the rank whose paths this
 * process uses; 0 before slot_use_rank(). */
unsigned slot_rank(void);
/* Makes this process use the paths of a rank, before it starts threads. Returns the rank before. */
unsigned slot_use_rank(unsigned rank);
/* The index of this rank among those of its box, which says which device it uses; slot_rank() before
 * slot_use_local(). */
unsigned slot_local(void);
void slot_use_local(unsigned local);

/* Writes the name of a unit of this slot: of "kiln-fetchd" and ".service" it makes "kiln-fetchd.service" or,
 * from slot 1 on, "kiln-fetchd@1.service". Returns out. */
const char *slot_unit(const char *name, const char *suffix, char out[static SLOT_UNIT_BYTES]);
