/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/members.h"

#include "core/base/paths.h"

#include <inttypes.h>
#include <string.h>

#define FILE_NAME  "boxes.json"
#define FILE_BYTES (1u << 20)

static char *file_of(char out[static PATH_BYTES])
{
	return path_of(PATH_RUN, FILE_NAME, out);
}

int ranks_members_write(cJSON *boxes, uint32_t own, cJSON *lost, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	if (!lost)
		lost = cJSON_CreateArray();
	/* Takes no NULL, and leaves to its caller what it does not take. */
	if (!cJSON_AddItemToObject(json, "boxes", boxes)) {
		cJSON_Delete(boxes);
		cJSON_Delete(lost);
		return error_set(err, -ENOMEM, "no memory");
	}
	if (!cJSON_AddItemToObject(json, "lost", lost)) {
		cJSON_Delete(lost);
		return error_set(err, -ENOMEM, "no memory");
	}
	if (!json_add_u64(json, "own", own))
		return error_set(err, -ENOMEM, "no memory");
	r = json_print_line(json, &text, err);
	return r < 0 ? r : file_write_durable(file_of(path), text, strlen(text), err);
}

int ranks_members_read(struct ranks_members *ret_members, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	uint64_t own;
	int r = json_read(file_of(path), FILE_BYTES, &json, err), boxes;

	if (r < 0 || (r = json_get_u64(path, json, "own", &own, err)) < 0)
		return r;
	boxes = cJSON_GetArraySize(json_member(json, "boxes"));
	if (boxes < 1 || own >= (uint64_t)boxes)
		return error_set(err, -EBADMSG, "%s: found %d boxes, of which this box is number %" PRIu64,
				 path, boxes, own);
	*ret_members = (struct ranks_members){ (uint32_t)boxes, (uint32_t)own };
	return 0;
}

int ranks_members_name(uint32_t index, char out[static RANKS_BOX_BYTES], struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	const cJSON *name;
	int r = json_read(file_of(path), FILE_BYTES, &json, err);

	if (r < 0)
		return r;
	name = cJSON_GetArrayItem(json_member(json, "boxes"), (int)index);
	if (!cJSON_IsString(name) || strlen(name->valuestring) >= RANKS_BOX_BYTES)
		return error_set(err, -EBADMSG,
				 "%s: found no name of box %" PRIu32
				 ", expected one of at most %u characters",
				 path, index, RANKS_BOX_BYTES - 1);
	(void)snprintf(out, RANKS_BOX_BYTES, "%s", name->valuestring);
	return 0;
}

/* Appends the names of a list, with `before` in front of them. */
static void append_names(char *out, size_t size, const char *before, const cJSON *list)
{
	const cJSON *name;

	cJSON_ArrayForEach(name, list) {
		const size_t used = strlen(out);

		if (!cJSON_IsString(name))
			continue;
		(void)snprintf(out + used, size - used, "%s%s", before, name->valuestring);
		before = ", ";
	}
}

const char *ranks_members_text(char *out, size_t size)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];

	*out = '\0';
	if (json_read(file_of(path), FILE_BYTES, &json, NULL) < 0 || json_number(json, "own", 1.0) > 0.0)
		return NULL;
	append_names(out, size, "", json_member(json, "boxes"));
	append_names(out, size, "; without ", json_member(json, "lost"));
	return out;
}

bool ranks_members_has_lost(const char *box)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	const cJSON *lost;

	if (json_read(file_of(path), FILE_BYTES, &json, NULL) < 0)
		return false;
	cJSON_ArrayForEach(lost, json_member(json, "lost"))
		if (cJSON_IsString(lost) && strcmp(lost->valuestring, box) == 0)
			return true;
	return false;
}
