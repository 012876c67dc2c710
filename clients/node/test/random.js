'use strict';

const assert = require('node:assert/strict');
const { isDeepStrictEqual } = require('node:util');
const { Roaring64Set } = require('..');

/* Random ids that are the same in each run: the generator is mulberry32. */
class Random {
  constructor(seed) {
    this.state = seed;
  }

  /* from 0 up to n, which is 2^32 at most */
  below(n) {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n);
  }

  id() {
    return BigInt.asIntN(64, (BigInt(this.below(2 ** 32)) << 32n) | BigInt(this.below(2 ** 32)));
  }

  /* Distinct ids of both signs, ascending: none, ends, scattered, dense, and runs, which may wrap around. */
  ids() {
    const ids = new Set(ENDS.filter(() => this.below(4) === 0));
    for (let part = this.below(4); part > 0; part--) {
      const base = this.below(2) ? this.id() : BigInt(this.below(200000) - 100000);
      const add = [() => this.id(), () => base + BigInt(this.below(65536)), (i) => base + BigInt(i)][
        this.below(3)
      ];
      for (let i = this.below(9000); i > 0; i--) ids.add(BigInt.asIntN(64, add(i)));
    }
    return [...BigInt64Array.from(ids).sort()];
  }

  /* A few of them. */
  few() {
    const base = this.id();
    const ids = ENDS.filter(() => this.below(4) === 0);
    for (let i = this.below(30); i > 0; i--)
      ids.push(this.below(2) ? this.id() : BigInt.asIntN(64, base + BigInt(i)));
    return [...BigInt64Array.from(new Set(ids)).sort()];
  }

  shuffled(ids) {
    const result = [...ids];
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [result[i], result[j]] = [result[j], result[i]];
    }
    return result;
  }
}

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const ENDS = [MIN, MIN + 1n, -(2n ** 32n) - 1n, -(2n ** 32n), -65537n, -65536n, -2n, -1n].concat([
  0n,
  1n,
  65535n,
  65536n,
  2n ** 32n - 1n,
  2n ** 32n,
  MAX - 1n,
  MAX,
]);

/* A set of as many ids, of which one is another. */
function another(ids) {
  const known = new Set(ids);
  let id = ids[0];
  while (known.has(id)) id = BigInt.asIntN(64, id + 1n);
  return Roaring64Set.from([...ids.slice(1), id]);
}

/* Fails without a list of ids, which may be long. */
function sameIds(actual, expected) {
  assert.ok(isDeepStrictEqual([...actual], expected), `other ids than the ${expected.length} came`);
}

module.exports = { ENDS, MAX, MIN, Random, another, sameIds };
