/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/*
 * Wire bytes are written as text, after protoscope: `1: {...}` a length-delimited field, `1: "..."` the same
 * of a string, `1: 5` a varint, `1: 5f` four bytes of a float, `1: 5d` eight bytes, `1: !{...}` a group.
 * Without a field number in front the value stands alone: `{1f 2f}` is a packed list. `x` and two digits are
 * one byte.
 */
struct wire_text {
	const char *at;
	uint8_t bytes[1024];
	uint64_t used;
};

static void put(struct wire_text *wire, const void *bytes, uint64_t count)
{
	assert_true(wire->used + count <= sizeof(wire->bytes));
	memcpy(wire->bytes + wire->used, bytes, count);
	wire->used += count;
}

static void put_varint(struct wire_text *wire, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		put(wire, &byte, 1);
		value >>= 7;
	} while (value);
}

static void put_tag(struct wire_text *wire, uint64_t field, unsigned type)
{
	if (field)
		put_varint(wire, field << 3 | type);
}

static void compile(struct wire_text *wire);

/* Writes the content of braces or quotes, after its length. */
static void compile_bytes(struct wire_text *wire, uint64_t field)
{
	struct wire_text inner = { .at = wire->at + 1 };

	if (*wire->at == '{') {
		compile(&inner);
	} else {
		const char *end = strchr(inner.at, '"');

		put(&inner, inner.at, (uint64_t)(end - inner.at));
		inner.at = end;
	}
	wire->at = inner.at + 1;
	put_tag(wire, field, 2);
	if (field)
		put_varint(wire, inner.used);
	put(wire, inner.bytes, inner.used);
}

static void compile_group(struct wire_text *wire, uint64_t field)
{
	struct wire_text inner = { .at = wire->at + 2 };

	compile(&inner);
	wire->at = inner.at + 1;
	put_tag(wire, field, 3);
	put(wire, inner.bytes, inner.used);
	put_tag(wire, field, 4);
}

static void compile_number(struct wire_text *wire, uint64_t field)
{
	char *end;
	double number = strtod(wire->at, &end);
	int64_t whole = strtoll(wire->at, NULL, 10);
	float single = (float)number;

	if (*end == 'f') {
		put_tag(wire, field, 5);
		put(wire, &single, sizeof(single));
	} else if (*end == 'd') {
		put_tag(wire, field, 1);
		put(wire, &number, sizeof(number));
	} else {
		put_tag(wire, field, 0);
		put_varint(wire, (uint64_t)whole);
	}
	wire->at = end + (*end == 'f' || *end == 'd');
}

/* Reads up to the closing brace or the end. */
static void compile(struct wire_text *wire)
{
	while (*wire->at && *wire->at != '}') {
		uint64_t field = 0;
		char *end;

		if (isspace((unsigned char)*wire->at)) {
			wire->at++;
			continue;
		}
		if (*wire->at == 'x') {
			char digits[3] = { wire->at[1], wire->at[2], 0 };
			uint8_t byte = (uint8_t)strtoul(digits, NULL, 16);

			put(wire, &byte, 1);
			wire->at += 3;
			continue;
		}
		if (isdigit((unsigned char)*wire->at) && (field = strtoull(wire->at, &end, 10), *end == ':'))
			wire->at = end + 2;
		else
			field = 0;
		if (*wire->at == '{' || *wire->at == '"')
			compile_bytes(wire, field);
		else if (*wire->at == '!')
			compile_group(wire, field);
		else
			compile_number(wire, field);
	}
}

static const struct example_schema schema = {
	.features = 3,
	.feature = { { .name = "f", .dtype = EXAMPLE_FLOAT32, .elements = 2 },
		     { .name = "i", .dtype = EXAMPLE_INT64, .elements = 2, .optional = true, .fill = -7 },
		     { .name = "b",
		       .dtype = EXAMPLE_BYTES,
		       .elements = 1,
		       .optional = true,
		       .bytes_max = 9 } },
};

