/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

/* Checks that a text is an authorized_keys of sshd(8), with keys and comments and no options.
 * Errors: -EINVAL, with the line and what is wrong with it. */
MUST_CHECK int ssh_keys_check(const char *text, struct error *err);
