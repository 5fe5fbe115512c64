/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/safetensors.h"

#include "core/base/json.h"
#include "data/crc32c.h"
#include "model/formats/names.h"
#include "model/formats/safetensors_types.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct safetensors {
	const char *what;
	const uint8_t *data; /* the tensors: the bytes after the header */
	uint64_t bytes;
	cJSON *header;
	const cJSON *metadata; /* "__metadata__" of the header, or NULL */
	uint32_t tensors;
	struct model_tensor *tensor;
	void *map;
	uint64_t map_bytes;
};

static const struct {
	const char *name;
	uint32_t width;
} types[] = {
	{ "F64", 8 },  { "I64", 8 }, { "U64", 8 }, { "F32", 4 }, { "I32", 4 }, { "U32", 4 },  { "F16", 2 },
	{ "BF16", 2 }, { "I16", 2 }, { "U16", 2 }, { "I8", 1 },  { "U8", 1 },  { "BOOL", 1 },
};

uint32_t safetensors_width(const char *dtype)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(dtype, types[i].name) == 0)
			return types[i].width;
	return 0;
}

/* ---- Reading the header ---- */

static int whole_number(const cJSON *item, uint64_t *ret)
{
	if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 9007199254740992.0 ||
	    item->valuedouble != (double)(uint64_t)item->valuedouble)
		return -EBADMSG;
	*ret = (uint64_t)item->valuedouble;
	return 0;
}

static int read_shape(const struct safetensors *file, const cJSON *shape, struct model_tensor *tensor,
		      uint64_t *ret_bytes, struct error *err)
{
	uint64_t bytes = safetensors_width(tensor->dtype);
	const cJSON *size;

	if (!bytes)
		return error_set(err, -EBADMSG, "%s: %.200s: unknown dtype \"%.20s\"", file->what,
				 tensor->name, tensor->dtype);
	if (!cJSON_IsArray(shape))
		return error_set(err, -EBADMSG, "%s: %.200s: no shape", file->what, tensor->name);
	cJSON_ArrayForEach(size, shape) {
		if (tensor->rank == CONFIG_SHAPE_MAX ||
		    whole_number(size, &tensor->shape[tensor->rank]) < 0 ||
		    __builtin_mul_overflow(bytes, tensor->shape[tensor->rank], &bytes))
			return error_set(
				err, -EBADMSG,
				"%s: %.200s: dimension %u is not a whole number or too large, at most "
				"%u dimensions are allowed",
				file->what, tensor->name, tensor->rank, CONFIG_SHAPE_MAX);
		tensor->rank++;
	}
	*ret_bytes = bytes;
	return 0;
}

static int read_tensor(struct safetensors *file, const cJSON *entry, struct error *err)
{
	struct model_tensor *tensor = &file->tensor[file->tensors];
	const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
	uint64_t begin = 0, end = 0, bytes = 0;
	int r;

	*tensor = (struct model_tensor){ .name = entry->string };
	if (!cJSON_IsObject(entry))
		return error_set(err, -EBADMSG, "%s: %.200s: expected an object", file->what, tensor->name);
	r = json_get_string(file->what, entry, "dtype", &tensor->dtype, err);
	if (r < 0)
		return r;
	r = read_shape(file, cJSON_GetObjectItemCaseSensitive(entry, "shape"), tensor, &bytes, err);
	if (r < 0)
		return r;
	if (cJSON_GetArraySize(offsets) != 2 || whole_number(offsets->child, &begin) < 0 ||
	    whole_number(offsets->child->next, &end) < 0)
		return error_set(err, -EBADMSG, "%s: %.200s: data_offsets are not two whole numbers",
				 file->what, tensor->name);
	if (begin > end || end > file->bytes || end - begin != bytes)
		return error_set(err, -EBADMSG,
				 "%s: %.200s: bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64
				 ", expected %" PRIu64 " bytes by its shape",
				 file->what, tensor->name, begin, end, file->bytes, bytes);
	tensor->data = file->data + begin;
	tensor->bytes = bytes;
	file->tensors++;
	return 0;
}

static int by_position(const void *a, const void *b)
{
	const struct model_tensor *left = a, *right = b;

	if (left->data != right->data)
		return (const uint8_t *)left->data < (const uint8_t *)right->data ? -1 : 1;
	return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* Checks that the tensors, sorted by position, cover the data without gap or overlap. */
static int check_cover(const struct safetensors *file, struct error *err)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < file->tensors; i++) {
		const struct model_tensor *tensor = &file->tensor[i];
		uint64_t begin = (uint64_t)((const uint8_t *)tensor->data - file->data);

		if (begin != end)
			return error_set(err, -EBADMSG,
					 "%s: %.200s: starts at byte %" PRIu64
					 " of the data, expected %" PRIu64 ": an overlap or a gap",
					 file->what, tensor->name, begin, end);
		end += tensor->bytes;
	}
	if (end != file->bytes)
		return error_set(err, -EBADMSG, "%s: %" PRIu64 " bytes of data, its tensors have %" PRIu64,
				 file->what, file->bytes, end);
	return 0;
}

static int check_metadata(struct safetensors *file, const cJSON *metadata, struct error *err)
{
	const cJSON *pair;

	if (!cJSON_IsObject(metadata))
		return error_set(err, -EBADMSG, "%s: __metadata__ is not an object", file->what);
	cJSON_ArrayForEach(pair, metadata)
		if (!cJSON_IsString(pair))
			return error_set(err, -EBADMSG, "%s: __metadata__: %.200s is not a string",
					 file->what, pair->string);
	file->metadata = metadata;
	return 0;
}