struct row {
	float f[2];
	int64_t i[2];
	struct {
		uint32_t length;
		char bytes[12];
	} b;
};

static int parse(const void *bytes, uint64_t count, struct row *row, struct error *err)
{
	void *rows[] = { row->f, row->i, &row->b };
	/* Copies into memory of exactly this size, so that a sanitizer sees a read beyond the end. */
	uint8_t *exact = malloc(count ? count : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, bytes, count);
	memset(row, 0xa5, sizeof(*row));
	r = example_parse(&schema, exact, count, rows, err);
	free(exact);
	return r;
}

#define E(name, value)    " 1: {1: \"" name "\" 2: {" value "}} "
#define F(first, second)  "2: {1: {" first "f " second "f}}"
#define FEATURES(entries) "1: {" entries "}"

/* Valid Examples and the values of their rows. Where TensorFlow's parse_example refuses what protobuf
 * accepts, protobuf decides; tests/interop/tfrecord.py compares both with ours. */
static const struct {
	const char *label, *text;
	float f[2];
	int64_t i[2];
	const char *b;
} good[] = {
	{ "as serializers write",
	  FEATURES(E("f", F("1", "2")) E("i", "3: {1: {3 -4}}") E("b", "1: {1: \"kiln\"}")),
	  { 1, 2 },
	  { 3, -4 },
	  "kiln" },
	{ "another order",
	  FEATURES(E("b", "1: {1: \"\"}") E("i", "3: {1: {3 4}}") E("f", F("1", "2"))),
	  { 1, 2 },
	  { 3, 4 },
	  "" },
	{ "optional ones missing", FEATURES(E("f", F("1", "2"))), { 1, 2 }, { -7, -7 }, "" },
	{ "optional ones unset",
	  FEATURES(E("f", F("1", "2")) E("i", "") E("b", "")),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "unpacked",
	  FEATURES(E("f", "2: {1: 1f 1: 2f}") E("i", "3: {1: 3 1: -4}")),
	  { 1, 2 },
	  { 3, -4 },
	  "" },
	{ "two packed lists",
	  FEATURES(E("f", "2: {1: {1f} 1: {2f}}") E("i", "3: {1: {3} 1: {4}}")),
	  { 1, 2 },
	  { 3, 4 },
	  "" },
	{ "packed, then not",
	  FEATURES(E("f", "2: {1: {1f} 1: 2f}") E("i", "3: {1: 3 1: {4}}")),
	  { 1, 2 },
	  { 3, 4 },
	  "" },
	{ "an empty packed list first", FEATURES(E("f", "2: {1: {} 1: {1f 2f}}")), { 1, 2 }, { -7, -7 }, "" },
	{ "value before key", FEATURES("1: {2: {" F("1", "2") "} 1: \"f\"}"), { 1, 2 }, { -7, -7 }, "" },
	{ "the last of a repeated key",
	  FEATURES(E("f", F("9", "9")) E("f", F("1", "2"))),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "an unset repetition", FEATURES(E("f", F("1", "2")) E("f", "")), { 1, 2 }, { -7, -7 }, "" },
	{ "a malformed one replaced",
	  FEATURES(E("f", "2: {x0a x7f}") E("f", F("1", "2"))),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "two of the message Features",
	  FEATURES(E("i", "3: {1: {3 4}}")) FEATURES(E("f", F("1", "2"))),
	  { 1, 2 },
	  { 3, 4 },
	  "" },
	{ "a list in two parts", FEATURES(E("f", "2: {1: {1f}} 2: {1: {2f}}")), { 1, 2 }, { -7, -7 }, "" },
	{ "another kind first", FEATURES(E("f", "3: {1: {1}}" F("1", "2"))), { 1, 2 }, { -7, -7 }, "" },
	{ "another kind in between",
	  FEATURES(E("f", "2: {1: {9f}} 3: {1: {1}}" F("1", "2"))),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "unknown features",
	  FEATURES(E("z", "1: {1: \"zzzz\"}") E("f", F("1", "2")) E("", "2: {1: {1f}}")),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "an unknown feature, malformed",
	  FEATURES(E("z", "xff") E("f", F("1", "2"))),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "unknown fields at every level",
	  "9: 1 " FEATURES(
		  "9: 1f 1: {7: 1d 1: \"f\" 2: {8: \"x\" 2: {1: {1f 2f} 2: 300} 4: 1}} 5: !{1: 1}") " 8: {}",
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "groups in groups",
	  "5: !{6: !{7: 1 8: \"x\"} 9: 1d 10: 1f} " FEATURES(E("f", F("1", "2"))),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "a known number, another wire type",
	  FEATURES(E("f", "1: 3 2: {1: 7 1: {1f 2f}}")),
	  { 1, 2 },
	  { -7, -7 },
	  "" },
	{ "a tag in two bytes", "x8a x00 x13" E("f", F("1", "2")), { 1, 2 }, { -7, -7 }, "" },
	{ "the smallest and the largest",
	  FEATURES(E("f", F("-inf", "3.4028235e38")) E(
		  "i", "3: {1: {-9223372036854775808 9223372036854775807}}") E("b", "1: {1: \"12345\"}")),
	  { -INFINITY, 3.4028235e38F },
	  { INT64_MIN, INT64_MAX },
	  "12345" },
};

