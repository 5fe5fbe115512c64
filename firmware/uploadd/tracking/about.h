/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MLflow is told of a run or a series, from its record. Pure.
 *
 * about.json
 *     url, credential, ca_file, experiment    where: `tracking` of the frozen configuration
 *     name                                    of the MLflow run: the id of the run or the series
 *     tag                                     tag that has the id, by which an MLflow run is found again
 *     started_ms                              Unix time
 *     series                                  id of the series that a trial belongs to; "" = none
 *     params                                  {key: text}
 * now.json
 *     status      "running", "finished", "failed", "killed"
 *     ended_ms    Unix time; 0 = it goes on
 *     tags        {key: text}
 *
 * The parameters of a run are the keys of its frozen configuration that differ from the default, all those of
 * its layers, and the overrides of its trial. Keys of the box, such as notify.url, are left out.
 *
 * The caller deletes each result. NULL: no memory.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

#define ABOUT_RUN_TAG    "kiln.run_id"
#define ABOUT_SERIES_TAG "kiln.series_id"

/* `record`: run.json with the member "state". */
cJSON *about_run(const struct run *run, const cJSON *record);
cJSON *about_run_now(const struct run *run, const cJSON *record, int64_t now_ms);

/* `trial`: the about.json of a trial, which says where the series goes. `series`: series.json, NULL: there is
 * none any more. */
cJSON *about_series(const cJSON *trial, const char *id, const cJSON *series);
cJSON *about_series_now(const char *id, const cJSON *series, int64_t now_ms);
