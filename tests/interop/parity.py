# SPDX-License-Identifier: Apache-2.0
"""Trains the same small nets in TensorFlow and in Kiln, from the same weights on the same batches. A row per layer, loss or
optimizer. Each of the first STEPS steps starts from TensorFlow's weights, slots and layers' state. After such a step they
differ by at most 1e-5 of a tensor's largest number, gradients by 1e-4, prediction and loss by 1e-5. Then FREE_STEPS steps
run independently: at most 1e-3."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import safetensors.numpy
import tensorflow as tf
from keras import layers as K

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("KILN_BUILD", os.path.join(ROOT, "build/release"))
BIN = os.environ.get("KILN_BIN", os.path.join(BUILD, "bin"))
STEPS, FREE_STEPS, ROWS = 5, 100, 16
CONFIG = """
run: {{ name = "t"; batch_rows = {rows}; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
optimizer: {{ {optimizer} }};
schema = ( {schema} );
model: {{ input = "{input}"; loss = "{loss}"; {more} layers = ( {layers} ); }};
"""


# ---- Building blocks of rows -------------------------------------------------------------------------------------------

class Optimizer:
    """Its keys in kiln.conf, Keras's, and the attribute of Keras's that holds each slot. `seen(gradients)`: what Kiln's
    gradients are after the step, where that is not what the tape says."""

    def __init__(self, conf, make, seen=None, **slots):
        self.conf, self.make, self.seen, self.slots = conf, make, seen or (lambda gradients: gradients), slots


class Loss:
    """Its name in kiln.conf, the layer Kiln wants last, Keras's loss of what is before that layer, and that layer as a
    function. `label(rng, rows)` makes labels, `label_shape` is that of the schema. `conf`: more keys of `model`;
    `by_label(label)`: what a row counts by its label; `weighted`: a feature "weight" says it."""

    def __init__(self, name, last, keras_loss, activation, label_shape, label, label_dtype="int64", conf="", by_label=None,
                 weighted=False):
        self.conf, self.by_label, self.weighted = conf, by_label, weighted
        self.name, self.last, self.keras_loss, self.activation = name, last, keras_loss, activation
        self.label_shape, self.label, self.label_dtype = label_shape, label, label_dtype


class Ragged(list):
    """The shape of a row of at most `most` numbers; for Keras the row is padded with -1."""

    def __init__(self, most):
        super().__init__([most])


class Row:
    """`layers`: kiln.conf's, less the last; `build(inputs)`: the same in Keras, of a dict of inputs by feature. Layers have
    the same names in both. `precision`: kiln.conf's model.precision and Keras's dtype policy; `scale`: the loss scale to begin
    with. `features`: name -> (dtype, shape of a row, function of (rng, shape) or None). `limits`
    replaces those above, by the name of what is compared; each such row says why. `adapts`: the layer that has statistics
    of the first feature. `still`: ends of the names of parameters whose gradient is 0 but for rounding, from which Adam makes
    steps of full length; only this is compared of them."""

    def __init__(self, name, layers, build, features=None, loss=None, optimizer=None, limits=None, adapts=None,
                 precision="float32", scale=2.0**15, still=()):
        self.still = tuple(still)
        self.adapts, self.precision, self.scale = adapts, precision, scale
        self.name, self.layers, self.build = name, layers, build
        self.features = features or {"sentence": ("float32", [12], None)}
        self.loss, self.optimizer, self.limits = loss or CATEGORICAL, optimizer or ADAM, limits or {}


def one_hot(classes):
    return lambda rng, rows: np.eye(classes, dtype=np.int64)[rng.integers(0, classes, rows)]


def chain(*made):
    """Calls build() of a Sequential model."""
    def build(inputs):
        x = next(iter(inputs.values()))
        for layer in made:
            x = layer()(x)
        return x
    return build


def dense(units, name="dense", **more):
    return lambda: K.Dense(units, name=name, **more)


ADAM = Optimizer('name = "adam";', lambda: keras.optimizers.Adam(), m="_momentums", v="_velocities")
CATEGORICAL = Loss("categorical_crossentropy", '{ op = "softmax"; }',
                   keras.losses.CategoricalCrossentropy(from_logits=True), tf.nn.softmax, [5], one_hot(5))
IMAGE = {"sentence": ("float32", [6, 5, 3], None)}


# ---- The rows --------------------------------------------------------------------------------------------------------

def residual(inputs):
    a = K.Dense(9, name="a")(inputs["sentence"])
    b = K.Dense(9, name="b")(K.ReLU(name="relu")(a))
    return K.Dense(5, name="out")(K.Add(name="add")([b, a]))


def multiplied(inputs):
    a = K.Dense(9, name="a")(inputs["sentence"])
    b = K.Dense(9, name="b")(a)
    return K.Dense(5, name="out")(K.Multiply(name="multiply")([b, a, b]))


def merged(layer):
    """Of three layers of units; the first input occurs twice where the layer takes as many."""
    def build(inputs):
        a = K.Dense(9, name="a")(inputs["sentence"])
        b = K.Dense(9, name="b")(a)
        c = K.Dense(9, name="c")(b)
        inputs_of_layer = [c, a] if isinstance(layer, K.Subtract) else [b, a, c, b]
        return K.Dense(5, name="out")(layer(inputs_of_layer))
    return build


def activated(inputs):
    a = K.Dense(16, activation="relu", name="a")(inputs["sentence"])
    b = K.Dense(16, activation="gelu", name="b")(a)
    return K.Dense(5, name="out")(K.Add(name="add")([a, b]))


def joined(inputs):
    a = K.Dense(7, name="a")(inputs["sentence"])
    b = K.Dense(4, name="b")(inputs["age"])
    return K.Dense(5, name="out")(K.Concatenate(name="concatenate")([a, b, inputs["age"]]))


LAYERS = [
    Row("dense, relu", '{ op = "dense"; units = 32; }, { op = "relu"; }, { op = "dense"; units = 5; }',
        chain(dense(32), lambda: K.ReLU(), dense(5, "dense_1"))),
    Row("dense without bias", '{ op = "dense"; units = 5; use_bias = false; }', chain(dense(5, use_bias=False))),
    Row("add", '{ op = "dense"; name = "a"; units = 9; }, { op = "relu"; }, { op = "dense"; name = "b"; units = 9; }, '
        '{ op = "add"; inputs = [ "b", "a" ]; }, { op = "dense"; name = "out"; units = 5; }', residual),
    Row("concatenate, two features", '{ op = "dense"; name = "a"; units = 7; }, '
        '{ op = "dense"; name = "b"; units = 4; inputs = [ "age" ]; }, '
        '{ op = "concatenate"; inputs = [ "a", "b", "age" ]; }, { op = "dense"; name = "out"; units = 5; }', joined,
        features={"sentence": ("float32", [12], None), "age": ("float32", [3], None)}),
    Row("features of any name", '{ op = "dense"; name = "a"; units = 7; }, '
        '{ op = "concatenate"; inputs = [ "a", "_age:in years" ]; }, { op = "dense"; name = "out"; units = 5; }',
        lambda inputs: K.Dense(5, name="out")(K.Concatenate(name="concatenate")(
            [K.Dense(7, name="a")(inputs["petal length"]), inputs["_age:in years"]])),
        features={"petal length": ("float32", [12], None), "_age:in years": ("float32", [3], None)}),
    Row("dense on the last dimension, reshape, flatten",
        '{ op = "dense"; name = "a"; units = 4; }, { op = "reshape"; target_shape = [ 10, -1 ]; }, '
        '{ op = "relu"; }, { op = "dense"; name = "b"; units = 3; }, { op = "flatten"; }, { op = "dense"; name = "out"; units = 5; }',
        chain(dense(4, "a"), lambda: K.Reshape([10, -1]), lambda: K.ReLU(), dense(3, "b"), lambda: K.Flatten(), dense(5, "out")),
        features=IMAGE),
    Row("softmax inside", '{ op = "dense"; name = "a"; units = 8; }, { op = "softmax"; }, { op = "dense"; name = "out"; units = 5; }',
        chain(dense(8, "a"), lambda: K.Softmax(), dense(5, "out"))),
]

LAYERS += [Row("multiply", '{ op = "dense"; name = "a"; units = 9; }, { op = "dense"; name = "b"; units = 9; }, '
               '{ op = "multiply"; inputs = [ "b", "a", "b" ]; }, { op = "dense"; name = "out"; units = 5; }', multiplied)]

LAYERS += [Row(op, '{ op = "dense"; name = "a"; units = 9; }, { op = "dense"; name = "b"; units = 9; }, '
               '{ op = "dense"; name = "c"; units = 9; }, '
               f'{{ op = "{op}"; inputs = [ {inputs} ]; }}, {{ op = "dense"; name = "out"; units = 5; }}', merged(layer))
           for op, inputs, layer in (("subtract", '"c", "a"', K.Subtract()), ("average", '"b", "a", "c", "b"', K.Average()),
                                     ("maximum", '"b", "a", "c", "b"', K.Maximum()),
                                     ("minimum", '"b", "a", "c", "b"', K.Minimum()))]


def towers(inputs):
    a = K.UnitNormalization(name="u")(K.Dense(9, name="a")(inputs["sentence"]))
    b = K.Dense(9, name="b")(inputs["sentence"])
    return K.Dense(5, name="out")(K.Dot(axes=1, name="dot")([a, b]))


LAYERS += [Row("dot, unit_normalization", '{ op = "dense"; name = "a"; units = 9; }, { op = "unit_normalization"; name = "u"; }, '
               '{ op = "dense"; name = "b"; units = 9; inputs = [ "sentence" ]; }, { op = "dot"; inputs = [ "u", "b" ]; axes = 1; }, '
               '{ op = "dense"; name = "out"; units = 5; }', towers)]

LAYERS += [Row("center_crop, a rotation by nothing", '{ op = "center_crop"; height = 3; width = 4; }, '
               '{ op = "random_rotation"; factor = 0; }, { op = "flatten"; }, { op = "dense"; units = 5; }',
               chain(lambda: K.CenterCrop(3, 4), lambda: K.Flatten(), dense(5)), features=IMAGE)]

LAYERS += [Row("activation of dense", '{ op = "dense"; name = "a"; units = 16; activation = "relu"; }, '
               '{ op = "dense"; name = "b"; units = 16; activation = "gelu"; }, { op = "add"; inputs = [ "a", "b" ]; }, '
               '{ op = "dense"; name = "out"; units = 5; }', activated)]

LAYERS += [Row("dropout 0", '{ op = "dense"; name = "a"; units = 16; }, { op = "dropout"; rate = 0.0; }, '
               '{ op = "dense"; name = "out"; units = 5; }', chain(dense(16, "a"), lambda: K.Dropout(0.0), dense(5, "out")))]
LAYERS += [Row(f"activation = {name}", f'{{ op = "dense"; name = "a"; units = 16; activation = "{name}"; }}, '
               '{ op = "dense"; name = "out"; units = 5; }', chain(dense(16, "a", activation=name), dense(5, "out")))
           for name in ("sigmoid", "tanh", "swish", "gelu", "leaky_relu", "relu6", "softmax", "elu", "celu", "selu",
                        "exponential", "softplus", "softsign", "hard_sigmoid", "hard_silu", "hard_tanh", "log_sigmoid", "mish", "soft_shrink", "hard_shrink",
                        "tanh_shrink", "squareplus")]

FUNCTIONS = [("sigmoid", "", lambda: K.Activation("sigmoid")), ("tanh", "", lambda: K.Activation("tanh")),
             ("swish", "", lambda: K.Activation("swish")), ("silu", "", lambda: K.Activation("silu")),
             ("gelu", "", lambda: K.Activation("gelu")),
             ("relu", "max_value = 0.7; ", lambda: K.ReLU(max_value=0.7)),
             ("relu", "negative_slope = 0.1; ", lambda: K.ReLU(negative_slope=0.1)),
             ("relu", "max_value = 0.8; negative_slope = 0.2; threshold = 0.1; ",
              lambda: K.ReLU(max_value=0.8, negative_slope=0.2, threshold=0.1)),
             ("relu6", "", lambda: K.Activation("relu6")),
             ("gelu", "approximate = true; ", lambda: K.Activation(lambda x: keras.activations.gelu(x, approximate=True))),
             ("elu", "", lambda: K.ELU()), ("elu", "alpha = 0.7; ", lambda: K.ELU(0.7)),
             ("celu", "alpha = 0.7; ", lambda: K.Activation(lambda x: keras.activations.celu(x, 0.7))),
             ("hard_swish", "", lambda: K.Activation("hard_swish")),
             ("soft_shrink", "threshold = 0.3; ", lambda: K.Activation(lambda x: keras.activations.soft_shrink(x, 0.3))),
             ("leaky_relu", "", lambda: K.LeakyReLU()),
             ("leaky_relu", "negative_slope = 0.1; ", lambda: K.LeakyReLU(0.1))]
LAYERS += [Row(" ".join([op, more]).strip(), f'{{ op = "dense"; name = "a"; units = 16; }}, {{ op = "{op}"; {more}}}, '
               '{ op = "dense"; name = "out"; units = 5; }', chain(dense(16, "a"), layer, dense(5, "out")))
           for op, more, layer in FUNCTIONS]

SEQUENCE = {"sentence": ("float32", [7, 6], None)}


def recurrent(op, keras_layer, more="", **attributes):
    """A row of the layer with all time steps, then of it with the last alone."""
    return Row(" ".join([op, more]).strip(), f'{{ op = "{op}"; name = "a"; units = 9; return_sequences = true; {more}}}, '
               f'{{ op = "{op}"; name = "b"; units = 4; {more}}}, {{ op = "dense"; name = "out"; units = 5; }}',
               chain(lambda: keras_layer(9, return_sequences=True, name="a", **attributes),
                     lambda: keras_layer(4, name="b", **attributes), dense(5, "out")), features=SEQUENCE)


def both_ways(merge):
    return lambda inputs: K.Dense(5, name="out")(merge([
        K.LSTM(4, return_sequences=True, name="f")(inputs["sentence"]),
        keras.ops.flip(K.LSTM(4, return_sequences=True, go_backwards=True, name="b")(inputs["sentence"]), axis=1)]))


LAYERS += [
    recurrent("lstm", K.LSTM),
    recurrent("lstm", K.LSTM, 'go_backwards = true; recurrent_activation = "hard_sigmoid"; use_bias = false; ',
              go_backwards=True, recurrent_activation="hard_sigmoid", use_bias=False),
    recurrent("gru", K.GRU),
    recurrent("gru", K.GRU, 'activation = "relu"; use_bias = false; ', activation="relu", use_bias=False),
    recurrent("simple_rnn", K.SimpleRNN),
    recurrent("simple_rnn", K.SimpleRNN, 'activation = "sigmoid"; ', activation="sigmoid"),
    Row("lstm both ways, as Bidirectional", '{ op = "lstm"; name = "f"; units = 4; return_sequences = true; }, '
        '{ op = "lstm"; name = "b"; inputs = [ "sentence" ]; units = 4; return_sequences = true; go_backwards = true; '
        'in_order = true; }, { op = "concatenate"; inputs = [ "f", "b" ]; }, { op = "flatten"; }, '
        '{ op = "dense"; name = "out"; units = 5; }',
        both_ways(lambda parts: K.Flatten()(K.Concatenate()(parts))), features=SEQUENCE)]



def attended(layer, inputs, **call):
    """Calls Keras's MultiHeadAttention of these attributes with what `inputs` makes of a sequence."""
    def outputs(features):
        x = K.Dense(8, name="x")(features["sentence"])
        return K.Dense(5, name="out")(K.Flatten()(K.MultiHeadAttention(name="a", **layer)(*inputs(x), **call)))
    return outputs


def attention(label, kiln, keras_layer, inputs=lambda x: (x, x), before="", **call):
    return Row(f"multi_head_attention {label}".strip(), f'{{ op = "dense"; name = "x"; units = 8; }}, {before}'
               f'{{ op = "multi_head_attention"; name = "a"; {kiln} }}, {{ op = "flatten"; }}, '
               '{ op = "dense"; name = "out"; units = 5; }', attended(keras_layer, inputs, **call), features=SEQUENCE,
               # A number that all keys have in common changes no weight of the softmax.
               still=["a/key_bias", "k/bias"])


LAYERS += [
    attention("", "num_heads = 3; key_dim = 4;", {"num_heads": 3, "key_dim": 4}),
    attention("causal", "num_heads = 2; key_dim = 4; value_dim = 5; use_bias = false; use_causal_mask = true;",
              {"num_heads": 2, "key_dim": 4, "value_dim": 5, "use_bias": False}, use_causal_mask=True),
    attention("cross", 'num_heads = 2; key_dim = 4; inputs = [ "q", "v", "k" ];', {"num_heads": 2, "key_dim": 4},
              lambda x: (K.Dense(6, name="q")(K.MaxPooling1D(2)(x)), K.Dense(7, name="v")(x), K.Dense(3, name="k")(x)),
              '{ op = "dense"; name = "k"; inputs = [ "x" ]; units = 3; }, '
              '{ op = "dense"; name = "v"; inputs = [ "x" ]; units = 7; }, '
              '{ op = "max_pooling1d"; inputs = [ "x" ]; pool_size = 2; }, { op = "dense"; name = "q"; units = 6; }, ')]

# No bias before batch_norm: batch_norm removes the bias again, and the rest of the bias's gradient is rounding.
NORMS = [("batch_norm", "", IMAGE, lambda: K.BatchNormalization(name="norm")),
         ("batch_norm", "", None, lambda: K.BatchNormalization(name="norm")),
         ("batch_norm", "momentum = 0.9; epsilon = 1e-5; center = false; scale = false; ", None,
          lambda: K.BatchNormalization(name="norm", momentum=0.9, epsilon=1e-5, center=False, scale=False)),
         ("batch_norm", "trainable = false; ", None, lambda: K.BatchNormalization(name="norm", trainable=False)),
         ("rms_normalization", "", IMAGE, lambda: K.RMSNormalization(name="norm")),
         ("rms_normalization", "epsilon = 0.01; ", None, lambda: K.RMSNormalization(name="norm", epsilon=0.01)),
         ("unit_normalization", "", IMAGE, lambda: K.UnitNormalization(name="norm")),
         ("layer_norm", "", IMAGE, lambda: K.LayerNormalization(name="norm")),
         ("layer_norm", "epsilon = 1e-5; center = false; ", None,
          lambda: K.LayerNormalization(name="norm", epsilon=1e-5, center=False))]
LAYERS += [Row(" ".join([op, more, "of images" if shape else ""]).strip(),
               f'{{ op = "dense"; name = "a"; units = 16; use_bias = false; }}, {{ op = "{op}"; name = "norm"; {more}}}, '
               '{ op = "relu"; }, '
               '{ op = "flatten"; }, { op = "dense"; name = "out"; units = 5; }',
               chain(dense(16, "a", use_bias=False), layer, lambda: K.ReLU(), lambda: K.Flatten(), dense(5, "out")),
               features=shape)
           for op, more, shape, layer in NORMS]

def adapted(inputs):
    layer = K.Normalization(name="norm")
    layer.adapt(np.random.default_rng(3).normal(2, 3, [100, 12]).astype(np.float32))
    return K.Dense(5, name="out")(layer(inputs["sentence"]))


def some_ids(limit):
    return lambda rng, shape: rng.integers(0, limit, shape)


def some_tokens(limit):
    def make(rng, shape):
        lengths = rng.integers(0, shape[-1] + 1, [*shape[:-1], 1])
        return np.where(np.arange(shape[-1]) < lengths, rng.integers(0, limit, shape), -1)
    return make


class Bag(K.Layer):
    """The result of tf.nn.embedding_lookup_sparse; an empty row gives 0."""

    def __init__(self, combiner, ids=40):
        super().__init__(name="bag")
        self.combiner, self.ids = combiner, ids

    def build(self, _):
        self.embeddings = self.add_weight(name="embeddings", shape=[self.ids, 10], initializer="uniform")

    def call(self, tokens):
        is_there = tf.cast(tokens >= 0, tf.float32)[..., None]
        count = tf.maximum(tf.reduce_sum(is_there, axis=1), 1.0)
        total = tf.reduce_sum(tf.gather(self.embeddings, tf.maximum(tokens, 0)) * is_there, axis=1)
        return total / {"sum": 1.0, "mean": count, "sqrtn": tf.sqrt(count)}[self.combiner]


class WithPositions(K.Layer):
    """The sum of the input and of what KerasHub's PositionEmbedding gives for it."""

    def __init__(self, length):
        super().__init__(name="p")
        self.length = length

    def build(self, shape):
        self.embeddings = self.add_weight(name="embeddings", shape=[self.length, shape[-1]], initializer="glorot_uniform")

    def call(self, x):
        return x + tf.broadcast_to(self.embeddings[:x.shape[1]], tf.shape(x))


class LazyAdam(keras.optimizers.Adam):
    """As in TensorFlow Addons: rows of a table that the batch does not name keep their weights and moments. Here a row
    counts as named if its gradient is not 0."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        kept = [variable, self._momentums[index], self._velocities[index]]
        before = [tf.identity(tf.convert_to_tensor(v)) for v in kept]
        super().update_step(gradient, variable, learning_rate)
        if "embeddings" in variable.name:
            named = tf.reduce_any(gradient != 0, axis=-1, keepdims=True)
            for v, old in zip(kept, before):
                v.assign(tf.where(named, tf.convert_to_tensor(v), old))


LAYERS += [Row("embedding", '{ op = "embedding"; name = "table"; input_dim = 30; output_dim = 7; }, { op = "flatten"; }, '
               '{ op = "dense"; name = "out"; units = 5; }',
               chain(lambda: K.Embedding(30, 7, name="table"), lambda: K.Flatten(), dense(5, "out")),
               features={"ids": ("int64", [6], some_ids(30))})]


# ---- Masks: zeros before, between and behind the other ids ----

def masked_ids(limit):
    """At least one id of a row is not 0: Keras's mean of no steps is NaN."""
    def make(rng, shape):
        ids = rng.integers(1, limit, shape) * (rng.random(shape) < 0.6)
        first = rng.integers(0, shape[-1], shape[:-1])[..., None]
        return np.where(np.arange(shape[-1]) == first, np.maximum(ids, 1), ids)
    return make


WORDS = {"words": ("int64", [9], masked_ids(20))}
MASKED = '{ op = "embedding"; name = "table"; input_dim = 20; output_dim = 8; mask_zero = true; }, '


def masked(name, kiln, build, **more):
    """A row of what Kiln and Keras make of the vectors of ids, and a last layer."""
    return Row(f"mask, {name}", MASKED + kiln + '{ op = "dense"; name = "out"; units = 5; }',
               lambda inputs: K.Dense(5, name="out")(build(K.Embedding(20, 8, mask_zero=True, name="table")(inputs["words"]))),
               features=WORDS, **more)


def block(x):
    a = K.MultiHeadAttention(2, 4, name="a")(x, x)
    y = K.LayerNormalization(name="norm")(K.Add(name="sum")([x, a]))
    z = K.Dense(8, name="second")(K.Dense(11, activation="gelu", name="first")(y))
    return K.GlobalAveragePooling1D(name="mean")(K.Concatenate(name="both")([y, z]))


LAYERS += [
    masked(op, f'{{ op = "{op}"; name = "a"; units = 9; return_sequences = true; }}, '
           f'{{ op = "{op}"; name = "b"; units = 4; go_backwards = true; }}, ',
           lambda x, layer=layer: layer(4, go_backwards=True, name="b")(layer(9, return_sequences=True, name="a")(x)))
    for op, layer in (("lstm", K.LSTM), ("gru", K.GRU), ("simple_rnn", K.SimpleRNN))]
LAYERS += [
    masked("mean, dense, dropout", '{ op = "dense"; name = "a"; units = 6; activation = "tanh"; }, { op = "dropout"; rate = 0.0; }, '
           '{ op = "global_average_pooling1d"; }, ',
           lambda x: K.GlobalAveragePooling1D()(K.Dropout(0.0)(K.Dense(6, activation="tanh", name="a")(x)))),
    masked("transformer block", '{ op = "multi_head_attention"; name = "a"; num_heads = 2; key_dim = 4; }, '
           '{ op = "add"; name = "sum"; inputs = [ "table", "a" ]; }, { op = "layer_norm"; name = "norm"; }, '
           '{ op = "dense"; name = "first"; units = 11; activation = "gelu"; }, { op = "dense"; name = "second"; units = 8; }, '
           '{ op = "concatenate"; name = "both"; inputs = [ "norm", "second" ]; }, '
           '{ op = "global_average_pooling1d"; name = "mean"; }, ', block, still=["a/key_bias"]),
    masked("keys alone", '{ op = "conv1d"; name = "q"; filters = 6; kernel_size = 3; strides = 2; }, { op = "multi_head_attention"; '
           'name = "a"; inputs = [ "q", "table" ]; num_heads = 2; key_dim = 4; }, { op = "flatten"; }, ',
           lambda x: K.Flatten()(K.MultiHeadAttention(2, 4, name="a")(K.Conv1D(6, 3, strides=2, name="q")(x), x)),
           still=["a/key_bias"]),
    # With dropout Keras gives a query that its mask leaves out no weights, as Kiln does.
    masked("queries that do not count", '{ op = "multi_head_attention"; name = "a"; num_heads = 2; key_dim = 4; dropout = 1e-9; '
           'use_causal_mask = true; }, { op = "flatten"; }, ',
           lambda x: K.Flatten()(K.MultiHeadAttention(2, 4, dropout=1e-9, name="a")(x, x, use_causal_mask=True)),
           still=["a/key_bias"])]

LAYERS += [Row(f"embedding_bag, {combiner}",
               f'{{ op = "embedding_bag"; name = "bag"; input_dim = 40; output_dim = 10; combiner = "{combiner}"; }}, '
               '{ op = "relu"; }, { op = "dense"; name = "out"; units = 5; }',
               chain(lambda combiner=combiner: Bag(combiner), lambda: K.ReLU(name="relu"), dense(5, "out")),
               features={"tokens": ("int64", Ragged(12), some_tokens(40))})
           for combiner in ("mean", "sum", "sqrtn")]
LAYERS += [Row("embedding_bag, lazy Adam",
               '{ op = "embedding_bag"; name = "bag"; input_dim = 400; output_dim = 10; }, { op = "dense"; name = "out"; units = 5; }',
               chain(lambda: Bag("mean", 400), dense(5, "out")), features={"tokens": ("int64", Ragged(12), some_tokens(400))},
               optimizer=Optimizer('name = "adam"; learning_rate = 0.01; lazy = true;', lambda: LazyAdam(0.01),
                                   m="_momentums", v="_velocities"))]
LAYERS += [Row("normalization", '{ op = "normalization"; name = "norm"; }, { op = "dense"; name = "out"; units = 5; }', adapted,
               adapts="norm")]


# Images [6, 5, 3]. Layer `a` comes first, so that the tested layer needs a gradient for its input.
def images(name, layers, *made, **more):
    return Row(name, f'{{ op = "dense"; name = "a"; units = 4; }}, {layers}, {{ op = "flatten"; }}, '
               '{ op = "dense"; name = "out"; units = 5; }',
               chain(dense(4, "a"), *made, lambda: K.Flatten(), dense(5, "out")), features=IMAGE, **more)


def gated(inputs):
    """Squeeze and excite."""
    a = K.Dense(4, name="a")(inputs["sentence"])
    s = K.Dense(4, activation="sigmoid", name="s")(K.GlobalAveragePooling2D(keepdims=True)(a))
    return K.Dense(5, name="out")(K.Flatten()(K.Multiply()([a, s])))


def ties(inputs):
    """Equal numbers at the first step: which one gets the gradient?"""
    a, b = (K.Dense(4, name=name, kernel_initializer="ones")(inputs["sentence"]) for name in "ab")
    return K.Dense(5, name="out")(K.GlobalMaxPooling2D()(K.MaxPooling2D((12, 1))(K.Concatenate(axis=1)([a, b]))))


LAYERS += [
    images("zero_padding2d", '{ op = "zero_padding2d"; padding = 2; }, { op = "conv2d"; name = "c"; filters = 7; kernel_size = 3; }',
           lambda: K.ZeroPadding2D(2), lambda: K.Conv2D(7, 3, name="c")),
    images("zero_padding2d, height and width", '{ op = "zero_padding2d"; padding = [ 1, 0 ]; }', lambda: K.ZeroPadding2D((1, 0))),
    images("zero_padding2d, sides", '{ op = "zero_padding2d"; padding = [ 0, 2, 1, 3 ]; }', lambda: K.ZeroPadding2D(((0, 2), (1, 3)))),
    images("spatial_dropout2d 0", '{ op = "spatial_dropout2d"; rate = 0.0; }', lambda: K.SpatialDropout2D(0.0)),
    Row("multiply, a gate", '{ op = "dense"; name = "a"; units = 4; }, { op = "global_average_pooling2d"; keepdims = true; }, '
        '{ op = "dense"; name = "s"; units = 4; activation = "sigmoid"; }, { op = "multiply"; inputs = [ "a", "s" ]; }, '
        '{ op = "flatten"; }, { op = "dense"; name = "out"; units = 5; }', gated, features=IMAGE),
    images("conv2d, valid", '{ op = "conv2d"; name = "c"; filters = 7; kernel_size = 3; }, { op = "relu"; }',
           lambda: K.Conv2D(7, 3, name="c"), lambda: K.ReLU()),
    images("conv2d, same, strides", '{ op = "conv2d"; name = "c"; filters = 20; kernel_size = [ 2, 3 ]; '
           'strides = [ 2, 1 ]; padding = "same"; }, { op = "tanh"; }, '
           '{ op = "conv2d"; name = "d"; filters = 40; kernel_size = 3; strides = 2; padding = "same"; }',
           lambda: K.Conv2D(20, (2, 3), (2, 1), "same", name="c"), lambda: K.Activation("tanh"),
           lambda: K.Conv2D(40, 3, 2, "same", name="d")),
    images("conv2d, same, dilation, no bias", '{ op = "conv2d"; name = "c"; filters = 6; kernel_size = 3; padding = "same"; '
           'dilation_rate = [ 1, 2 ]; use_bias = false; kernel_initializer = "he_normal"; }',
           lambda: K.Conv2D(6, 3, padding="same", dilation_rate=(1, 2), use_bias=False, name="c")),
    images("depthwise_conv2d, valid", '{ op = "depthwise_conv2d"; name = "c"; kernel_size = 3; depth_multiplier = 2; }',
           lambda: K.DepthwiseConv2D(3, depth_multiplier=2, name="c")),
    images("depthwise_conv2d, same, strides", '{ op = "depthwise_conv2d"; name = "c"; kernel_size = [ 2, 3 ]; strides = 2; '
           'padding = "same"; }', lambda: K.DepthwiseConv2D((2, 3), 2, "same", name="c")),
    images("max_pooling2d", '{ op = "max_pooling2d"; }', lambda: K.MaxPooling2D()),
    images("max_pooling2d, same, strides", '{ op = "max_pooling2d"; pool_size = 3; strides = [ 2, 1 ]; padding = "same"; }',
           lambda: K.MaxPooling2D(3, (2, 1), "same")),
    Row("max_pooling2d, ties", '{ op = "dense"; name = "a"; units = 4; }, '
        '{ op = "dense"; name = "b"; units = 4; inputs = [ "sentence" ]; }, '
        '{ op = "concatenate"; inputs = [ "a", "b" ]; axis = 1; }, { op = "max_pooling2d"; pool_size = [ 12, 1 ]; }, '
        '{ op = "global_max_pooling2d"; }, { op = "dense"; name = "out"; units = 5; }', ties, features=IMAGE,
        optimizer=Optimizer('name = "sgd";', lambda: keras.optimizers.SGD())),
    images("average_pooling2d", '{ op = "average_pooling2d"; pool_size = [ 3, 2 ]; strides = 1; }',
           lambda: K.AveragePooling2D((3, 2), 1)),
    images("average_pooling2d, same", '{ op = "average_pooling2d"; pool_size = 3; padding = "same"; }',
           lambda: K.AveragePooling2D(3, padding="same")),
    images("global_average_pooling2d", '{ op = "relu"; }, { op = "global_average_pooling2d"; }', lambda: K.ReLU(),
           lambda: K.GlobalAveragePooling2D()),
    images("global_max_pooling2d", '{ op = "global_max_pooling2d"; keepdims = true; }',
           lambda: K.GlobalMaxPooling2D(keepdims=True)),
]


# Sequences [12, 3].
def sequences(name, layers, *made):
    return Row(name, f'{{ op = "dense"; name = "a"; units = 4; }}, {layers}, {{ op = "flatten"; }}, '
               '{ op = "dense"; name = "out"; units = 5; }',
               chain(dense(4, "a"), *made, lambda: K.Flatten(), dense(5, "out")),
               features={"sentence": ("float32", [12, 3], None)})


LAYERS += [
    sequences("conv1d, valid", '{ op = "conv1d"; name = "c"; filters = 7; kernel_size = 3; activation = "relu"; }',
              lambda: K.Conv1D(7, 3, activation="relu", name="c")),
    sequences("conv1d, same, strides", '{ op = "conv1d"; name = "c"; filters = 20; kernel_size = 4; strides = 2; padding = "same"; }',
              lambda: K.Conv1D(20, 4, 2, "same", name="c")),
    sequences("conv1d, dilation, no bias", '{ op = "conv1d"; name = "c"; filters = 6; kernel_size = [ 3 ]; dilation_rate = 2; '
              'use_bias = false; }', lambda: K.Conv1D(6, 3, dilation_rate=2, use_bias=False, name="c")),
    sequences("depthwise_conv1d", '{ op = "depthwise_conv1d"; name = "c"; kernel_size = 3; strides = 2; depth_multiplier = 2; '
              'padding = "same"; }', lambda: K.DepthwiseConv1D(3, 2, "same", depth_multiplier=2, name="c")),
    sequences("position_embedding", '{ op = "dense"; name = "c"; units = 6; }, '
              '{ op = "position_embedding"; name = "p"; sequence_length = 40; }, { op = "add"; inputs = [ "p", "c" ]; }',
              lambda: K.Dense(6, name="c"), lambda: WithPositions(40)),
    sequences("permute", '{ op = "permute"; dims = [ 2, 1 ]; }, { op = "conv1d"; name = "c"; filters = 5; kernel_size = 2; }',
              lambda: K.Permute((2, 1)), lambda: K.Conv1D(5, 2, name="c")),
    sequences("zero_padding1d, max_pooling1d", '{ op = "zero_padding1d"; padding = [ 1, 3 ]; }, { op = "max_pooling1d"; pool_size = 3; }',
              lambda: K.ZeroPadding1D((1, 3)), lambda: K.MaxPooling1D(3)),
    sequences("zero_padding1d, average_pooling1d, same", '{ op = "zero_padding1d"; }, '
              '{ op = "average_pooling1d"; pool_size = 3; strides = 2; padding = "same"; }',
              lambda: K.ZeroPadding1D(), lambda: K.AveragePooling1D(3, 2, "same")),
    sequences("global_max_pooling1d", '{ op = "global_max_pooling1d"; keepdims = true; }', lambda: K.GlobalMaxPooling1D(keepdims=True)),
    sequences("global_average_pooling1d", '{ op = "global_average_pooling1d"; }', lambda: K.GlobalAveragePooling1D()),
]

TWO = '{ op = "dense"; name = "a"; units = 16; }, { op = "relu"; }, { op = "dense"; name = "out"; units = 5; }'
TWO_KERAS = chain(dense(16, "a"), lambda: K.ReLU(), dense(5, "out"))
OPTIMIZERS = [
    Row("sgd", TWO, TWO_KERAS, optimizer=Optimizer('name = "sgd";', lambda: keras.optimizers.SGD())),
    Row("sgd, momentum", TWO, TWO_KERAS,
        optimizer=Optimizer('name = "sgd"; momentum = 0.9;', lambda: keras.optimizers.SGD(momentum=0.9), m="momentums")),
    Row("sgd, Nesterov", TWO, TWO_KERAS,
        optimizer=Optimizer('name = "sgd"; momentum = 0.9; nesterov = true; learning_rate = 0.05;',
                            lambda: keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), m="momentums")),
    Row("adam, own rates", TWO, TWO_KERAS,
        optimizer=Optimizer('name = "adam"; learning_rate = 0.003; beta_1 = 0.8; beta_2 = 0.99; epsilon = 1e-5;',
                            lambda: keras.optimizers.Adam(0.003, 0.8, 0.99, 1e-5), m="_momentums", v="_velocities")),
]

SGD, SCHEDULES = keras.optimizers.SGD, keras.optimizers.schedules
M, MV = {"m": "momentums"}, {"m": "_momentums", "v": "_velocities"}


def norm_of(gradients):
    return np.sqrt(sum(np.sum(np.square(g, dtype=np.float64)) for g in gradients))


def excluding():
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.1)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return optimizer