static void good_ones(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(good) / sizeof(good[0]); n++) {
		struct wire_text wire = { .at = good[n].text };
		struct error err = { 0 };
		struct row row;
		int r;

		compile(&wire);
		r = parse(wire.bytes, wire.used, &row, &err);
		print_message("# %s%s%s\n", good[n].label, r < 0 ? ": " : "", err.text);
		assert_int_equal(r, 0);
		assert_memory_equal(row.f, good[n].f, sizeof(row.f));
		assert_memory_equal(row.i, good[n].i, sizeof(row.i));
		assert_int_equal(row.b.length, strlen(good[n].b));
		assert_memory_equal(row.b.bytes, good[n].b, row.b.length);
		for (size_t pad = row.b.length; pad < sizeof(row.b.bytes); pad++)
			assert_int_equal(row.b.bytes[pad], 0);
	}
}

/* Refused Examples, and words of the message. */
static const struct {
	const char *label, *text, *words;
} bad[] = {
	{ "nothing at all", "", "\"f\": missing" },
	{ "required one missing", FEATURES(E("i", "3: {1: {3 4}}")), "\"f\": missing" },
	{ "required one unset", FEATURES(E("f", "")), "\"f\": missing" },
	{ "required one without value", FEATURES("1: {1: \"f\"}"), "\"f\": missing" },
	{ "only unknown fields in it", FEATURES(E("f", "9: 1")), "\"f\": missing" },
	{ "wrong kind", FEATURES(E("f", "3: {1: {1 2}}")), "found int64_list, expected float_list" },
	{ "another kind last", FEATURES(E("f", F("1", "2") "3: {1: {1}}")), "found int64_list" },
	{ "too few", FEATURES(E("f", "2: {1: {1f}}")), "found 1 values, expected 2" },
	{ "too many", FEATURES(E("f", "2: {1: {1f 2f 3f}}")), "found 3 values, expected 2" },
	{ "too many in two lists", FEATURES(E("f", "2: {1: {1f 2f} 1: 3f}")), "found 3 values" },
	{ "an empty list", FEATURES(E("f", "2: {}")), "found 0 values" },
	{ "an empty packed list", FEATURES(E("f", "2: {1: {}}")), "found 0 values" },
	{ "an optional one, empty", FEATURES(E("f", F("1", "2")) E("i", "3: {}")), "\"i\": found 0 values" },
	{ "three bytes of a float", FEATURES(E("f", "2: {1: {1f x00 x00 x00}}")),
	  "\"f\": its values are malformed" },
	{ "half a varint", FEATURES(E("f", F("1", "2")) E("i", "3: {1: {3 x80}}")),
	  "\"i\": its values are malformed" },
	{ "a varint of eleven bytes",
	  FEATURES(E("f", F("1", "2")) E("i", "3: {1: {3 x80 x80 x80 x80 x80 x80 x80 x80 x80 x80 x01}}")),
	  "\"i\": its values are malformed" },
	{ "bytes too long", FEATURES(E("f", F("1", "2")) E("b", "1: {1: \"1234567890\"}")),
	  "\"b\": value 0 has 10 bytes, at most 9 (bytes_max)" },
	{ "a list beyond its feature", FEATURES(E("f", "x12 x7f x0a")), "\"f\": its values are malformed" },
	{ "two values in an entry", FEATURES("1: {1: \"f\" 2: {" F("1", "2") "} 2: {}}"),
	  "not a tf.train.Example" },
	{ "text", "x6b x69 x6c x6e", "not a tf.train.Example: malformed at byte" },
	{ "field number 0", FEATURES(E("f", F("1", "2"))) "x02 x00", "not a tf.train.Example" },
	{ "wire type 6", FEATURES(E("f", F("1", "2"))) "x4e", "not a tf.train.Example" },
	{ "a field number beyond 29 bits", FEATURES(E("f", F("1", "2"))) "xf8 xff xff xff x7f x00",
	  "not a tf" },
	{ "an open group", FEATURES(E("f", F("1", "2"))) "x4b x08 x01", "not a tf.train.Example" },
	{ "a group's end alone", FEATURES(E("f", F("1", "2"))) "x4c", "not a tf.train.Example" },
	{ "a group ended by another", FEATURES(E("f", F("1", "2"))) "x4b x54", "not a tf.train.Example" },
	{ "a length of 2^64 - 1", "x0a xff xff xff xff xff xff xff xff xff x01", "malformed at byte" },
};

