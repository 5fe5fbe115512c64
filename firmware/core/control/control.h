/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control: the control protocol between `kiln` and kiln-controld, over any transport. This folder has
 * only tables and functions without side effects: no threads, and no state that a crash could lose.
 *
 * JSON-RPC 2.0 in UTF-8, one object per line, and each line ends with "\n":
 *     {"jsonrpc":"2.0","id":1,"method":"run.show","params":{"id":"night-20260101-023000"}}
 *     {"jsonrpc":"2.0","id":1,"result":{"protocol":1, ...}}
 *     {"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"...","data":{"protocol":1,"name":"not-found"}}}
 * `id` is a string of 1 .. 64 bytes or a whole number up to 2^53. A request without an `id` is a
 * notification: it is carried out and gets no answer, also where it fails. There are no batches, and each
 * other request gets an answer. An error has the id null where no id could be read from the request. The
 * answers on a connection have the order of the requests. After events.subscribe the daemon also sends lines
 * without an id:
 *     {"jsonrpc":"2.0","method":"event","params":{"protocol":1,"event":"run.begun","cursor":...}}
 * Where the journal dropped entries before they could be sent, the daemon sends a line with the method
 * "events.lost", and then the events from the oldest entry that still exists.
 *
 * Methods are the rows of control_methods[]: name, role, parameters with types and bounds, result, help. The
 * daemon's checks, `kiln help` and the reference in config/control.md read this table. The daemon refuses a
 * parameter that is not in the row, has another type or is out of bounds, and the error contains the name of
 * the parameter. A method that changes something also has the parameter `idempotency_key`. While the daemon
 * runs, it carries out only one request of a caller with the same key, and sends the answer of that request
 * again for later ones.
 */
#pragma once

#include "core/base/json.h"

#define CONTROL_PROTOCOL 1u

/* Limits of one connection, and of all connections together. */
#define CONTROL_REQUEST_MAX   (256u << 10) /* longest line from a client in bytes, with its "\n" */
#define CONTROL_REPLY_MAX     (4u << 20)   /* longest line from the daemon in bytes */
#define CONTROL_QUEUE_MAX     (256u << 10) /* most bytes of events that wait to be sent to one subscriber */
#define CONTROL_REQUEST_S     10u          /* longest time from the first byte of a line to its last byte */
#define CONTROL_REPLY_S       20u          /* a client that reads nothing for this time is disconnected */
#define CONTROL_IDLE_S        3600u        /* longest time between two requests of a client on this box */
#define CONTROL_REMOTE_IDLE_S 300u         /* longest time between two requests from another machine */
#define CONTROL_HANDSHAKE_S   5u           /* longest time of a TLS handshake */
#define CONTROL_ACT_S         120u         /* longest wait for kiln-steer */
#define CONTROL_CLIENTS_MAX   1024u        /* most connections at the same time */
#define CONTROL_REMOTE_MAX    256u         /* most connections from other machines */
#define CONTROL_ADDRESS_MAX   32u /* most connections from one address; of IPv6: from one /64 network */
/* most connections, and most subscriptions, of one user or certificate with a role below admin */
#define CONTROL_CALLER_MAX     64u
#define CONTROL_CALLER_SUBS    8u
#define CONTROL_SUBSCRIBED_MAX 32u         /* most connections that have called events.subscribe */
#define CONTROL_BUFFERS_MAX    (16u << 20) /* most bytes of buffered lines, all connections together */
#define CONTROL_PARAMS_MAX     5u
#define CONTROL_RUN_ID_MAX     95u   /* longest run id in characters: RUN_ID_BYTES without the NUL */
#define CONTROL_KEY_MAX        64u   /* longest idempotency_key in characters */
#define RANKS_JOB_MAX          32u   /* longest name of a job on several boxes, in characters */
#define CONTROL_ITEM_MAX       2048u /* longest string of a list in bytes */

/* The units whose journal lines log.tail shows. Each WORD of the list is the unit kiln-WORD.service. */
#define CONTROL_UNITS                                                                                   \
	"begin|check-gpu|check-store|clock|config|controld|fetchd|finished|heartbeat|hugepages|"        \
	"interrupts|mark-good|nightly|preload|promote|provision|report|resume|run-failed|steer|traind|" \
	"trial|update|"                                                                                 \
	"update-failed|update-fetch|uploadd"

/* view < operate < admin. The role ranks stands apart: it is of a box that leads a run on several boxes, may
 * call the methods rank.* alone, and no other role may call these. */
enum control_role {
	CONTROL_NOBODY,
	CONTROL_VIEW,
	CONTROL_OPERATE,
	CONTROL_ADMIN,
	CONTROL_RANKS,
	CONTROL_ROLE_MAX
};

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
	CONTROL_INTEGER, /* min .. max is the range of the value */
	CONTROL_TEXT,    /* min .. max is the length in bytes */
	CONTROL_NAME,    /* [A-Za-z0-9_-]; min .. max is the length in characters */
	CONTROL_WORD,    /* one of the words in `words`, "a|b|c" */
	CONTROL_BOOLEAN,
	CONTROL_LIST, /* an array of min .. max strings, each of at most CONTROL_ITEM_MAX bytes */
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
	bool acts; /* the method changes something, and has the parameter idempotency_key */
	struct control_param params[CONTROL_PARAMS_MAX + 1];
	const char *result, *help;
};
extern const struct control_method control_methods[];
extern const size_t control_methods_count;
/* The parameter `idempotency_key`, which every method with `acts` has. */
extern const struct control_param control_key;

