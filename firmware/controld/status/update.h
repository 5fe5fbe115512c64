/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of an update: from the note that update.install wrote (core/box/update.h), and from RAUC
 * itself while it installs. */
#pragma once

#include "core/base/json.h"

/* Returns the member "update" of the status; JSON null if there was no update since the box started. NULL: no
 * memory. */
cJSON *update_object(void);
