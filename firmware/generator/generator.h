/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-generator: what kiln.conf says becomes drop-ins of Kiln's units, systemd.generator(7). It runs as root
 * before anything else and PID 1 waits for it: it sees no /data, runs nothing, writes only the folder it is
 * given, and ends after 5 s whatever happens.
 *
 * A line that it writes has one of the forms of units.c, its values are numbers, CPU lists, truth values and
 * the strings that core/config/config_forms.c checks letter by letter.
 */
#pragma once

#include "core/config/config.h"

#define UNITS_TEXT_BYTES 4096u

struct units_file {
	const char *unit; /* the drop-in's */
	char text[UNITS_TEXT_BYTES];
};

enum units_kind {
	UNITS_TIMER,
	UNITS_FETCHD,
	UNITS_TRAIND,
	UNITS_UPLOADD,
	UNITS_BEGIN,
	UNITS_PRELOAD,
	UNITS_UPDATE_FETCH,
	UNITS_CHECK_STORE,
	UNITS_REPORT,
	UNITS_KINDS
};

/* The drop-in of one unit; `now` decides which gaps of local time are near. An empty text: it needs none.
 * Errors: -E2BIG. */
MUST_CHECK int units_write(const struct config *config, enum units_kind kind, int64_t now,
			   struct units_file *ret_file, struct error *err);