static void bad_ones(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		struct wire_text wire = { .at = bad[n].text };
		struct error err = { 0 };
		struct row row;

		compile(&wire);
		assert_int_equal(parse(wire.bytes, wire.used, &row, &err), -EBADMSG);
		print_message("# %s: %s\n", bad[n].label, err.text);
		assert_non_null(strstr(err.text, bad[n].words));
	}
}

/* A thousand nested groups give an error, and do not need a deep stack. */
static void deep_groups(void **state)
{
	uint8_t bytes[1000];
	struct row row;

	(void)state;
	memset(bytes, 0x4b, sizeof(bytes));
	assert_int_equal(parse(bytes, sizeof(bytes), &row, NULL), -EBADMSG);
}

/* The bytes that tf.train.Example.SerializeToString(deterministic=True) gives for the first valid Example. */
static void known_bytes(void **state)
{
	static const struct example_schema sorted = {
		.features = 3,
		.feature = { { .name = "b", .dtype = EXAMPLE_BYTES, .elements = 1, .bytes_max = 9 },
			     { .name = "f", .dtype = EXAMPLE_FLOAT32, .elements = 2 },
			     { .name = "i", .dtype = EXAMPLE_INT64, .elements = 2 } },
	};
	static const uint8_t expected[] = { 0x0a, 0x38, 0x0a, 0x0d, 0x0a, 0x01, 0x62, 0x12, 0x08, 0x0a,
					    0x06, 0x0a, 0x04, 0x6b, 0x69, 0x6c, 0x6e, 0x0a, 0x11, 0x0a,
					    0x01, 0x66, 0x12, 0x0c, 0x12, 0x0a, 0x0a, 0x08, 0x00, 0x00,
					    0x80, 0x3f, 0x00, 0x00, 0x00, 0x40, 0x0a, 0x14, 0x0a, 0x01,
					    0x69, 0x12, 0x0f, 0x1a, 0x0d, 0x0a, 0x0b, 0x03, 0xfc, 0xff,
					    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	const struct row row = { { 1, 2 }, { 3, -4 }, { 4, "kiln" } };
	const void *rows[] = { &row.b, row.f, row.i };
	uint8_t out[sizeof(expected)];

	(void)state;
	assert_int_equal(example_write(&sorted, rows, NULL, 0), sizeof(expected));
	assert_int_equal(example_write(&sorted, rows, out, sizeof(out)), sizeof(expected));
	assert_memory_equal(out, expected, sizeof(expected));
}

/* Features whose row is one value of a bytes_list: raw bytes are copied, an encoded value is pointed at. Both
 * parsers give the same. */
static void one_value(void **state)
{
	static const struct example_schema one = {
		.features = 2,
		.feature = { { .name = "e", .dtype = EXAMPLE_ENCODED, .elements = 12 },
			     { .name = "u",
			       .dtype = EXAMPLE_UINT8,
			       .elements = 3,
			       .optional = true,
			       .fill = 7 } },
	};
	static const struct {
		const char *text, *u, *words; /* words: of the error; NULL = the values are good */
	} cases[] = {
		{ FEATURES(E("e", "1: {1: \"kiln\"}") E("u", "1: {1: \"abc\"}")), "abc", NULL },
		{ FEATURES(E("u", "1: {1: \"abc\"}") E("e", "1: {1: \"kiln\"}") E("x", "")), "abc", NULL },
		{ FEATURES(E("e", "1: {1: \"kiln\"}")), "\7\7\7", NULL },
		{ FEATURES(E("u", "1: {1: \"abc\"}")), NULL, "\"e\": missing" },
		{ FEATURES(E("e", "1: {}") E("u", "1: {1: \"abc\"}")), NULL,
		  "\"e\": found 0 values, expected 1" },
		{ FEATURES(E("e", "1: {1: \"a\" 1: \"b\"}")), NULL, "\"e\": found 2 values, expected 1" },
		{ FEATURES(E("e", "1: {1: \"a\"}") E("u", "1: {1: \"abcd\"}")), NULL,
		  "\"u\": found a value of 4 bytes, expected 3" },
		{ FEATURES(E("e", "1: {1: \"a\"}") E("u", "1: {1: \"\"}")), NULL,
		  "\"u\": found a value of 0 bytes, expected 3" },
		{ FEATURES(E("e", F("1", "2"))), NULL, "\"e\": found float_list, expected bytes_list" },
	};

	(void)state;
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct wire_text wire = { .at = cases[n].text };
		struct example_encoded encoded = { 0 };
		uint8_t u[3];
		void *rows[] = { &encoded, u };
		const void *const written[] = { &encoded, u };
		uint8_t out[64];
		struct error err = { 0 };
		int r;

		compile(&wire);
		r = example_parse(&one, wire.bytes, wire.used, rows, &err);
		assert_int_equal(r, cases[n].words ? -EBADMSG : 0);
		if (cases[n].words) {
			assert_non_null(strstr(err.text, cases[n].words));
			continue;
		}
		assert_int_equal(encoded.bytes, 4);
		assert_memory_equal(encoded.data, "kiln", 4);
		assert_true(encoded.data > wire.bytes && encoded.data < wire.bytes + wire.used);
		assert_memory_equal(u, cases[n].u, 3);
		r = (int)example_write(&one, written, out, sizeof(out));
		memset(u, 0, sizeof(u));
		assert_int_equal(example_parse(&one, out, (uint64_t)r, rows, &err), 0);
		assert_memory_equal(encoded.data, "kiln", 4);
		assert_memory_equal(u, cases[n].u, 3);
	}
}

