/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of back_off.c that alive.c calls. */
#pragma once

/* Forgives the restarts up to now: the daemon has made progress, and is not degraded any more. */
void back_off_forget(void);
