/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/mlflow/mlflow.h"
#include "drivers/mlflow/call.h"

#include <mbedtls/platform_util.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 5000u
#define LOW_SPEED_S        20u
#define URL_BYTES          4096u

static void wipe(char *text)
{
	if (text)
		mbedtls_platform_zeroize(text, strlen(text));
	free(text);
}

/* Copies the URL without slashes at its end. */
static char *copy_url(const char *url)
{
	size_t length = strlen(url);

	while (length > 0 && url[length - 1] == '/')
		length--;
	return strndup(url, length);
}

int mlflow_open(const struct mlflow_options *options, struct mlflow **ret_mlflow, struct error *err)
{
	const struct http_options http = { .connections = 1,
					   .attempts_max = 1,
					   .connect_timeout_ms = CONNECT_TIMEOUT_MS,
					   .low_speed_bytes_per_s = 1,
					   .low_speed_s = LOW_SPEED_S,
					   .attempt_ms = MLFLOW_CALL_S * 1000,
					   .ca_file = options->ca_file };
	CLEANUP(mlflow_closep) struct mlflow *mlflow = NULL;
	int r;

	if (strlen(options->url) >= URL_BYTES || strlen(options->login) > MLFLOW_LOGIN_BYTES_MAX)
		return error_set(err, -EINVAL, "the url or the login of the tracking server is too long");
	mlflow = calloc(1, sizeof(*mlflow));
	if (!mlflow)
		return error_set(err, -ENOMEM, "no memory for a client of MLflow");
	mlflow->options = *options;
	mlflow->url = copy_url(options->url);
	mlflow->login = strdup(options->login);
	mlflow->reply = malloc(MLFLOW_REPLY_BYTES);
	if (!mlflow->url || !mlflow->login || !mlflow->reply)
		return error_set(err, -ENOMEM, "no memory for a client of MLflow");
	r = http_open(&http, &mlflow->http, err);
	if (r < 0)
		return r;
	*ret_mlflow = TAKE(mlflow);
	return 0;
}

void mlflow_close(struct mlflow *mlflow)
{
	if (!mlflow)
		return;
	http_close(mlflow->http);
	wipe(mlflow->login);
	free(mlflow->url);
	free(mlflow->reply);
	free(mlflow);
}

void mlflow_closep(struct mlflow **mlflow)
{
	mlflow_close(*mlflow);
}

void mlflow_cancel(struct mlflow *mlflow)
{
	/* relaxed: the flag alone counts, and http_wake() makes the owner look at it. */
	atomic_store_explicit(&mlflow->canceled, true, memory_order_relaxed);
	http_wake(mlflow->http);
}

uint64_t mlflow_retry_after_s(const struct mlflow *mlflow)
{
	return mlflow->retry_after_s;
}
