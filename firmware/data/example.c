/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example_list.h"

#include <inttypes.h>

uint64_t example_row_bytes(const struct example_feature *feature)
{
	switch (feature->dtype) {
	case EXAMPLE_FLOAT32:
		return values_max(feature) * sizeof(float);
	case EXAMPLE_INT64:
		return values_max(feature) * sizeof(int64_t);
	case EXAMPLE_UINT8:
		return feature->elements;
	case EXAMPLE_ENCODED:
		return sizeof(struct example_encoded);
	default:
		return feature->elements * bytes_stride(feature);
	}
}

/* ---- One feature ---- */

static const uint32_t kind_of_dtype[] = { [EXAMPLE_FLOAT32] = FEATURE_FLOAT,
					  [EXAMPLE_INT64] = FEATURE_INT64,
					  [EXAMPLE_BYTES] = FEATURE_BYTES,
					  [EXAMPLE_UINT8] = FEATURE_BYTES,
					  [EXAMPLE_ENCODED] = FEATURE_BYTES };
static const char *const kind_names[] = { "nothing", "bytes_list", "float_list", "int64_list" };

static int malformed(const struct example_feature *feature, struct error *err)
{
	return error_set(err, -EBADMSG, "feature \"%s\": its values are malformed", feature->name);
}

/* A value of EXAMPLE_UINT8 of another size than the schema's. */
static int misfit(const struct example_feature *feature, uint64_t bytes, struct error *err)
{
	return error_set(err, -EBADMSG,
			 "feature \"%s\": found a value of %" PRIu64 " bytes, expected %" PRIu64,
			 feature->name, bytes, feature->elements);
}

static int too_long(const struct example_row *row, struct error *err)
{
	return error_set(err, -EBADMSG,
			 "feature \"%s\": value %" PRIu64 " has %" PRIu64 " bytes, at most %" PRIu64
			 " (bytes_max)",
			 row->feature->name, row->count, row->found, row->feature->bytes_max);
}

/* Sets how many of `found` values go into the row, or says why so many are an error. */
static int fit_count(const struct example_feature *feature, uint64_t found, uint64_t *ret_count,
		     struct error *err)
{
	const uint64_t expected = is_one_value(feature) ? 1 : feature->elements;

	if (feature->values_max == 0 && !feature->padding && found != expected)
		return error_set(err, -EBADMSG, "feature \"%s\": found %" PRIu64 " values, expected %" PRIu64,
				 feature->name, found, expected);
	if (found > values_max(feature) && !is_one_value(feature) && !feature->truncate)
		return error_set(err, -EBADMSG, "feature \"%s\": found %" PRIu64 " values, at most %" PRIu64,
				 feature->name, found, values_max(feature));
	*ret_count = found < values_max(feature) ? found : values_max(feature);
	return 0;
}

static int read_feature(const struct example_feature *feature, struct wire value, uint8_t *out,
			bool *ret_found, uint64_t *ret_count, struct error *err)
{
	struct example_row row = { .feature = feature, .out = out };
	uint32_t kind, wanted = kind_of_dtype[feature->dtype];

	if (!example_feature_kind(value, &kind))
		return malformed(feature, err);
	*ret_found = kind != 0;
	if (kind == 0)
		return 0;
	if (kind != wanted)
		return error_set(err, -EBADMSG, "feature \"%s\": found %s, expected %s", feature->name,
				 kind_names[kind], kind_names[wanted]);
	if (!example_read_lists(value, kind, &row))
		return row.misfit     ? misfit(feature, row.found, err)
		       : row.too_long ? too_long(&row, err)
				      : malformed(feature, err);
	return fit_count(feature, row.count, ret_count, err);
}

bool example_put_bytes(const struct example_feature *feature, void *row, uint64_t value, const void *bytes,
		       uint64_t count)
{
	const struct wire wire = { bytes, (const uint8_t *)bytes + count };

	if (count > feature->bytes_max && !feature->truncate)
		return false;
	put_bytes_value(feature, (uint8_t *)row + value * bytes_stride(feature), wire);
	return true;
}

const uint8_t *example_bytes_at(const struct example_feature *feature, const void *row, uint64_t value,
				uint64_t *ret_count)
{
	const uint8_t *at = (const uint8_t *)row + value * bytes_stride(feature);
	uint32_t count;

	memcpy(&count, at, sizeof(count));
	*ret_count = count < feature->bytes_max ? count : feature->bytes_max;
	return at + sizeof(count);
}

/* ---- The map ---- */

/* Reads one map entry: key and value in any order. A missing key is the empty key, a missing value is an
 * unset Feature. A second value is an error, as in TensorFlow; protobuf would merge the two. */
