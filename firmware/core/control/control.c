/* SPDX-License-Identifier: Apache-2.0 */
#include "core/control/control.h"

#include "core/base/nearest.h"

#include <inttypes.h>
#include <string.h>

#define ID_BYTES_MAX 64u
#define FOUND_BYTES  64u
#define INTEGER_MAX  9007199254740992.0 /* 2^53 */
#define NAME_SET     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* ---- One parameter ---- */

bool control_is_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	if (strchr(word, '|'))
		return false;
	for (const char *at = words; at; at = strchr(at, '|')) {
		at += *at == '|';
		if (length > 0 && strncmp(at, word, length) == 0 && (at[length] == '|' || !at[length]))
			return true;
	}
	return false;
}

static bool is_list(const struct control_param *param, const cJSON *list)
{
	const cJSON *item;
	uint64_t count = 0;

	cJSON_ArrayForEach(item, list) {
		if (!cJSON_IsString(item) || strlen(item->valuestring) > CONTROL_ITEM_MAX)
			return false;
		count++;
	}
	return cJSON_IsArray(list) && count >= param->min && count <= param->max;
}

static bool is_good(const struct control_param *param, const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	size_t length = text ? strlen(text) : 0;
	uint64_t number;

	switch (param->type) {
	case CONTROL_INTEGER:
		return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= INTEGER_MAX &&
		       (number = (uint64_t)item->valuedouble, (double)number == item->valuedouble) &&
		       number >= param->min && number <= param->max;
	case CONTROL_TEXT:
		return text && length >= param->min && length <= param->max;
	case CONTROL_NAME:
		return text && length >= param->min && length <= param->max &&
		       strspn(text, NAME_SET) == length;
	case CONTROL_WORD:
		return text && control_is_word(param->words, text);
	case CONTROL_BOOLEAN:
		return cJSON_IsBool(item);
	case CONTROL_LIST:
		return is_list(param, item);
	}
	return false;
}

char *control_allowed(const struct control_param *param, char *out, size_t size)
{
	switch (param->type) {
	case CONTROL_INTEGER:
		(void)snprintf(out, size, "an integer, %" PRIu64 " .. %" PRIu64, param->min, param->max);
		break;
	case CONTROL_TEXT:
		(void)snprintf(out, size, "a string of %" PRIu64 " .. %" PRIu64 " bytes", param->min,
			       param->max);
		break;
	case CONTROL_NAME:
		(void)snprintf(out, size, "%" PRIu64 " .. %" PRIu64 " characters of [A-Za-z0-9_-]",
			       param->min, param->max);
		break;
	case CONTROL_WORD:
		(void)snprintf(out, size, "one of %s", param->words);
		break;
	case CONTROL_BOOLEAN:
		(void)snprintf(out, size, "true or false");
		break;
	case CONTROL_LIST:
		(void)snprintf(out, size,
			       "an array of %" PRIu64 " .. %" PRIu64 " strings, each of at most %u bytes",
			       param->min, param->max, CONTROL_ITEM_MAX);
		break;
	}
	return out;
}

const struct control_param control_key = { "idempotency_key",
					   CONTROL_NAME,
					   false,
					   1,
					   CONTROL_KEY_MAX,
					   NULL,
					   "a request with a used key is not done again" };

static const struct control_param *param_find(const struct control_method *method, const char *name)
{
	for (const struct control_param *param = method->params; param->name; param++)
		if (strcmp(param->name, name) == 0)
			return param;
	return method->acts && strcmp(name, control_key.name) == 0 ? &control_key : NULL;
}

/* Writes what a client sent. A text may be long or a secret, so only its length is told. */
static const char *found_text(const struct control_param *param, const cJSON *item,
			      char out[static FOUND_BYTES])
{
	if (cJSON_IsString(item) && param->type == CONTROL_TEXT)
		(void)snprintf(out, FOUND_BYTES, "%zu bytes", strlen(item->valuestring));
	else if (cJSON_IsString(item))
		(void)snprintf(out, FOUND_BYTES, "\"%.40s\"", item->valuestring);
	else if (cJSON_IsArray(item))
		(void)snprintf(out, FOUND_BYTES, "an array of %d", cJSON_GetArraySize(item));
	else if (cJSON_IsNumber(item))
		(void)snprintf(out, FOUND_BYTES, "%.17g", item->valuedouble);
	else
		(void)snprintf(out, FOUND_BYTES, "another type");
	return out;
}

