/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A night, from its timer until the box is switched off, is suspended, or waits for the next night.
 *
 *     nightly.c    the timer elapsed, or the box booted: start a run, or say why none is started
 *     due.c        nightly.c's decision whether to start a run: a pure function
 *     expire.c     the night of an unfinished run is over: its state becomes expired
 *     finished.c   a run has ended: wait for the uploads, archive the record, ask for the report
 *     failed.c     a service of the run failed and is not restarted: say which one, and why
 *     power.c      power.when_finished: switch the box off, or suspend it
 *     start_slots.c
 *                  the units of other slots, where trials of a series train side by side
 *
 * Each verb is one process of one thread, which systemd starts (rootfs/systemd). core/run/run.h describes the
 * run record, core/box/tonight.h the note of the night. Each is replaced as a whole, by rename.
 *
 * Side by side: each slot (core/base/slot.h) has units of its own. A trial that ends in slot 1, 2 ... starts
 * the next one there, and no more: slot 0 alone ends the night. Where slot 0 has nothing to train it waits in
 * kiln-oneshot begin, which exits when the series has ended or rests.
 *
 * Crash: harmless at any point. After each boot kiln-resume.service looks at the record. It goes on with
 * a run that was running; sets a run that was to stop to stopped, and a run whose night is over to expired;
 * and starts kiln-finished.service again for a final record that is not in the archive. After a crash without
 * a reboot systemd starts the units in OnFailure=.
 */
#pragma once

/* Exit code of kiln-oneshot begin where the run could not begin before run.ends_at. This is not a failure:
 * systemd does not restart the unit, and kiln-oneshot run-failed does what follows every night. */
#define EXIT_NIGHT_OVER 79

/* Called when the timer elapsed. Starts a run, unless it is too late: the night is over or, without
 * run.catch_up, its start was missed. [--clock-wait-s SECONDS] */
int oneshot_nightly(int argc, char **argv);
/* Called after a boot. Starts a run that was running or paused; where its night is over, sets it to expired.
 * [--clock-wait-s SECONDS] */
int oneshot_resume(int argc, char **argv);
/* ExecCondition= of the services of a run. Exits with 0 where the current run is to go on, with 1 where there
 * is no run or it has ended. */
int oneshot_unfinished(int argc, char **argv);
/* ExecCondition= of kiln-config.service. Exits with 0 when the next run is a new one, made from kiln.conf,
 * and with 1 when an unfinished run or an unfinished series goes on. */
int oneshot_new(int argc, char **argv);
/* Starts kiln-run@N.target of each slot but 0 that works on the unfinished series. */
int oneshot_start_slots(int argc, char **argv);
/* Called when a run has ended, stopped or expired. Where another trial may follow in this slot, starts the
 * slot's target. Else, in slot 0, waits until the other slots rest. Waits for the uploads, says which files
 * are not in the store, archives a final record, asks for the report, then does what power.when_finished
 * says. */
int oneshot_finished(int argc, char **argv);
/* OnFailure= of the services of a run. Says which service ended and why. Where the night is over or the
 * record is final, then does the same as oneshot_finished(). */
int oneshot_failed(int argc, char **argv);
