/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled texts, for the kinds of records that are made of texts. */
#pragma once

#include "cli/prep/prep.h"

/* Puts the texts into the order of the seed, holds the test split out, and sets rows and classes. For make().
 * Errors: -EBADMSG fewer than two labels, or a class without training texts. */
MUST_CHECK int prep_order_texts(struct prep *prep, struct error *err);
/* class_name() of these kinds. */
void prep_label_name(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES]);
/* Returns the label's row of a column, one-hot, written to `scratch`. */
const int64_t *prep_one_hot(const struct prep *prep, uint32_t label, int64_t *scratch);
