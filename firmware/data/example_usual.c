/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example_wire.h"

/* The tag of a length-delimited field with a field number below 16: one byte. */
#define TAG(field) ((uint8_t)((field) << 3 | WIRE_BYTES))

WIRE_INLINE bool open_field(struct wire *wire, uint8_t tag, struct wire *ret)
{
	if (wire->at == wire->end || *wire->at != tag)
		return false;
	wire->at++;
	return read_bytes(wire, ret);
}

/* Opens a list's one field of packed numbers; an empty list has no field. */
WIRE_INLINE bool open_packed(struct wire list, struct wire *ret)
{
	*ret = list;
	return list.at == list.end || (open_field(&list, TAG(LIST_VALUE), ret) && list.at == list.end);
}

WIRE_INLINE bool read_floats(const struct example_feature *feature, struct wire list, uint8_t *out)
{
	struct wire packed;

	if (!open_packed(list, &packed) || wire_bytes(packed) != feature->elements * sizeof(float))
		return false;
	memcpy(out, packed.at, wire_bytes(packed));
	return true;
}

WIRE_INLINE bool read_integers(const struct example_feature *feature, struct wire list, uint8_t *out)
{
	struct wire packed;

	if (!open_packed(list, &packed))
		return false;
	for (uint64_t i = 0; i < feature->elements; i++, out += sizeof(uint64_t)) {
		uint64_t value;

		if (!read_varint(&packed, &value))
			return false;
		memcpy(out, &value, sizeof(value));
	}
	return packed.at == packed.end;
}

WIRE_INLINE bool read_byte_strings(const struct example_feature *feature, struct wire list, uint8_t *out)
{
	struct wire value;

	for (uint64_t i = 0; i < feature->elements; i++, out += bytes_stride(feature)) {
		if (!open_field(&list, TAG(LIST_VALUE), &value) ||
		    (wire_bytes(value) > feature->bytes_max && !feature->truncate))
			return false;
		put_bytes_value(feature, out, value);
	}
	return list.at == list.end;
}

/* Not inlined: the hot loops of the numbers stay small. */
__attribute__((noinline)) static bool read_one_value(const struct example_feature *feature, struct wire list,
						     uint8_t *out)
{
	struct wire value;

	return open_field(&list, TAG(LIST_VALUE), &value) && list.at == list.end &&
	       put_one_value(feature, out, value);
}

WIRE_INLINE bool read_ragged_floats(const struct example_feature *feature, struct wire list,
				    const struct example_ragged *row)
{
	struct wire packed;
	uint64_t count;

	if (!open_packed(list, &packed) || wire_bytes(packed) % sizeof(float))
		return false;
	count = wire_bytes(packed) / sizeof(float);
	if (count > values_max(feature)) {
		if (!feature->truncate)
			return false;
		count = values_max(feature);
	}
	memcpy(row->values, packed.at, count * sizeof(float));
	*row->count = (int64_t)count;
	return true;
}

WIRE_INLINE bool read_ragged_integers(const struct example_feature *feature, struct wire list,
				      const struct example_ragged *row)
{
	struct wire packed;
	uint64_t count = 0;

	if (!open_packed(list, &packed))
		return false;
	while (packed.at < packed.end) {
		uint64_t value;

		if (!read_varint(&packed, &value))
			return false;
		if (count == values_max(feature)) {
			if (!feature->truncate)
				return false;
			continue; /* check also the values that are cut off */
		}
		memcpy((uint8_t *)row->values + count++ * sizeof(value), &value, sizeof(value));
	}
	*row->count = (int64_t)count;
	return true;
}

/* Not inlined, as read_one_value(). */
__attribute__((noinline)) static bool read_padded(const struct example_feature *feature, struct wire list,
						  uint8_t *out)
{
	int64_t count = 0;
	const struct example_ragged row = { &count, out };

	if (!(feature->dtype == EXAMPLE_FLOAT32 ? read_ragged_floats(feature, list, &row)
						: read_ragged_integers(feature, list, &row)))
		return false;
	example_pad(feature, out, (uint64_t)count);
	return true;
}

WIRE_INLINE bool read_value(const struct example_feature *feature, struct wire value, void *row)
{
	struct wire list;

	switch (feature->dtype) {
	case EXAMPLE_FLOAT32:
		return open_field(&value, TAG(FEATURE_FLOAT), &list) && value.at == value.end &&
		       (feature->values_max ? read_ragged_floats(feature, list, row)
			: feature->padding  ? read_padded(feature, list, row)
					    : read_floats(feature, list, row));
	case EXAMPLE_INT64:
		return open_field(&value, TAG(FEATURE_INT64), &list) && value.at == value.end &&
		       (feature->values_max ? read_ragged_integers(feature, list, row)
			: feature->padding  ? read_padded(feature, list, row)
					    : read_integers(feature, list, row));
	case EXAMPLE_BYTES:
		return !feature->padding && open_field(&value, TAG(FEATURE_BYTES), &list) &&
		       value.at == value.end && read_byte_strings(feature, list, row);
	default:
		return open_field(&value, TAG(FEATURE_BYTES), &list) && value.at == value.end &&
		       read_one_value(feature, list, row);
	}
}

/* Finds the schema's feature of this name, beginning at `first`: all records of a file have their features in
 * the same order, so the first comparison nearly always matches. */
WIRE_INLINE uint32_t find(const struct example_schema *schema, struct wire key, uint32_t first)
{
	for (uint32_t n = 0; n < record_features(schema); n++) {
		uint32_t i =
			first + n < record_features(schema) ? first + n : first + n - record_features(schema);
		const char *name = schema->feature[i].name;

		if (strlen(name) == wire_bytes(key) && memcmp(name, key.at, wire_bytes(key)) == 0)
			return i;
	}
	return record_features(schema);
}

bool example_parse_usual(const struct example_schema *schema, struct wire example, void *const *ret_rows)
{
	struct wire features, entry, key, value;
	uint64_t seen[EXAMPLE_FEATURES_MAX / 64]; /* a bit for each feature */
	uint32_t next = 0, found = 0;

	if (!open_field(&example, TAG(EXAMPLE_FEATURES), &features) || example.at != example.end)
		return false;
	memset(seen, 0, (record_features(schema) + 63) / 64 * sizeof(*seen));
	while (features.at < features.end) {
		uint32_t i;

		if (!open_field(&features, TAG(FEATURES_ENTRY), &entry) ||
		    !open_field(&entry, TAG(ENTRY_KEY), &key) ||
		    !open_field(&entry, TAG(ENTRY_VALUE), &value) || entry.at != entry.end)
			return false;
		i = find(schema, key, next);
		if (i == record_features(schema))
			continue;
		if (seen[i / 64] >> i % 64 & 1 || !read_value(&schema->feature[i], value, ret_rows[i]))
			return false;
		seen[i / 64] |= UINT64_C(1) << i % 64;
		found++;
		next = i + 1 < record_features(schema) ? i + 1 : 0;
	}
	return found == record_features(schema);
}