static bool read_entry(struct wire entry, struct wire *ret_key, struct wire *ret_value)
{
	bool valued = false;

	*ret_key = *ret_value = (struct wire){ entry.end, entry.end };
	while (entry.at < entry.end) {
		uint32_t field, type;
		bool good;

		if (!example_read_tag(&entry, &field, &type))
			return false;
		if (field == ENTRY_KEY && type == WIRE_BYTES) {
			good = read_bytes(&entry, ret_key);
		} else if (field == ENTRY_VALUE && type == WIRE_BYTES) {
			good = !valued && read_bytes(&entry, ret_value);
			valued = true;
		} else {
			good = example_skip_field(&entry, field, type);
		}
		if (!good)
			return false;
	}
	return true;
}

/* Calls `each` with every entry of Example.features.feature. A negative result of `each` ends the walk and is
 * returned. Errors: -EBADMSG the bytes are no Example. */
static int walk_entries(struct wire example, int (*each)(void *context, struct wire key, struct wire value),
			void *context, struct error *err)
{
	const uint8_t *start = example.at;

	while (example.at < example.end) {
		uint32_t field, type;
		struct wire features, entry, key, value;

		if (!example_read_tag(&example, &field, &type))
			goto bad;
		if (field != EXAMPLE_FEATURES || type != WIRE_BYTES) {
			if (!example_skip_field(&example, field, type))
				goto bad;
			continue;
		}
		if (!read_bytes(&example, &features))
			goto bad;
		while (features.at < features.end) {
			int r;

			if (!example_read_tag(&features, &field, &type))
				goto bad;
			if (field != FEATURES_ENTRY || type != WIRE_BYTES) {
				if (!example_skip_field(&features, field, type))
					goto bad;
				continue;
			}
			if (!read_bytes(&features, &entry) || !read_entry(entry, &key, &value))
				goto bad;
			r = each(context, key, value);
			if (r < 0)
				return r;
		}
	}
	return 0;
bad:
	return error_set(err, -EBADMSG, "not a tf.train.Example: malformed at byte %td", example.at - start);
}

/* The entry of each feature of the schema that note_entry() has found. */
struct parse {
	const struct example_schema *schema;
	struct wire value[EXAMPLE_FEATURES_MAX]; /* the values of each feature that was found */
	bool found[EXAMPLE_FEATURES_MAX];
	uint32_t next; /* the feature behind the last one that was found */
};

/* A later entry of the same key replaces the earlier entry, unless its value is empty, as in TensorFlow. The
 * names of a schema are unique. Records mostly have their features in one order, so the search begins behind
 * the feature that was found last. */
static int note_entry(void *context, struct wire key, struct wire value)
{
	struct parse *parse = context;
	const uint32_t features = record_features(parse->schema);

	for (uint32_t n = 0; n < features; n++) {
		const uint32_t i = parse->next + n < features ? parse->next + n : parse->next + n - features;
		const char *name = parse->schema->feature[i].name;

		if (strlen(name) != wire_bytes(key) || memcmp(name, key.at, wire_bytes(key)) != 0)
			continue;
		parse->next = i + 1;
		if (wire_bytes(value) > 0) {
			parse->value[i] = value;
			parse->found[i] = true;
		}
		break;
	}
	return 0;
}

static int fill_missing(const struct example_feature *feature, uint8_t *out, struct error *err)
{
	if (!feature->optional)
		return error_set(err, -EBADMSG, "feature \"%s\": missing, and the schema has no default",
				 feature->name);
	if (is_one_value(feature))
		memset(out, feature->dtype == EXAMPLE_UINT8 ? (int)feature->fill : 0,
		       example_row_bytes(feature));
	else
		example_pad(feature, out, 0);
	return 0;
}

static int parse_feature(const struct parse *parse, uint32_t i, void *row, struct error *err)
{
	const struct example_feature *feature = &parse->schema->feature[i];
	struct example_ragged *ragged = feature->values_max ? row : NULL;
	uint8_t *out = ragged ? ragged->values : row;
	uint64_t count = 0;
	bool found = false;
	int r = 0;

	if (parse->found[i])
		r = read_feature(feature, parse->value[i], out, &found, &count, err);
	if (r == 0 && ragged)
		*ragged->count = (int64_t)count;
	else if (r == 0 && feature->padding)
		example_pad(feature, out, count);
	else if (r == 0 && !found)
		r = fill_missing(feature, out, err);
	return r;
}

static int parse_any(const struct example_schema *schema, struct wire record, void *const *ret_rows,
		     struct error *err)
{
	struct parse parse;
	int r;

	parse.schema = schema;
	parse.next = 0;
	memset(parse.found, 0, record_features(schema) * sizeof(parse.found[0]));
	r = walk_entries(record, note_entry, &parse, err);

