/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-controld answers `kiln`, on this box over a Unix socket and from other machines over TLS. What is said
 * is in core/control/control.h; this folder is who says it.
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
 * Who may call what: the transport gives each client a role. On the Unix socket it comes from the peer's
 * credentials (root, the groups kiln-admin, kiln-operate, kiln-view), over TLS from the OU of the client's
 * certificate. Roles are ordered, view < operate < admin, and each row of control_methods[] names the least
 * role it wants: looking is view, changing a run or the cache is operate; replacing kiln.conf, updates
 * and the box as a whole are admin. control_request_parse() checks it before any method runs. controld itself
 * has few rights: it writes wishes and notes as files, and what systemd must do is one of kiln-steer's fixed
 * words.
 *
 * Owner of memory: the server owns sessions, calls and the box; a session its connection and its backlogs; a
 * call its request and result. All backlogs together stay below CONTROL_BUFFERS_MAX.
 *
 * Crash: anywhere. Clients lose their connection and come again. What was asked for is on the disk before it
 * is answered (run_want, next.json, kiln.conf, the note of an update), so daemons obey it all the same. Lost
 * are the idempotency keys, the samples for rates, and the marks of a beginning run and of an update that was
 * just said: a word that kiln-steer got is carried out, and nobody is told.
 */
#pragma once

#include "controld/methods/table.h"
#include "controld/serve/remote.h"
#include "controld/serve/server.h"