def each(change):
    return lambda gradients: {name: change(g) for name, g in gradients.items()}


def scaled_to(norm):
    return lambda gradients: {name: g * norm / max(norm, norm_of(gradients.values())) for name, g in gradients.items()}


OPTIMIZERS += [Row(name, TWO, TWO_KERAS, optimizer=optimizer) for name, optimizer in [
    ("rmsprop", Optimizer('name = "rmsprop";', lambda: keras.optimizers.RMSprop(), v="_velocities")),
    ("rmsprop, momentum", Optimizer('name = "rmsprop"; momentum = 0.8; rho = 0.7; epsilon = 1e-5; weight_decay = 0.1;',
                                    lambda: keras.optimizers.RMSprop(0.001, 0.7, 0.8, 1e-5, weight_decay=0.1), v="_velocities",
                                    m="_momentums")),
    ("adagrad", Optimizer('name = "adagrad";', lambda: keras.optimizers.Adagrad(), sum="_accumulators")),
    ("adagrad, own first sum", Optimizer('name = "adagrad"; learning_rate = 0.02; initial_accumulator_value = 0.01; epsilon = 1e-4;',
                                         lambda: keras.optimizers.Adagrad(0.02, 0.01, 1e-4), sum="_accumulators")),
    ("adamax", Optimizer('name = "adamax";', lambda: keras.optimizers.Adamax(), m="_m", u="_u")),
    ("lion", Optimizer('name = "lion"; learning_rate = 0.0001; weight_decay = 0.1;',
                       lambda: keras.optimizers.Lion(0.0001, weight_decay=0.1), m="_momentums")),
    ("schedule polynomial",
     Optimizer('name = "sgd"; schedule = "polynomial"; learning_rate = 0.05; decay_steps = 60; alpha = 0.2; power = 2;',
               lambda: SGD(SCHEDULES.PolynomialDecay(0.05, 60, 0.01, 2.0)))),
    ("schedule linear", Optimizer('name = "sgd"; schedule = "linear"; learning_rate = 0.05; decay_steps = 60; alpha = 0.2;',
                                  lambda: SGD(SCHEDULES.PolynomialDecay(0.05, 60, 0.01)))),
    ("schedule cosine_restarts",
     Optimizer('name = "sgd"; schedule = "cosine_restarts"; learning_rate = 0.05; decay_steps = 7; t_mul = 1.5; m_mul = 0.8; alpha = 0.1;',
               lambda: SGD(SCHEDULES.CosineDecayRestarts(0.05, 7, 1.5, 0.8, 0.1)))),
]]

