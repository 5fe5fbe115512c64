/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box as kiln-controld knows it, apart from its clients. Everything here is read again from the disk, the
 * status pages and the journal after a restart, apart from the marks of what was asked for last
 * (beginning, update_said).
 */
#pragma once

#include "controld/status/beginning.h"
#include "controld/status/conf.h"
#include "controld/status/watch.h"
#include "core/base/json.h"

struct box {
	struct watch watch;
	struct beginning beginning;
	struct conf conf;
	bool update_said;   /* kiln-steer was told of an update and has not answered yet */
	cJSON *errors;      /* the journal's last errors ... */
	uint64_t errors_ms; /* ... and when they were read */
	struct metrics_file {
		char *dir;         /* control.metrics_dir; NULL = no file */
		uint64_t tried_ms; /* when it was written last, or failed to be */
		char error[256];   /* why that failed; "" = it did not */
	} metrics;
};

void box_done(struct box *box);