const char *control_role_name(enum control_role role);
/* Tells whether a caller with this role may call a method of the role `needed`. */
bool control_role_may(enum control_role role, enum control_role needed);
const char *control_code_name(enum control_code code);
/* Returns NULL where there is no such method. */
const struct control_method *control_method_find(const char *name);
/* Returns true where `word` is one of the words in `words`, "a|b|c". */
bool control_is_word(const char *words, const char *word);
/* Writes the allowed values of a parameter as text: "an integer, 1 .. 1000000". Returns out. */
char *control_allowed(const struct control_param *param, char *out, size_t size);

/* A request that was parsed and checked. Its pointers are valid until control_request_done(). */
struct control_request {
	cJSON *json;
	const cJSON *id;     /* also set after a failure where the line has a valid id; else NULL */
	bool gets_no_answer; /* also set after a failure: the line is a request without an id */
	const struct control_method *method;
	const cJSON *params; /* an object, NULL = no parameters */
	const char *key;     /* idempotency_key, NULL = none */
};

/* Parses one line, given without its "\n", from a caller with this role. Call control_request_done() also
 * after a failure: until then the request has the id for the answer. Errors: a negative errno; *ret_code is
 * the code for the client, err->text says what was found and what is allowed. */
MUST_CHECK int control_request_parse(const char *line, uint64_t bytes, enum control_role role,
				     struct control_request *ret_request, enum control_code *ret_code,
				     struct error *err);
void control_request_done(struct control_request *request);

/* Return the value of a parameter of a checked request. Where the parameter was not given they return
 * `fallback`, and control_flag() returns false. */
const char *control_text(const struct control_request *request, const char *name, const char *fallback);
uint64_t control_integer(const struct control_request *request, const char *name, uint64_t fallback);
bool control_flag(const struct control_request *request, const char *name);
/* Returns the array of strings of a required parameter. */
const cJSON *control_list(const struct control_request *request, const char *name);

/* Make a line that ends with "\n"; the caller frees it. NULL: no memory, or the line is longer than
 * CONTROL_REPLY_MAX. Owns: the functions add the member "protocol" to `result` or `params`, and free it. `id`
 * may be NULL. */
char *control_reply(const cJSON *id, cJSON *result);
char *control_reply_error(const cJSON *id, enum control_code code, const char *message);
char *control_event(const char *method, cJSON *params);
/* Makes the line of a client's request. Owns: frees `params`, which may be NULL. */
char *control_call(uint64_t id, const char *method, cJSON *params);

/* Prints the table of methods as Markdown. config/control.md is this output. */
void control_reference(FILE *out);