/* A padded feature: a record has none, fewer, all or more values than the row. Both parsers give the same. */
static void padded(void **state)
{
#define PADDED(of_i, how, ...)                                                            \
	{                                                                                 \
		.text = FEATURES(E("i", of_i)), .padding = EXAMPLE_PAD_##how, __VA_ARGS__ \
	}
	static const struct {
		const char *text;
		uint32_t padding;
		bool truncate;
		int64_t row[4];
		const char *words; /* of the error; NULL = the values are good */
	} cases[] = {
		PADDED("3: {1: {5 6}}", POST, .row = { 5, 6, -7, -7 }),
		PADDED("3: {1: {5 6}}", PRE, .row = { -7, -7, 5, 6 }),
		PADDED("3: {1: {5 6 7 8}}", PRE, .row = { 5, 6, 7, 8 }),
		PADDED("3: {1: {}}", POST, .row = { -7, -7, -7, -7 }),
		PADDED("3: {}", PRE, .row = { -7, -7, -7, -7 }),
		PADDED("", POST, .row = { -7, -7, -7, -7 }),
		{ .text = "", .padding = EXAMPLE_PAD_PRE, .row = { -7, -7, -7, -7 } },
		PADDED("3: {1: {1 2 3 4 5}}", POST, .truncate = true, .row = { 1, 2, 3, 4 }),
		PADDED("3: {1: {1 2 3 4 5}}", PRE, .truncate = true, .row = { 1, 2, 3, 4 }),
		PADDED("3: {1: {1 2 3 4 5}}", POST, .words = "\"i\": found 5 values, at most 4"),
		PADDED("3: {1: {1 x80}}", POST, .words = "\"i\": its values are malformed"),
		PADDED("2: {1: {1f}}", POST, .words = "found float_list, expected int64_list"),
	};

	(void)state;
	for (size_t n = 0; n < 2 * sizeof(cases) / sizeof(*cases); n++) {
		const bool usual = n % 2;
		struct wire_text wire = { .at = cases[n / 2].text };
		struct example_schema one;
		struct error err = { 0 };
		int64_t row[4];
		void *rows[] = { row };
		int r;

		compile(&wire);
		if (!usual) /* an unknown field, which only the general parser reads */
			put(&wire, "\x48\x01", 2);
		example_schema_one(&one, (struct example_feature){ .name = "i",
								   .dtype = EXAMPLE_INT64,
								   .elements = 4,
								   .fill = -7,
								   .padding = cases[n / 2].padding,
								   .truncate = cases[n / 2].truncate });
		r = example_parse(&one, wire.bytes, wire.used, rows, &err);
		print_message("# %zu: %s\n", n, err.text);
		assert_int_equal(r, cases[n / 2].words ? -EBADMSG : 0);
		if (cases[n / 2].words)
			assert_non_null(strstr(err.text, cases[n / 2].words));
		else
			assert_memory_equal(row, cases[n / 2].row, sizeof(row));
	}
}
#undef PADDED

