/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/tfevents_write.h"

#include <string.h>

#define VALUE_ROOM 128u /* bytes of an event beside its tag, its plugin's data and its tensor, at most */

/* Field numbers. */
enum { METADATA_PLUGIN_DATA = 1, PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { SHAPE_DIM = 2, DIM_SIZE = 1 };

/* ---- Values ---- */

static void put_plugin(struct wire *wire, const void *context)
{
	const struct tfevents_value *value = context;

	wire_string(wire, PLUGIN_NAME, value->plugin);
	if (value->content)
		wire_bytes(wire, PLUGIN_CONTENT, value->content->data, value->content->bytes);
}

static void put_metadata(struct wire *wire, const void *context)
{
	wire_message(wire, METADATA_PLUGIN_DATA, put_plugin, context);
}

static void put_value(struct wire *wire, const void *context)
{
	const struct tfevents_value *value = context;

	wire_string(wire, VALUE_TAG, value->tag);
	wire_bytes(wire, VALUE_TENSOR, value->tensor->data, value->tensor->bytes);
	wire_message(wire, VALUE_METADATA, put_metadata, context);
}

static void put_summary(struct wire *wire, const void *context)
{
	wire_message(wire, SUMMARY_VALUE, put_value, context);
}

uint64_t tfevents_value_bytes(const struct tfevents_value *value)
{
	return VALUE_ROOM + strlen(value->tag) + strlen(value->plugin) + value->tensor->bytes +
	       (value->content ? value->content->bytes : 0);
}

int tfevents_append_value(struct tfevents *events, uint64_t step, const struct tfevents_value *value,
			  uint8_t *buffer, struct error *err)
{
	struct wire event = { buffer, tfevents_value_bytes(value), 0 };
	int r = tfevents_check_tag(events, value->tag, err);

	if (r < 0)
		return r;
	tfevents_begin(&event, step);
	wire_message(&event, EVENT_SUMMARY, put_summary, value);
	return tfevents_append(events, &event, err);
}

/* ---- Histograms, texts, images ---- */

/* Appends a value whose event may be large. */
static int append_large(struct tfevents *events, uint64_t step, const struct tfevents_value *value,
			struct error *err)
{
	CLEANUP(free_ptr) uint8_t *buffer = malloc(tfevents_value_bytes(value));

	return buffer ? tfevents_append_value(events, step, value, buffer, err)
		      : error_set(err, -ENOMEM, "%s: no memory for an event", value->tag);
}

void tfevents_add_dimension(struct wire *shape, uint64_t size)
{
	uint8_t bytes[16];
	struct wire dim = { bytes, sizeof(bytes), 0 };

	if (size) /* protobuf does not write a 0 */
		wire_varint(&dim, DIM_SIZE, size);
	wire_bytes(shape, SHAPE_DIM, dim.data, dim.bytes);
}

/* The tensor's content is little-endian, like the memory of every machine that Kiln runs on. */
int tfevents_histogram(struct tfevents *events, const char *tag, uint64_t step,
		       const struct histogram_bucket buckets[static HISTOGRAM_BUCKETS], struct error *err)
{
	uint8_t tensor_bytes[HISTOGRAM_BUCKETS * sizeof(*buckets) + 64], shape_bytes[32],
		buffer[TFEVENTS_EVENT_BYTES];
	struct wire tensor = { tensor_bytes, sizeof(tensor_bytes), 0 },
		    shape = { shape_bytes, sizeof(shape_bytes), 0 };
	const struct tfevents_value value = { tag, "histograms", NULL, &tensor };

	_Static_assert(sizeof(tensor_bytes) + TFEVENTS_TAG_MAX + VALUE_ROOM + sizeof("histograms") <=
			       sizeof(buffer),
		       "the buffer has room for the event");
	_Static_assert(sizeof(*buckets) == 3 * sizeof(double), "a row of the tensor");
	tfevents_add_dimension(&shape, HISTOGRAM_BUCKETS);
	tfevents_add_dimension(&shape, 3);
	wire_varint(&tensor, TENSOR_DTYPE, DT_DOUBLE);
	wire_bytes(&tensor, TENSOR_SHAPE, shape.data, shape.bytes);
	wire_bytes(&tensor, TENSOR_CONTENT, buckets, HISTOGRAM_BUCKETS * sizeof(*buckets));
	return tfevents_append_value(events, step, &value, buffer, err);
}

int tfevents_text(struct tfevents *events, const char *tag, uint64_t step, const char *text,
		  struct error *err)
{
	const uint64_t tensor_bytes = strlen(text) + 64;
	CLEANUP(free_ptr) uint8_t *memory = malloc(tensor_bytes);
	struct wire tensor = { memory, tensor_bytes, 0 };
	const struct tfevents_value value = { tag, "text", NULL, &tensor };

	if (!memory)
		return error_set(err, -ENOMEM, "%s: no memory for a text", tag);
	wire_varint(&tensor, TENSOR_DTYPE, DT_STRING);
	wire_bytes(&tensor, TENSOR_SHAPE, "", 0);
	wire_string(&tensor, TENSOR_STRING, text);
	return append_large(events, step, &value, err);
}

int tfevents_images(struct tfevents *events, const char *tag, uint64_t step, uint32_t width, uint32_t height,
		    const struct tfevents_image *images, uint32_t count, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *memory = NULL;
	uint64_t tensor_bytes = 64; /* type, shape and size */
	uint8_t shape_bytes[16];
	char size[2][16];
	struct wire tensor, shape = { shape_bytes, sizeof(shape_bytes), 0 };
	const struct tfevents_value value = { tag, "images", NULL, &tensor };

	for (uint32_t i = 0; i < count; i++)
		tensor_bytes += images[i].bytes + 16;
	memory = malloc(tensor_bytes);
	if (!memory)
		return error_set(err, -ENOMEM, "%s: no memory for %u pictures", tag, count);
	tensor = (struct wire){ memory, tensor_bytes, 0 };
	(void)snprintf(size[0], sizeof(size[0]), "%u", width);
	(void)snprintf(size[1], sizeof(size[1]), "%u", height);
	tfevents_add_dimension(&shape, count + 2);
	wire_varint(&tensor, TENSOR_DTYPE, DT_STRING);
	wire_bytes(&tensor, TENSOR_SHAPE, shape.data, shape.bytes);
	for (uint32_t i = 0; i < 2; i++)
		wire_string(&tensor, TENSOR_STRING, size[i]);
	for (uint32_t i = 0; i < count; i++)
		wire_bytes(&tensor, TENSOR_STRING, images[i].png, images[i].bytes);
	return append_large(events, step, &value, err);
}
