/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the elements of lists, and the lists that stand for those a file does not have. */
#include "core/config/config_rows.h"

#include <float.h>

#define SOURCE(member)       offsetof(struct config_source, member)
#define SOURCE_STORE(member) SOURCE(store.member)
const struct config_key config_source_keys[] = {
	STORE_KEYS("", SOURCE_STORE, "address of its shards"),
	{ "weight", KEY_FLOAT, "", "1.0", 1e-6, 1e6, NO_NAMES, SOURCE(weight),
	  "share of the training rows that come from this source, relative to the other sources" },
	{ "train_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(train_glob),
	  "pattern of this source's training shards; not given = split.train_glob" },
	{ "validation_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(validation_glob),
	  "pattern of this source's validation shards, with split.by = \"prefix\"; not given = "
	  "split.validation_glob, empty = no shards" },
	{ "test_glob", KEY_STRING, "", "", NO_BOUNDS, NO_NAMES, SOURCE(test_glob),
	  "pattern of this source's test shards; not given = split.test_glob, empty = no shards" },
};
const size_t config_source_keys_count = sizeof(config_source_keys) / sizeof(config_source_keys[0]);
static_assert(offsetof(struct config_source, store) == 0,
	      "the keys of a store have the same offsets in a source");

#define FEATURE(member) offsetof(struct config_feature, member)
const struct config_key config_feature_keys[] = {
	{ "name", KEY_STRING, "", NULL, NO_BOUNDS, NO_NAMES, FEATURE(name),
	  "name of the feature in tf.train.Example" },
	{ "dtype",
	  KEY_ENUM,
	  "",
	  NULL,
	  NO_BOUNDS,
	  { "float32", "int64", "bytes", "uint8", "picture" },
	  FEATURE(dtype),
	  "type of the values; uint8 = a bytes feature with one byte for each value, picture = a bytes "
	  "feature "
	  "with a JPEG or PNG file, which becomes uint8 values of `shape`, [ height, width, channels ]" },
	{ "missing",
	  KEY_ENUM,
	  "",
	  "error",
	  NO_BOUNDS,
	  { "error", "default" },
	  FEATURE(missing),
	  "what happens when a record lacks the feature: error = the record is bad, default = the values are "
	  "`fill`" },
	{ "fill", KEY_FLOAT, "", "0.0", -FLT_MAX, FLT_MAX, NO_NAMES, FEATURE(fill),
	  "value of a missing feature, and of padding; an integer for int64 and uint8" },
	{ "padding",
	  KEY_ENUM,
	  "",
	  "none",
	  NO_BOUNDS,
	  { "none", "post", "pre" },
	  FEATURE(padding),
	  "for a record with fewer values than `shape`, [ length ]: post = `fill` (bytes: empty values) "
	  "follows "
	  "the values, pre = it comes before them, none = the record is bad" },
	{ "values_max", KEY_INT, "", "0", 0, 1 << 28, NO_NAMES, FEATURE(values_max),
	  "for a ragged feature, instead of `shape`: largest number of values in a record; a record without "
	  "the feature has 0 values" },
	{ "bytes_max", KEY_INT, "", "65536", 1, 1 << 28, NO_NAMES, FEATURE(bytes_max),
	  "largest size of a value of dtype \"bytes\"" },
	{ "overflow",
	  KEY_ENUM,
	  "",
	  "error",
	  NO_BOUNDS,
	  { "error", "truncate" },
	  FEATURE(overflow),
	  "what happens to values beyond values_max, bytes_max or, with `padding`, the length: error = the "
	  "record is bad, truncate = the values are cut off" },
#define FEATURE_KEYS_OF_ALL 8
	{ "interpolation",
	  KEY_ENUM,
	  "",
	  "bilinear",
	  NO_BOUNDS,
	  { "nearest", "bilinear", "bicubic", "area" },
	  FEATURE(interpolation),
	  "filter that brings the picture to the height and width of `shape`" },
	{ "antialias", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FEATURE(antialias),
	  "widen the filter where the picture gets smaller, so that each of its pixels counts" },
	{ "fit",
	  KEY_ENUM,
	  "",
	  "stretch",
	  NO_BOUNDS,
	  { "stretch", "crop", "pad" },
	  FEATURE(fit),
	  "what happens to a picture of other proportions: stretch = they change, crop = its edges are cut "
	  "off, pad = black bars are added" },
	{ "random_crop", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FEATURE(random_crop),
	  "with fit = \"crop\": in training, each epoch cuts at another place; evaluation takes the centre" },
	{ "orientation", KEY_BOOL, "", "true", NO_BOUNDS, NO_NAMES, FEATURE(orientation),
	  "turn the picture as the orientation in its EXIF data says" },
	{ "scaled_decode", KEY_BOOL, "", "false", NO_BOUNDS, NO_NAMES, FEATURE(scaled_decode),
	  "let the decoder shrink a large JPEG by 2, 4 or 8 before the filter; faster, with other pixels" },
	{ "pixels_max", KEY_INT, "pixels", "64000000", 1, 1 << 30, NO_NAMES, FEATURE(pixels_max),
	  "largest width times height of a picture; a record with a larger picture is bad" },
};
const size_t config_feature_keys_count = sizeof(config_feature_keys) / sizeof(config_feature_keys[0]);
const size_t config_picture_keys = FEATURE_KEYS_OF_ALL;

