/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "core/base/paths.h"
#include "data/crc32c.h"
#include "model/formats/safetensors.h"
#include "model/formats/safetensors_types.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* Returns the order of the data: tensors with wider types first, otherwise the caller's order. */
static uint32_t *data_order(const struct model_tensor *tensors, uint32_t count)
{
	uint32_t *order = calloc(count ? count : 1, sizeof(*order)), used = 0;

	for (uint32_t width = SAFETENSORS_WIDTH_MAX; order && width; width /= 2)
		for (uint32_t i = 0; i < count; i++)
			if (safetensors_width(tensors[i].dtype) == width)
				order[used++] = i;
	return order;
}

static int add_metadata(cJSON *header, const struct model_tensor *tensors, uint32_t tensor_count,
			const struct safetensors_note *notes, uint32_t note_count)
{
	cJSON *metadata = cJSON_AddObjectToObject(header, "__metadata__");
	bool whole = metadata;

	for (uint32_t i = 0; whole && i < note_count; i++)
		whole = cJSON_AddStringToObject(metadata, notes[i].key, notes[i].value);
	for (uint32_t i = 0; whole && i < tensor_count; i++) {
		char key[SAFETENSORS_CRC_KEY_BYTES], value[16];

		(void)snprintf(key, sizeof(key), SAFETENSORS_CRC_PREFIX "%s", tensors[i].name);
		(void)snprintf(value, sizeof(value), "%08" PRIx32,
			       crc32c(0, tensors[i].data, tensors[i].bytes));
		whole = cJSON_AddStringToObject(metadata, key, value);
	}
	return whole ? 0 : -ENOMEM;
}

static int add_tensor(cJSON *header, const struct model_tensor *tensor, uint64_t offset)
{
	cJSON *entry = cJSON_AddObjectToObject(header, tensor->name), *shape, *offsets;
	bool whole;

	if (!entry || !cJSON_AddStringToObject(entry, "dtype", tensor->dtype))
		return -ENOMEM;
	shape = cJSON_AddArrayToObject(entry, "shape");
	offsets = cJSON_AddArrayToObject(entry, "data_offsets");
	whole = shape && offsets;
	for (uint32_t i = 0; whole && i < tensor->rank; i++)
		whole = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)tensor->shape[i]));
	whole = whole && cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)offset)) &&
		cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)(offset + tensor->bytes)));
	return whole ? 0 : -ENOMEM;
}

/* Makes the header's length and text, padded with spaces so that the data starts at a multiple of 8. */
static int make_header(const cJSON *json, char **ret_header, uint64_t *ret_bytes)
{
	CLEANUP(free_ptr) char *text = cJSON_PrintUnformatted(json);
	uint64_t used = text ? strlen(text) : 0, padded = (used + 7) / 8 * 8;
	char *header = text ? malloc(sizeof(uint64_t) + padded) : NULL;

	if (!header)
		return -ENOMEM;
	if (padded > SAFETENSORS_HEADER_MAX) {
		free(header);
		return -E2BIG;
	}
	for (uint32_t i = 0; i < sizeof(uint64_t); i++)
		header[i] = (char)(padded >> 8 * i);
	memcpy(header + sizeof(uint64_t), text, used);
	memset(header + sizeof(uint64_t) + used, ' ', padded - used);
	*ret_header = header;
	*ret_bytes = sizeof(uint64_t) + padded;
	return 0;
}

static int describe(const struct model_tensor *tensors, uint32_t tensor_count, const uint32_t *order,
		    const struct safetensors_note *notes, uint32_t note_count, char **ret_header,
		    uint64_t *ret_bytes)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	uint64_t offset = 0;
	int r = json ? add_metadata(json, tensors, tensor_count, notes, note_count) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < tensor_count; i++) {
		r = add_tensor(json, &tensors[order[i]], offset);
		offset += tensors[order[i]].bytes;
	}
	return r < 0 ? r : make_header(json, ret_header, ret_bytes);
}

static int check_arguments(const char *path, const struct model_tensor *tensors, uint32_t count,
			   struct error *err)
{
	if (count > SAFETENSORS_TENSORS_MAX)
		return error_set(err, -E2BIG, "%s: %u tensors, at most %u", path, count,
				 SAFETENSORS_TENSORS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t bytes = safetensors_width(tensors[i].dtype);

		for (uint32_t d = 0; d < tensors[i].rank; d++)
			bytes *= tensors[i].shape[d];
		if (!bytes || bytes != tensors[i].bytes ||
		    strlen(tensors[i].name) + sizeof(SAFETENSORS_CRC_PREFIX) > SAFETENSORS_CRC_KEY_BYTES)
			return error_set(err, -EINVAL, "%s: tensor %.200s: %" PRIu64 " bytes of type %s",
					 path, tensors[i].name, tensors[i].bytes, tensors[i].dtype);
	}
	return 0;
}

int safetensors_write(const char *path, const struct model_tensor *tensors, uint32_t tensor_count,
		      const struct safetensors_note *notes, uint32_t note_count, struct error *err)
{
	CLEANUP(free_ptr) uint32_t *order = NULL;
	CLEANUP(free_ptr) char *header = NULL;
	CLEANUP(close_fd) int fd = -1;
	char temporary[PATH_BYTES + 8];
	uint64_t header_bytes;
	int r = check_arguments(path, tensors, tensor_count, err);

	if (r < 0)
		return r;
	order = data_order(tensors, tensor_count);
	r = order ? describe(tensors, tensor_count, order, notes, note_count, &header, &header_bytes)
		  : -ENOMEM;
	if (r < 0)
		return error_set(err, r, "%s: no header of %u tensors: %s", path, tensor_count, strerror(-r));
	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	r = fd < 0 ? -errno : file_write_all(fd, header, header_bytes);
	for (uint32_t i = 0; r == 0 && i < tensor_count; i++)
		r = file_write_all(fd, tensors[order[i]].data, tensors[order[i]].bytes);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		return file_rename_durable(temporary, path, err);
	if (fd >= 0)
		(void)unlink(temporary);
	return error_set(err, r, "%s: cannot write it: %s", temporary, strerror(-r));
}
