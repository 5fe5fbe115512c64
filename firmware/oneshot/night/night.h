/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A night, from its timer until the box is switched off, is suspended, or waits for the next night.
 *
 *     nightly.c    the timer elapsed, or the box booted: start a run, or say why there is none
 *     due.c        the decision of nightly.c, without clock, disk or systemd
 *     expire.c     the night of an unfinished run is over: the run rests as expired
 *     finished.c   a run has ended or stopped: wait for the uploads, archive the record, start the report
 *     failed.c     a service of the run ended for good: say which one, and why
 *     power.c      power.when_finished: switch the box off, or suspend it
 *
 * Each verb is one process of one thread, which systemd starts (rootfs/systemd). The run record is
 * core/run/run.h's, the note of the night core/box/tonight.h's; both are written whole by rename.
 *
 * Crash: at any point. kiln-resume.service looks at the record after each boot: it starts a run that was
 * running, stops one that was to stop, expires one whose night is over, and starts kiln-finished.service
 * again for a final record that is not archived. After a crash without a reboot systemd runs OnFailure=.
 */
#pragma once

/* Exit code of kiln-oneshot begin where run.ends_at came before the run could begin. Not a failure: the unit
 * lists it as final, and kiln-oneshot run-failed does what follows every night. */
#define EXIT_NIGHT_OVER 79

/* The timer elapsed. Starts a run if this is a night; where its start was missed, only with run.catch_up.
 * [--clock-wait-s SECONDS] */
int oneshot_nightly(int argc, char **argv);
/* The box booted. Starts a run that was running or paused, unless its night is over: the run expires then.
 * [--clock-wait-s SECONDS] */
int oneshot_resume(int argc, char **argv);
/* ExecCondition= of the services of a run. Exits with 0 while the current run goes on, with 1 where there is
 * none or it rests. */
int oneshot_unfinished(int argc, char **argv);
/* ExecCondition= of kiln-config.service. Exits with 0 when the next run is a new one, made from kiln.conf,
 * and with 1 when an unfinished run goes on. */
int oneshot_new(int argc, char **argv);
/* A run has ended or stopped. Waits for the uploads, logs which files the store lacks, archives a final
 * record, starts the report, then does what power.when_finished says. */
int oneshot_finished(int argc, char **argv);
/* OnFailure= of the services of a run. Says which service ended and why. Where the record is final the night
 * is over, and the end of oneshot_finished() follows. */
int oneshot_failed(int argc, char **argv);
