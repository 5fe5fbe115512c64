/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/welcome.h"

/* Counts the sessions of this client's user or certificate, or only those that have subscribed. */
static size_t sessions_of(const struct session *session, bool subscribed)
{
	size_t count = 0;

	for (const struct session *at = session->all->first; at; at = at->next)
		count += at->crowd == session->crowd && at->conn->known &&
			 at->conn->caller == session->conn->caller && (!subscribed || at->follow);
	return count;
}

const char *welcome_client(const struct session *session, enum control_code *ret_code)
{
	*ret_code = CONTROL_REFUSED;
	if (session->conn->role == CONTROL_NOBODY)
		return "your user is in none of the groups kiln-view, kiln-operate, kiln-admin";
	*ret_code = CONTROL_LIMIT;
	if (session->conn->role != CONTROL_ADMIN && sessions_of(session, false) > CONTROL_CALLER_MAX)
		return "too many connections of yours";
	return NULL;
}

const char *welcome_subscriber(const struct session *session)
{
	if (session->conn->role != CONTROL_ADMIN && sessions_of(session, true) >= CONTROL_CALLER_SUBS)
		return "too many subscriptions of yours";
	return NULL;
}
