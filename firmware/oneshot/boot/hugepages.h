/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

/* Makes or removes the drop-in of run-kiln-huge.mount that mounts the ring's folder with pages of 1 GiB.
 * Returns 1 where that changed the drop-in: systemd has to read its units again. */
MUST_CHECK int hugepages_mount(bool gib, struct error *err);
