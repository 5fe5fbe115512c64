/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An update of the box, from `kiln update` to its restart: how it goes stands in one note, PATH_UPDATE_NOTE,
 * which a restart forgets. One program at a time writes it, whole by rename, in this order:
 *     kiln-controld                  asked
 *     kiln-oneshot update-fetch      fetching
 *     kiln-oneshot update            waiting (for a checkpoint), installing, installed, restarting
 *     any of them, or kiln-oneshot update-failed for one that was killed: failed
 * The bundle is PATH_BUNDLE: from there alone it is installed, and whichever of them ends the update takes it
 * away.
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
	UPDATE_INSTALLED, /* the box restarts into it when no run goes on */
	UPDATE_RESTARTING,
	UPDATE_FAILED,
	UPDATE_STATE_MAX,
};

struct update {
	enum update_state state;
	char url[UPDATE_URL_MAX + 1];
	char version[64];           /* of the bundle, as soon as it is known */
	char text[1024];            /* a sentence for people: what it waits for, why it failed; "" = none */
	bool restart;               /* whatever run goes on: it is resumed */
	uint64_t started_s;         /* Unix time */
	uint64_t bytes, bytes_done; /* of the bundle while it is fetched; 0 = not known */
};

const char *update_state_name(enum update_state state);
/* Everything but failed. */
bool update_goes_on(const struct update *update);

/* Where the bundle lies while it is being fetched: store_get_file() fills this one first. */
char *update_part_path(char out[static PATH_BYTES]);
/* What was fetched for it, or in part, goes. */
void update_discard(void);
/* Errors: -ENOENT there was none since the box started; -EBADMSG. */
MUST_CHECK int update_load(struct update *ret_update, struct error *err);
MUST_CHECK int update_save(const struct update *update, struct error *err);