/* Padded floats and texts: the values that come to a row are `fill`, and empty texts. */
static void padded_kinds(void **state)
{
	static const struct example_schema two = {
		.features = 2,
		.feature = { { .name = "f",
			       .dtype = EXAMPLE_FLOAT32,
			       .elements = 3,
			       .fill = 0.5,
			       .padding = EXAMPLE_PAD_PRE },
			     { .name = "b",
			       .dtype = EXAMPLE_BYTES,
			       .elements = 3,
			       .bytes_max = 4,
			       .padding = EXAMPLE_PAD_POST } },
	};
	struct wire_text wire = { .at = FEATURES(E("f", F("1", "2")) E("b", "1: {1: \"ab\" 1: \"cdef\"}")) };
	const char *const texts[] = { "ab", "cdef", "" };
	struct error err = { 0 };
	float f[3];
	uint8_t b[3 * 8];
	void *rows[] = { f, b };
	uint64_t bytes;

	(void)state;
	compile(&wire);
	memset(b, 0xa5, sizeof(b));
	assert_int_equal(example_parse(&two, wire.bytes, wire.used, rows, &err), 0);
	assert_memory_equal(f, ((const float[]){ 0.5f, 1, 2 }), sizeof(f));
	for (uint32_t i = 0; i < 3; i++) {
		const uint8_t *text = example_bytes_at(&two.feature[1], b, i, &bytes);

		assert_int_equal(bytes, strlen(texts[i]));
		assert_memory_equal(text, texts[i], bytes);
	}
}

