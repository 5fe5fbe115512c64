/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-generator: writes drop-in files for Kiln's units, with settings from kiln.conf (systemd.generator(7)).
 * It runs as root before all other programs, and PID 1 waits for it. So it does not read /data, starts no
 * program, writes only to the folder that it is given, and ends after 5 s in any case. One thread, and no
 * state: every boot and every reload of systemd runs it again.
 * Owners: main() owns the config and the texts of the drop-ins. Crash: drop-ins may be missing or incomplete
 * until systemd runs the generator again; systemd empties the folder before that.
 *
 * Every line that it writes has one of the forms in units.c. The values in these lines are numbers, CPU
 * lists, truth values, and strings whose characters core/config/config_forms.c has checked, so that no value
 * can add a line.
 */
#pragma once

#include "core/config/config.h"

#define UNITS_TEXT_BYTES 4096u
#define UNITS_TEMPLATES  2u

struct units_file {
	const char *unit; /* the unit that the drop-in belongs to */
	/* templates with the same drop-in: of slots 1, 2 ... (core/base/slot.h), of jobs (core/ranks/job.h);
	 * NULL: none */
	const char *template[UNITS_TEMPLATES];
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
	UNITS_HEARTBEAT,
	UNITS_PROMOTE,
	UNITS_RANK,
	UNITS_RANK_BEGIN,
	UNITS_KINDS
};

/* Makes the drop-in of a unit; an empty text: the unit needs none. The timer's drop-in has the dates of the
 * gaps in local time after `now`. Errors: -E2BIG the text is too long. */
MUST_CHECK int units_write(const struct config *config, enum units_kind kind, int64_t now,
			   struct units_file *ret_file, struct error *err);
