/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BERT (Devlin et al., 2018), the encoder of texts: ids -> a vector for each token. The names of the layers
 * are those of Hugging Face's modules. There is no layer for the types of tokens: all tokens of a text are of
 * type 0, so `kiln weights convert` adds the vector of this type to those of the positions. Id 0 is padding,
 * which no layer reads.
 */
#include "model/base/writer.h"

#include <stdio.h>

/* Writes a layer of dropout, if it drops anything, and sets `x` to the name of its output. */
static void drop(struct base_writer *writer, const char *prefix, const char *name, struct base_name *x)
{
	const double rate = writer->config->model.bert.hidden_dropout_prob;

	if (rate == 0)
		return;
	*x = base_name(prefix, name);
	base_dropout(writer, x->text, rate);
}

static void write_embeddings(struct base_writer *writer, struct base_name *x)
{
	const struct config_bert *bert = &writer->config->model.bert;
	static const char words[] = "embeddings.word_embeddings",
			  positions[] = "embeddings.position_embeddings";

	base_embedding(writer, words, bert->vocab_size, bert->hidden_size);
	base_positions(writer, positions, bert->max_position_embeddings);
	base_sum(writer, "embeddings.add", words, positions);
	*x = base_name("embeddings.", "LayerNorm");
	base_layer_norm(writer, x->text, bert->layer_norm_eps);
	drop(writer, "embeddings.", "dropout", x);
}

/* Writes the sum of the layers `x` and `y` and its norm, and sets `x` to the name of the norm. */
static void write_sum(struct base_writer *writer, const char *prefix, const struct base_name *y,
		      struct base_name *x)
{
	base_sum(writer, base_name(prefix, "add").text, y->text, x->text);
	*x = base_name(prefix, "LayerNorm");
	base_layer_norm(writer, x->text, writer->config->model.bert.layer_norm_eps);
}

/* Writes a layer that reads the layer `x`, which is the one before, and sets `x` to the name of its output.
 */
static void write_layer(struct base_writer *writer, const char *prefix, struct base_name *x)
{
	const struct config_bert *bert = &writer->config->model.bert;
	const struct base_name of_attention = base_name(prefix, "attention.output."),
			       of_output = base_name(prefix, "output.");
	struct base_name y = base_name(prefix, "attention");

	base_attention(writer, y.text, bert->num_attention_heads,
		       bert->hidden_size / bert->num_attention_heads, bert->attention_probs_dropout_prob);
	drop(writer, of_attention.text, "dropout", &y);
	write_sum(writer, of_attention.text, &y, x);
	base_dense(writer, base_name(prefix, "intermediate.dense").text, bert->intermediate_size, "gelu");
	y = base_name(prefix, "output.dense");
	base_dense(writer, y.text, bert->hidden_size, NULL);
	drop(writer, of_output.text, "dropout", &y);
	write_sum(writer, of_output.text, &y, x);
}

void base_write_bert(struct base_writer *writer, const char *name)
{
	struct base_name x;
	char prefix[BASE_NAME_BYTES];

	(void)name;
	write_embeddings(writer, &x);
	for (uint64_t i = 0; i < writer->config->model.bert.num_hidden_layers; i++) {
		(void)snprintf(prefix, sizeof(prefix), "encoder.layer.%u.", (unsigned)i);
		write_layer(writer, prefix, &x);
	}
}
