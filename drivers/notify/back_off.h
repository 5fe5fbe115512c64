/* SPDX-License-Identifier: Apache-2.0 */
/* What alive.c calls of back_off.c. */
#pragma once

/* Forgives the restarts up to now: the daemon has made progress, and is not degraded any more. */
void back_off_forget(void);
