/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-controld answers `kiln`, on this box over a Unix socket and from other machines over TLS. The protocol
 * is defined in core/control/control.h; this folder is the server.
 *
 *     serve/     server, listeners, one session a client           stands on all below
 *     methods/   the table of methods, one function a method
 *     status/    the box as it is now: status, metrics, stalls, journal, node
 *     call/      one request on its way, words to kiln-steer, idempotency keys
 *     wire/      the epoll set and the two transports
 *
 * The way of a request is drawn in call/call.h.
 *
 * Threads: one, in one epoll loop. A method blocks on files, and on short questions to systemd and RAUC over
 * D-Bus. For longer work a method sends a word to kiln-steer, whose answer ends the call later. So a slow
 * client or a slow unit delays no other client.
 *
 * Permissions: the transport gives each client a role. On the Unix socket the role comes from the peer's
 * credentials (root, the groups kiln-admin, kiln-operate, kiln-view), over TLS from the OU of the client's
 * certificate. Roles are ordered, view < operate < admin, and each row of control_methods[] names the least
 * role that may call it: view may read; operate may change a run or the cache; admin may replace kiln.conf,
 * install updates and restart or reset the box. control_request_parse() checks the role before any method
 * runs. controld itself has few rights: it writes wishes and notes as files, and asks systemd for something
 * only by one of kiln-steer's fixed words.
 *
 * Owner of memory: the server owns sessions, calls and the box; a session its connection and its backlogs; a
 * call its request and result. All backlogs together stay below CONTROL_BUFFERS_MAX.
 *
 * Crash: anywhere. Clients lose their connection and connect again. A change is on the disk before it is
 * answered (run_want, next.json, kiln.conf, the note of an update), so daemons obey it all the same. A crash
 * loses the idempotency keys, the samples for rates, and the marks of a beginning run and of an update that
 * was just requested: kiln-steer still carries out a word that it received, but no client gets the result.
 */
#pragma once

#include "controld/methods/table.h"
#include "controld/serve/remote.h"
#include "controld/serve/server.h"