# While gradients accumulate, the buffer holds neither the batch's gradients nor those applied: compare the slots instead.
OPTIMIZERS += [Row(name, TWO, TWO_KERAS, optimizer=optimizer) for name, optimizer in [
    ("adamw", Optimizer('name = "adamw";', lambda: keras.optimizers.AdamW(), **MV)),
    ("adamw, own decay", Optimizer('name = "adamw"; weight_decay = 0.1; learning_rate = 0.01;',
                                   lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1), **MV)),
    ("adamw, biases excluded",
     Optimizer('name = "adamw"; weight_decay = 0.1; learning_rate = 0.01; exclude_from_weight_decay = "bias";', excluding, **MV)),
    ("sgd, weight decay", Optimizer('name = "sgd"; momentum = 0.9; weight_decay = 0.05;',
                                    lambda: SGD(momentum=0.9, weight_decay=0.05), **M)),
    ("schedule step", Optimizer('name = "sgd"; schedule = "step"; boundaries = [ 1, 3, 50 ]; values = [ 0.1, 0.05, 0.02, 0.01 ];',
                                lambda: SGD(SCHEDULES.PiecewiseConstantDecay([1, 3, 50], [0.1, 0.05, 0.02, 0.01])))),
    ("schedule cosine", Optimizer('name = "adam"; schedule = "cosine"; learning_rate = 0.01; decay_steps = 80; alpha = 0.1;',
                                  lambda: keras.optimizers.Adam(SCHEDULES.CosineDecay(0.01, 80, alpha=0.1)), **MV)),
    ("schedule cosine, warm-up",
     Optimizer('name = "adam"; schedule = "cosine"; learning_rate = 0.01; decay_steps = 80; warmup_steps = 3; warmup_from = 0.001;',
               lambda: keras.optimizers.Adam(SCHEDULES.CosineDecay(0.001, 80, warmup_target=0.01, warmup_steps=3)), **MV)),
    ("clipvalue", Optimizer('name = "sgd"; clipvalue = 0.05;', lambda: SGD(clipvalue=0.05),
                            seen=each(lambda g: np.clip(g, -0.05, 0.05)))),
    ("clipnorm", Optimizer('name = "sgd"; clipnorm = 0.3;', lambda: SGD(clipnorm=0.3),
                           seen=each(lambda g: g * 0.3 / max(0.3, norm_of([g]))))),
    ("global_clipnorm", Optimizer('name = "adam"; global_clipnorm = 0.5;', lambda: keras.optimizers.Adam(global_clipnorm=0.5),
                                  seen=scaled_to(0.5), **MV)),
    ("gradient accumulation",
     Optimizer('name = "adam"; gradient_accumulation_steps = 3; clipnorm = 0.3;',
               lambda: keras.optimizers.Adam(gradient_accumulation_steps=3, clipnorm=0.3), seen=lambda gradients: {},
               accumulator="_accumulated_gradients", **MV)),
    ("moving average", Optimizer('name = "sgd"; learning_rate = 0.1; use_ema = true;', lambda: SGD(0.1, use_ema=True),
                                 average="_model_variables_moving_average")),
    ("moving average that replaces",
     Optimizer('name = "adam"; use_ema = true; ema_momentum = 0.8; ema_overwrite_frequency = 3;',
               lambda: keras.optimizers.Adam(use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3),
               average="_model_variables_moving_average", **MV)),
    ("moving average beside accumulation",
     Optimizer('name = "sgd"; learning_rate = 0.1; use_ema = true; gradient_accumulation_steps = 2;',
               lambda: SGD(0.1, use_ema=True, gradient_accumulation_steps=2), seen=lambda gradients: {},
               average="_model_variables_moving_average", accumulator="_accumulated_gradients")),
]]
OPTIMIZERS += [Row("l1 and l2 penalties",
                   '{ op = "dense"; name = "a"; units = 16; kernel_l2 = 0.01; bias_l1 = 0.02; }, { op = "relu"; }, '
                   '{ op = "dense"; name = "out"; units = 5; kernel_l1 = 0.005; kernel_l2 = 0.002; }',
                   chain(dense(16, "a", kernel_regularizer=keras.regularizers.L2(0.01),
                               bias_regularizer=keras.regularizers.L1(0.02), bias_initializer="random_normal"),
                         lambda: K.ReLU(), dense(5, "out", kernel_regularizer=keras.regularizers.L1L2(0.005, 0.002))))]

