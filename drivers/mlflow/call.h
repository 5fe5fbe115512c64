/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the server and its answer. For drivers/mlflow only. */
#pragma once

#include "core/base/json.h"
#include "drivers/http/http.h"
#include "drivers/mlflow/mlflow.h"

#include <stdatomic.h>

struct mlflow {
	struct mlflow_options options; /* only awake() and its context are valid after mlflow_open() */
	char *url, *login;             /* copies of the strings of the options */
	struct http *http;
	struct http_request request;
	char *reply, *body;
	enum http_method method;
	const char *path;
	bool done;
	int result;
	struct error *err;
	uint64_t retry_after_s;
	atomic_bool canceled;
};

/* Sends `body` to <url>/api/2.0/mlflow/<path>, and parses the answer. Takes `body`, also after a failure;
 * NULL where memory was short. The caller deletes *ret_reply; `ret_reply` may be NULL. */
MUST_CHECK int mlflow_call(struct mlflow *mlflow, const char *path, cJSON *body, cJSON **ret_reply,
			   struct error *err);
/* Does the same by GET; the query is a part of `path`. */
MUST_CHECK int mlflow_get(struct mlflow *mlflow, const char *path, cJSON **ret_reply, struct error *err);

/* Copies the text at a path such as "run.info.run_id" of an answer. Errors: -EBADMSG it is missing, empty or
 * too long. */
MUST_CHECK int mlflow_reply_text(const cJSON *reply, const char *path, char *ret_text, size_t size,
				 struct error *err);
/* Adds the texts to a body as the list `member` of {key, value}. Cuts each value to `value_bytes`. Adds
 * nothing where there are no texts. */
void mlflow_add_texts(cJSON *body, const char *member, const struct mlflow_text *texts, uint32_t count,
		      size_t value_bytes);
/* Returns a text as a part of a query, which the caller frees with curl_free(); NULL: no memory. */
char *mlflow_escape(const char *text);
