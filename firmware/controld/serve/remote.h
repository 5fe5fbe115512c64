/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that kiln.conf turns on beside the Unix socket: clients of other machines over TCP and TLS
 * (control.remote), and a file of metrics (control.metrics_dir).
 *
 * No error ends the program: controld has to go on answering clients on this box, so that a person can mend
 * kiln.conf.
 */
#pragma once

#include "controld/serve/server.h"

/* Logs what is wrong (remote.unavailable). */
void remote_open(struct server *server);
