'use strict';

const assert = require('node:assert/strict');
const { before, test } = require('node:test');
const pg = require('pg');
const postgres = require('postgres');
const { Roaring64Set, register } = require('..');
const { atEnd, connect, ready } = require('./server.js');
const { Random, sameIds } = require('./random.js');

/* Each has query(text, values), which resolves to rows. */
const drivers = {};

before(async () => {
  await ready;
  const client = await connect();
  await register(client);
  drivers.pg = { query: async (text, values) => (await client.query(text, values)).rows };
  atEnd(() => client.end());
  for (const prepare of [true, false]) {
    const sql = postgres({ prepare, max: 3 });
    await register(sql);
    drivers[prepare ? 'postgres' : 'postgres, unprepared'] = {
      query: (text, values = []) => sql.unsafe(text, values, { prepare }),
    };
    atEnd(() => sql.end());
  }
});

/* A test for each driver. */
function each(name, run) {
  test(name, async (t) => {
    for (const driver of Object.keys(drivers)) await t.test(driver, () => run(drivers[driver].query, driver));
  });
}

each('sets are those of the arrays that the same driver sends and reads', async (query) => {
  const random = new Random(4);
  for (let round = 0; round < 30; round++) {
    const ids = random.ids();
    const set = Roaring64Set.from(random.shuffled(ids));
    const text = ids.map(String);
    const [row] = await query(
      `SELECT $1::roaring64 AS set, $1::roaring64::bigint[]::text[] AS sent, $2::text[]::bigint[]::roaring64 AS same,
         $1::roaring64 = $2::text[]::bigint[]::roaring64 AS equal`,
      [set, text],
    );
    assert.equal(row.equal, true);
    sameIds(row.sent, text);
    sameIds(row.set, ids);
    sameIds(row.same, ids);
    assert.equal(row.set.size, ids.length);
  }
});

each('bigints go in as they are, one and many', async (query, driver) => {
  const [row] = await query('SELECT ($1::roaring64 | $2::bigint) - $3::bigint AS set', [
    Roaring64Set.from([1, 2]),
    -(2n ** 63n),
    '2',
  ]);
  assert.deepEqual([...row.set], [-(2n ** 63n), 1n]);
  if (driver.startsWith('pg')) {
    const [{ set }] = await query('SELECT $1::bigint[]::roaring64 AS set', [[-1n, 2n ** 63n - 1n]]);
    assert.deepEqual([...set], [-1n, 2n ** 63n - 1n]);
  }
});

each('all forms of the text are read', async (query) => {
  for (const form of ['auto', 'array', 'hex']) {
    for (const size of [0, 1, 20, 21, 1024, 1025]) {
      const rows = await query(
        `SELECT coalesce((SELECT roaring64_agg(i - 10) FROM generate_series(1::bigint, $2::bigint) AS i), '{}') AS set
         FROM set_config('roaring64.output_format', $1, true)`,
        [form, size],
      );
      sameIds(
        rows[0].set,
        Array.from({ length: size }, (_, i) => BigInt(i) - 9n),
      );
    }
  }
});

each('NULL is null, and the empty set is one', async (query) => {
  const [row] = await query(
    `SELECT $1::roaring64 IS NULL AS sent, NULL::roaring64 AS missing, $2::roaring64 = '{}' AS empty,
       '{}'::roaring64 AS set`,
    [null, Roaring64Set.from([])],
  );
  assert.equal(row.sent, true);
  assert.equal(row.missing, null);
  assert.equal(row.empty, true);
  assert.ok(row.set instanceof Roaring64Set);
  assert.equal(row.set.size, 0);
});

