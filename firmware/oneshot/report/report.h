/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the report of a night (core/box/reports.h), tells people, and uploads it.
 *
 *     ask.c      asks systemd for kiln-report.service
 *     report.c   main file of the service: makes the reports of the nights that are over
 *     make.c     the JSON of one report, from the record, the status pages and the journal
 *     faults.c   the faults of that night, from the journal
 *     send.c     posts, mails and uploads reports, and notes what could not be delivered
 *     people.c   the people to tell, as `notify` names them
 *     heartbeat.c  says that the box is alive, and tells people in the night; of a service of its own
 *
 * The services that end a night run as root and have no network. So the report has a service of its own, as
 * the user kiln-upload. Each service is one process of one thread; only kiln-report.service writes reports.
 *
 * Crash: harmless at any point. <id>.night stays until the report of that night is written, <id>.pending
 * until it is delivered; the next kiln-oneshot report does what is left. A report may be posted twice, never
 * lost.
 */
#pragma once

/* Makes the reports of the nights that are over. Delivers them, and the reports that earlier calls could not
 * deliver. Then looks again for nights without a report, until there are none, because a night may end while
 * this runs. */
int oneshot_report(int argc, char **argv);