CLASS_WEIGHTS = np.array([0.5, 2, 1, 0.1, 3])
BY_CLASS = "class_weights = [ 0.5, 2.0, 1.0, 0.1, 3.0 ];"
SOFTMAX, SIGMOID = '{ op = "softmax"; }', '{ op = "sigmoid"; }'
KL = keras.losses


def classes(rng, rows):
    return rng.integers(0, 5, [rows, 1])


def bits(rng, rows):
    return rng.integers(0, 2, [rows, 5])


def numbers(rng, rows):
    return rng.standard_normal([rows, 5])


def chances(rng, rows):
    return rng.dirichlet(np.ones(5), rows)


LOSSES = [Row(name, TWO, TWO_KERAS, loss=loss) for name, loss in [
    ("categorical, label smoothing", Loss("categorical_crossentropy", SOFTMAX, KL.CategoricalCrossentropy(True, 0.1), tf.nn.softmax,
                                          [5], one_hot(5), conf="label_smoothing = 0.1;")),
    ("categorical, float32 labels", Loss("categorical_crossentropy", SOFTMAX, KL.CategoricalCrossentropy(True), tf.nn.softmax,
                                         [5], chances, "float32")),
    ("categorical, class weights", Loss("categorical_crossentropy", SOFTMAX, KL.CategoricalCrossentropy(True), tf.nn.softmax, [5],
                                        one_hot(5), conf=BY_CLASS, by_label=lambda y: CLASS_WEIGHTS[y.argmax(-1)])),
    ("sparse categorical", Loss("sparse_categorical_crossentropy", SOFTMAX, KL.SparseCategoricalCrossentropy(True), tf.nn.softmax,
                                [1], classes)),
    ("sparse categorical, class weights",
     Loss("sparse_categorical_crossentropy", SOFTMAX, KL.SparseCategoricalCrossentropy(True), tf.nn.softmax, [1], classes,
          conf=BY_CLASS, by_label=lambda y: CLASS_WEIGHTS[y[:, 0]])),
    ("sparse categorical, sample weights",
     Loss("sparse_categorical_crossentropy", SOFTMAX, KL.SparseCategoricalCrossentropy(True), tf.nn.softmax, [1], classes,
          conf='sample_weight = "weight";', weighted=True)),
    ("binary", Loss("binary_crossentropy", SIGMOID, KL.BinaryCrossentropy(True), tf.nn.sigmoid, [5], bits)),
    ("binary, label smoothing, float32, sample weights",
     Loss("binary_crossentropy", SIGMOID, KL.BinaryCrossentropy(True, 0.2), tf.nn.sigmoid, [5], bits, "float32",
          conf='label_smoothing = 0.2; sample_weight = "weight";', weighted=True)),
    ("mean squared error", Loss("mean_squared_error", "", KL.MeanSquaredError(), tf.identity, [5], numbers, "float32")),
    ("mean squared error of tanh, sample weights",
     Loss("mean_squared_error", '{ op = "tanh"; }', lambda y, x, sample_weight: KL.MeanSquaredError()(y, tf.tanh(x), sample_weight),
          tf.tanh, [5], numbers, "float32", conf='sample_weight = "weight";', weighted=True)),
]]

