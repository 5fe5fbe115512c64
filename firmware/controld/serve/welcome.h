/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a client may stay, and what it may have. A person below admin has a limit of connections
 * and of subscriptions: without it a person who may only view would take all of them, and nobody could stop a
 * run. The functions only read.
 */
#pragma once

#include "controld/serve/session.h"

/* Return why the client, whose role is known, may not stay or may not subscribe; NULL = it may.
 * *ret_code: the code for the client. */
const char *welcome_client(const struct session *session, enum control_code *ret_code);
const char *welcome_subscriber(const struct session *session);
