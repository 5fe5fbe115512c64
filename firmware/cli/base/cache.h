/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Moves the folder of compiled kernels to a place where this user may write: sets KILN_ROOT, and so moves all
 * other paths, too, unless it is set already or this user may write to the box's own folder. */
void cache_find(void);