static uint64_t random_row(struct row *row, uint64_t state)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	memset(row, 0, sizeof(*row));
	row->f[0] = (float)(int32_t)(state >> 32) / 7;
	row->f[1] = -row->f[0];
	row->i[0] = (int64_t)(state >> (state >> 58));
	row->i[1] = (int64_t)~state;
	row->b.length = (uint32_t)(state >> 40) % 6;
	memcpy(row->b.bytes, "kiln!", row->b.length);
	return state;
}

/* A written Example is read back. With an unknown field after it, which needs the general parser, the
 * values are the same. */
static void both_ways_agree(void **state)
{
	uint64_t random = 44;

	(void)state;
	for (int n = 0; n < 2000; n++) {
		struct row row, usual, general;
		const void *rows[] = { row.f, row.i, &row.b };
		uint8_t out[256];
		uint64_t bytes;

		random = random_row(&row, random);
		bytes = example_write(&schema, rows, out, sizeof(out) - 2);
		assert_in_range(bytes, 1, sizeof(out) - 2);
		assert_int_equal(parse(out, bytes, &usual, NULL), 0);
		assert_memory_equal(&usual, &row, sizeof(row));
		out[bytes] = 0x48;
		out[bytes + 1] = 1;
		assert_int_equal(parse(out, bytes + 2, &general, NULL), 0);
		assert_memory_equal(&general, &row, sizeof(row));
	}
}

/* A schema may have EXAMPLE_FEATURES_MAX features. The last entry of a repeated key wins, whichever feature
 * it is of: an Example written twice, one after the other, is the second one. */
static void many_features(void **state)
{
	static struct example_schema many = { .features = EXAMPLE_FEATURES_MAX };
	static char name[EXAMPLE_FEATURES_MAX][8];
	static float row[EXAMPLE_FEATURES_MAX], found[EXAMPLE_FEATURES_MAX];
	static uint8_t out[64 * EXAMPLE_FEATURES_MAX];
	const void *rows[EXAMPLE_FEATURES_MAX];
	void *found_rows[EXAMPLE_FEATURES_MAX];
	uint64_t bytes;
	struct error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < EXAMPLE_FEATURES_MAX; i++) {
		(void)snprintf(name[i], sizeof(name[i]), "f%u", i);
		many.feature[i] =
			(struct example_feature){ .name = name[i], .dtype = EXAMPLE_FLOAT32, .elements = 1 };
		row[i] = (float)i;
		rows[i] = &row[i];
		found_rows[i] = &found[i];
	}
	bytes = example_write(&many, rows, out, sizeof(out) / 2);
	assert_int_equal(example_parse(&many, out, bytes, found_rows, &err), 0);
	assert_memory_equal(found, row, sizeof(row));
	for (uint32_t i = 0; i < EXAMPLE_FEATURES_MAX; i++)
		row[i] = -1 - (float)i;
	assert_int_equal(example_write(&many, rows, out + bytes, sizeof(out) / 2), bytes);
	assert_int_equal(example_parse(&many, out, 2 * bytes, found_rows, &err), 0);
	assert_memory_equal(found, row, sizeof(row));
}

/* An Example is one field: every truncation is an error, and so is every further byte that is no field. */
static void every_truncation_is_seen(void **state)
{
	struct row row, found;
	const void *rows[] = { row.f, row.i, &row.b };
	uint8_t out[256];
	uint64_t bytes;

	(void)state;
	(void)random_row(&row, 44);
	bytes = example_write(&schema, rows, out, sizeof(out));
	for (uint64_t n = 0; n < bytes; n++)
		assert_int_equal(parse(out, n, &found, NULL), -EBADMSG);
}

