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
    assert.deepEqual([row.set, row.same], [set, set]);
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

test('postgres.js takes iterables of ids, and what cannot be one the server refuses', async () => {
  const { query } = drivers.postgres;
  for (const ids of [[5, -1], ['5', '-1'], new Set([-1, 5]), BigInt64Array.of(5n, -1n), '{5,-1}']) {
    const [{ same }] = await query(`SELECT '{-1,5}' = $1::roaring64 AS same`, [ids]);
    assert.equal(same, true);
  }
  const broken = {
    [Symbol.iterator]() {
      throw new Error('broken');
    },
  };
  for (const wrong of [
    {},
    { a: 1 },
    new Map(),
    new Set([2n ** 63n]),
    [1.5],
    [2 ** 53],
    ['a'],
    ['\0'],
    broken,
  ]) {
    await assert.rejects(query('SELECT $1::roaring64', [wrong]), { code: '22P02' });
    await assert.rejects(query('SELECT $1::roaring64[]', [[wrong]]), { code: '22P02' });
  }
  await assert.rejects(query('SELECT $1::roaring64', [[2 ** 53]]), /9007199254740992 is not an id/);
  /* the driver takes an array for what its first element is, a bigint, and asks nobody */
  await assert.rejects(query('SELECT $1::roaring64', [[1n, 2n]]), { code: '42846' });
  await assert.rejects(query(`SELECT '{7}'::roaring64 | $1`, [[1n, 2n]]), { code: '22P02' });
  await assert.rejects(query('SELECT $1::bigint[]', [[1n, 2n]]), { code: '42846' });
  const [{ set }] = await query(`SELECT '{7}'::roaring64 | $1 AS set`, [Roaring64Set.from([1n, 2n])]);
  assert.deepEqual(set, Roaring64Set.from([1, 2, 7]));
});

/* Y3: a serializer that throws left its query in the queue of the connection, and others got its answer. */
each(
  'one refused set of four rejects its own query, and the others have their own rows',
  async (query, driver) => {
    if (driver === 'pg') return;
    for (const max of [1, 2, 10]) {
      const sql = postgres({ max });
      await register(sql);
      await sql`CREATE TABLE IF NOT EXISTS paid (who text, ids roaring64)`;
      const pay = async (who, ids) =>
        (await sql`INSERT INTO paid VALUES (${who}, ${ids}) RETURNING who, ids`)[0];
      await pay('warm up', [1]);
      let right = 0;
      for (let round = 0; round < 100; round++) {
        const results = await Promise.allSettled([
          pay('ann', [5]),
          pay('bob', [2 ** 53]),
          pay('cid', [6]),
          pay('dan', [7]),
        ]);
        const expected = [['ann', 5n], undefined, ['cid', 6n], ['dan', 7n]];
        results.forEach(({ value, reason }, i) => {
          if (expected[i]) right += value?.who === expected[i][0] && value.ids.has(expected[i][1]);
          else right += reason?.code === '22P02';
        });
      }
      const [{ count }] = await sql`SELECT count(*)::int FROM paid WHERE who = 'bob'`;
      await sql`DROP TABLE paid`;
      await sql.end();
      assert.deepEqual([right, count], [400, 0], `of ${max} connections`);
    }
  },
);

test('node-postgres: one refused set of four rejects its own query', async () => {
  const pool = new pg.Pool({ max: 2 });
  await register(pool);
  for (let round = 0; round < 100; round++) {
    const results = await Promise.allSettled(
      [Roaring64Set.from([5]), Object.create(Roaring64Set.prototype), 'no set', Roaring64Set.from([7])].map(
        (set) => pool.query('SELECT $1::roaring64 AS set', [set]),
      ),
    );
    assert.deepEqual(
      results.map(({ value, reason }) => reason?.code ?? value.rows[0].set),
      [Roaring64Set.from([5]), '22P02', '22P02', Roaring64Set.from([7])],
    );
  }
  await pool.end();
});