def positive(rng, rows):
    return rng.uniform(0, 3, [rows, 5])


def of(loss, activation=tf.identity):
    """Keras's loss of what the activation makes of the layer before it."""
    return lambda y, x, sample_weight: loss(y, activation(x), sample_weight)


FOCAL = 'focal_gamma = 1.5; focal_alpha = 0.4;'
LOSSES += [Row(name, TWO, TWO_KERAS, loss=loss) for name, loss in [
    ("categorical focal", Loss("categorical_focal_crossentropy", SOFTMAX, KL.CategoricalFocalCrossentropy(from_logits=True),
                               tf.nn.softmax, [5], one_hot(5))),
    ("categorical focal, smoothing, class weights",
     Loss("categorical_focal_crossentropy", SOFTMAX, KL.CategoricalFocalCrossentropy(0.4, 1.5, True, 0.1), tf.nn.softmax, [5],
          one_hot(5), conf=f"{FOCAL} label_smoothing = 0.1; {BY_CLASS}", by_label=lambda y: CLASS_WEIGHTS[y.argmax(-1)])),
    ("binary focal", Loss("binary_focal_crossentropy", SIGMOID, KL.BinaryFocalCrossentropy(from_logits=True), tf.nn.sigmoid, [5], bits)),
    ("binary focal, balancing, smoothing",
     Loss("binary_focal_crossentropy", SIGMOID, KL.BinaryFocalCrossentropy(True, 0.4, 1.5, True, 0.2), tf.nn.sigmoid, [5], bits,
          "float32", conf=f"{FOCAL} focal_balancing = true; label_smoothing = 0.2;")),
    ("mean absolute error", Loss("mean_absolute_error", "", KL.MeanAbsoluteError(), tf.identity, [5], numbers, "float32")),
    ("huber", Loss("huber", "", KL.Huber(), tf.identity, [5], numbers, "float32")),
    ("huber, delta, sample weights", Loss("huber", "", KL.Huber(0.5), tf.identity, [5], numbers, "float32",
                                          conf='huber_delta = 0.5; sample_weight = "weight";', weighted=True)),
    ("log cosh", Loss("log_cosh", "", KL.LogCosh(), tf.identity, [5], numbers, "float32")),
    ("poisson", Loss("poisson", SIGMOID, of(KL.Poisson(), tf.sigmoid), tf.sigmoid, [5], positive, "float32")),
    ("hinge, -1 and 1", Loss("hinge", "", KL.Hinge(), tf.identity, [5], lambda rng, rows: 2 * bits(rng, rows) - 1)),
    ("hinge, 0 and 1", Loss("hinge", '{ op = "tanh"; }', of(KL.Hinge(), tf.tanh), tf.tanh, [5], bits)),
    ("squared hinge", Loss("squared_hinge", "", KL.SquaredHinge(), tf.identity, [5], bits, "float32")),
    ("kl divergence", Loss("kl_divergence", SOFTMAX, of(KL.KLDivergence(), tf.nn.softmax), tf.nn.softmax, [5], chances, "float32")),
    ("cosine similarity", Loss("cosine_similarity", "", KL.CosineSimilarity(), tf.identity, [5], numbers, "float32")),
    ("cosine similarity, sample weights", Loss("cosine_similarity", "", KL.CosineSimilarity(), tf.identity, [5], numbers, "float32",
                                               conf='sample_weight = "weight";', weighted=True)),
]]

