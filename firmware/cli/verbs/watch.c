/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln watch`: prints the status screen once a second, over the previous one. Without a terminal, prints a
 * line whenever the status has changed. */
#include "cli/base/say.h"
#include "cli/client/client.h"
#include "cli/client/result.h"
#include "cli/verbs/screen.h"
#include "cli/verbs/verbs.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define PERIOD_S    1
#define BAR_CELLS   50
#define LOSSES_MAX  60
#define BELOW_LINES 3 /* lines below the status: an empty line, the progress bar, the curve of the loss */

static volatile sig_atomic_t asked_to_stop; /* set only by the signal handler */

static void on_signal(int number)
{
	(void)number;
	asked_to_stop = 1;
}

struct losses {
	double value[LOSSES_MAX];
	int count;
};

static void remember(struct losses *losses, const cJSON *status, double *step)
{
	double loss = client_number(status, "loss"), now = client_number(status, "progress.step");

	if (isnan(loss) || now == *step)
		return;
	*step = now;
	if (losses->count == LOSSES_MAX)
		memmove(&losses->value[0], &losses->value[1], (size_t)--losses->count * sizeof(double));
	losses->value[losses->count++] = loss;
}

static void print_bar(double percent)
{
	int full = isnan(percent) ? 0 : (int)(percent / 100 * BAR_CELLS);

	fputs("\n[", stdout);
	for (int i = 0; i < BAR_CELLS; i++)
		fputs(i < full ? "\xe2\x96\x88" : "\xe2\x96\x91", stdout);
	if (isnan(percent))
		fputs("]\n", stdout);
	else
		printf("] %.1f %%\n", percent);
}

/* Prints the losses as a curve of block characters: U+2581 .. U+2588 fill one to eight eighths of a cell. */
static void print_sparkline(const struct losses *losses)
{
	double least = INFINITY, most = -INFINITY;

	for (int i = 0; i < losses->count; i++) {
		least = fmin(least, losses->value[i]);
		most = fmax(most, losses->value[i]);
	}
	fputs("loss ", stdout);
	for (int i = 0; i < losses->count; i++) {
		double share = most > least ? (losses->value[i] - least) / (most - least) : 0;

		printf("\xe2\x96%c", 0x81 + (int)(share * 7));
	}
	if (losses->count)
		printf(" %.4f .. %.4f\n", losses->value[0], losses->value[losses->count - 1]);
	else
		(void)putchar('\n');
}

/* Prints at most `rows` lines of the text. Returns the count of lines printed. */
static int print_top(const char *text, int rows)
{
	int lines = 0;

	for (const char *end; *text && lines < rows && (end = strchr(text, '\n')); text = end + 1, lines++)
		(void)fwrite(text, 1, (size_t)(end + 1 - text), stdout);
	return lines;
}

/* Draws the screen over the previous one. Long lines are cut and not wrapped, because *lines must be the
 * exact number of lines that the cursor moved down. */
static void redraw(const cJSON *status, const struct losses *losses, int *lines)
{
	struct winsize screen = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return;
	if (*lines)
		printf("\033[%dF\033[J", *lines); /* move the cursor up and clear everything below */
	fputs("\033[?7l", stdout);
	screen_print(status, out);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) < 0 || screen.ws_row <= BELOW_LINES + 1)
		screen.ws_row = 24;
	*lines = BELOW_LINES;
	if (fclose(out) == 0)
		*lines += print_top(text, screen.ws_row - BELOW_LINES - 1);
	print_bar(client_number(status, "progress.percent"));
	print_sparkline(losses);
	fputs("\033[?7h", stdout);
	(void)fflush(stdout);
}

static void print_line(const cJSON *status, char last[static 256])
{
	char line[256], step[32] = "-", percent[32] = "-", loss[32] = "-";

	if (!isnan(client_number(status, "progress.step")))
		(void)snprintf(step, sizeof(step), "%.0f", client_number(status, "progress.step"));
	if (!isnan(client_number(status, "progress.percent")))
		(void)snprintf(percent, sizeof(percent), "%.1f", client_number(status, "progress.percent"));
	if (!isnan(client_number(status, "loss")))
		(void)snprintf(loss, sizeof(loss), "%.4f", client_number(status, "loss"));
	(void)snprintf(line, sizeof(line), "%s %s step %s %s %% loss %s", client_text(status, "state"),
		       client_text(status, "run.id"), step, percent, loss);
	if (strcmp(line, last) == 0)
		return;
	(void)snprintf(last, 256, "%s", line);
	puts(line);
	(void)fflush(stdout);
}

/* Prints until the box is idle, the run failed, a signal arrives, or the box does not answer. */
static int watch(struct client *client, struct error *err)
{
	bool terminal = isatty(STDOUT_FILENO);
	struct losses losses = { .count = 0 };
	double step = -1;
	char last[256] = "";
	int lines = 0;

	while (!asked_to_stop) {
		CLEANUP(json_free) cJSON *status = NULL;
		struct timespec period = { PERIOD_S, 0 };
		int r = client_call(client, "status", NULL, &status, err);

		if (r < 0)
			return asked_to_stop ? CLI_OK : client_error(err);
		json_visible(status);
		remember(&losses, status, &step);
		if (terminal)
			redraw(status, &losses, &lines);
		else
			print_line(status, last);
		r = screen_exit_code(status);
		if (r == CLI_IDLE || r == CLI_FAILED)
			return r;
		(void)nanosleep(&period, NULL);
	}
	return CLI_OK;
}

static int watch_verb(const struct arguments *arguments)
{
	CLEANUP(client_closep) struct client *client = NULL;
	struct sigaction action = { .sa_handler = on_signal };
	struct error err = { 0 };

	(void)arguments;
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	if (client_open(&client, &err) < 0)
		return client_error(&err);
	return watch(client, &err);
}

const struct verb verb_watch = {
	.name = "watch",
	.summary = "show the live status until the run ends",
	.about = "On a terminal the verb updates the status every second. Otherwise it prints one line each "
		 "time the status changes. It ends when there is no run, or when the run failed.",
	.methods = { "status" },
	.exits = screen_exits,
	.run = watch_verb,
};
