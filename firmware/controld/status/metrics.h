/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the status object as OpenMetrics 1.0 text, one row per metric. A number that is null has no
 * row. node_exporter's textfile collector reads only the older Prometheus text format, so the text uses only
 * what both formats have; that excludes the type stateset.
 */
#pragma once

#include "controld/status/box.h"

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Returns the text, malloc'ed. NULL: no memory. */
char *metrics_text(const cJSON *status);
/* Writes DIR/kiln.prom every 15 s if control.metrics_dir names a folder DIR. The status reports a failure. */
void metrics_sweep(struct box *box, uint64_t now_ms);
