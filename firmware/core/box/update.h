/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An update of the box, from `kiln update` to the restart. The state of the update is one note,
 * PATH_UPDATE_NOTE, which is on a tmpfs and is gone after the restart. The bundle is installed from
 * PATH_BUNDLE only, and the program that ends the update removes the bundle.
 *
 * Programs write the note one after the other, each time by rename, in this order:
 *
 *     kiln-controld                  asked
 *     kiln-oneshot update-fetch      fetching
 *     kiln-oneshot update            waiting (for a checkpoint), installing, installed, restarting
 *     the program that fails         failed
 *     kiln-oneshot update-failed     failed, for a program that was killed
 */
#pragma once

#include "core/base/error.h"
#include "core/base/paths.h"

#include <stdbool.h>
#include <stdint.h>

#define UPDATE_URL_MAX 1200u

enum update_state {
	UPDATE_ASKED,
	UPDATE_FETCHING,
	UPDATE_WAITING,
	UPDATE_INSTALLING,
	UPDATE_INSTALLED, /* the box restarts as soon as no run is in progress */
	UPDATE_RESTARTING,
	UPDATE_FAILED,
	UPDATE_STATE_MAX,
};

struct update {
	enum update_state state;
	char url[UPDATE_URL_MAX + 1];
	char version[64];           /* version of the bundle, "" until it is known */
	char text[1024];            /* a sentence for people: why the update waits or failed; "" = none */
	bool restart;               /* restart even during a run; the run continues afterwards */
	uint64_t started_s;         /* Unix time */
	uint64_t bytes, bytes_done; /* size of the bundle, and bytes fetched so far; 0 = not known */
};

const char *update_state_name(enum update_state state);
/* Tells whether an update is in progress, which is every state except UPDATE_FAILED. */
bool update_goes_on(const struct update *update);

/* Returns out: the path of the incomplete bundle. store_get_file() writes this file and renames it when it is
 * complete. */
char *update_part_path(char out[static PATH_BYTES]);
/* Removes the bundle, complete or incomplete. */
void update_discard(void);
/* Loads the note. Errors: -ENOENT no update was started since the last boot; -EBADMSG a damaged note. */
MUST_CHECK int update_load(struct update *ret_update, struct error *err);
MUST_CHECK int update_save(const struct update *update, struct error *err);
