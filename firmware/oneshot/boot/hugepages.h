/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

/* Makes (`gib`) or removes the drop-in file of run-kiln-huge.mount because of which the ring's folder is
 * mounted with pages of 1 GiB. Returns 1 where that changed the drop-in: then systemd must read its units
 * again. */
MUST_CHECK int hugepages_mount(bool gib, struct error *err);
