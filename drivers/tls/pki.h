/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small certificate authority for a rack: a folder with ca.crt, ca.key, and NAME.crt and NAME.key of what
 * it issued. EC keys on P-256, X.509 v3, PEM; keys are readable by their owner alone. Nothing is ever written
 * over.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define PKI_NAME_MAX 63u

/* Errors: -EEXIST it is one already. */
MUST_CHECK int pki_init(const char *folder, const char *name, unsigned days, struct error *err);

/* A box's certificate for the DNS name `name` (unit NULL; SAN, EKU serverAuth), or a person's (unit = its OU;
 * EKU clientAuth). Errors: -EINVAL the name is not 1 .. PKI_NAME_MAX characters of [A-Za-z0-9.-]; -EEXIST. */
MUST_CHECK int pki_issue(const char *folder, const char *name, const char *unit, unsigned days,
			 struct error *err);

/* PEM with at least one certificate, each of which can be read; a NUL is behind the bytes. Errors: -EINVAL.
 */
MUST_CHECK int pki_check(const char *text, uint64_t bytes, struct error *err);

/* Add the fingerprint of FOLDER/NAME.crt to FOLDER/revoked, durably; a second time changes nothing. */
MUST_CHECK int pki_revoke(const char *folder, const char *name, struct error *err);
