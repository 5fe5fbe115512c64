/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of back_off.c that alive.c calls. */
#pragma once

/* Forgives all restarts up to now, because the daemon has made progress, and ends the "degraded" status. */
void back_off_forget(void);
