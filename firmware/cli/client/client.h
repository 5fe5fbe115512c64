/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the control protocol (core/control/control.h): one connection to a kiln-controld, this
 * box's by its socket, another's by mutual TLS. Order: client_open -> client_call* -> (client_event*) ->
 * client_closep. Everything waits, with a time-out.
 */
#pragma once

#include "cli/base/cli.h"
#include "core/control/control.h"

struct client;

/* Another box: the DNS name in its certificate, and where it is. */
struct client_host {
	char name[64], address[256], port[6];
	bool one_of_many; /* answers are to be short */
};

/* From now on ask this one; NULL = this box. */
void client_use(const struct client_host *host);
const struct client_host *client_used(void);

/* Errors: -errno of the connection, with what to do about it. */
MUST_CHECK int client_open(struct client **ret_client, struct error *err);
void client_closep(struct client **client);

/* Ask and wait for the answer. `params` is consumed, NULL = none. *ret_result is the caller's.
 * Errors: -EREMOTEIO the box refused, its own sentence in err; else -errno. */
MUST_CHECK int client_call(struct client *client, const char *method, cJSON *params, cJSON **ret_result,
			   struct error *err);
/* The next line of a subscriber, however long it takes: the event's params. */
MUST_CHECK int client_event(struct client *client, cJSON **ret_params, struct error *err);

/* Print the sentence; gives CLI_ERROR, or CLI_NO_HOST where another box did not answer. */
int client_error(const struct error *err);

/* client_open, one client_call, client_closep. */
MUST_CHECK int client_ask(const char *method, cJSON *params, cJSON **ret_result, struct error *err);

/* A verb's arguments by its method's row: "--NAME VALUE", "--NAME" for a boolean, the value of `positional`
 * (NULL = none) alone. --json, where `ret_json` is not NULL, and --help are taken besides. CLI_OK: go on; -1:
 * --help was answered; CLI_USAGE: it was said what is wrong. */
int client_arguments(int argc, char **argv, const char *method, const char *positional, cJSON **ret_params,
		     bool *ret_json);
/* Take it out of the arguments, wherever it is: whether it was there. */
bool client_flag(int *argc, char **argv, const char *flag);
/* A whole verb: client_arguments with --json, client_ask, and the result as JSON or by `print`. Gives the
 * exit code, which else is print's. */
int client_verb(int argc, char **argv, const char *method, const char *positional,
		int (*print)(const cJSON *result));

/* Members of a result for people: path "a.b"; "-" and NaN where it is null or not there. */
const char *client_text(const cJSON *object, const char *path);
double client_number(const cJSON *object, const char *path);
/* Terminal control characters in what the box says become '?'. */
void client_print(const char *text, FILE *out);

/* What a box's state means for a script: CLI_OK, CLI_DEGRADED, CLI_FAILED or CLI_IDLE. */
int client_state_code(const cJSON *status);
/* The screen of `kiln status`. */
void client_print_status(const cJSON *status, FILE *out);
