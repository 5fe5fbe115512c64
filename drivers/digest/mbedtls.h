/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbedTLS's hashes, for its versions 2.28 (Debian 12) and 3.6. The code uses the names of 3.6; with 2.28 this
 * header maps them to those of 2.28. drivers/tls/mbedtls_tls.h does the same for TLS and X.509.
 */
#pragma once

#include <mbedtls/md5.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>

#if MBEDTLS_VERSION_MAJOR < 3
#define mbedtls_sha256        mbedtls_sha256_ret
#define mbedtls_sha256_starts mbedtls_sha256_starts_ret
#define mbedtls_sha256_update mbedtls_sha256_update_ret
#define mbedtls_sha256_finish mbedtls_sha256_finish_ret
#define mbedtls_md5           mbedtls_md5_ret
#define mbedtls_md5_starts    mbedtls_md5_starts_ret
#define mbedtls_md5_update    mbedtls_md5_update_ret
#define mbedtls_md5_finish    mbedtls_md5_finish_ret
#endif
