/* SPDX-License-Identifier: Apache-2.0 */
/* Asks systemd to start the service that makes the report of a night. A failure is only a warning. */
#pragma once

#include "core/box/tonight.h"

/* Notes that `night` (NULL = none) has ended, and starts kiln-report.service. Where `wait` is not NULL, waits
 * until the report is made and delivered, at most for a time that depends on notify.wait_min in this
 * configuration. */
void report_ask(const struct tonight *night, const struct config *wait);
/* Starts kiln-report.service where a night has no report yet, or a report is not delivered yet. `at_boot`: no
 * run goes on after this boot, so a night that began before the boot has ended. */
void report_ask_due(bool at_boot);
