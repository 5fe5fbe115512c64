/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of one status answer: the run record, the status pages that the daemons wrote for this run, the
 * disk. Read once, so that all members of the answer describe the same moment.
 */
#pragma once

#include "controld/status/box.h"

struct view {
	struct box *box;
	cJSON *record;             /* NULL = no run, or the record cannot be read */
	struct error record_error; /* why there is no record; code 0 = there is one */
	char id[RUN_ID_BYTES];
	const char *state;
	bool begins; /* a run was requested and has not begun; `record` is set if an earlier run goes on */
	/* status pages for this run; NULL = the daemon has none */
	const struct status *fetchd, *traind, *uploadd;
	cJSON *disk;
	uint64_t now_us;
};

/* Samples the status pages and reads the record. */
void view_open(struct view *view, struct box *box);
void view_done(struct view *view);
/* Returns a member of the record; NULL = no such member, or no record. */
const cJSON *view_noted(const struct view *view, const char *key);
/* Returns a number of the last epoch in the record; NaN = there is none. For a run that has ended, whose
 * status pages are gone. */
double view_noted_number(const struct view *view, const char *key);
