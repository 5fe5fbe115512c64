/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/tfevents_hparams.h"

#include "model/formats/tfevents_write.h"

#include <time.h>

#define PLUGIN "hparams"

/* Field numbers. */
enum { PLUGIN_DATA_START = 3, PLUGIN_DATA_END = 4 };
enum { START_HPARAMS = 1, START_GROUP = 4, START_TIME = 5 };
enum { END_STATUS = 1, END_TIME = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { VALUE_NUMBER = 2, VALUE_STRING = 3, VALUE_BOOL = 4 };

/* Appends an event that has only data of the plugin, with the empty tensor that TensorBoard's own writer adds
 * to it. */
static int append(struct tfevents *events, const char *tag, const struct wire *content, struct error *err)
{
	uint8_t shape_bytes[16], tensor_bytes[32];
	struct wire shape = { shape_bytes, sizeof(shape_bytes), 0 },
		    tensor = { tensor_bytes, sizeof(tensor_bytes), 0 };
	const struct tfevents_value value = { tag, PLUGIN, content, &tensor };
	CLEANUP(free_ptr) uint8_t *buffer = NULL;

	tfevents_add_dimension(&shape, 0);
	wire_varint(&tensor, TENSOR_DTYPE, DT_FLOAT);
	wire_bytes(&tensor, TENSOR_SHAPE, shape.data, shape.bytes);
	buffer = malloc(tfevents_value_bytes(&value));
	return buffer ? tfevents_append_value(events, 0, &value, buffer, err)
		      : error_set(err, -ENOMEM, "%s: no memory for an event", tag);
}

/* ---- The beginning ---- */

struct start {
	const char *group;
	const cJSON *hparams;
	double start_s;
};

static void put_value(struct wire *wire, const void *context)
{
	const cJSON *item = context;

	if (cJSON_IsNumber(item)) {
		wire_double(wire, VALUE_NUMBER, item->valuedouble);
	} else if (cJSON_IsBool(item)) {
		wire_varint(wire, VALUE_BOOL, cJSON_IsTrue(item) ? 1 : 0);
	} else if (cJSON_IsString(item)) {
		wire_string(wire, VALUE_STRING, item->valuestring);
	} else {
		CLEANUP(free_ptr) char *text = cJSON_PrintUnformatted(item);

		wire_string(wire, VALUE_STRING, text ? text : "");
	}
}

static void put_entry(struct wire *wire, const void *context)
{
	const cJSON *item = context;

	wire_string(wire, ENTRY_KEY, item->string ? item->string : "");
	wire_message(wire, ENTRY_VALUE, put_value, item);
}

static void put_start(struct wire *wire, const void *context)
{
	const struct start *start = context;
	const cJSON *item;

	cJSON_ArrayForEach(item, start->hparams)
		wire_message(wire, START_HPARAMS, put_entry, item);
	wire_string(wire, START_GROUP, start->group);
	wire_double(wire, START_TIME, start->start_s);
}

int tfevents_hparams_start(struct tfevents *events, const char *group, const cJSON *hparams, double start_s,
			   struct error *err)
{
	const struct start start = { group, hparams, start_s };
	struct wire count = { 0 }, content;
	CLEANUP(free_ptr) uint8_t *memory = NULL;

	wire_message(&count, PLUGIN_DATA_START, put_start, &start);
	memory = malloc(count.bytes);
	if (!memory)
		return error_set(err, -ENOMEM, "no memory for the settings of a trial");
	content = (struct wire){ memory, count.bytes, 0 };
	wire_message(&content, PLUGIN_DATA_START, put_start, &start);
	return append(events, "_hparams_/session_start_info", &content, err);
}

/* ---- The end ---- */

int tfevents_hparams_end(struct tfevents *events, enum tfevents_status status, struct error *err)
{
	uint8_t end_bytes[32], content_bytes[64];
	struct wire end = { end_bytes, sizeof(end_bytes), 0 },
		    content = { content_bytes, sizeof(content_bytes), 0 };

	wire_varint(&end, END_STATUS, status);
	wire_double(&end, END_TIME, (double)time(NULL));
	wire_bytes(&content, PLUGIN_DATA_END, end.data, end.bytes);
	return append(events, "_hparams_/session_end_info", &content, err);
}
