/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-controld: one thread, one epoll. A client's lines become calls; each method is a row of the table in
 * methods.c. It holds nothing that a restart would lose but idempotency keys.
 *
 *     server    listens, accepts, sweeps once a second            server.c
 *     session   one client: its line, its answer, its time-outs   session.c
 *     call      one request on its way                            methods.c
 *     steer     one word to kiln-steer and its answer             steer.c
 *     recall    what was done under which key                     recall.c
 *     watch     samples of the status pages, for rates            watch.c
 *     beginning a run was asked for, and is not there yet         beginning.c
 */
#pragma once

#include "controld/wire/conn.h"
#include "core/base/events.h"
#include "core/run/run.h"
#include "core/run/status.h"
#include "drivers/digest/digest.h"
#include "drivers/journal/journal.h"

#include <sys/epoll.h>
#include <time.h>

/* What epoll knows: each descriptor's owner begins with one. */
struct source {
	void (*ready)(struct source *source, uint32_t events);
};

struct session;
struct steer;

#define RECALL_MAX 128u

struct recall {
	struct recalled {
		char key[CONTROL_KEY_MAX + 1];
		uint64_t caller;
		char request[DIGEST_HEX_BYTES];
		cJSON *result; /* NULL = an empty row */
	} done[RECALL_MAX];
	size_t next;
};

#define WATCH_SAMPLES 12u

/* The last seconds of one daemon's page. */
struct watch {
	struct status sample[WATCH_SAMPLES]; /* newest last; of one life of the daemon */
	size_t count;
};

/* What run.start asked for. */
struct beginning {
	char run_id[RUN_ID_BYTES]; /* the current run then, "" = none */
	bool goes_on;              /* it is the one that was asked for */
	bool failed;               /* the attempt before had, which begin takes back */
	struct timespec since;     /* as files are stamped */
	uint64_t since_ms;         /* 0 = nothing was asked for, or it came to something */
};

struct listener {
	struct source source;
	struct server *server;
	int fd; /* -1 = none */
	size_t clients, clients_max;
};

struct server {
	struct listener local, remote;
	struct tls *tls; /* of the remote ones */
	int epoll_fd;
	struct session *sessions;
	size_t subscribed, buffered; /* buffered: bytes that all sessions hold */
	struct steer *steers;
	struct recall recall;
	struct watch watch[STATUS_DAEMONS];
	struct beginning beginning;
	bool update_said; /* to kiln-steer, which has not answered yet */
	uint64_t swept_ms, journal_ms;
	cJSON *errors;                 /* the journal's last ones, as of journal_ms */
	char *metrics_dir;             /* NULL = no textfile */
	uint64_t metrics_ms;           /* when it was written last */
	char metrics_error[256];       /* why that failed, "" = it did not */
	struct timespec revoked_stamp; /* of the list that the sessions were held against */
	struct timespec config_stamp;  /* of the kiln.conf that config_said tells of */
	char config_said[512];         /* its first mistake, "" = none */
	struct session *ended;         /* freed at the end of the round */
};

struct call {
	struct server *server;
	struct session *session;
	struct control_request request;
	uint64_t caller;
	enum control_code code; /* of a failure; CONTROL_INTERNAL where no more is known */
	cJSON *result;
};

/* What a method's function returns besides 0 and an error: the answer comes by session_answer(). */
#define CALL_LATER 1

/* ---- server.c ---- */
MUST_CHECK int server_open(struct server *server, struct error *err);
/* Until SIGTERM or SIGINT. */
MUST_CHECK int server_run(struct server *server, struct error *err);
void server_done(struct server *server);
MUST_CHECK int server_listen(struct server *server, struct listener *listener, struct error *err);
MUST_CHECK int server_add(struct server *server, int fd, struct source *source, uint32_t events);

/* ---- remote.c ---- */
/* What the configuration wants besides the socket: TCP, a textfile of metrics. What is wrong with it is
 * logged: this box's own clients are answered all the same. */
void remote_open(struct server *server);

/* ---- metrics.c ---- */
/* The textfile, where one is wanted and it is time. */
void metrics_sweep(struct server *server, uint64_t now_ms);

/* ---- session.c ---- */
void session_begin(struct listener *listener, struct conn *conn);
void session_end(struct session *session);
/* The answer of a call that was CALL_LATER; r < 0: err and call->code say why not. */
void session_answer(struct session *session, int r, const struct error *err);
struct call *session_call(struct session *session);
void session_free_ended(struct server *server);
/* Time-outs; may end it. */
void session_sweep(struct session *session, uint64_t now_ms);
/* Ends it where its client was revoked since. */
void session_check(struct session *session);
struct session *session_next(struct session *session);
/* Bytes that the queue of events still takes; queue one line, which is consumed (NULL closes it). */
size_t session_room(const struct session *session);
void session_queue(struct session *session, char *line);
void session_flush(struct session *session); /* may end it */
bool session_is_open(const struct session *session);

