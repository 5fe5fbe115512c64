/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAUC's service (de.pengutronix.rauc.Installer) over the system bus: it checks the signature of a bundle and
 * writes it into the slot that is not running (why a power cut harms nothing: oneshot/update/update.h). By
 * the policy in rootfs/overlay root may install, kiln-control may look at the progress, and nobody else may
 * do anything. Each call waits for the answer, at most RAUC_WAIT_S. rauc_look() and rauc_last_error() do not
 * start the service.
 *
 * Threads: one caller at a time for each struct rauc. Crash: where the caller crashes, RAUC goes on. Where
 * RAUC or the box crashes, the other slot has no slot.cfg, so that the boot loader does not boot it. Errors
 * of every call: -ENOTCONN and the like where there is no bus; -EPIPE the service does not run; else what
 * RAUC said, as text.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define RAUC_WAIT_S 20u

struct rauc;

MUST_CHECK int rauc_open(struct rauc **ret_rauc, struct error *err);
void rauc_closep(struct rauc **rauc);

/* Starts an installation and returns at once. Errors: -EBUSY another installation is running. */
MUST_CHECK int rauc_install(struct rauc *rauc, const char *bundle, struct error *err);

/* Checks the signature of a bundle and reads the version from its manifest. Starts the service. */
MUST_CHECK int rauc_version(struct rauc *rauc, const char *bundle, char *ret_version, size_t size,
			    struct error *err);

struct rauc_progress {
	bool busy;
	uint32_t percent;
	char text[160]; /* the current step, as RAUC describes it */
};
MUST_CHECK int rauc_look(struct rauc *rauc, struct rauc_progress *ret_progress, struct error *err);

/* Tells why the last installation failed; *ret_text is "" where it succeeded. */
MUST_CHECK int rauc_last_error(struct rauc *rauc, char *ret_text, size_t size, struct error *err);
