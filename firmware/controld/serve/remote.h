/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What controld does besides serving the Unix socket, if kiln.conf asks for it: serving clients on other
 * machines over TCP and TLS (control.remote), and writing a file of metrics (control.metrics_dir).
 *
 * No error ends the program: clients on this box must always get answers, for example to correct kiln.conf.
 */
#pragma once

#include "controld/serve/server.h"

/* Loads kiln.conf and listens on the TCP port. An error is sent as the event remote.unavailable. */
void remote_open(struct server *server);
