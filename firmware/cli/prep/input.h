/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/prep/prep.h"

/* Reads all inputs into texts or images and sets `kind`. Errors: -EBADMSG and -EINVAL with the input, what
 * was found and what was expected; the errors of a store; the errnos of reading. */
MUST_CHECK int prep_read(struct prep *prep, struct error *err);
