'use strict';

const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');
const { before, test } = require('node:test');
const pg = require('pg');
const postgres = require('postgres');
const { claim, register } = require('..');
const { atEnd, connect, newName, ready } = require('./server.js');

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
let admin, pool, sql;

before(async () => {
  await ready;
  admin = await connect();
  pool = new pg.Pool({ max: 8 });
  sql = postgres({ max: 8 });
  atEnd(() => Promise.all([admin.end(), pool.end(), sql.end()]));
});

async function inTransaction(client, work) {
  try {
    await client.query('BEGIN');
    const result = await work(client, (text, values) => client.query(text, values));
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function inPg(work) {
  const client = await pool.connect();
  return inTransaction(client, work).finally(() => client.release());
}

const inPostgres = (work) => sql.begin((tx) => work(tx, (text, values) => tx.unsafe(text, values)));
const transactions = { pg: inPg, postgres: inPostgres };

async function newDedup(options = '') {
  const name = newName('d');
  await admin.query(`SELECT roaring64_dedup_create('${name}'${options})`);
  return name;
}

/* Claims an id that is new, once more, and after a rollback. */
async function claimOnce(transaction, dedup, first, second) {
  const broken = new Error('broken');
  const once = (id) => transaction((tx) => claim(tx, dedup, 'k', id));
  assert.equal(await once(first), true);
  assert.equal(await once(first), false);
  await assert.rejects(
    transaction(async (tx) => {
      assert.equal(await claim(tx, dedup, 'k', second), true);
      throw broken;
    }),
    broken,
  );
  assert.equal(await once(second), true);
  assert.equal(await once(second), false);
}

/* Whether dedup sets of the server have others than bigints. */
async function hasTypes(t) {
  const { rows } = await admin.query(
    `SELECT FROM pg_proc WHERE proname = 'roaring64_dedup_create' AND 'id_type' = ANY (proargnames)`,
  );
  if (rows.length === 0) t.skip('dedup sets of this server have only bigints');
  return rows.length > 0;
}

for (const [name, transaction] of Object.entries(transactions)) {
  test(`${name}: an integer is claimed once`, async () => {
    await claimOnce(transaction, await newDedup(), MIN, MAX);
    await claimOnce(transaction, await newDedup(), -1, 7001);
  });

  test(`${name}: a UUID is claimed once`, async (t) => {
    if (!(await hasTypes(t))) return;
    const dedup = await newDedup(`, id_type => 'uuid'`);
    const [first, second] = [randomUUID(), randomUUID()];
    await claimOnce(transaction, dedup, { uuid: first }, { uuid: second.toUpperCase() });
    assert.equal(
      await transaction((tx) => claim(tx, dedup, 'k', { uuid: second.replaceAll('-', '') })),
      false,
    );
  });

  test(`${name}: a text is claimed once`, async (t) => {
    if (!(await hasTypes(t))) return;
    await claimOnce(transaction, await newDedup(`, id_type => 'text'`), 'order 7001', `ä'\\`);
    await claimOnce(transaction, await newDedup(`, id_type => 'text'`), '7001', '');
  });

  test(`${name}: what is no id is refused, and the transaction goes on`, async () => {
    const dedup = await newDedup();
    await transaction(async (tx) => {
      for (const wrong of [
        1.5,
        NaN,
        2 ** 53,
        null,
        undefined,
        true,
        'a\0b',
        { uuid: '1' },
        {},
        [1],
        new Date(),
      ]) {
        await assert.rejects(claim(tx, dedup, 'k', wrong), TypeError, String(wrong));
      }
      for (const wrong of [MAX + 1n, MIN - 1n])
        await assert.rejects(claim(tx, dedup, 'k', wrong), RangeError);
      for (const wrong of [null, undefined, 5, 'a\0b']) {
        await assert.rejects(claim(tx, wrong, 'k', 1), TypeError);
        await assert.rejects(claim(tx, dedup, wrong, 1), TypeError);
      }
      assert.equal(await claim(tx, dedup, 'k', 1), true);
    });
  });

  test(`${name}: of eight at a time one gets an id, and work that fails is done by another`, async () => {
    const [dedup, done] = [await newDedup(), newName('done')];
    await admin.query(`CREATE TABLE ${done} (id bigint)`);
    let failures = 0;
    const consume = async (worker) => {
      for (let id = 0; id < 60; id++) {
        await transaction(async (tx, query) => {
          if (!(await claim(tx, dedup, 'k', id))) return;
          await query(`INSERT INTO ${done} VALUES ($1)`, [id]);
          if ((id + worker) % 3 === 0) throw new Error('broken');
        }).catch((error) => {
          assert.equal(error.message, 'broken');
          failures++;
        });
      }
    };
    await Promise.all(Array.from(Array(8).keys(), consume));
    const { rows } = await admin.query(
      `SELECT count(*)::int AS total, count(DISTINCT id)::int AS ids,
         (SELECT roaring64_cardinality(roaring64_dedup_export($1, 'k')))::int AS claimed FROM ${done}`,
      [dedup],
    );
    assert.deepEqual(rows[0], { total: 60, ids: 60, claimed: 60 });
    assert.ok(failures > 0);
  });
}

test('the schema need not be on the search path, and a function of the name that is there is not called', async () => {
  await admin.query(`CREATE SCHEMA decoy; CREATE FUNCTION decoy.roaring64_dedup_claim(regclass, text, bigint)
    RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
  const path = 'decoy, public';
  const client = await connect();
  await client.query(`SET search_path = ${path}`);
  const other = postgres({ max: 1, connection: { search_path: path } });
  for (const transaction of [
    (work) => inTransaction(client, work),
    (work) => other.begin(work),
    async (work) => {
      await register(client);
      return inTransaction(client, work);
    },
  ]) {
    await claimOnce(transaction, await newDedup(), 1, 2);
  }
  await Promise.all([client.end(), other.end()]);

  const without = await connect({ database: 'postgres' });
  await without.query('BEGIN');
  await assert.rejects(claim(without, 'd', 'k', 1), /CREATE EXTENSION/);
  await without.end();
});

test('a claim outside of a transaction is refused', async () => {
  const dedup = await newDedup();
  await assert.rejects(claim(pool, dedup, 'k', 1), /transaction/);
  await assert.rejects(claim(sql, dedup, 'k', 1), /transaction/);
  /* drivers from which on a client knows its state */
  if (admin.getTransactionStatus) await assert.rejects(claim(admin, dedup, 'k', 1), /transaction/);
  assert.equal(await inPg((tx) => claim(tx, dedup, 'k', 1)), true);
});

test('a session that is killed within the work loses nothing', async () => {
  const dedup = await newDedup();
  const client = await connect();
  client.on('error', () => {});
  await client.query('BEGIN');
  assert.equal(await claim(client, dedup, 'k', 1), true);
  await admin.query('SELECT pg_terminate_backend($1)', [client.processID]);
  await assert.rejects(client.query('COMMIT'));
  assert.equal(await inPg((tx) => claim(tx, dedup, 'k', 1)), true);
  await client.end().catch(() => {});
});
