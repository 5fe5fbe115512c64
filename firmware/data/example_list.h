/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of one feature, in any encoding that protobuf allows. For data/example*.c only.
 */
#pragma once

#include "data/example_wire.h"

/* Where the values of one row go. */
struct example_row {
	const struct example_feature *feature;
	uint8_t *out;
	uint64_t count; /* values seen; stored as far as there is space */
};

/* Reads a field's tag. */
bool example_read_tag(struct wire *wire, uint32_t *ret_field, uint32_t *ret_type);

/* Skips the value of a field whose tag has been read. */
bool example_skip_field(struct wire *wire, uint32_t field, uint32_t type);

bool example_feature_kind(struct wire feature, uint32_t *ret_kind);

bool example_read_lists(struct wire feature, uint32_t kind, struct example_row *row);