static const char *meant_param(const struct control_method *method, const char *name,
			       char out[static NEAREST_TEXT_BYTES])
{
	struct nearest nearest = { .typed = name };

	for (const struct control_param *param = method->params; param->name; param++)
		nearest_try(&nearest, param->name);
	return nearest_text(&nearest, out);
}

static const char *meant_method(const char *name, char out[static NEAREST_TEXT_BYTES])
{
	struct nearest nearest = { .typed = name };

	for (size_t i = 0; i < control_methods_count; i++)
		nearest_try(&nearest, control_methods[i].name);
	return nearest_text(&nearest, out);
}

/* ---- A request ---- */

static int refuse(enum control_code code, enum control_code *ret_code)
{
	*ret_code = code;
	return -EINVAL;
}

static int check_params(struct control_request *request, enum control_code *ret_code, struct error *err)
{
	const struct control_method *method = request->method;
	char allowed[256], found[FOUND_BYTES], meant[NEAREST_TEXT_BYTES];
	const cJSON *item;

	cJSON_ArrayForEach(item, request->params) {
		const struct control_param *param = param_find(method, item->string);

		if (!param)
			return error_set(err, refuse(CONTROL_PARAMS, ret_code),
					 "%s: there is no parameter \"%.64s\"%s", method->name, item->string,
					 meant_param(method, item->string, meant));
		if (!is_good(param, item))
			return error_set(err, refuse(CONTROL_PARAMS, ret_code),
					 "%s: \"%s\": found %s, allowed: %s", method->name, param->name,
					 found_text(param, item, found),
					 control_allowed(param, allowed, sizeof(allowed)));
		if (param == &control_key)
			request->key = item->valuestring;
	}
	for (const struct control_param *param = method->params; param->name; param++)
		if (param->required && !cJSON_GetObjectItemCaseSensitive(request->params, param->name))
			return error_set(err, refuse(CONTROL_PARAMS, ret_code),
					 "%s: \"%s\" is missing; allowed: %s", method->name, param->name,
					 control_allowed(param, allowed, sizeof(allowed)));
	return 0;
}

static bool is_id(const cJSON *id)
{
	if (cJSON_IsString(id))
		return *id->valuestring && strlen(id->valuestring) <= ID_BYTES_MAX;
	return cJSON_IsNumber(id) && id->valuedouble >= 0 && id->valuedouble <= INTEGER_MAX &&
	       (double)(uint64_t)id->valuedouble == id->valuedouble;
}

/* Checks the members of the request object: all are known, and each has the right type. */
static int check_envelope(struct control_request *request, const char **ret_method, struct error *err)
{
	const cJSON *version = NULL, *method = NULL, *item;

	if (!cJSON_IsObject(request->json))
		return error_set(err, -EINVAL, "request: expected one object; batches are not supported");
	item = cJSON_GetObjectItemCaseSensitive(request->json, "id");
	if (item && !is_id(item))
		return error_set(err, -EINVAL,
				 "request: \"id\": expected a string of 1 .. %u bytes or a whole number",
				 ID_BYTES_MAX);
	request->id = item;
	cJSON_ArrayForEach(item, request->json) {
		if (strcmp(item->string, "jsonrpc") == 0)
			version = item;
		else if (strcmp(item->string, "method") == 0)
			method = item;
		else if (strcmp(item->string, "params") == 0)
			request->params = item;
		else if (item != request->id)
			return error_set(err, -EINVAL, "request: there is no member \"%.64s\"", item->string);
	}
	if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0)
		return error_set(err, -EINVAL, "request: \"jsonrpc\": expected \"2.0\"");
	if (!cJSON_IsString(method))
		return error_set(err, -EINVAL, "request: \"method\": expected a string");
	if (request->params && !cJSON_IsObject(request->params))
		return error_set(err, -EINVAL, "request: \"params\": expected an object");
	*ret_method = method->valuestring;
	request->gets_no_answer = !request->id;
	return 0;
}

int control_request_parse(const char *line, uint64_t bytes, enum control_role role,
			  struct control_request *ret_request, enum control_code *ret_code, struct error *err)
{
	char meant[NEAREST_TEXT_BYTES];
	const char *method = NULL;

