/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the list `preprocess`: rows that make features of features, with the names and attributes of Keras's
 * preprocessing layers. Each row adds a feature behind those of the schema. */
#include "core/base/visible.h"
#include "core/config/config_reading.h"

#include <inttypes.h>
#include <string.h>

#define PREFIX "preprocess."

/* For each op: the keys that it has beside op, name, input and output_mode, and the types of its input. */
static const struct {
	const char *keys;
	bool bytes, int64, float32;
} ops[] = {
	[PREPROCESS_STRING_LOOKUP] = { " vocabulary mask_token num_oov_indices ", true, false, false },
	[PREPROCESS_INTEGER_LOOKUP] = { " vocabulary mask_token num_oov_indices ", false, true, false },
	[PREPROCESS_HASHING] = { " num_bins mask_value salt ", true, true, false },
	[PREPROCESS_DISCRETIZATION] = { " bin_boundaries ", false, true, true },
	[PREPROCESS_CATEGORY_ENCODING] = { " num_tokens ", false, true, false },
};

static bool has_key(int op, const char *name)
{
	char word[64];

	(void)snprintf(word, sizeof(word), " %s ", name);
	return strstr(" op name input output_mode ", word) || strstr(ops[op].keys, word);
}

/* Adds a mistake about a key. `at`: its value, or the row, which has the key or not. */
static void refuse(struct config_reading *reading, const config_setting_t *at, const char *key,
		   const char *allowed)
{
	const bool is_row = config_setting_type(at) == CONFIG_TYPE_GROUP;
	const config_setting_t *value = is_row ? config_setting_get_member(at, key) : at;
	char found[128];

	mistakes_add(reading->mistakes, config_setting_source_line(value ? value : at),
		     PREFIX "%s: found %s, allowed: %s", key,
		     value ? config_found(value, found, sizeof(found)) : "nothing", allowed);
}

static bool is_integer(const config_setting_t *setting)
{
	return config_setting_type(setting) == CONFIG_TYPE_INT ||
	       config_setting_type(setting) == CONFIG_TYPE_INT64;
}

/* Reads a text for string_lookup and hashing of bytes, or an integer. */
static bool read_token(const config_setting_t *setting, struct config_token *ret)
{
	if (config_setting_type(setting) == CONFIG_TYPE_STRING)
		ret->text = config_setting_get_string(setting);
	else if (is_integer(setting))
		ret->whole = config_setting_get_int64(setting);
	else
		return false;
	return true;
}

static void read_vocabulary(struct config_reading *reading, const config_setting_t *setting,
			    struct config_preprocess *row)
{
	const bool texts = row->op == PREPROCESS_STRING_LOOKUP;
	const int count = config_setting_length(setting);
	struct config_token *token = calloc((size_t)count + 1, sizeof(*token));
	bool good = config_setting_type(setting) == CONFIG_TYPE_ARRAY && count > 0;

	for (int i = 0; good && i < count; i++)
		good = read_token(config_setting_get_elem(setting, (unsigned)i), &token[i]) &&
		       (token[i].text != NULL) == texts;
	if (!token) {
		mistakes_add(reading->mistakes, config_setting_source_line(setting),
			     PREFIX "vocabulary: no memory for %d values", count);
		return;
	}
	row->vocabulary = token;
	row->words = good ? (uint32_t)count : 0;
	if (!good)
		refuse(reading, setting, "vocabulary",
		       texts ? "[ ] of one or more strings" : "[ ] of one or more integers");
}

/* One number means both halves of the key, as in Keras. */
static bool read_salt(const config_setting_t *setting, struct config_preprocess *row)
{
	const bool two =
		config_setting_type(setting) == CONFIG_TYPE_ARRAY && config_setting_length(setting) == 2;

	row->salted = true;
	for (unsigned i = 0; i < 2; i++) {
		const config_setting_t *one = two ? config_setting_get_elem(setting, i) : setting;

		if (!is_integer(one))
			return false;
		row->salt[i] = (uint64_t)config_setting_get_int64(one);
	}
	return true;
}

static void read_key(struct config_reading *reading, const config_setting_t *setting,
		     struct config_preprocess *row)
{
	const char *name = config_setting_name(setting);
	const struct config_key *key =
		config_find_key(config_preprocess_keys, config_preprocess_keys_count, "", name);

