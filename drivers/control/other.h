/* SPDX-License-Identifier: Apache-2.0 */
/* Another box that trains together with this one: the connection to its kiln-controld. */
#pragma once

#include "drivers/control/client.h"

#include <stdbool.h>

struct config;

/* Connects to the box, asks what it has (rank.check) and compares it with this box. `config` is that of the
 * run, `as` is that of struct client_box. Errors: -ESTALE the box differs; -EBUSY it trains a run of its own,
 * or for another box; those of client_open_box() and client_call(). The caller puts the box's name before the
 * text. */
MUST_CHECK int other_open(const char *host, const struct config *config, const struct client_identity *as,
			  struct client **ret_client, struct error *err);
