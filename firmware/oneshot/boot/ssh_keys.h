/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

/* Checks that a text is a valid authorized_keys file of sshd(8) with only keys and comments, without options.
 * Errors: -EINVAL, with the line and what is wrong with it. */
MUST_CHECK int ssh_keys_check(const char *text, struct error *err);
