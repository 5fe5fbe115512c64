/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to the tracking server. */
#pragma once

#include "uploadd/tracking/send.h"

/* Connects to the server that `where` names, which is about.json or the file of a champion; does nothing
 * where the connection leads there. Errors: -EALREADY this server has failed in this pass; -EKEYREJECTED the
 * credential; those of mlflow_open(). */
MUST_CHECK int connect_to(struct sender *sender, const cJSON *where, struct error *err);
