/* SPDX-License-Identifier: Apache-2.0 */
/* Inside drivers/lakefs: one call of lakeFS's API, with all its attempts. */
#pragma once

#include "drivers/http/http.h"
#include "drivers/lakefs/lakefs.h"
#include "drivers/store/sigv4.h"

#define LAKEFS_PATH_BYTES 8192u

struct lakefs {
	struct http *http;
	char base[CONFIG_HOST_MAX + 64]; /* "https://host:port/api/v1" */
	char repository[CONFIG_REPOSITORY_MAX + 1];
	char authorization[512]; /* value of the header: the access key, by Basic authentication */
	struct store_options options;
};

struct lakefs_answer {
	long status;              /* status of HTTP; 0 = there was no answer */
	cJSON *json;              /* JSON of a 2xx answer; NULL = it has none */
	char id[LAKEFS_ID_BYTES]; /* id of a commit, where the 2xx answer is only that; else "" */
};

void lakefs_answer_done(struct lakefs_answer *answer);

/* The path of a call: "/repositories/NAME", then each of `parts`, percent-encoded, after a slash. The list
 * ends with NULL. Errors: -EINVAL it is too long. */
MUST_CHECK int lakefs_path(const struct lakefs *lakefs, char out[static LAKEFS_PATH_BYTES], struct error *err,
			   const char *const *parts);
#define LAKEFS_PATH(lakefs, out, err, ...) \
	lakefs_path(lakefs, out, err, (const char *const[]){ __VA_ARGS__, NULL })

/* Adds "?name=value" or "&name=value" to a path. */
MUST_CHECK int lakefs_query(char path[static LAKEFS_PATH_BYTES], const char *name, const char *value,
			    struct error *err);

/* Makes the call. `body` may be NULL; the call frees it. Returns 0 after an answer 2xx, else a negative errno
 * as lakefs.h lists them; ret_answer->status tells the status in both cases. */
MUST_CHECK int lakefs_call(struct lakefs *lakefs, enum http_method method, const char *path, cJSON *body,
			   struct lakefs_answer *ret_answer, struct error *err);
/* Posts the body as lakefs_call() does, but does not send it again where the server may have carried it out
 * (struct http_request, once). */
MUST_CHECK int lakefs_post_once(struct lakefs *lakefs, const char *path, cJSON *body,
				struct lakefs_answer *ret_answer, struct error *err);

/* Adds the members of a new commit to a body: message, metadata where there is any (lakeFS's clients
 * leave an empty object out), whether there is a commit without changes, and none by force. */
void lakefs_add_commit(cJSON *body, const char *message, const cJSON *metadata, bool empty);
