/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control: the control protocol between `kiln` and kiln-controld, over any transport. Tables and pure
 * functions: no threads, no state, nothing that a crash could leave behind.
 *
 * JSON-RPC 2.0 in UTF-8, one object a line, each with "\n" at its end:
 *     {"jsonrpc":"2.0","id":1,"method":"run.show","params":{"id":"night-20260101-023000"}}
 *     {"jsonrpc":"2.0","id":1,"result":{"protocol":1, ...}}
 *     {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"...","data":{"protocol":1,"name":"not-found"}}}
 * `id` must be given: a string of 1 .. 64 bytes or a whole number up to 2^53. There are no batches, and each
 * request has an answer. The error has the id null where the request was too broken to have an id. The
 * answers of a connection come in the order of its requests. After events.subscribe the connection carries
 * lines without an id, too: {"jsonrpc":"2.0","method":"event","params":{"protocol":1,"event":"run.begun",
 * "cursor":...}}. Where the journal dropped entries before they could be sent, a line of the method
 * "events.lost" comes, and the events go on from the oldest entry that is left.
 *
 * Methods are the rows of control_methods[]: name, role, parameters with types and bounds, result, help. The
 * daemon's checks, `kiln help` and the reference in config/control.md read this table. The daemon refuses a
 * parameter that is not in the row, or has another type or is out of bounds, and names it. A method that acts
 * has the parameter `idempotency_key`, too: while the daemon runs, it acts once on each key of a caller, and
 * answers later requests with the first answer.
 */
#pragma once

#include "core/base/json.h"

#define CONTROL_PROTOCOL 1u

/* Limits of a connection, and of all together. */
#define CONTROL_REQUEST_MAX    (256u << 10) /* bytes of a line from a client, its "\n" included */
#define CONTROL_REPLY_MAX      (4u << 20)   /* bytes of a line from the daemon */
#define CONTROL_QUEUE_MAX      (256u << 10) /* bytes of events that wait for a subscriber */
#define CONTROL_REQUEST_S      10u          /* from a line's first byte to its last */
#define CONTROL_REPLY_S        20u          /* a client that reads no byte for so long is dropped */
#define CONTROL_IDLE_S         3600u        /* between two requests */
#define CONTROL_ACT_S          60u          /* longest wait for kiln-steer */
#define CONTROL_CLIENTS_MAX    1024u        /* connections at a time */
#define CONTROL_REMOTE_MAX     256u         /* connections from other machines */
#define CONTROL_SUBSCRIBED_MAX 32u          /* connections on events.subscribe */
#define CONTROL_BUFFERS_MAX    (16u << 20)  /* bytes of all connections' lines together */
#define CONTROL_PARAMS_MAX     5u
#define CONTROL_RUN_ID_MAX     95u /* characters of a run's id: RUN_ID_BYTES without its NUL */
#define CONTROL_KEY_MAX        64u /* characters of an idempotency_key */

/* The units whose lines of the journal log.tail shows: kiln-WORD.service. */
#define CONTROL_UNITS                                                                                      \
	"begin|check-gpu|check-store|config|controld|fetchd|finished|hugepages|mark-good|nightly|preload|" \
	"provision|report|resume|run-failed|steer|traind|trial|update|update-failed|update-fetch|uploadd"

enum control_role { CONTROL_NOBODY, CONTROL_VIEW, CONTROL_OPERATE, CONTROL_ADMIN, CONTROL_ROLE_MAX };

enum control_code {
	CONTROL_PARSE = -32700,
	CONTROL_REQUEST = -32600,
	CONTROL_METHOD = -32601,
	CONTROL_PARAMS = -32602,
	CONTROL_INTERNAL = -32603,
	CONTROL_REFUSED = 1,
	CONTROL_STATE,
	CONTROL_NOT_FOUND,
	CONTROL_CONFIG,
	CONTROL_LIMIT,
	CONTROL_TIMEOUT,
	CONTROL_UNAVAILABLE,
};

struct control_error {
	enum control_code code;
	const char *name, *help;
};
extern const struct control_error control_errors[];
extern const size_t control_errors_count;

enum control_type {
	CONTROL_INTEGER, /* min .. max */
	CONTROL_TEXT,    /* min .. max bytes */
	CONTROL_NAME,    /* [A-Za-z0-9_-], min .. max characters */
	CONTROL_WORD,    /* a word of `words`, "a|b|c" */
	CONTROL_BOOLEAN,
};

struct control_param {
	const char *name; /* NULL = end of the list */
	enum control_type type;
	bool required;
	uint64_t min, max;
	const char *words;
	const char *help;
};

struct control_method {
	const char *name;
	enum control_role role;
	bool acts; /* changes something, and has an idempotency_key */
	struct control_param params[CONTROL_PARAMS_MAX + 1];
	const char *result, *help;
};
extern const struct control_method control_methods[];
extern const size_t control_methods_count;
/* The parameter `idempotency_key` of every method that acts. */
extern const struct control_param control_key;

const char *control_role_name(enum control_role role);
const char *control_code_name(enum control_code code);
/* Returns NULL where there is no such method. */
const struct control_method *control_method_find(const char *name);
/* True where `word` is one of `words`, "a|b|c". */
bool control_is_word(const char *words, const char *word);
/* Writes what the parameter may be, for people: "an integer, 1 .. 1000000". Returns out. */
char *control_allowed(const struct control_param *param, char *out, size_t size);

/* A checked request. Its pointers live until control_request_done(). */
struct control_request {
	cJSON *json;
	const cJSON *id; /* set also after a failure if the line has a good id; else NULL */
	const struct control_method *method;
	const cJSON *params; /* an object, NULL = no parameters */
	const char *key;     /* idempotency_key, NULL = none */
};

/* Reads one line, without its "\n", from a caller with this role. Call control_request_done() also after a
 * failure: until then the request holds the id for the answer.
 * Errors: negative; *ret_code is for the client, err->text names what was found and what is allowed. */
MUST_CHECK int control_request_parse(const char *line, uint64_t bytes, enum control_role role,
				     struct control_request *ret_request, enum control_code *ret_code,
				     struct error *err);
void control_request_done(struct control_request *request);

/* Return the value of a checked parameter; `fallback`, or false, where the parameter was not given. */
const char *control_text(const struct control_request *request, const char *name, const char *fallback);
uint64_t control_integer(const struct control_request *request, const char *name, uint64_t fallback);
bool control_flag(const struct control_request *request, const char *name);

/* Make lines with their "\n"; the caller frees them. NULL: no memory, or longer than CONTROL_REPLY_MAX. Owns:
 * they free `result` and `params`, after adding the member "protocol". `id` may be NULL. */
char *control_reply(const cJSON *id, cJSON *result);
char *control_reply_error(const cJSON *id, enum control_code code, const char *message);
char *control_event(const char *method, cJSON *params);
/* Makes a client's request. Owns: frees `params`, which may be NULL. */
char *control_call(uint64_t id, const char *method, cJSON *params);

/* Prints the whole table as Markdown: config/control.md is this output. */
void control_reference(FILE *out);
