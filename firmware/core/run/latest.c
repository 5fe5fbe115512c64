/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/latest.h"
#include "core/base/json.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define LATEST_VERSION 1u

static int check(const char *what, uint64_t version, const char *key, uint64_t step, const char *sha256,
		 struct error *err)
{
	if (version != LATEST_VERSION)
		return error_set(err, -EBADMSG, "%s: found version %" PRIu64 ", expected %u", what, version,
				 LATEST_VERSION);
	if (spool_checkpoint_step(key) < 0)
		return error_set(err, -EBADMSG,
				 "%s: found key \"%.200s\", expected checkpoints/ckpt-N.safetensors", what,
				 key);
	if ((uint64_t)spool_checkpoint_step(key) != step)
		return error_set(err, -EBADMSG, "%s: found step %" PRIu64 " and key \"%.200s\"", what, step,
				 key);
	if (strlen(sha256) != LATEST_SHA256_BYTES - 1 ||
	    strspn(sha256, "0123456789abcdef") != LATEST_SHA256_BYTES - 1)
		return error_set(err, -EBADMSG, "%s: found sha256 \"%.100s\", expected a SHA-256", what,
				 sha256);
	return 0;
}

int latest_parse(const char *what, const char *text, uint64_t bytes, struct latest *ret_latest,
		 struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	const char *key, *sha256;
	struct latest latest;
	uint64_t version;
	int r;

	if ((r = json_parse(what, text, bytes, &json, err)) < 0 ||
	    (r = json_get_u64(what, json, "version", &version, err)) < 0 ||
	    (r = json_get_u64(what, json, "step", &latest.step, err)) < 0 ||
	    (r = json_get_string(what, json, "key", &key, err)) < 0 ||
	    (r = json_get_u64(what, json, "bytes", &latest.bytes, err)) < 0 ||
	    (r = json_get_string(what, json, "sha256", &sha256, err)) < 0 ||
	    (r = check(what, version, key, latest.step, sha256, err)) < 0)
		return r;
	(void)spool_checkpoint_name(latest.step, latest.name);
	(void)snprintf(latest.sha256, sizeof(latest.sha256), "%s", sha256);
	*ret_latest = latest;
	return 0;
}

int latest_print(const struct latest *latest, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	char stamp[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!cJSON_AddNumberToObject(json, "version", LATEST_VERSION) ||
	    !json_add_u64(json, "step", latest->step) ||
	    !cJSON_AddStringToObject(json, "key", latest->name) ||
	    !json_add_u64(json, "bytes", latest->bytes) ||
	    !cJSON_AddStringToObject(json, "sha256", latest->sha256) ||
	    !cJSON_AddStringToObject(json, "time", stamp))
		return error_set(err, -ENOMEM, LATEST_NAME ": no memory");
	return json_print(json, ret_text, err);
}
