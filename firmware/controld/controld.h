/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-controld answers `kiln`, on this box over a Unix socket and from other machines over TLS. The protocol
 * is in core/control/control.h; this folder is the server:
 *
 *     serve/     server, listeners, a session for each client     uses all folders below
 *     methods/   the table of methods, a function for each method
 *     status/    the present state of the box: status, metrics, stalls, journal, node
 *     call/      one request on its way, words to kiln-steer, idempotency keys, jobs that other boxes lead
 *     wire/      the epoll set and the two transports
 *
 * call/call.h shows the path of a request through these folders.
 *
 * Threads: one, in one epoll loop. A method blocks on files, and on short questions to systemd and RAUC over
 * D-Bus. For longer work a method sends a word to kiln-steer, whose answer ends the call later. So a slow
 * client or a slow unit delays no other client.
 *
 * Who may call what: the transport gives each client a role. On the Unix socket the role comes from the
 * peer's credentials (root, the groups kiln-admin, kiln-operate, kiln-view), over TLS from the OU of the
 * client's certificate. Roles are ordered, view < operate < admin, and each row of control_methods[] names
 * the lowest role that may call the method: view may read; operate may change a run or the cache; admin may
 * replace kiln.conf, install updates and switch off or reset the box. The role ranks stands apart: a box that
 * leads a run on several boxes has it, and may call rank.* alone. control_request_parse() checks the role
 * before any method runs. controld itself has few rights: it writes files that tell traind and other programs
 * what to do, and asks kiln-steer for one of its fixed words when systemd must do something.
 *
 * Owner of memory: the server owns sessions, calls and the box; a session its connection and its backlogs; a
 * call its request and result. All backlogs together stay below CONTROL_BUFFERS_MAX.
 *
 * A crash may fall anywhere. Clients lose their connection and connect again. A request is on the disk before
 * it is answered (run_want, next.json, kiln.conf, the note of an update), so the daemons obey it all the
 * same. Lost are the idempotency keys, the samples for rates, and the marks of a run that is beginning and of
 * an update that was just requested. A word that kiln-steer got is carried out, but its client gets no
 * answer.
 */
#pragma once

#include "controld/methods/table.h"
#include "controld/serve/remote.h"
#include "controld/serve/server.h"
