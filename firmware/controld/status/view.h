/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of one status answer: the run record, the daemons' status pages of that run, the state of the
 * disk. All of it is read once, so that all parts of the answer describe the same moment.
 */
#pragma once

#include "controld/status/box.h"

struct view {
	struct box *box;
	cJSON *record;             /* NULL = no run, or its record cannot be read */
	struct error record_error; /* why there is no record; code 0 = there is one */
	char id[RUN_ID_BYTES];
	const char *state;
	bool begins; /* a run was asked for; `record` is there where an earlier run goes on */
	const struct status *fetchd, *traind, *uploadd; /* pages of this run; NULL = there is none */
	cJSON *disk;
	uint64_t now_us;
};

/* Samples the pages and reads the record. */
void view_open(struct view *view, struct box *box);
void view_done(struct view *view);
/* A member of the record; NULL = no such member, or no record. */
const cJSON *view_noted(const struct view *view, const char *key);
/* A number of the record's last epoch, NaN = the record has none. The pages of a run are gone once it ended.
 */
double view_noted_number(const struct view *view, const char *key);
