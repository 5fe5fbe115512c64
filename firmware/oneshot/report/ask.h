/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the report of a night. A failure is a warning, and only the report is missing. */
#pragma once

#include "core/box/tonight.h"

/* Ends this night (NULL = there is none) and starts kiln-report.service. With `wait` waits until the report
 * is made and delivered, bounded by notify.wait_min of that configuration. */
void report_ask(const struct tonight *night, const struct config *wait);
/* Starts kiln-report.service where a night has no report or a report is not delivered. `at_boot`: no run goes
 * on, so a night that began before this boot is over. */
void report_ask_due(bool at_boot);
