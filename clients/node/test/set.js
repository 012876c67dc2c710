'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { inspect } = require('node:util');
const { Roaring64Set } = require('..');
const { ENDS, MAX, MIN, Random, sameIds } = require('./random.js');

test('the ids of a set are signed and ascend', () => {
  const set = Roaring64Set.from([5, -1n, MAX, MIN, 5n]);
  assert.deepEqual([...set], [MIN, -1n, 5n, MAX]);
  assert.deepEqual(set.toArray(), BigInt64Array.of(MIN, -1n, 5n, MAX));
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
    sameIds(set.toArray(), ids);
    const members = new Set(ids);
    for (const id of [...ENDS, ...random.shuffled(ids).slice(0, 50), random.id()]) {
      for (const near of [id, BigInt.asIntN(64, id + 1n)]) assert.equal(set.has(near), members.has(near));
    }
    for (const copy of [Roaring64Set.fromBytes(set.toBytes()), Roaring64Set.fromText(`${set}`)]) {
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
  assert.deepEqual(Roaring64Set.from([-1, 5]).toBytes(), bytes);
  assert.deepEqual(Roaring64Set.from([]).toBytes(), Buffer.alloc(8));
  /* runs of 5 to 7 and of 65535, in one container of three that have no offsets */
  const runs =
    '0100000000000000' + '01000000' + '3b300000' + '01' + '01000300' + '0200' + '05000200' + 'ffff0000';
  assert.deepEqual(
    [...Roaring64Set.fromBytes(Buffer.from(runs, 'hex'))],
    [5n, 6n, 7n, 65535n].map((id) => 2n ** 32n + 65536n + id),
  );
});

test('bytes that were given or got do not change a set', () => {
  const bytes = Roaring64Set.from([-1, 5]).toBytes();
  const set = Roaring64Set.fromBytes(bytes);
  bytes.fill(255);
  set.toBytes().fill(255);
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
    '5',
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
  for (const wrong of [5, '{5}', 5n, null, undefined, {}, new Map([[1, 2]]), [[1]], new Date()]) {
    assert.throws(() => Roaring64Set.from(wrong), TypeError, inspect(wrong));
  }
  for (const wrong of ['00', [0, 0, 0, 0, 0, 0, 0, 0], null]) {
    assert.throws(() => Roaring64Set.fromBytes(wrong), TypeError, inspect(wrong));
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
    assert.throws(() => Roaring64Set.fromText(text), RangeError, text);
  }
});

test('bytes of no set are refused, and damaged ones are a set or refused', () => {
  const good = Roaring64Set.from([-1, 5]).toBytes();
  const [count, first, second] = [good.subarray(0, 8), good.subarray(8, 30), good.subarray(30)];
  const wrong = [
    [],
    [good.subarray(0, 7)],
    [good.subarray(0, -1)],
    [good, [0]],
    [count, second, first],
    [count, first, first],
    [Buffer.alloc(8, 255)],
    [Buffer.from('e803000000000000', 'hex')],
    [Buffer.from('e80300000000000000000000', 'hex')],
  ];
  for (const parts of wrong) {
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
    assert.throws(() => Roaring64Set.fromBytes(bytes), RangeError, bytes.toString('hex'));
  }
  const random = new Random(3);
  for (let round = 0; round < 500; round++) {
    const bytes = Roaring64Set.from(random.ids()).toBytes();
    bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    let set;
    try {
      set = Roaring64Set.fromBytes(bytes);
    } catch (error) {
      assert.ok(error instanceof RangeError);
      continue;
    }
    const ids = set.toArray();
    assert.deepEqual(ids, ids.slice().sort());
    assert.equal(new Set(ids).size, set.size);
  }
});

test('a set is shown, and is JSON', () => {
  const set = Roaring64Set.from([MAX, -1]);
  assert.equal(JSON.stringify({ set }), `{"set":["-1","${MAX}"]}`);
  assert.equal(inspect(set), `Roaring64Set(2) {-1,${MAX}}`);
  assert.equal(inspect(Roaring64Set.from(Array(30).keys())), 'Roaring64Set(30) {...}');
});
