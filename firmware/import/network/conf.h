/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/network/network.h"

#include "model/graph/graph.h"

struct conf {
	const char *what;    /* the file that the network is from */
	const char *weights; /* URL of the weights; NULL: none */
	uint64_t outputs; /* numbers of a row of the output, which the label has, too; 0: not known. Then the
			     text has a loss that fits any network, and two layers more: it is good for
			     conf_build() alone, whose graph tells the outputs. */
};

/* Writes a whole kiln.conf: source and sink to fill in, the schema with the features and the label, the model
 * with a layer in each line, the optimizer. The loss, where the file names none, is the one that fits the
 * last layer. */
void conf_print(const struct network *network, const struct conf *conf, FILE *out);

/* Builds the graph of such a text; a layer that Kiln refuses becomes a refusal of the network. The caller
 * calls config_done() and graph_done(), also after an error; `ret_graph` points into `ret_config`. Errors:
 * -EINVAL there are refusals; those of config_load(). */
MUST_CHECK int conf_build(struct network *network, const char *text, struct config *ret_config,
			  struct graph *ret_graph, struct error *err);
