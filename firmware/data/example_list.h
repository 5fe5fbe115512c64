/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the values of one feature, in any encoding that protobuf allows. False always means that the bytes
 * are malformed. For data/example*.c only.
 */
#pragma once

#include "data/example_wire.h"

/* The row that values are stored into. */
struct example_row {
	const struct example_feature *feature;
	uint8_t *out;
	uint64_t count; /* values seen; stored as far as there is space */
	bool misfit;    /* a value of EXAMPLE_UINT8 has `found` bytes, which is not the schema's size */
	bool too_long;  /* value `count` of EXAMPLE_BYTES has `found` bytes, more than bytes_max */
	uint64_t found;
};

/* Reads the tag of the next field: its number and its wire type. */
bool example_read_tag(struct wire *wire, uint32_t *ret_field, uint32_t *ret_type);

/* Skips the value of a field whose tag has been read. */
bool example_skip_field(struct wire *wire, uint32_t field, uint32_t type);

/* Finds which kind of list a Feature holds, FEATURE_BYTES ... or 0: the last list on the wire wins. */
bool example_feature_kind(struct wire feature, uint32_t *ret_kind);

/* Reads all lists of that kind, which protobuf merges; a list of another kind clears the values before it.
 * Call example_feature_kind() first: it checks the bytes. */
bool example_read_lists(struct wire feature, uint32_t kind, struct example_row *row);
