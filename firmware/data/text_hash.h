/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two hashes of texts that Keras's preprocessing layers use, so that a text has the same bin in both
 * programs. Neither is for secrets. tests/unit/text_hash.c compares both with numbers of TensorFlow 2.16.
 * Pure functions.
 */
#pragma once

#include <stdint.h>

/* FarmHash's Fingerprint64 (Geoff Pike, 2014), of tf.strings.to_hash_bucket_fast. */
uint64_t text_fingerprint(const void *text, uint64_t bytes);

/* SipHash-2-4 with a key of two numbers (Aumasson and Bernstein, 2012), of tf.strings.to_hash_bucket_strong.
 */
uint64_t text_siphash(uint64_t key_0, uint64_t key_1, const void *text, uint64_t bytes);