	if (!has_key(row->op, name))
		mistakes_add(reading->mistakes, config_setting_source_line(setting),
			     PREFIX
			     "%s: found an unknown key, allowed for %s: op, name, input, output_mode and%s",
			     name, config_preprocess_keys[0].names[row->op], ops[row->op].keys);
	else if (key)
		config_read_value(reading, key, setting, row);
	else if (strcmp(name, "vocabulary") == 0)
		read_vocabulary(reading, setting, row);
	else if (strcmp(name, "salt") == 0) {
		if (!read_salt(setting, row))
			refuse(reading, setting, name, "an integer, or [ ] of two integers");
	} else {
		row->masked = true;
		if (!read_token(setting, &row->mask))
			refuse(reading, setting, name, "a string or an integer, as the input has");
	}
}

/* ---- The feature that a row makes ---- */

uint64_t config_preprocess_first(const struct config_preprocess *row)
{
	return row->masked && row->output_mode == OUTPUT_INT ? 1 : 0;
}

uint64_t config_preprocess_size(const struct config_preprocess *row)
{
	switch (row->op) {
	case PREPROCESS_HASHING:
		return row->num_bins;
	case PREPROCESS_DISCRETIZATION:
		return row->bin_boundaries.count + 1;
	case PREPROCESS_CATEGORY_ENCODING:
		return row->num_tokens;
	default:
		return config_preprocess_first(row) + row->num_oov_indices + row->words;
	}
}

static const char *wrong_input(const struct config_preprocess *row, const struct config_feature *input)
{
	if (input->dtype != CONFIG_BYTES && input->dtype != CONFIG_INT64 && input->dtype != CONFIG_FLOAT32)
		return "a feature of bytes, int64 or float32";
	if ((input->dtype == CONFIG_BYTES && !ops[row->op].bytes) ||
	    (input->dtype == CONFIG_INT64 && !ops[row->op].int64) ||
	    (input->dtype == CONFIG_FLOAT32 && !ops[row->op].float32))
		return ops[row->op].float32  ? "a feature of float32 or int64"
		       : !ops[row->op].bytes ? "a feature of int64"
		       : ops[row->op].int64  ? "a feature of bytes or int64"
					     : "a feature of bytes";
	if (row->output_mode != OUTPUT_INT && input->rank > 1)
		return "with this output_mode a feature with at most one dimension";
	if (row->output_mode == OUTPUT_ONE_HOT && input->values_max)
		return "with output_mode \"one_hot\" a feature that is not ragged";
	return NULL;
}

static void shape_feature(const struct config_preprocess *row, const struct config_feature *input,
			  struct config_feature *feature)
{
	if (row->output_mode == OUTPUT_INT) {
		feature->dtype = CONFIG_INT64;
		feature->rank = input->rank;
		memcpy(feature->shape, input->shape, sizeof(feature->shape));
		feature->values_max = input->values_max;
		feature->overflow = input->overflow;
		return;
	}
	feature->dtype = CONFIG_FLOAT32;
	if (row->output_mode == OUTPUT_ONE_HOT && input->rank == 1 && input->shape[0] > 1)
		feature->shape[feature->rank++] = input->shape[0];
	feature->shape[feature->rank++] = config_preprocess_size(row);
}

static bool boundaries_rise(const struct config_numbers *numbers)
{
	for (uint32_t i = 1; i < numbers->count; i++)
		if (numbers->at[i] <= numbers->at[i - 1])
			return false;
	return numbers->count > 0;
}

/* Checks what a row's op needs. */
static void check_needs(struct config_reading *reading, const config_setting_t *group,
			struct config_preprocess *row)
{
	const bool looks_up = row->op == PREPROCESS_STRING_LOOKUP || row->op == PREPROCESS_INTEGER_LOOKUP;

