/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool of the tracking server (tracking.url): what MLflow is still to be told. Only kiln-uploadd sends
 * it; a server that is away costs nothing but the bytes of this folder.
 *
 * PATH_SPOOL/tracking/<id>/ belongs to the run or the series <id>. kiln-uploadd alone writes and removes it:
 *     about.json   written once: where to send, and what never changes
 *     points       metrics, appended (uploadd/tracking/journal.h)
 *     now.json     state and tags, replaced
 *     sent.json    what the server has
 *
 * PATH_SPOOL/champions/<time in us as %020>.json is a model that was promoted. Any program of the group kiln
 * adds a file, by tracking_champion(); kiln-uploadd sends them in the order of their names, and removes them.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/config/config.h"

#include <stdint.h>

#define TRACKING_CHAMPION_BYTES 65536u /* upper bound of a champion's file */

/* Return out: "PATH_SPOOL/tracking/<id>/<name>", and "PATH_SPOOL/champions/<name>"; for an empty name the
 * folder. */
char *tracking_path(const char *id, const char *name, char out[static PATH_BYTES]);
char *tracking_champion_path(const char *name, char out[static PATH_BYTES]);

/* Call `each` with the id of every folder, or the name of every champion's file, in bytewise order. */
MUST_CHECK int tracking_each(int (*each)(void *context, const char *id), void *context, struct error *err);
MUST_CHECK int tracking_each_champion(int (*each)(void *context, const char *name), void *context,
				      struct error *err);
/* Removes the folder of a run or a series. */
MUST_CHECK int tracking_remove(const char *id, struct error *err);

/* A model that has become the champion. */
struct tracking_champion {
	const char *model;  /* name of the registered model: run.name */
	const char *run_id; /* Kiln's id of the run that made it */
	const char *source; /* URL of its files: <sink>/models/<name>/saved_model/<n> */
	uint64_t number;    /* n */
};

/* Notes that MLflow shall have a version of the registered model for this champion, with the alias
 * "champion". To be called once after a promotion, and after a rollback with the former champion's run: a run
 * that has a version keeps it, and only the alias moves. Does nothing where `config` has no tracking.url, or
 * where the source is file://, which MLflow refuses.
 * Blocks: for the disk, never for the server. Errors: -errno of the file. */
MUST_CHECK int tracking_champion(const struct config *config, const struct tracking_champion *champion,
				 struct error *err);
