/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/series/promote_request.h"

/* Brings the former champion back, with the next number, by kiln.conf. A request that was begun goes on, and
 * is done where its champion has gone. Returns an exit code of sysexits(3): 0, or 65 where there is no
 * champion before, or its files are gone or damaged. Errors: those of the stores, the record of the champion
 * and the configuration. */
MUST_CHECK int rollback(struct promote_request *request, struct error *err);
