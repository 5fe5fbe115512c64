/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a night (core/box/reports.h): made, posted to notify.url, and uploaded.
 *
 *     ask.c      asks systemd for kiln-report.service
 *     report.c   this service: makes the reports of the nights that are over
 *     make.c     the JSON of one report, from the record, the status pages and the journal
 *     faults.c   the faults of that night, from the journal
 *     send.c     posts and uploads, and remembers what could not be delivered
 *
 * The services that end a night run as root and have no network. So the report has a service of its own, as
 * the user kiln-upload. Each service is one process of one thread; kiln-report.service alone writes reports.
 *
 * Crash: at any point. <id>.night stays until the report of that night is written, <id>.pending until it is
 * delivered; the next kiln-oneshot report does the rest. A report may be posted twice, never lost.
 */
#pragma once

/* Makes the reports of the nights that are over, delivers them and what earlier calls could not deliver; then
 * looks again until no night is left without a report, because a request may come meanwhile. */
int oneshot_report(int argc, char **argv);