static int read_tensors(struct safetensors *file, struct error *err)
{
	const cJSON *entry;
	int count, r = 0;

	if (!cJSON_IsObject(file->header))
		return error_set(err, -EBADMSG, "%s: the header is not a JSON object", file->what);
	count = cJSON_GetArraySize(file->header);
	if (count > (int)SAFETENSORS_TENSORS_MAX)
		return error_set(err, -EBADMSG, "%s: %d tensors, at most %u", file->what, count,
				 SAFETENSORS_TENSORS_MAX);
	file->tensor = calloc((size_t)count + 1, sizeof(*file->tensor));
	if (!file->tensor)
		return error_set(err, -ENOMEM, "%s: no memory", file->what);
	cJSON_ArrayForEach(entry, file->header) {
		r = strcmp(entry->string, "__metadata__") == 0 ? check_metadata(file, entry, err)
							       : read_tensor(file, entry, err);
		if (r < 0)
			return r;
	}
	qsort(file->tensor, file->tensors, sizeof(*file->tensor), by_position);
	return check_cover(file, err);
}

/* ---- The data ---- */

static int check_crcs(const struct safetensors *file, struct error *err)
{
	const size_t prefix = strlen(SAFETENSORS_CRC_PREFIX);
	const cJSON *pair = file->metadata ? file->metadata->child : NULL;

	for (; pair; pair = pair->next) {
		const struct model_tensor *tensor;
		char found[16];

		if (strncmp(pair->string, SAFETENSORS_CRC_PREFIX, prefix) != 0)
			continue;
		tensor = name_find(file->tensor, file->tensors, pair->string + prefix);
		if (!tensor)
			return error_set(err, -EBADMSG, "%s: found a CRC of %.200s, but no such tensor",
					 file->what, pair->string + prefix);
		(void)snprintf(found, sizeof(found), "%08" PRIx32, crc32c(0, tensor->data, tensor->bytes));
		if (strcmp(found, pair->valuestring) != 0)
			return error_set(err, -EBADMSG, "%s: %.200s: CRC %s, expected %.20s", file->what,
					 tensor->name, found, pair->valuestring);
	}
	return 0;
}

int safetensors_require_crcs(const struct safetensors *file, struct error *err)
{
	for (uint32_t i = 0; i < file->tensors; i++) {
		char key[SAFETENSORS_CRC_KEY_BYTES];

		(void)snprintf(key, sizeof(key), SAFETENSORS_CRC_PREFIX "%s", file->tensor[i].name);
		if (!safetensors_value(file, key))
			return error_set(err, -EBADMSG, "%s: %.200s: found no CRC, expected %.200s",
					 file->what, file->tensor[i].name, key);
	}
	return 0;
}

static int parse(struct safetensors *file, const uint8_t *data, uint64_t bytes, struct error *err)
{
	uint64_t header = 0;
	int r;

	for (uint32_t i = 0; i < sizeof(header) && i < bytes; i++)
		header |= (uint64_t)data[i] << 8 * i;
	if (bytes < sizeof(header) || header > SAFETENSORS_HEADER_MAX || header > bytes - sizeof(header))
		return error_set(err, -EBADMSG,
				 "%s: a header of %" PRIu64 " bytes in a file of %" PRIu64 ", at most %u",
				 file->what, header, bytes, SAFETENSORS_HEADER_MAX);
	r = json_parse(file->what, (const char *)data + sizeof(header), header, &file->header, err);
	if (r < 0)
		return r;
	file->data = data + sizeof(header) + header;
	file->bytes = bytes - sizeof(header) - header;
	r = read_tensors(file, err);
	return r < 0 ? r : check_crcs(file, err);
}

/* ---- Open ---- */

int safetensors_parse(const char *what, const void *data, uint64_t bytes, struct safetensors **ret_file,
		      struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = calloc(1, sizeof(*file));
	int r;

	if (!file)
		return error_set(err, -ENOMEM, "%s: no memory", what);
	file->what = what;
	r = parse(file, data, bytes, err);
	if (r == 0)
		*ret_file = TAKE(file);
	return r;
}

int safetensors_open(const char *path, struct safetensors **ret_file, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct safetensors *file;
	struct stat st;
	void *map;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return error_set(err, -EBADMSG, "%s: empty or not a regular file", path);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return error_set(err, -errno, "%s: cannot map it: %s", path, strerror(errno));
	r = safetensors_parse(path, map, (uint64_t)st.st_size, &file, err);
	if (r < 0) {
		(void)munmap(map, (size_t)st.st_size);
		return r;
	}
	file->map = map;
	file->map_bytes = (uint64_t)st.st_size;
	*ret_file = file;
	return 0;
}

void safetensors_close(struct safetensors *file)
{
	if (!file)
		return;
	if (file->map)
		(void)munmap(file->map, file->map_bytes);
	cJSON_Delete(file->header);
	free(file->tensor);
	free(file);
}

void safetensors_closep(struct safetensors **file)
{
	safetensors_close(*file);
}

const char *safetensors_value(const struct safetensors *file, const char *key)
{
	const cJSON *pair = cJSON_GetObjectItemCaseSensitive(file->metadata, key);

	return pair ? pair->valuestring : NULL;
}

const struct model_tensor *safetensors_tensors(const struct safetensors *file, uint32_t *ret_count)
{
	*ret_count = file->tensors;
	return file->tensor;
}
