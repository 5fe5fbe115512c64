/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boxes train the current run together (ranks.boxes). The file PATH_RUN/boxes.json:
 *
 *     {"boxes": ["box-1", "box-3"], "own": 0, "lost": ["box-2"]}
 *
 *     boxes   those that train, the leading box first. Each has device.count ranks; the ranks count on from
 *             box to box
 *     own     index of this box among them
 *     lost    those of ranks.boxes without which the run goes on
 *
 * Writers: on the leading box `kiln-oneshot lead`, before each start of mpirun; on another box
 * `kiln-oneshot rank-begin`, once for a job. Readers: kiln-fetchd, kiln-controld.
 *
 * Crash: the file is replaced whole. It is part of the run's record, so it is moved to the archive with it.
 */
#pragma once

#include "core/base/json.h"

#include <stdint.h>

/* Room for the name of a box, with its NUL: ranks.boxes has none of more than 63 characters, and a host name
 * of Linux has at most 64. */
#define RANKS_BOX_BYTES 65u

struct ranks_members {
	uint32_t boxes; /* 1 .. */
	uint32_t own;   /* 0 .. boxes - 1 */
};

/* Writes the file. `boxes` and `lost` are arrays of names, which the call frees; NULL `lost` is none. Errors:
 * -ENOMEM, where an array is NULL, too; those of file_write_durable(). */
MUST_CHECK int ranks_members_write(cJSON *boxes, uint32_t own, cJSON *lost, struct error *err);
/* Reads the file. Errors: -ENOENT there is none; -EBADMSG it is damaged. */
MUST_CHECK int ranks_members_read(struct ranks_members *ret_members, struct error *err);
/* Writes the name of box `index` = 0 .. boxes - 1, "" on a box that does not lead. Errors: those of
 * ranks_members_read(); -EBADMSG the name is too long. */
MUST_CHECK int ranks_members_name(uint32_t index, char out[static RANKS_BOX_BYTES], struct error *err);
/* Writes "box-1, box-3; without box-2" for people. Returns NULL where this box leads no run of several
 * boxes. */
const char *ranks_members_text(char *out, size_t size);
/* Tells whether the run had to go on without this box when it was last started. */
bool ranks_members_has_lost(const char *box);
