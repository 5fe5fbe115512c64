/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAUC's service (de.pengutronix.rauc.Installer), over the system bus: root may have a bundle installed,
 * kiln-control may look at how it goes, nobody else may do anything (rootfs/overlay, the policy). Each call
 * waits for its answer, at most RAUC_WAIT_S; those that look at how it goes do not start the service.
 *
 * Errors of all: -ENOTCONN and the like without a bus; -EPIPE the service does not run; else what it said, as
 * text.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define RAUC_WAIT_S 20u

struct rauc;

MUST_CHECK int rauc_open(struct rauc **ret_rauc, struct error *err);
void rauc_closep(struct rauc **rauc);

/* Begin to install; returns at once. -EBUSY: it is at work. */
MUST_CHECK int rauc_install(struct rauc *rauc, const char *bundle, struct error *err);

/* The version of a bundle whose signature is good, as its manifest has it. It starts the service. */
MUST_CHECK int rauc_version(struct rauc *rauc, const char *bundle, char *ret_version, size_t size,
			    struct error *err);

struct rauc_progress {
	bool busy;
	uint32_t percent;
	char text[160]; /* what it is at */
};
MUST_CHECK int rauc_look(struct rauc *rauc, struct rauc_progress *ret_progress, struct error *err);

/* Why the last installation failed, *ret_text "" = it did not. */
MUST_CHECK int rauc_last_error(struct rauc *rauc, char *ret_text, size_t size, struct error *err);
