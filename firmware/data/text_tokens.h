/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as sets of features: 64-bit hashes of words and of two and three neighbouring words. For data/text*.c
 * only.
 */
#pragma once

#include <stdint.h>

/* The sorted set of a text's features, malloc'ed into *ret (NULL when there are none). Returns their number,
 * or -ENOMEM. */
int64_t text_features(const char *text, uint64_t bytes, uint64_t **ret);
