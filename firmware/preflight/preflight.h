/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preflight: looks at everything that a night needs, before the night, and makes a table of what it
 * found. `kiln check` prints the table; `kiln config check --data` and kiln-oneshot begin look at the data
 * alone.
 *
 *     preflight.c    the table
 *     sources.c      sources: credentials, shards of each split, dataset.json
 *     objects.c      the classes of a source of objects
 *     first.c        the first records of a split, against the schema and the filter
 *     start.c        the weights that a new run starts with
 *     series.c       a series of trials: its cache and its promotion
 *     sink.c         the sink: writes an object there
 *     branches.c     the sink in a lakeFS repository: its branches, and what the access key may do
 *     notify.c       the people and the monitor that `notify` names
 *     device.c       the network on the device
 *     network.c      the network between boxes that train together
 *     others.c       the boxes that this one leads
 *     box.c          disk, clock, hugepages, the alarm of the hardware clock
 *
 * plan_list.h is for whoever needs the plan of a configuration, and no part of the table.
 *
 * A row is certain where the data cannot fit the configuration, whatever happens later: no shard matches a
 * pattern, there are fewer shards than lanes, or a record that arrived intact does not fit. What may be
 * otherwise in an hour is never certain: a store that does not answer or refuses, bytes that are corrupt.
 *
 * Nothing stays: the object that the sink gets is deleted, and no hugepage is reserved. Only preflight_sink()
 * and preflight_notify() write anything outside of this process, and preflight_device() the cache of kernels.
 *
 * Order: preflight_open -> any of preflight_* -> read row[] -> preflight_done. One thread. Crash: the object
 * in the sink may stay; its key begins with PREFLIGHT_KEY.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

#define PREFLIGHT_KEY "kiln-check-"
/* Objects of a split that are counted. */
#define PREFLIGHT_LISTED_MAX 10000u

enum preflight_result {
	PREFLIGHT_OK,
	PREFLIGHT_WARNING,
	PREFLIGHT_FAILED,
	PREFLIGHT_NOT_SEEN, /* the thing could not be looked at: the network or the machine does not answer */
	PREFLIGHT_RESULTS,
};

struct preflight_row {
	char part[32]; /* "source", "sink", "disk" ... */
	enum preflight_result result;
	char *text;       /* what was found */
	const char *todo; /* what to do, "" = nothing; a constant */
	bool certain;     /* see above; only with PREFLIGHT_FAILED */
};

struct preflight {
	const struct config *config;
	struct preflight_row *row;
	uint32_t rows, capacity;
	uint64_t cached_bytes; /* of the shards that the disk cache can keep, as preflight_sources() saw them
				*/
	bool brief;            /* look at the first objects of each split only, as at the begin of a run */
	/* clock_us() at which the look at stores ends: their rest gets a warning; 0 = never */
	uint64_t deadline_us;
};

/* "ok", "warning", "failed", "not seen". */
const char *preflight_result_name(enum preflight_result result);

/* Starts an empty table. `config` must outlive it. */
void preflight_open(const struct config *config, struct preflight *ret_preflight);
void preflight_done(struct preflight *preflight);
/* Returns the number of rows with this result. */
uint32_t preflight_count(const struct preflight *preflight, enum preflight_result result);
/* Returns the first row that is certain; NULL = the data may fit. */
const struct preflight_row *preflight_unfit(const struct preflight *preflight);
/* Returns the table as {"file": TEXT, "rows": [{part, result, text, todo}]}. The caller frees it. NULL: no
 * memory. */
cJSON *preflight_json(const struct preflight *preflight);

/* Adds a row. Used by the parts below. */
void preflight_add(struct preflight *preflight, const char *part, enum preflight_result result,
		   const char *todo, const char *format, ...) PRINTF(5, 6);
/* Adds a row with PREFLIGHT_FAILED, which is certain where `certain` is true. */
void preflight_add_misfit(struct preflight *preflight, bool certain, const char *part, const char *todo,
			  const char *format, ...) PRINTF(5, 6);
/* Adds a row for an error: PREFLIGHT_WARNING after the deadline; PREFLIGHT_NOT_SEEN where another attempt may
 * succeed, as without network; PREFLIGHT_FAILED otherwise. */
void preflight_add_error(struct preflight *preflight, const char *part, const struct error *err);

/* ---- The parts ---- */

/* Every source, each with its splits. Blocks: on the network. */
void preflight_sources(struct preflight *preflight);
/* The weights that run.start_from and model.weights ask for: whether they are there and fit the layers. Adds
 * no row where a run starts from initial weights. With start_from = "latest" it looks at the record of the
 * last run on this disk. The file of model.weights is copied into TMPDIR, and removed. Blocks: on the
 * network.
 */
void preflight_start(struct preflight *preflight);
/* A disk cache that is smaller than what the trials of a series read, and a promotion that never happens.
 * Adds no row where all is well. Call it after preflight_sources(). Blocks: never. */
void preflight_series(struct preflight *preflight);
/* Lists the sink, writes an object and deletes it. In a lakeFS repository looks for its branches, and tries
 * the actions that a night and a promotion need, on a branch that is deleted. Blocks: on the network. */
void preflight_sink(struct preflight *preflight);
/* Sends a message that says that it is a test to notify.url and, as a mail, to notify.mail_to. The monitor of
 * notify.heartbeat_url gets a line for its log alone (URL/log of healthchecks.io): this begins no night there
 * and ends none, so that no alarm follows. Adds nothing for what kiln.conf does not name. Blocks: on the
 * network. */
void preflight_notify(struct preflight *preflight);
/* Builds the network with its memory. Blocks: seconds, for a network whose kernels are not compiled yet. */
void preflight_device(struct preflight *preflight);
/* ranks.network: the key and the list of boxes, or that the network is trusted, and whether this box has an
 * address in it. Adds no row without ranks.network. Blocks: never. */
void preflight_network(struct preflight *preflight);
/* ranks.boxes: a row for each box, whether it answers, lets this one lead, and has the same build, device and
 * time. Asks with the credentials of the box, as a run does. Adds no row without ranks.boxes. Blocks: on the
 * network; for each box that does not answer some seconds, and two minutes for one that connects and then
 * says nothing. */
void preflight_others(struct preflight *preflight);
/* Disk, clock, hugepages, alarm. Blocks: never. */
void preflight_box(struct preflight *preflight);
