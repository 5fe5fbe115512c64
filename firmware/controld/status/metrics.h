/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of the status object as OpenMetrics text (OpenMetrics 1.0): one row a metric, left out where
 * the figure is null. Only what the older Prometheus text format reads as well, for node_exporter's textfile
 * collector: no stateset.
 */
#pragma once

#include "controld/status/box.h"

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The text, malloc'ed; NULL: no memory. */
char *metrics_text(const cJSON *status);
/* Writes DIR/kiln.prom every 15 s where control.metrics_dir asks for it; a failure is in the status. */
void metrics_sweep(struct box *box, uint64_t now_ms);
