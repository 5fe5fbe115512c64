/* SPDX-License-Identifier: Apache-2.0 */
/* The sink in a lakeFS repository: its branches, and what the access key may do. Private to preflight. */
#pragma once

#include "preflight/preflight.h"

/* Looks whether the branches of sink.url and sink.merge_into are there. Then finds the actions that the
 * access key lacks: by requests for things that are not there, which change nothing, and by a branch of its
 * own that gets an object. That branch is deleted; no other branch is written to. Blocks: on the network.
 * Crash: a branch whose name begins with exp-kiln-check- may stay. */
void preflight_branches(struct preflight *preflight);