	for (uint32_t i = 0; r == 0 && i < record_features(schema); i++)
		r = parse_feature(&parse, i, ret_rows[i], err);
	if (r < 0 && example_other(record.at, wire_bytes(record)))
		return error_prefix(err, "%s, not a tf.train.Example",
				    example_other(record.at, wire_bytes(record)));
	return r;
}

/* ---- Other messages ---- */

/* Sets *ret to the value of the first field of this number. False: there is none, or the bytes are malformed.
 */
static bool first_field(struct wire wire, uint32_t wanted, struct wire *ret)
{
	while (wire.at < wire.end) {
		uint32_t field, type;

		if (!example_read_tag(&wire, &field, &type))
			return false;
		if (field == wanted && type == WIRE_BYTES)
			return read_bytes(&wire, ret);
		if (!example_skip_field(&wire, field, type))
			return false;
	}
	return false;
}

/* tensorflow.serving.ExampleListWithContext: field 1 is an Example, so a map entry is one level deeper than
 * in an Example, where this level has the text of a key. */
static bool is_list_with_context(struct wire record)
{
	struct wire example, features, entry, key, value;

	return first_field(record, 1, &example) && first_field(example, EXAMPLE_FEATURES, &features) &&
	       first_field(features, FEATURES_ENTRY, &entry) && read_entry(entry, &key, &value) &&
	       wire_bytes(key) > 0 && wire_bytes(value) > 0;
}

/* tf.train.SequenceExample: field 1 is as in an Example, field 2 has the feature_lists. */
static bool is_sequence(struct wire record)
{
	struct wire lists, entry, key, value;

	return first_field(record, 2, &lists) && first_field(lists, FEATURES_ENTRY, &entry) &&
	       read_entry(entry, &key, &value) && wire_bytes(key) > 0;
}

const char *example_other(const void *data, uint64_t bytes)
{
	const struct wire record = { data, (const uint8_t *)data + bytes };

	if (is_list_with_context(record))
		return "ExampleListWithContext";
	return is_sequence(record) ? "SequenceExample" : NULL;
}

#define FOUND (-EEXIST)

static int find_any(void *context, struct wire key, struct wire value)
{
	const struct example_schema *schema = context;

	(void)value;
	for (uint32_t i = 0; i < record_features(schema); i++)
		if (strlen(schema->feature[i].name) == wire_bytes(key) &&
		    memcmp(schema->feature[i].name, key.at, wire_bytes(key)) == 0)
			return FOUND;
	return 0;
}

bool example_has_any(const struct example_schema *schema, const void *data, uint64_t bytes)
{
	const struct wire record = { data, (const uint8_t *)data + bytes };

	return walk_entries(record, find_any, (void *)(uintptr_t)schema, NULL) < 0;
}

int example_no_feature(int code, const char *which, uint64_t records, const char *other, struct error *err)
{
	return error_set(err, code, "none of %s %" PRIu64 " records has a feature of the schema%s%s", which,
			 records, other ? "; the first record is no tf.train.Example, but " : "",
			 other ? other : "");
}

/* ---- Parsing ---- */

int example_parse(const struct example_schema *schema, const void *data, uint64_t bytes,
		  void *const *ret_rows, struct error *err)
{
	struct wire example = { data, (const uint8_t *)data + bytes };

	return example_parse_usual(schema, example, ret_rows) ? 0 : parse_any(schema, example, ret_rows, err);
}

/* ---- Describing ---- */

struct describe {
	int (*each)(void *context, const char *name, uint64_t name_bytes, uint32_t dtype, uint64_t count);
	void *context;
	struct error *err;
};

static int describe_entry(void *context, struct wire key, struct wire value)
{
	static const uint32_t dtypes[] = { 0, EXAMPLE_BYTES, EXAMPLE_FLOAT32, EXAMPLE_INT64 };
	struct describe *describe = context;
	struct example_feature feature = { .name = "", .elements = 0, .bytes_max = UINT32_MAX };
	struct example_row row = { .feature = &feature };
	uint32_t kind;

	if (!example_feature_kind(value, &kind))
		return error_set(describe->err, -EBADMSG, "not a tf.train.Example: a feature is malformed");
	feature.dtype = dtypes[kind];
	if (kind && !example_read_lists(value, kind, &row))
		return error_set(describe->err, -EBADMSG, "not a tf.train.Example: a list is malformed");
	return describe->each(describe->context, (const char *)key.at, wire_bytes(key), feature.dtype,
			      row.count);
}

int example_describe(const void *data, uint64_t bytes,
		     int (*each)(void *context, const char *name, uint64_t name_bytes, uint32_t dtype,
				 uint64_t count),
		     void *context, struct error *err)
{
	struct describe describe = { each, context, err };
	struct wire example = { data, (const uint8_t *)data + bytes };

	return walk_entries(example, describe_entry, &describe, err);
}
