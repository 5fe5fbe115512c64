/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol: what `kiln` and kiln-controld say to each other, over whichever transport.
 *
 * JSON-RPC 2.0, one object a line, UTF-8, "\n" behind each:
 *     {"jsonrpc":"2.0","id":1,"method":"run.show","params":{"id":"night-20260101-023000"}}
 *     {"jsonrpc":"2.0","id":1,"result":{"protocol":1, ...}}
 *     {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"...","data":{"protocol":1,"name":"not-found"}}}
 * `id` is a string of 1 .. 64 bytes or a whole number up to 2^53, and must be there; there are no batches and
 * no requests without an answer. Where a request was too broken to have one, the error's `id` is null. The
 * answers of one connection come in the order of its requests. After events.subscribe the connection carries
 * lines without an id: {"jsonrpc":"2.0","method":"event","params":{"protocol":1,"event":"run.begun",
 * "cursor":...}}, and, where the journal lost entries before they could be sent, one of the method
 * "events.lost"; what comes behind it goes on from the oldest entry that is left.
 *
 * Methods are the rows of control_methods[]: name, role, parameters with types and bounds, result, help. The
 * daemon's checks, `kiln help` and the reference in config/control.md come from it. A parameter that is not
 * in the row, or not of its type or within its bounds, is refused by name. A method that acts takes
 * `idempotency_key` besides: within one life of the daemon the same caller's same key is acted on once, and
 * later requests get the first answer.
 */
#pragma once

#include "core/base/json.h"

#define CONTROL_PROTOCOL 1u

/* What one connection may cost. */
#define CONTROL_REQUEST_MAX    (256u << 10) /* bytes of a line from a client, its "\n" included */
#define CONTROL_REPLY_MAX      (4u << 20)   /* bytes of a line from the daemon */
#define CONTROL_QUEUE_MAX      (256u << 10) /* bytes of events on their way to a subscriber */
#define CONTROL_REQUEST_S      10u          /* from a line's first byte to its last */
#define CONTROL_REPLY_S        20u          /* without a byte taken by the client, it is dropped */
#define CONTROL_IDLE_S         3600u        /* between two requests */
#define CONTROL_ACT_S          60u          /* that kiln-steer may take for a word */
#define CONTROL_CLIENTS_MAX    1024u        /* connections at a time */
#define CONTROL_REMOTE_MAX     256u         /* of them from other machines */
#define CONTROL_SUBSCRIBED_MAX 32u          /* of them on events.subscribe */
#define CONTROL_BUFFERS_MAX    (16u << 20)  /* bytes of all connections' lines together */
#define CONTROL_PARAMS_MAX     5u
#define CONTROL_KEY_MAX        64u /* characters of an idempotency_key */

/* Whose lines of the journal are shown: kiln-<word>.service. */
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
	CONTROL_WORD,    /* one of `words`, "a|b|c" */
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
	bool acts; /* changes something; takes an idempotency_key */
	struct control_param params[CONTROL_PARAMS_MAX + 1];
	const char *result, *help;
};
extern const struct control_method control_methods[];
extern const size_t control_methods_count;

const char *control_role_name(enum control_role role);
const char *control_code_name(enum control_code code);
/* NULL: there is none. */
const struct control_method *control_method_find(const char *name);
/* "1 .. 1000000" and the like, for people. */
char *control_allowed(const struct control_param *param, char *out, size_t size);

/* A checked request. Its pointers live until control_request_done(). */
struct control_request {
	cJSON *json;
	const cJSON *id; /* also after a failure, where the line got that far; else NULL */
	const struct control_method *method;
	const cJSON *params; /* an object, NULL = none were given */
	const char *key;     /* idempotency_key, NULL = none */
};

/* Read one line without its "\n", from a caller with this role. The request is to be done also after a
 * failure: its id belongs into the answer.
 * Errors: negative; *ret_code is for the client, err->text names what was found and what is allowed. */
MUST_CHECK int control_request_parse(const char *line, uint64_t bytes, enum control_role role,
				     struct control_request *ret_request, enum control_code *ret_code,
				     struct error *err);
void control_request_done(struct control_request *request);

/* A checked parameter; where it was not given, `fallback`. */
const char *control_text(const struct control_request *request, const char *name, const char *fallback);
uint64_t control_integer(const struct control_request *request, const char *name, uint64_t fallback);
bool control_flag(const struct control_request *request, const char *name);

/* Lines with their "\n", malloc'ed; NULL = no memory, or beyond CONTROL_REPLY_MAX. `result` is consumed and
 * gets "protocol". `id` may be NULL. */
char *control_reply(const cJSON *id, cJSON *result);
char *control_reply_error(const cJSON *id, enum control_code code, const char *message);
char *control_event(const char *method, cJSON *params);
/* What a client sends. `params` is consumed; NULL = none. */
char *control_call(uint64_t id, const char *method, cJSON *params);

/* The whole table as Markdown: config/control.md is this output. */
void control_reference(FILE *out);
/* A method's parameters as options of a verb: "  --epochs N   help (1 .. 1000000)". */
void control_help(const struct control_method *method, FILE *out);
