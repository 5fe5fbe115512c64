/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An update of the box, which has two slots, A and B: fetch the bundle, install it into the slot that is not
 * running, restart.
 *
 *     fetch.c         the bundle from the store, or from a file of the box, to PATH_BUNDLE
 *     install.c       RAUC writes the other slot; then the box restarts
 *     failed.c        an update that ends without success
 *     check_store.c   whether the sink answers: part of the health check of an updated slot
 *     floor.c         refuses older versions, for the shell scripts that RAUC and systemd run
 *     slot.c          events of the shell scripts that judge a slot (kiln-trial, kiln-mark-good)
 *
 * Why a power cut at any moment leaves a box that boots: nothing ever writes to the slot that is running.
 *
 *   - RAUC checks the signature of the bundle before it writes a byte; PATH_BUNDLE itself is not trusted.
 *   - Before the first byte of the other slot changes, the hook of the bundle removes that slot's slot.cfg.
 *     The boot loader does not boot a slot without slot.cfg. It is written last, after the root file
 *     system, the kernel and the initramfs are written and flushed. After a power cut in between the boot
 *     loader boots the old slot.
 *   - The new slot boots on trial. kiln-mark-good marks it as good once the box is healthy. Where that does
 *     not happen in time, or the slot fails to boot three times, the box returns to the old slot. This is why
 *     an update is refused while the running slot is on trial: it would overwrite the only slot that is known
 *     to be good.
 *   - The file that tells RAUC and GRUB which slot to boot is replaced by rename, see boot/grub-editenv.
 *
 * Why it waits for a checkpoint first: a run goes on during the installation and after the restart. With a
 * fresh checkpoint no training step is lost, even if the box goes down while RAUC writes. A run's records are
 * never touched.
 *
 * Each verb is one process of one thread. One after the other they write the note of core/box/update.h.
 * Crash: the note and the bundle, files below /run and /data, remain; the unit in OnFailure= writes the
 * failure of a process that was killed, and the user has to ask for the update again.
 */
#pragma once

/* Fetches the bundle that kiln update asked for to PATH_BUNDLE. [--config FILE] */
int oneshot_update_fetch(int argc, char **argv);
/* Waits for a checkpoint of the current run, lets RAUC install PATH_BUNDLE, then restarts the box. */
int oneshot_update(int argc, char **argv);
/* OnFailure= of the services of the two verbs above: writes the failure of a killed process. */
int oneshot_update_failed(int argc, char **argv);
/* Exits with 0 where the sink answers, or where no check is needed. [--config FILE] */
int oneshot_check_store(int argc, char **argv);
/* check VERSION: exits with 0 where a bundle of this version may be installed. raise: remembers the running
 * version as one that was found good (core/box/floor.h). */
int oneshot_floor(int argc, char **argv);
/* Sends an event about a slot: good|bad|back A|B. */
int oneshot_slot(int argc, char **argv);
