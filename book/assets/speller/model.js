// The forward pass of the trained speller, written by hand: letters go in, log-probabilities of phonemes come out.
// It is transformer_ref.model.Transformer with pre-norm, for one word at a time, in the package's names.
// Vectors are Float32Arrays, a sequence is a list of vectors, and attention is written out, weight by weight.
// What a figure wants to see on the way it gets through a function, `note(part, layer, place, found)`.
// load.js adds this file and weights.js to the page when the reader asks for a word.

window.speller.Model = (() => {
  const [BOS, EOS] = [1, 2];
  const EPSILON = 1e-5; // of torch's LayerNorm

  // ---- vectors ----------------------------------------------------------------------------------

  // A row of a matrix times a vector. Four sums side by side let the processor work on four products at once.
  function dot(matrix, start, vector) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < vector.length; i += 4) {
      a += matrix[start + i] * vector[i];
      b += matrix[start + i + 1] * vector[i + 1];
      c += matrix[start + i + 2] * vector[i + 2];
      d += matrix[start + i + 3] * vector[i + 3];
    }
    return a + b + c + d;
  }

  const add = (x, y) => x.map((value, i) => value + y[i]);
  const relu = (x) => x.map((value) => Math.max(0, value));

  function layerNorm(x, { weight, bias }) {
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const scale = 1 / Math.sqrt(variance + EPSILON);
    return x.map((value, i) => (value - mean) * scale * weight[i] + bias[i]);
  }

  function linear(x, { weight, bias }) {
    const out = new Float32Array(weight.length / x.length);
    for (let row = 0; row < out.length; row += 1) out[row] = dot(weight, row * x.length, x) + (bias ? bias[row] : 0);
    return out;
  }

  // A score of -Infinity is a key that may not be seen. Where none may be seen, all weights are zero.
  function softmax(scores) {
    const highest = Math.max(...scores);
    if (highest === -Infinity) return scores.map(() => 0);
    const powers = scores.map((score) => Math.exp(score - highest));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => power / sum);
  }

  function logSoftmax(logits) {
    const highest = Math.max(...logits);
    const sum = logits.reduce((total, logit) => total + Math.exp(logit - highest), 0);
    return Array.from(logits, (logit) => logit - highest - Math.log(sum));
  }

  const argmax = (numbers) => numbers.indexOf(Math.max(...numbers));

  // ---- the weights ------------------------------------------------------------------------------

  // A float16 has 1 bit for the sign, 5 for the exponent and 10 for the fraction.
  function fromFloat16(bits) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }

  // From {"encoder.norm.weight": shape} to {encoder: {norm: {weight: numbers}}}.
  function unpack({ shapes, float16 }) {
    const text = atob(float16);
    const root = {};
    let at = 0;
    for (const [name, shape] of Object.entries(shapes)) {
      const numbers = new Float32Array(shape.reduce((product, size) => product * size, 1));
      for (let i = 0; i < numbers.length; i += 1, at += 2) {
        numbers[i] = fromFloat16(text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8));
      }
      const path = name.split(".");
      const last = path.pop();
      path.reduce((part, key) => (part[key] ??= {}), root)[last] = numbers;
    }
    return root;
  }

  // ---- the model --------------------------------------------------------------------------------

  class Model {
    constructor(file) {
      this.weights = unpack(file);
      this.letters = file.letters;
      this.phonemes = file.phonemes;
      this.maxLength = file.maxLength;
      this.heads = file.heads;
      this.encoderLayers = Array.from({ length: file.encoderLayers }, (_, i) => this.weights.encoder.layers[i]);
      this.decoderLayers = Array.from({ length: file.decoderLayers }, (_, i) => this.weights.decoder.layers[i]);
    }

    // A row of the table times sqrt(D), plus the sines and cosines of its position.
    embed({ embedding: { weight } }, id, position, note, side) {
      const size = this.weights.encoder.norm.weight.length;
      const row = weight.subarray(id * size, (id + 1) * size);
      const looked = row.map((value) => value * Math.sqrt(size));
      const waves = row.map((_, i) => {
        const angle = position / 10000 ** ((i - (i % 2)) / size);
        return i % 2 ? Math.cos(angle) : Math.sin(angle);
      });
      const output = add(looked, waves);
      note?.(`${side}-embedding`, 0, position, { id, row, output: looked });
      note?.(`${side}-positions`, 0, position, { before: looked, waves, output });
      return output;
    }

    // One query looks at a list of keys and values. Returns the output, and what leads to it: the query and the heads'
    // outputs one behind the other, and each head's scores and weights.
    // `hidden` are places that may not be seen, `off` says of each head whether its output counts as zero.
    attend(x, { q_proj, out_proj }, { keys, values }, hidden = null, off = []) {
      const query = linear(x, q_proj);
      const size = query.length / this.heads;
      const joined = new Float32Array(query.length);
      const [allScores, weights] = [[], []];
      for (let head = 0; head < this.heads; head += 1) {
        const [from, to] = [head * size, (head + 1) * size];
        const part = query.subarray(from, to);
        const scores = keys.map((key, place) => (hidden?.has(place) ? -Infinity : dot(key, from, part) / Math.sqrt(size)));
        allScores.push(scores);
        weights.push(softmax(scores));
        if (off[head]) continue;
        values.forEach((value, place) => {
          for (let i = from; i < to; i += 1) joined[i] += weights[head][place] * value[i];
        });
      }
      return { query, scores: allScores, weights, joined, output: linear(joined, out_proj) };
    }

    project(states, { k_proj, v_proj }) {
      return { keys: states.map((x) => linear(x, k_proj)), values: states.map((x) => linear(x, v_proj)) };
    }

    feedForward(x, { linear1, linear2 }) {
      const hidden = relu(linear(x, linear1));
      return { hidden, output: linear(hidden, linear2) };
    }

    // A sublayer with pre-norm: `run` gets the normed vector, and its output is added to what came in.
    sublayer(before, norm, run, note) {
      const x = layerNorm(before, norm);
      const found = run(x);
      const after = add(before, found.output);
      note?.({ before, x, ...found, after });
      return after;
    }

    // Letters to the memory: one vector for each letter. Then each decoder layer's keys and values of it, once.
    encode(word, note) {
      const noted = (part, layer, place) => note && ((found) => note(part, layer, place, found));
      let states = [...word].map((letter, place) => {
        return this.embed(this.weights.src_embedding, this.letters.indexOf(letter), place, note, "source");
      });
      this.encoderLayers.forEach((layer, depth) => {
        const memory = this.project(states.map((x) => layerNorm(x, layer.norm1)), layer.self_attention);
        const attend = (x) => ({ ...this.attend(x, layer.self_attention, memory), ...memory });
        states = states.map((x, place) => this.sublayer(x, layer.norm1, attend, noted("encoder-attention", depth, place)));
        const work = (x) => this.feedForward(x, layer.feed_forward);
        states = states.map((x, place) => this.sublayer(x, layer.norm2, work, noted("encoder-feed-forward", depth, place)));
      });
      states = states.map((before, place) => {
        const output = layerNorm(before, this.weights.encoder.norm);
        note?.("memory", 0, place, { before, output });
        return output;
      });
      return this.decoderLayers.map((layer) => this.project(states, layer.cross_attention));
    }

    // What stands before the first token: nothing, in each layer.
    start() {
      return this.decoderLayers.map(() => ({ keys: [], values: [] }));
    }

    // Reads one more token. The cache is not changed but extended in a copy, so that a beam may go on from it twice.
    // Returns the new cache, the cross-attention weights of each layer and head, and the logits after each layer.
    step(memory, cache, id, { hidden = null, off = [], note } = {}) {
      const place = cache[0].keys.length;
      const noted = (part, depth) => note && ((found) => note(part, depth, place, found));
      let x = this.embed(this.weights.tgt_embedding, id, place, note, "target");
      const [longer, cross, lens] = [[], [], []];
      this.decoderLayers.forEach((layer, depth) => {
        x = this.sublayer(x, layer.norm1, (normed) => {
          const { keys, values } = this.project([normed], layer.self_attention);
          longer.push({ keys: [...cache[depth].keys, ...keys], values: [...cache[depth].values, ...values] });
          return { ...this.attend(normed, layer.self_attention, longer[depth]), ...longer[depth] };
        }, noted("masked-attention", depth));
        x = this.sublayer(x, layer.norm2, (normed) => {
          const looked = this.attend(normed, layer.cross_attention, memory[depth], hidden, off[depth]);
          cross.push(looked.weights);
          return { ...looked, ...memory[depth] };
        }, noted("cross-attention", depth));
        x = this.sublayer(x, layer.norm3, (normed) => this.feedForward(normed, layer.feed_forward), noted("decoder-feed-forward", depth));
        lens.push(this.toLogits(x));
      });
      note?.("output", 0, place, { before: x, x: layerNorm(x, this.weights.decoder.norm), logits: lens.at(-1) });
      return { cache: longer, cross, lens };
    }

    // The last layer's state gives the model's own logits; an earlier layer's what it would say if it stopped there.
    toLogits(x) {
      return Array.from(linear(layerNorm(x, this.weights.decoder.norm), this.weights.output_proj));
    }

    // ---- decoding -------------------------------------------------------------------------------

    // The likeliest token at each step, or the one that `forced` has for it (a Map from step to id).
    greedy(word, { forced = new Map(), maxLength = this.maxLength, ...options } = {}) {
      const memory = this.encode(word, options.note);
      const steps = [];
      let [id, cache] = [BOS, this.start()];
      while (id !== EOS && steps.length < maxLength - 1) {
        const read = this.step(memory, cache, id, options);
        id = forced.get(steps.length) ?? argmax(read.lens.at(-1));
        cache = read.cache;
        steps.push({ id, cross: read.cross, lens: read.lens });
      }
      return steps;
    }

    // The `size` likeliest beginnings at each step; one that ends leaves the beam. Over when nothing that goes on
    // could still be among the `size` best. Returns those, best first, and what was kept at each step.
    beamSearch(word, size, { maxLength = this.maxLength, ...options } = {}) {
      const memory = this.encode(word);
      let live = [{ ids: [BOS], sum: 0, cache: this.start() }];
      let done = [];
      const columns = [];
      for (let length = 2; length <= maxLength && live.length > 0; length += 1) {
        const kept = live
          .flatMap((beginning) => this.extend(memory, beginning, options))
          .sort((one, other) => other.sum - one.sum)
          .slice(0, size);
        columns.push(kept);
        const ends = ({ ids }) => ids.at(-1) === EOS || length === maxLength;
        done = [...done, ...kept.filter(ends)].sort((one, other) => other.sum - one.sum).slice(0, size);
        live = kept.filter((one) => !ends(one));
        if (done.length === size && live.length > 0 && live[0].sum <= done.at(-1).sum) break;
      }
      return { best: done, columns };
    }

    extend(memory, { ids, sum, cache }, options) {
      const read = this.step(memory, cache, ids.at(-1), options);
      return logSoftmax(read.lens.at(-1)).map((logProbability, id) => {
        return { ids: [...ids, id], sum: sum + logProbability, cache: read.cache };
      });
    }
  }

  return Model;
})();
