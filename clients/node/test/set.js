'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { inspect } = require('node:util');
const { Roaring64Set } = require('..');
const { ENDS, MAX, MIN, Random, sameIds } = require('./random.js');

test('the ids of a set are signed and ascend', () => {
  const set = Roaring64Set.from([5, -1n, MAX, MIN, 5n]);
  assert.deepEqual([...set], [MIN, -1n, 5n, MAX]);
  assert.equal(set.size, 4);
  for (const empty of [Roaring64Set.from([]), Roaring64Set.fromText('{}')]) assert.deepEqual([...empty], []);
});

test('a set of random ids has these and no others, by every way to ask', () => {
  const random = new Random(1);
  for (let round = 0; round < 150; round++) {
    const ids = random.ids();
    const list = random.shuffled(ids).concat(ids.slice(0, 3));
    const form = [list, new Set(list), BigInt64Array.from(list), list.map(asNumber)][round % 4];
    const set = Roaring64Set.from(form);
    assert.equal(set.size, ids.length);
    sameIds(set, ids);
    const members = new Set(ids);
    for (const id of [...ENDS, ...random.shuffled(ids).slice(0, 50), random.id()]) {
      for (const near of [id, BigInt.asIntN(64, id + 1n)]) assert.equal(set.has(near), members.has(near));
    }
    for (const copy of [new Roaring64Set(set.bytes), Roaring64Set.fromText(`${set}`)]) {
      sameIds(copy, ids);
    }
  }
});

/* A number where that is exact. */
function asNumber(id) {
  return Number.isSafeInteger(Number(id)) ? Number(id) : id;
}

test('the bytes are of the portable format', () => {
  const head = '0200000000000000' + '00000000' + '3a3000000100000000000000100000000500';
  const bytes = Buffer.from(head + 'ffffffff' + '3a30000001000000ffff000010000000ffff', 'hex');
  assert.deepEqual(Roaring64Set.from([-1, 5]).bytes, new Uint8Array(bytes));
  assert.deepEqual(Roaring64Set.from([]).bytes, new Uint8Array(8));
  /* runs of 5 to 7 and of 65535, in one container of three that have no offsets */
  const runs =
    '0100000000000000' + '01000000' + '3b300000' + '01' + '01000300' + '0200' + '05000200' + 'ffff0000';
  assert.deepEqual(
    [...new Roaring64Set(Buffer.from(runs, 'hex'))],
    [5n, 6n, 7n, 65535n].map((id) => 2n ** 32n + 65536n + id),
  );
});

test('bytes that were given or got do not change a set', () => {
  const bytes = Buffer.from(Roaring64Set.from([-1, 5]).bytes);
  const set = new Roaring64Set(bytes);
  bytes.fill(255);
  assert.deepEqual([...set], [-1n, 5n]);
  const ids = BigInt64Array.of(5n, -1n);
  assert.deepEqual([...Roaring64Set.from(ids)], [-1n, 5n]);
  assert.deepEqual(ids, BigInt64Array.of(5n, -1n));
});

test('what is no set of ids is refused', () => {
  for (const wrong of [
    1.5,
    NaN,
    Infinity,
    2 ** 53,
    -(2 ** 53),
    '5a',
    '',
    ' 5',
    '0x5',
    true,
    null,
    undefined,
    {},
    [5],
    Symbol.iterator,
  ]) {
    assert.throws(() => Roaring64Set.from([1, wrong]), TypeError, inspect(wrong));
    assert.throws(() => Roaring64Set.from([1]).has(wrong), TypeError, inspect(wrong));
  }
  for (const wrong of [MAX + 1n, MIN - 1n]) assert.throws(() => Roaring64Set.from([wrong]), RangeError);
  for (const wrong of [
    5,
    '{5}',
    5n,
    null,
    undefined,
    {},
    new Map(),
    new Map([[1, 2]]),
    [[1]],
    new Date(),
    Buffer.from([1]),
    { bytes: [0] },
  ]) {
    assert.throws(() => Roaring64Set.from(wrong), TypeError, inspect(wrong));
  }
  for (const wrong of ['00', [0, 0, 0, 0, 0, 0, 0, 0], null]) {
    assert.throws(() => new Roaring64Set(wrong), TypeError, inspect(wrong));
  }
  const texts = [
    '',
    '{',
    '}',
    '{1,}',
    '{,1}',
    '{ 1}',
    '{a}',
    '{1.5}',
    '{0x1}',
    '{NULL}',
    '[1]',
    '1',
    `{${MAX + 1n}}`,
  ];
  for (const text of texts.concat(
    '\\x',
    '\\x0',
    `\\x${'0'.repeat(15)}`,
    `\\x${'0'.repeat(14)}`,
    `\\x${'z'.repeat(16)}`,
  )) {
    assert.throws(() => Roaring64Set.fromText(text), /id|roaring64/, text);
  }
});

/* The bytes of clients/vectors.json: hexadecimal digits in words, of which ff*8192 is a byte repeated. */
function vectors() {
  const file = process.env.ROARING64_VECTORS ?? path.resolve(__dirname, '../../vectors.json');
  return JSON.parse(readFileSync(file)).map((vector) => ({
    ...vector,
    bytes: Buffer.concat(
      vector.bytes.split(' ').map((word) => {
        const [hex, times = 1] = word.split('*');
        return Buffer.concat(Array(Number(times)).fill(Buffer.from(hex, 'hex')));
      }),
    ),
  }));
}

test('the same bytes are accepted as by the server', (t) => {
  const all = vectors();
  let accepting = 0;
  for (const { name, bytes, accepted, count, min, max } of all) {
    if (accepted) {
      const set = new Roaring64Set(bytes);
      accepting++;
      assert.equal(set.size, count, name);
      if (count > 1e6) continue;
      const ids = [...set];
      assert.deepEqual([ids[0] ?? null, ids.at(-1) ?? null].map(String), [min, max].map(String), name);
      assert.deepEqual(set, Roaring64Set.from(ids), name);
    } else assert.throws(() => new Roaring64Set(bytes), RangeError, name);
  }
  assert.ok(accepting > 20 && all.length - accepting > 20);
  t.diagnostic(`${all.length} vectors, ${accepting} accepted`);
});

test('damaged bytes are a set or refused', () => {
  const random = new Random(3);
  for (let round = 0; round < 200; round++) {
    const bytes = Buffer.from(Roaring64Set.from(random.ids()).bytes);
    bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    let set;
    try {
      set = new Roaring64Set(bytes);
    } catch (error) {
      assert.ok(error instanceof RangeError);
      continue;
    }
    if (set.size < 1e6) assert.deepEqual(Roaring64Set.from([...set]), set);
  }
});

test('a set is shown, and is JSON', () => {
  const set = Roaring64Set.from([MAX, -1]);
  assert.equal(JSON.stringify({ set }), `{"set":["-1","${MAX}"]}`);
  assert.equal(inspect(set), `Roaring64Set(2) {-1,${MAX}}`);
  assert.equal(inspect(Roaring64Set.from(Array(30).keys())), 'Roaring64Set(30) {...}');
  assert.deepEqual(Roaring64Set.from(JSON.parse(JSON.stringify(set))), set);
});
