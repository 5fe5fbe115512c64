/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kiln.conf adds to the Unix socket: clients of other machines over TCP and TLS (control.remote), and a
 * file of metrics (control.metrics_dir).
 *
 * No error ends the program: clients on this box are answered in any case, and need to be, to mend kiln.conf.
 */
#pragma once

#include "controld/serve/server.h"

/* Logs what is wrong (remote.unavailable). */
void remote_open(struct server *server);