# Keras computes in 16 bits and rounds after every operation; Kiln rounds when it stores. They differ by some roundings of
# 2^-8 or 2^-11, and by more where a sum is small beside its terms of both signs (a bias before a convolution).
STORED = {"mixed_bfloat16": {"output": 2e-2, "loss": 2e-3, "gradient": 8e-2, "step": 0.1, "free": 0.2},
          "mixed_float16": {"output": 2e-3, "loss": 5e-4, "gradient": 1e-2, "step": 1e-2, "free": 5e-2}}


def stored(row, precision, name=None, **more):
    return Row(f"{precision}, {name or ' '.join(row.name.split())}", row.layers, row.build, row.features, row.loss, row.optimizer,
               precision=precision, **{"limits": STORED[precision], **more})


ROWS_NAMED = {row.name: row for row in LAYERS + OPTIMIZERS}
PRECISIONS = [stored(ROWS_NAMED[name], precision) for precision in STORED
              for name in ("sgd, momentum", "batch_norm  of images", "conv2d, same, strides")]
# While the scale falls no step changes anything. Keras sums gradients of weights in 16 bits, too, so its scale falls further
# before the first step that counts. So 100 steps contain different numbers of updates.
PRECISIONS += [stored(ROWS_NAMED["adamw"], "mixed_float16", "steps that overflow", scale=2.0**26,
                      limits={"output": 2e-3, "loss": 5e-4, "gradient": 0, "step": 0, "free": 0.3})]