/* ---- events.c ---- */
struct events;
struct journal_filter;
MUST_CHECK int events_open(struct session *session, const char *since, const struct journal_filter *filter,
			   struct events **ret_events, struct error *err);
/* Move what the journal has into the session's queue as far as there is room. */
void events_pump(struct events *events);
void events_closep(struct events **events);
void session_subscribe(struct session *session, struct events *events);

/* ---- methods.c ---- */
void methods_check(void); /* ends the program where a row of the protocol has no function */
MUST_CHECK int methods_run(struct call *call, struct error *err);

/* ---- recall.c ---- */
/* 1: done before, *ret_result is a copy; 0: not yet; -EINVAL: done, but for another request. */
MUST_CHECK int recall_find(const struct recall *recall, const struct call *call, cJSON **ret_result,
			   struct error *err);
/* Both have the same caller, key, method and parameters. */
bool recall_is_same(const struct call *call, const struct call *other);
void recall_keep(struct recall *recall, const struct call *call);
void recall_done(struct recall *recall);

/* ---- steer.c ---- */
/* Say one word; gives CALL_LATER. `done`, where there is one, looks at how it went before the answer. */
MUST_CHECK int steer_say(struct call *call, const char *word,
			 int (*done)(struct call *call, int r, struct error *err), struct error *err);
void steer_forget(struct server *server, struct session *session); /* nobody waits any more */
/* A keyed call whose word is at work already, for a client that went since: CALL_LATER, its answer is this
 * one's. 0: there is none; -EALREADY: that client still waits. */
MUST_CHECK int steer_join(struct call *call, struct error *err);
void steer_sweep(struct server *server, uint64_t now_ms);

/* ---- watch.c ---- */
void watch_sample(struct server *server);
/* The newest page, NULL = there is none. */
const struct status *watch_newest(const struct server *server, enum status_daemon daemon);
bool watch_is_alive(const struct status *status);
/* Growth a second of a counter at this offset in struct status; NaN = not known. */
double watch_rate(const struct server *server, enum status_daemon daemon, size_t offset);

/* ---- beginning.c ---- */
/* A run is asked for: the current one `goes_on`, or makes room for a new one. */
void beginning_mark(struct server *server, bool goes_on);
void beginning_forget(struct server *server);
/* It was asked for while run_id was the current one, and begin has not decided yet. */
bool beginning_is(struct server *server, const char *run_id);

/* ---- journal.c ---- */
/* The parameter "event" into the filter; -EINVAL and CONTROL_PARAMS where there is no such event. */
MUST_CHECK int journal_event_param(struct call *call, struct journal_filter *filter, struct error *err);
/* The entry that the journal stands at; NULL: no memory, or it is gone. */
cJSON *journal_entry(struct sd_journal *journal, bool with_fields);
/* The newest `lines` entries as an array, oldest first; an event's fields are there where the filter asks for
 * events. */
MUST_CHECK int journal_tail(const struct journal_filter *filter, uint64_t lines, cJSON **ret_entries,
			    struct error *err);

/* ---- One function a method: status.c, runs.c, act.c, config.c, cache.c, box.c, update.c, node.c, stalls.c,
 * metrics.c, journal.c, events.c ---- */
typedef int method_fn(struct call *call, struct error *err);
method_fn method_status, method_run_list, method_run_show, method_run_start, method_run_stop,
	method_run_pause, method_run_resume, method_checkpoint_list, method_checkpoint_now,
	method_config_show, method_config_check, method_config_apply, method_update_install,
	method_cache_status, method_cache_preload, method_cache_pin, method_cache_drop, method_factory_reset,
	method_power_off, method_log_tail, method_events_subscribe, method_node_info, method_stalls,
	method_metrics;

/* Every mistake of the file at once, as `kiln config check` says them; CONTROL_CONFIG. */
MUST_CHECK int config_is_good(struct call *call, const char *path, struct error *err);
/* The first mistake of kiln.conf as it is now; NULL = there is none, or no file. */
const char *config_mistake(struct server *server);
/* Something keeps the clock right. What systemd says of it is up to a minute old. */
bool clock_is_set(void);
/* The status object; NULL: no memory. */
cJSON *status_object(struct server *server);
/* How an update goes, null = there was none since the box started. */
cJSON *update_object(void);
/* {hits, hit_bytes, misses, kept} of fetchd's page, null where it has no cache. */
cJSON *cache_of_run(const struct status *page);
/* What the reader of the ring waited for; without a page of fetchd "run" is null and all there is. */
cJSON *stalls_object(const struct status *fetchd, const struct status *traind);
/* {total_bytes, free_bytes, free_percent} of the data disk, and [{name, celsius}]. */
cJSON *node_disk(void);
cJSON *node_temperatures(void);