struct seen {
	char text[256];
	int stop_after;
};

static int note(void *context, const char *name, uint64_t name_bytes, uint32_t dtype, uint64_t count)
{
	struct seen *seen = context;
	size_t used = strlen(seen->text);

	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%.*s:%" PRIu32 "[%" PRIu64 "] ",
		       (int)name_bytes, name, dtype, count);
	return --seen->stop_after ? 0 : -EINTR;
}

static void describes(void **state)
{
	struct wire_text wire = { .at = FEATURES(E("f", "2: {1: {1f 2f} 1: 3f}") E(
					  "i", "3: {1: {1 2} 1: 3 1: 4}") E("b", "1: {1: \"x\" 1: \"\"}")
							 E("u", "") E("o", "2: {1: {1f}} 3: {1: {1}}")) };
	struct seen seen = { .stop_after = 100 };
	struct error err = { 0 };

	(void)state;
	compile(&wire);
	assert_int_equal(example_describe(wire.bytes, wire.used, note, &seen, &err), 0);
	assert_string_equal(seen.text, "f:1[3] i:2[4] b:3[2] u:0[0] o:2[1] ");
	seen = (struct seen){ .stop_after = 1 };
	assert_int_equal(example_describe(wire.bytes, wire.used, note, &seen, &err), -EINTR);
	assert_int_equal(example_describe("kiln", 4, note, &seen, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not a tf.train.Example"));
}

/* Records that are no Example, and records without a feature of the schema. */
static void others(void **state)
{
#define CONTEXT "1: {1: {1: \"q\" 2: {3: {1: {7}}}}}"
	static const struct {
		const char *text, *other;
		bool any;
	} cases[] = {
		{ FEATURES(E("f", F("1", "2"))), NULL, true },
		{ FEATURES(E("z", F("1", "2"))), NULL, false },
		{ FEATURES(E("z", F("1", "2")) E("b", "")), NULL, true },
		{ "1: {}", NULL, false },
		{ "", NULL, false },
		{ "x6b x69 x6c x6e", NULL, true },
		/* Two examples and a context. */
		{ "1: {" FEATURES(E("f", F("1", "2"))) "} 1: {" FEATURES(E("f", F("3", "4"))) "} 2: {" CONTEXT
											      "}",
		  "ExampleListWithContext", false },
		{ "2: {" CONTEXT "} 1: {" FEATURES(E("f", F("1", "2"))) "}", "ExampleListWithContext",
		  false },
		/* A context and a feature list. */
		{ FEATURES(E("q", F("1", "2"))) "2: {1: {1: \"f\" 2: {1: {" F("1", "2") "}}}}",
		  "SequenceExample", false },
		{ "2: {1: {1: \"f\" 2: {1: {" F("1", "2") "}}}}", "SequenceExample", false },
	};

	(void)state;
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct wire_text wire = { .at = cases[n].text };
		const char *other;
		struct error err = { 0 };
		struct row row;

		compile(&wire);
		other = example_other(wire.bytes, wire.used);
		print_message("# %s: %s\n", cases[n].text, other ? other : "-");
		assert_int_equal(other != NULL, cases[n].other != NULL);
		if (other) {
			assert_string_equal(other, cases[n].other);
			assert_int_equal(parse(wire.bytes, wire.used, &row, &err), -EBADMSG);
			assert_non_null(strstr(err.text, cases[n].other));
		}
		assert_int_equal(example_has_any(&schema, wire.bytes, wire.used), cases[n].any);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones),     cmocka_unit_test(bad_ones),
		cmocka_unit_test(deep_groups),   cmocka_unit_test(known_bytes),
		cmocka_unit_test(one_value),     cmocka_unit_test(both_ways_agree),
		cmocka_unit_test(padded),        cmocka_unit_test(padded_kinds),
		cmocka_unit_test(many_features), cmocka_unit_test(every_truncation_is_seen),
		cmocka_unit_test(describes),     cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