	*ret_request = (struct control_request){ 0 };
	if (bytes >= CONTROL_REQUEST_MAX)
		return error_set(err, refuse(CONTROL_LIMIT, ret_code), "request: at most %u bytes a line",
				 CONTROL_REQUEST_MAX);
	if (json_parse("request", line, bytes, &ret_request->json, err) < 0)
		return refuse(CONTROL_PARSE, ret_code);
	if (check_envelope(ret_request, &method, err) < 0)
		return refuse(CONTROL_REQUEST, ret_code);
	ret_request->method = control_method_find(method);
	if (!ret_request->method)
		return error_set(err, refuse(CONTROL_METHOD, ret_code), "there is no method \"%.64s\"%s",
				 method, meant_method(method, meant));
	if (!control_role_may(role, ret_request->method->role))
		return error_set(err, refuse(CONTROL_REFUSED, ret_code), "%s needs the role %s, yours is %s",
				 ret_request->method->name, control_role_name(ret_request->method->role),
				 control_role_name(role));
	return check_params(ret_request, ret_code, err);
}

void control_request_done(struct control_request *request)
{
	cJSON_Delete(request->json);
	*request = (struct control_request){ 0 };
}

static const cJSON *param_of(const struct control_request *request, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(request->params, name);
}

const char *control_text(const struct control_request *request, const char *name, const char *fallback)
{
	const cJSON *item = param_of(request, name);

	return item ? item->valuestring : fallback;
}

uint64_t control_integer(const struct control_request *request, const char *name, uint64_t fallback)
{
	const cJSON *item = param_of(request, name);

	return item ? (uint64_t)item->valuedouble : fallback;
}

bool control_flag(const struct control_request *request, const char *name)
{
	return cJSON_IsTrue(param_of(request, name));
}

const cJSON *control_list(const struct control_request *request, const char *name)
{
	return param_of(request, name);
}

/* ---- Lines ---- */

/* Makes one line from a message. Owns: frees `body`. */
static char *line_of(const cJSON *id, bool with_id, const char *member, cJSON *body, const char *method)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	char *line = NULL;

	if (!body || !json || !cJSON_AddStringToObject(json, "jsonrpc", "2.0") ||
	    (with_id &&
	     !cJSON_AddItemToObject(json, "id", id ? cJSON_Duplicate(id, false) : cJSON_CreateNull())) ||
	    (method && !cJSON_AddStringToObject(json, "method", method))) {
		cJSON_Delete(body);
		return NULL;
	}
	if (!cJSON_AddItemToObject(json, member, body)) {
		cJSON_Delete(body);
		return NULL;
	}
	if (json_print_line(json, &line, NULL) < 0)
		return NULL;
	if (strlen(line) > CONTROL_REPLY_MAX) {
		free(line);
		return NULL;
	}
	return line;
}

static cJSON *with_protocol(cJSON *object)
{
	if (object && cJSON_AddNumberToObject(object, "protocol", CONTROL_PROTOCOL))
		return object;
	cJSON_Delete(object);
	return NULL;
}

char *control_reply(const cJSON *id, cJSON *result)
{
	return line_of(id, true, "result", with_protocol(result), NULL);
}

char *control_reply_error(const cJSON *id, enum control_code code, const char *message)
{
	CLEANUP(json_free) cJSON *body = cJSON_CreateObject();
	cJSON *data;

	if (!body || !cJSON_AddNumberToObject(body, "code", code) ||
	    !cJSON_AddItemToObject(body, "message", json_string(message)))
		return NULL;
	data = cJSON_AddObjectToObject(body, "data");
	if (!data || !cJSON_AddNumberToObject(data, "protocol", CONTROL_PROTOCOL) ||
	    !cJSON_AddStringToObject(data, "name", control_code_name(code)))
		return NULL;
	return line_of(id, true, "error", TAKE(body), NULL);
}

char *control_event(const char *method, cJSON *params)
{
	return line_of(NULL, false, "params", with_protocol(params), method);
}

char *control_call(uint64_t id, const char *method, cJSON *params)
{
	CLEANUP(json_free) cJSON *number = cJSON_CreateNumber((double)id);

	return line_of(number, true, "params", params ? params : cJSON_CreateObject(), method);
}
