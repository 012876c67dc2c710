'use strict';

/*
 * A set is a plain value: two of the same ids are equal to whatever compares
 * objects, two of other ids are not, and what is copied, cloned or put into JSON
 * has the ids.  A library that is not installed is left out: test/run-node has all.
 */

const assert = require('node:assert/strict');
const { before, test } = require('node:test');
const { isDeepStrictEqual } = require('node:util');
const { deserialize, serialize } = require('node:v8');
const { Worker } = require('node:worker_threads');
const pg = require('pg');
const postgres = require('postgres');
const { Roaring64Set, register } = require('..');
const { Random, another } = require('./random.js');
const { atEnd, ready } = require('./server.js');

function installed(name) {
  try {
    return require(name);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
  }
}

const [lodash, fast, fastEs6, jest, chai] = [
  'lodash',
  'fast-deep-equal',
  'fast-deep-equal/es6',
  '@jest/expect-utils',
  'deep-eql',
].map(installed);
const comparisons = {
  'node:util': isDeepStrictEqual,
  lodash: lodash?.isEqual,
  'fast-deep-equal': fast,
  'fast-deep-equal/es6': fastEs6,
  Jest:
    jest &&
    ((a, b) => jest.equals(a, b, [jest.iterableEquality, jest.typeEquality, jest.arrayBufferEquality], true)),
  chai: chai?.default ?? chai,
};
const revive = (_, value) =>
  Array.isArray(value?.set) ? { ...value, set: Roaring64Set.from(value.set) } : value;
const copies = {
  structuredClone: (row) => ({ ...row, set: Roaring64Set.from(structuredClone(row).set) }),
  'node:v8': (row) => ({ ...row, set: Roaring64Set.from(deserialize(serialize(row)).set) }),
  JSON: (row) => JSON.parse(JSON.stringify(row), revive),
  text: (row) => ({ ...row, set: Roaring64Set.fromText(`${row.set}`) }),
  lodash: lodash?.cloneDeep,
};

let client, sql;

before(async () => {
  await ready;
  client = new pg.Client();
  sql = postgres({ max: 1 });
  atEnd(() => Promise.all([client.end(), sql.end()]));
  await client.connect();
  await client.query('CREATE TYPE holder AS (n int, set roaring64)');
  await register(client);
  await register(sql);
});

test('1,000 random sets are equal after drivers, JSON, copies, arrays and composites, and others of the size differ', async (t) => {
  const random = new Random(7);
  const used = Object.entries(comparisons).filter(([, equal]) => equal);
  let equal = 0,
    different = 0;
  for (let round = 0; round < 1000; round++) {
    const ids = round % 50 ? random.few() : random.ids().slice(0, 300);
    const set = Roaring64Set.from(random.shuffled(ids));
    const text = 'SELECT $1::roaring64 AS set, ARRAY[$1, NULL] AS list, ROW(5, $1)::holder AS holder';
    const one = (await client.query(text, [set])).rows[0];
    const [two] = await sql.unsafe(text, [set]);
    const row = { id: 1, set };
    const same = [
      one.set,
      one.list[0],
      two.set,
      two.list[0],
      ...Object.values(copies).map((copy) => copy?.(row)?.set ?? set),
    ];
    for (const { holder } of [one, two]) {
      const [, n, quoted, plain] = /^\((\d+),(?:"(.*)"|(.*))\)$/.exec(holder);
      assert.equal(n, '5');
      same.push(Roaring64Set.fromText((quoted ?? plain).replaceAll('\\\\', '\\')));
    }
    const other = ids.length && another(ids);
    for (const [name, compare] of used) {
      for (const copy of same) {
        assert.ok(compare({ id: 1, set: copy }, row), `${name} tells sets of ${ids.length} apart`);
        equal++;
      }
      if (!other) continue;
      assert.ok(!compare({ id: 1, set: other }, row), `${name} takes a set of ${ids.length} for another`);
      different++;
    }
  }
  t.diagnostic(
    `1000 sets, ${equal} comparisons equal and ${different} not, by ${used.map(([name]) => name).join(', ')}`,
  );
});

test('a copy is a set, or what from() takes', async () => {
  const set = Roaring64Set.from([-1, 5]);
  for (const copy of [lodash?.cloneDeep(set), lodash?.clone(set), Object.assign(new Roaring64Set(), set)]) {
    if (!copy) continue;
    assert.ok(copy instanceof Roaring64Set);
    assert.ok(copy.has(-1) && copy.size === 2 && !copy.has(6));
    assert.equal(`${copy}`, '{-1,5}');
  }
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
    parentPort.once('message', (set) => parentPort.postMessage(set));`,
    { eval: true },
  );
  worker.postMessage(set);
  const back = await new Promise((resolve) => worker.once('message', resolve));
  assert.deepEqual(Roaring64Set.from(back), set);
  assert.deepEqual(Object.keys(set), ['bytes']);
});
