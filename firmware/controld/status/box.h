/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kiln-controld knows of the box, without its clients. After a restart all of it is read again from the
 * disk, the status pages and the journal, except for the marks of the last requests (beginning, update_said).
 */
#pragma once

#include "controld/status/beginning.h"
#include "controld/status/conf.h"
#include "controld/status/run_rows.h"
#include "controld/status/watch.h"
#include "core/base/json.h"

struct box {
	struct watch watch;
	struct beginning beginning;
	struct conf conf;
	struct run_rows run_rows;
	bool update_said;   /* kiln-steer was asked to install an update and has not answered yet */
	cJSON *errors;      /* the last errors in the journal */
	uint64_t errors_ms; /* when `errors` were read */
	uint64_t noted_ms;  /* when noted_sweep() wrote its file; 0 = not yet */
	struct metrics_file {
		char *dir;         /* value of control.metrics_dir; NULL = write no file */
		uint64_t tried_ms; /* when the file was last written, or could not be written */
		char error[256];   /* why the last write failed; "" = it did not fail */
	} metrics;
};

void box_done(struct box *box);