/* ---- preprocess ---- */

#define ROW(member) offsetof(struct config_preprocess, member)

const struct config_key config_preprocess_keys[] = {
	{ "op",
	  KEY_ENUM,
	  "",
	  NULL,
	  NO_BOUNDS,
	  { "string_lookup", "integer_lookup", "hashing", "discretization", "category_encoding" },
	  ROW(op),
	  "what is computed, as Keras's layer of this name does it" },
	{ "name", KEY_STRING, "", NULL, NO_BOUNDS, NO_NAMES, ROW(name),
	  "name of the feature that the row makes" },
	{ "input", KEY_STRING, "", NULL, NO_BOUNDS, NO_NAMES, ROW(input),
	  "feature of the schema or of an earlier row, of bytes or int64; of discretization of float32 or "
	  "int64" },
	{ "output_mode",
	  KEY_ENUM,
	  "",
	  "int",
	  NO_BOUNDS,
	  { "int", "one_hot", "multi_hot", "count" },
	  ROW(output_mode),
	  "int = the numbers (int64); one_hot, multi_hot, count = float32 with a place for each number; "
	  "category_encoding has multi_hot as default" },
	{ "num_oov_indices", KEY_INT, "", "1", 0, 1 << 24, NO_NAMES, ROW(num_oov_indices),
	  "lookups: how many numbers unknown values share; 0 = a record with an unknown value is bad" },
	{ "num_bins", KEY_INT, "", "0", 0, 1 << 30, NO_NAMES, ROW(num_bins), "hashing: number of bins" },
	{ "num_tokens", KEY_INT, "", "0", 0, 1 << 24, NO_NAMES, ROW(num_tokens),
	  "category_encoding: the numbers are 0 .. num_tokens - 1" },
	{ "bin_boundaries", KEY_NUMBERS, "", "[]", -FLT_MAX, FLT_MAX, NO_NAMES, ROW(bin_boundaries),
	  "discretization: a value gets the number of boundaries that are not larger" },
};
const size_t config_preprocess_keys_count =
	sizeof(config_preprocess_keys) / sizeof(config_preprocess_keys[0]);

size_t config_feature_keys_of(int dtype)
{
	return dtype == CONFIG_PICTURE ? config_feature_keys_count : config_picture_keys;
}

const char config_default_schema[] = "schema = (\n"
				     "  { name = \"sentence\"; dtype = \"float32\"; shape = [ 512 ]; },\n"
				     "  { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; }\n"
				     ");\n";
const char config_default_layers[] = "layers = (\n"
				     "    { op = \"dense\"; units = 256; }, { op = \"relu\"; },\n"
				     "    { op = \"dropout\"; rate = 0.2; },\n"
				     "    { op = \"dense\"; units = 16; }, { op = \"relu\"; },\n"
				     "    { op = \"dropout\"; rate = 0.2; },\n"
				     "    { op = \"dense\"; units = 2; }, { op = \"softmax\"; }\n"
				     "  );\n";
