/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kiln-controld thinks of the box, for programs that do not ask it: the members "state" and "why" of its
 * status, in a file of /run/kiln. kiln-oneshot heartbeat tells people of it. No threads; the file is
 * replaced as a whole.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* kiln-controld writes the file so often; an older one is of a kiln-controld that does not run. */
#define BOX_HEALTH_EVERY_S 30u
#define BOX_HEALTH_OLD_S   180u

struct box_health {
	bool degraded;  /* a person should look at the box */
	bool old;       /* the file is older than BOX_HEALTH_OLD_S */
	char why[1024]; /* "" = no reason */
};

/* `why` may be NULL. */
MUST_CHECK int box_health_write(const char *state, const char *why, struct error *err);
/* Errors: -ENOENT kiln-controld has written nothing since the boot; -EBADMSG. */
MUST_CHECK int box_health_read(struct box_health *ret_health, struct error *err);