ROWS_OF_ALL = LAYERS + OPTIMIZERS + LOSSES + PRECISIONS


# ---- TensorFlow ------------------------------------------------------------------------------------------------------

def make_batches(row, rng, steps):
    batches = {name: (make or (lambda rng, shape: rng.standard_normal(shape)))(rng, [steps, ROWS, *shape]).astype(dtype)
               for name, (dtype, shape, make) in row.features.items()}
    batches["label"] = np.stack([row.loss.label(rng, ROWS) for _ in range(steps)]).astype(row.loss.label_dtype)
    if row.loss.weighted:
        batches["weight"] = rng.uniform(0, 2, [steps, ROWS]).astype(np.float32)
    return batches


def columns_of(row, batches):
    """The columns of a batch, as in the ring."""
    columns = {}
    for name, batch in batches.items():
        if not isinstance(row.features.get(name, (None, None))[1], Ragged):
            columns[f"batch/{name}"] = batch
            continue
        values = np.zeros([len(batch), batch[0].size], np.int64)
        for i, step in enumerate(batch):
            there = step[step >= 0]
            values[i, :len(there)] = there
        columns[f"batch/{name}/values"] = values
        columns[f"batch/{name}/splits"] = np.pad(np.cumsum((batch >= 0).sum(axis=2), axis=1), [(0, 0), (1, 0)])
    return columns


def inputs_of(batches, i):
    return {name: batch[i] for name, batch in batches.items() if name not in ("label", "weight")}


def name_of(layer, weight):
    """The weights of the layers inside of multi_head_attention begin with the names of these."""
    return "_".join(weight.path.split("/")[-2:]) if isinstance(layer, K.MultiHeadAttention) else weight.name


def weights_of(model):
    return {f"{layer.name}/{name_of(layer, weight)}": weight for layer in model.layers for weight in layer.weights
            if weight.dtype.startswith("float")}


class Peer:
    def __init__(self, row):
        keras.backend.clear_session()
        keras.utils.set_random_seed(44)
        keras.config.set_dtype_policy(row.precision)
        inputs = {name: keras.Input(shape, dtype=dtype, name=name) for name, (dtype, shape, _) in row.features.items()}
        self.row = row
        self.model = keras.Model(inputs, row.build(inputs))
        self.optimizer, self.scaling, self.steps = row.optimizer.make(), None, 0
        if row.precision == "mixed_float16":
            self.scaling = keras.optimizers.LossScaleOptimizer(self.optimizer, initial_scale=row.scale)
        (self.scaling or self.optimizer).build(self.model.trainable_variables)
        self.names = {id(v): n for n, v in weights_of(self.model).items()}

    def state(self):
        """The tensors, as in a checkpoint."""
        state = {name: weight.numpy().copy() for name, weight in weights_of(self.model).items()}
        for slot, attribute in self.row.optimizer.slots.items():
            for variable, value in zip(self.model.trainable_variables, getattr(self.optimizer, attribute)):
                state[f"optimizer/{slot}/{self.names[id(variable)]}"] = value.numpy().copy()
        state["state/step"] = np.array([self.steps], np.int64)
        if self.scaling:
            skipped = self.steps - int(self.optimizer._iterations.numpy())
            state["state/loss_scale"] = np.array([float(self.scaling.dynamic_scale)], np.float32)
            state["state/loss_scale_steps"] = np.array([int(self.scaling.step_counter), skipped], np.int64)
        return state

    def predict(self, batch):
        return self.row.loss.activation(tf.cast(self.model(batch, training=False), tf.float32)).numpy().reshape(ROWS, -1)

    def step(self, batches, i):
        """Returns loss and gradients by name."""
        label, weight = batches["label"][i], None
        if self.row.loss.weighted:
            weight = batches["weight"][i]
        if self.row.loss.by_label:
            weight = self.row.loss.by_label(label).astype(np.float32)
        with tf.GradientTape() as tape:
            loss = self.row.loss.keras_loss(label, self.model(inputs_of(batches, i), training=True), sample_weight=weight)
            loss += tf.add_n(self.model.losses) if self.model.losses else 0.0
            scaled = self.scaling.scale_loss(loss) if self.scaling else loss
        # Make it dense: of a sparse gradient Keras 3 squares the parts, twice for an id that occurs twice, before it adds
        # them up.
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(scaled, self.model.trainable_variables)]
        scale = float(self.scaling.dynamic_scale) if self.scaling else 1
        (self.scaling or self.optimizer).apply_gradients(zip(gradients, self.model.trainable_variables))
        self.steps += 1
        if not all(np.isfinite(g).all() for g in gradients): # the step was skipped
            gradients = [np.zeros_like(g) for g in gradients]
        gradients = {self.names[id(v)]: np.array(g, np.float32) / scale
                     for v, g in zip(self.model.trainable_variables, gradients)}
        return float(loss), self.row.optimizer.seen(gradients)


