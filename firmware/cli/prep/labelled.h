/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled texts: code that the kinds of records share which are made from texts. */
#pragma once

#include "cli/prep/prep.h"

/* Shuffles the texts by the seed, moves the test share to the test split, and sets `rows` and `classes`. Used
 * by make() of a kind. Errors: -EBADMSG fewer than two labels, or a class without training texts. */
MUST_CHECK int prep_order_texts(struct prep *prep, struct error *err);
/* Implements class_name() of these kinds. */
void prep_label_name(const struct prep *prep, uint32_t class, char ret_name[static TEXTS_LABEL_BYTES]);
/* Returns the label as a one-hot row, which is written to `scratch`. */
const int64_t *prep_one_hot(const struct prep *prep, uint32_t label, int64_t *scratch);