test('a statement that was prepared before register() gives sets', async () => {
  const sql = postgres({ max: 1, transform: { value: { from: (value) => value ?? 'nothing' } } });
  const read = async () =>
    (await sql`SELECT '{5}'::roaring64 AS set, '{"{5}",NULL}'::roaring64[] AS sets, NULL AS no`)[0];
  assert.deepEqual(await read(), { set: '{5}', sets: ['{5}', 'NULL'], no: 'nothing' });
  await register(sql);
  const five = Roaring64Set.from([5]);
  assert.deepEqual(await read(), { set: five, sets: [five, null], no: 'nothing' });
  await sql.end();
  const client = await connect();
  const statement = { name: 'five', text: `SELECT '{5}'::roaring64 AS set` };
  assert.equal((await client.query(statement)).rows[0].set, '{5}');
  await register(client);
  assert.deepEqual((await client.query(statement)).rows[0].set, five);
  await client.end();
});

/* What node-postgres sends for objects that are not sets is not ours; this is what README says of it. */
test('node-postgres sends an array of ids as a set, and objects as JSON', async () => {
  const client = await connect();
  await register(client);
  const sent = async (value) => (await client.query('SELECT $1::roaring64 AS set', [value])).rows[0].set;
  for (const ids of [[5n, -1n], [5, -1], ['5', '-1'], [...Roaring64Set.from([5, -1])]]) {
    assert.deepEqual(await sent(ids), Roaring64Set.from([5, -1]));
  }
  assert.deepEqual(await sent([...Roaring64Set.from([0])]), Roaring64Set.from([0]));
  for (const object of [{}, new Set([5]), new Map([[5, 5]])])
    assert.deepEqual(await sent(object), new Roaring64Set());
  for (const wrong of [{ a: 1 }, [1.5], structuredClone(Roaring64Set.from([5]))]) {
    await assert.rejects(sent(wrong), { code: '22P02' });
  }
  await client.end();
});

test('an id next to an operator needs a cast', async () => {
  const client = await connect();
  for (const id of [5, 5n]) {
    await assert.rejects(client.query(`SELECT '{5}'::roaring64 @> $1`, [id]), { code: '22P02' });
    assert.ok((await client.query(`SELECT '{5}'::roaring64 @> $1::bigint AS found`, [id])).rows[0].found);
  }
  await client.end();
});

test('postgres.js takes sets without being registered', async () => {
  const sql = postgres({ max: 1 });
  const set = Roaring64Set.from(Array(3000).keys());
  const [row] = await sql`SELECT ${set}::roaring64 = ${[...Array(3000).keys()]}::int[]::roaring64 AS same`;
  assert.equal(row.same, true);
  await sql.end();
});

test('a pool is registered, those of its clients that there are too', async () => {
  const pool = new pg.Pool({ max: 3 });
  const read = async () => {
    const all = await Promise.all(
      Array.from({ length: 9 }, () => pool.query(`SELECT '{5}'::roaring64 AS set`)),
    );
    return all.map(({ rows }) => rows[0].set);
  };
  assert.deepEqual(await read(), Array(9).fill('{5}'));
  await register(pool);
  assert.deepEqual(await read(), Array(9).fill(Roaring64Set.from([5])));
  const client = await pool.connect();
  assert.deepEqual(
    (await client.query(`SELECT '{6}'::roaring64 AS set`)).rows[0].set,
    Roaring64Set.from([6]),
  );
  client.release();
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

test('without the extension, with an older one, or of something else, register() says so', async () => {
  const client = await connect({ database: 'postgres' });
  await assert.rejects(register(client), /CREATE EXTENSION/);
  await client.end();
  const sql = postgres({ database: 'postgres', max: 1 });
  await assert.rejects(register(sql), /CREATE EXTENSION/);
  await sql.begin((tx) => assert.rejects(register(tx), TypeError));
  await sql.end();
  for (const wrong of [null, undefined, {}, 'pool', { client: { pool: {} } }]) {
    await assert.rejects(register(wrong), TypeError);
  }
  const old = await connect();
  await old.query(`BEGIN; UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'roaring64'`);
  await assert.rejects(
    register(old),
    /^Error: roaring64 0.9 is too old, 1.0 is needed: ALTER EXTENSION roaring64 UPDATE$/,
  );
  await old.query(`UPDATE pg_extension SET extversion = '1.10' WHERE extname = 'roaring64'`);
  await register(old);
  await old.query('ROLLBACK');
  await old.end();
});