	if (row->op == PREPROCESS_CATEGORY_ENCODING && !config_setting_get_member(group, "output_mode"))
		row->output_mode = OUTPUT_MULTI_HOT;
	if (row->op == PREPROCESS_CATEGORY_ENCODING && row->output_mode == OUTPUT_INT)
		refuse(reading, group, "output_mode",
		       "with category_encoding \"one_hot\", \"multi_hot\" or \"count\"");
	if (looks_up && !config_setting_get_member(group, "vocabulary"))
		refuse(reading, group, "vocabulary", "it must be given");
	if (row->op == PREPROCESS_HASHING && row->num_bins < (row->masked ? 2 : 1))
		refuse(reading, group, "num_bins", "1 or more bins; with mask_value 2 or more");
	if (row->op == PREPROCESS_CATEGORY_ENCODING && row->num_tokens < 1)
		refuse(reading, group, "num_tokens", "1 or more tokens");
	if (row->op == PREPROCESS_DISCRETIZATION && !boundaries_rise(&row->bin_boundaries))
		refuse(reading, group, "bin_boundaries",
		       "[ ] of one or more numbers, each larger than the one before");
}

static void add_feature(struct config_reading *reading, const config_setting_t *group,
			struct config_preprocess *row)
{
	struct config *config = reading->config;
	const struct config_feature *input = config_feature_named(config, row->input);
	struct config_feature *feature = &config->feature[config->features];
	const char *allowed = input ? wrong_input(row, input) : "a feature of the schema or an earlier row";

	if (config->features == CONFIG_FEATURES_MAX) {
		mistakes_add(reading->mistakes, config_setting_source_line(group),
			     "preprocess: found more rows, allowed: %u features with those of `schema`",
			     CONFIG_FEATURES_MAX);
		return;
	}
	if (allowed) {
		mistakes_add(reading->mistakes, config_setting_source_line(group),
			     PREFIX "input: found \"%s\", allowed for %s: %s", row->input,
			     config_preprocess_keys[0].names[row->op], allowed);
		return;
	}
	if (row->masked && (row->mask.text != NULL) != (input->dtype == CONFIG_BYTES))
		refuse(reading, group, row->op == PREPROCESS_HASHING ? "mask_value" : "mask_token",
		       "a string for a feature of bytes, an integer for one of int64");
	config_check_feature_name(reading, group, row->name);
	if (config_feature_named(config, row->name))
		refuse(reading, group, "name", "a name that no other feature has");
	row->from = (uint32_t)(input - config->feature);
	*feature = (struct config_feature){ .name = row->name, .bytes_max = 1, .made_by = row };
	shape_feature(row, input, feature);
	if (feature->values_max > 0)
		config_check_ragged_name(reading, group, row->name);
	config->features++;
	config->made++;
}

static void read_row(struct config_reading *reading, const config_setting_t *group)
{
	struct config_memory *memory = reading->config->memory;
	struct config_preprocess *row = &memory->preprocess[memory->preprocesses++];
	const unsigned before = reading->mistakes->count;
	const config_setting_t *op = config_setting_get_member(group, "op");

	for (size_t i = 0; i < config_preprocess_keys_count; i++)
		if (config_preprocess_keys[i].fallback)
			config_read_fallback(&config_preprocess_keys[i], row);
		else if (!config_setting_get_member(group, config_preprocess_keys[i].name))
			refuse(reading, group, config_preprocess_keys[i].name, "it must be given");
	if (op) /* first, because it says which keys a row has */
		config_read_value(reading, &config_preprocess_keys[0], op, row);
	for (int i = 0; reading->mistakes->count == before && i < config_setting_length(group); i++)
		if (config_setting_get_elem(group, (unsigned)i) != op)
			read_key(reading, config_setting_get_elem(group, (unsigned)i), row);
	if (reading->mistakes->count == before)
		check_needs(reading, group, row);
	if (reading->mistakes->count == before)
		add_feature(reading, group, row);
}

void config_read_preprocess(struct config_reading *reading, const config_setting_t *list)
{
	struct config_memory *memory = reading->config->memory;

	reading->list = PREFIX;
	memory->preprocess = calloc(CONFIG_FEATURES_MAX, sizeof(*memory->preprocess));
	if (!memory->preprocess)
		mistakes_add(reading->mistakes, config_setting_source_line(list), "preprocess: no memory");
	else
		config_read_list(reading, list, "preprocess", CONFIG_FEATURES_MAX, "rows", read_row);
}

void config_preprocess_free(struct config_memory *memory)
{
	for (uint32_t i = 0; i < memory->preprocesses; i++)
		free((void *)(uintptr_t)memory->preprocess[i].vocabulary);
	free(memory->preprocess);
}
