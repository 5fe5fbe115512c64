/* SPDX-License-Identifier: Apache-2.0 */
/* Ranged gets, several in flight at a time: the operations submit, drive and cancel of the s3:// backend
 * (struct store_ops). */
#pragma once

#include "drivers/store/s3_call.h"

int s3_submit(struct store *store, struct store_request *request, struct error *err);
int s3_drive(struct store *store, uint32_t timeout_ms, const struct store_request *until, struct error *err);
void s3_wake(struct store *store);
void s3_cancel(struct store *store, struct store_request *request);
void s3_cancel_all(struct store *store);