# ---- Both ------------------------------------------------------------------------------------------------------------

def config_of(row):
    kinds = {**{n: (d, s) for n, (d, s, _) in row.features.items()}, "label": (row.loss.label_dtype, row.loss.label_shape)}
    if row.loss.weighted:
        kinds["weight"] = ("float32", [])
    schema = ", ".join(f'{{ name = "{n}"; dtype = "{d}"; values_max = {s[0]}; }}' if isinstance(s, Ragged) else
                       f'{{ name = "{n}"; dtype = "{d}"; shape = [ {", ".join(map(str, s))} ]; }}'
                       for n, (d, s) in kinds.items())
    last = ", " + row.loss.last if row.loss.last else ""
    return CONFIG.format(rows=ROWS, more=f'{row.loss.conf} precision = "{row.precision}";', optimizer=row.optimizer.conf, schema=schema, input=next(iter(row.features)),
                         loss=row.loss.name, layers=row.layers + last)


def kiln(row, work, tensors):
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(config_of(row))
    safetensors.numpy.save_file({n: np.ascontiguousarray(t) for n, t in tensors.items()}, f"{work}/in.safetensors")
    done = subprocess.run([f"{BUILD}/system/train_steps", f"{work}/kiln.conf", f"{work}/in.safetensors",
                           f"{work}/out.safetensors"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return safetensors.numpy.load_file(f"{work}/out.safetensors")


class Comparison:
    def __init__(self, row):
        self.row, self.worst, self.wrong = row, {}, []

    def look(self, kind, limit, what, found, wanted):
        limit = self.row.limits.get(kind, limit)
        found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
        if found.size != wanted.size:
            self.wrong.append(f"{what}: {found.shape}, not {wanted.shape}")
            return
        difference = np.max(np.abs(found.reshape(-1) - wanted.reshape(-1)), initial=0)
        ratio = difference / max(np.max(np.abs(wanted), initial=0), 1e-6)
        self.worst[kind] = max(self.worst.get(kind, 0), ratio)
        if not ratio <= limit:
            self.wrong.append(f"{what}: differs by {ratio:.2e}, allowed: {limit:.0e}")


def compare_steps(row, work, rng, comparison):
    peer, batches = Peer(row), make_batches(row, rng, STEPS)
    tensors, wanted = columns_of(row, batches), []
    for i in range(STEPS):
        tensors.update({f"at/{i}/{n}": t for n, t in peer.state().items()})
        prediction = peer.predict(inputs_of(batches, i))
        loss, gradients = peer.step(batches, i)
        wanted.append((prediction, loss, gradients, peer.state()))
    found = kiln(row, work, tensors)
    if row.adapts:
        compare_adapted(row, batches, found, comparison)
    for i, (prediction, loss, gradients, state) in enumerate(wanted):
        comparison.look("output", 1e-5, f"prediction {i}", found[f"output/{i}"], prediction)
        comparison.look("loss", 1e-5, f"loss {i}", found["loss"][i], loss)
        for name, gradient in gradients.items():
            if name.endswith(row.still):
                comparison.look("still", 1, f"gradient {i} of {name}, in millionths", found[f"gradient/{i}/{name}"] * 1e6 + 1,
                                np.ones_like(gradient))
                continue
            comparison.look("gradient", 1e-4, f"gradient {i} of {name}", found[f"gradient/{i}/{name}"], gradient)
        for name, tensor in state.items():
            if name.endswith(row.still):
                continue
            comparison.look("step", 1e-5, f"step {i}: {name}", found[f"after/{i}/{name}"], tensor)


def compare_adapted(row, batches, found, comparison):
    """Compares a layer's statistics over all batches with those of Keras's adapt()."""
    batch, layer = next(iter(batches.values())), K.Normalization()
    layer.adapt(batch.reshape(-1, batch.shape[-1]))
    for name in ("mean", "variance"):
        comparison.look("adapted", 1e-5, f"adapted {name}", found[f"adapted/{row.adapts}/{name}"], getattr(layer, f"adapt_{name}"))


def numbers_in(weights):
    return int(sum(np.prod(weight.shape) for weight in weights if weight.dtype.startswith("float")))


def compare_summaries(row, work, comparison):
    """Compares kiln model summary with Keras's own, layer by layer where the names are equal."""
    model = Peer(row).model
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(config_of(row))
    done = subprocess.run([f"{BIN}/kiln", "model", "summary", f"{work}/kiln.conf", "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    summary = json.loads(done.stdout)
    layers = {layer["name"]: layer for layer in summary["layers"]}
    found = [(layer.name, layers[layer.name]["output_shape"], layers[layer.name]["params"],
              layers[layer.name]["trainable_params"]) for layer in model.layers if layer.name in layers]
    wanted = [(layer.name, list(layer.output.shape), numbers_in(layer.weights), numbers_in(layer.trainable_weights))
              for layer in model.layers if layer.name in layers]
    found.append([summary[f"{kind}_params"] for kind in ("total", "trainable", "non_trainable")])
    wanted.append([numbers_in(weights) for weights in (model.weights, model.trainable_weights, model.non_trainable_weights)])
    if found != wanted:
        comparison.wrong.append(f"summary: {found}, not {wanted}")


def compare_free(row, work, rng, comparison):
    peer, batches = Peer(row), make_batches(row, rng, FREE_STEPS)
    tensors = {**columns_of(row, batches), **{f"at/0/{n}": t for n, t in peer.state().items()}}
    for i in range(FREE_STEPS):
        peer.step(batches, i)
    found = kiln(row, work, tensors)
    for name, weight in weights_of(peer.model).items():
        if name.endswith(row.still):
            continue
        comparison.look("free", 1e-3, f"{FREE_STEPS} steps: {name}", found[f"after/{FREE_STEPS - 1}/{name}"],
                        weight.numpy())


def main():
    work = tempfile.mkdtemp(prefix="kiln-parity-")
    os.environ["KILN_ROOT"] = work
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(ROOT, "build/kernels"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    rows = [row for row in ROWS_OF_ALL if not sys.argv[1:] or any(word in row.name for word in sys.argv[1:])]
    failed = False
    for number, row in enumerate(rows, 1):
        rng, comparison = np.random.default_rng(zlib.crc32(row.name.encode())), Comparison(row)
        try:
            compare_summaries(row, work, comparison)
            compare_steps(row, work, rng, comparison)
            compare_free(row, work, rng, comparison)
        except RuntimeError as error:
            comparison.wrong.append(str(error))
        worst = ", ".join(f"{kind} {ratio:.1e}" for kind, ratio in comparison.worst.items())
        print(f"{'not ok' if comparison.wrong else 'ok'} {number} - as TensorFlow: {row.name} # {worst}", flush=True)
        for line in comparison.wrong[:8]:
            print("# " + line.strip().replace("\n", "\n# "))
        failed |= bool(comparison.wrong)
    print(f"1..{len(rows)}")
    shutil.rmtree(work)
    return failed


if __name__ == "__main__":
    sys.exit(main())