each('arrays of sets', async (query) => {
  const large = Roaring64Set.from(Array.from({ length: 3000 }, (_, i) => i * 7));
  const sets = [Roaring64Set.from([-1, 5]), null, Roaring64Set.from([]), large, Roaring64Set.from([7])];
  const [row] = await query(
    `SELECT $1::roaring64[] AS sets, NULL::roaring64[] AS missing, '{}'::roaring64[] AS empty,
       string_agg(coalesce(roaring64_cardinality(s)::text, '-'), ' ' ORDER BY n) AS sizes, ARRAY[$1::roaring64[], $1::roaring64[]] AS deep,
       '[5:6]={"{5}",NULL}'::roaring64[] AS bounds
     FROM unnest($1::roaring64[]) WITH ORDINALITY AS u (s, n)`,
    [sets],
  );
  const ids = (set) => set && [...set];
  assert.deepEqual(row.sets.map(ids), sets.map(ids));
  assert.equal(row.sizes, '2 - 0 3000 1');
  assert.equal(row.missing, null);
  assert.deepEqual(row.empty, []);
  assert.deepEqual(
    row.deep.map((list) => list.map(ids)),
    [sets.map(ids), sets.map(ids)],
  );
  assert.deepEqual(row.bounds.map(ids), [[5n], null]);
  const [{ same }] = await query('SELECT $1::roaring64[] = $2::roaring64[] AS same', [
    row.deep,
    [sets, sets],
  ]);
  assert.equal(same, true);
  const [{ count }] = await query('SELECT cardinality($1::roaring64[]) AS count', [[]]);
  assert.equal(count, 0);
});

test('postgres.js takes iterables of ids, and refuses what is none before it sends a value', async () => {
  const { query } = drivers.postgres;
  for (const ids of [[5, -1], new Set([-1, 5]), BigInt64Array.of(5n, -1n), '{5,-1}']) {
    const [{ same }] = await query(`SELECT '{-1,5}' = $1::roaring64 AS same`, [ids]);
    assert.equal(same, true);
  }
  await assert.rejects(query('SELECT $1::roaring64', [{ a: 1 }]), TypeError);
  await assert.rejects(query('SELECT $1::roaring64', [[1.5]]), TypeError);
  await assert.rejects(query('SELECT $1::roaring64', [new Set([2n ** 63n])]), RangeError);
  await assert.rejects(query('SELECT $1::roaring64[]', [[new Set([1.5])]]), TypeError);
});

test('postgres.js takes sets without being registered', async () => {
  const sql = postgres({ max: 1 });
  const set = Roaring64Set.from(Array(3000).keys());
  const [row] = await sql`SELECT ${set}::roaring64 = ${[...Array(3000).keys()]}::int[]::roaring64 AS same`;
  assert.equal(row.same, true);
  await sql.end();
});

test('a pool is registered as it connects', async () => {
  const pool = new pg.Pool({ onConnect: register, max: 3 });
  const results = await Promise.all(
    Array.from({ length: 9 }, () => pool.query(`SELECT '{5}'::roaring64 AS set`)),
  );
  for (const { rows } of results) assert.deepEqual([...rows[0].set], [5n]);
  await assert.rejects(register(pool), /onConnect/);
  await pool.end();
});

test('only the registered connection reads sets', async () => {
  const [plain, client] = [await connect(), await connect()];
  await register(client);
  assert.equal((await plain.query(`SELECT '{5}'::roaring64 AS set`)).rows[0].set, '{5}');
  await Promise.all([plain.end(), client.end()]);
});

test('what node-postgres would garble is an error', async () => {
  const client = await connect({ binary: true });
  await register(client);
  for (const type of ['roaring64', 'roaring64[]']) {
    await assert.rejects(client.query(`SELECT '{}'::${type} AS set WHERE $1::bool`, [true]), /binary/);
  }
  await client.end();
});

test('the schema need not be on the search path', async () => {
  const client = await connect();
  await client.query('SET search_path = pg_catalog');
  await register(client);
  const { rows } = await client.query(`SELECT '{-1}'::"my types".roaring64 AS set`);
  assert.deepEqual([...rows[0].set], [-1n]);
  await client.end();
});

test('without the extension, or something else, register() says so', async () => {
  const client = await connect({ database: 'postgres' });
  await assert.rejects(register(client), /CREATE EXTENSION/);
  await client.end();
  const sql = postgres({ database: 'postgres', max: 1 });
  await assert.rejects(register(sql), /CREATE EXTENSION/);
  await sql.begin((tx) => assert.rejects(register(tx), TypeError));
  await sql.end();
});
