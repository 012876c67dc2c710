'use strict';

const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const path = require('node:path');
const { after, before } = require('node:test');
const pg = require('pg');

/* A name for a table or so. */
const newName = (prefix) => `${prefix}_${randomBytes(5).toString('hex')}`;

/* The server of PGHOST and so on, or a private one of this tree; it is given back. */
async function startServer() {
  if (process.env.PGHOST) return () => {};
  const program = path.resolve(__dirname, '../../../tools/private-server');
  const server = spawn(program, ['bash', '-c', 'echo "$PGHOST $PGPORT"; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => server.on('close', resolve));
  const line = await new Promise((resolve, reject) => {
    server.stdout.once('data', (data) => resolve(String(data)));
    ended.then(() => reject(new Error(`${program} gave no server`)));
  });
  const [PGHOST, PGPORT] = line.trim().split(' ');
  Object.assign(process.env, { PGHOST, PGPORT, PGUSER: 'postgres' });
  return () => {
    server.stdin.end();
    return ended;
  };
}

/* A database for the tests, which PGDATABASE names, with the extension in a schema on the search path. */
const cleanups = [];
async function createDatabase() {
  cleanups.push(await startServer());
  const server = new pg.Client({ database: 'postgres' });
  await server.connect();
  const name = newName('roaring64_node');
  await server.query(`CREATE DATABASE ${name}`);
  cleanups.unshift(async () => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await server.end();
  });
  await server.query(`ALTER DATABASE ${name} SET search_path = public, "my types"`);
  process.env.PGDATABASE = name;
  const own = await connect();
  await own.query('CREATE SCHEMA "my types"; CREATE EXTENSION roaring64 SCHEMA "my types"');
  await own.end();
}
const ready = createDatabase(); /* not all versions of Node.js wait for one hook before they begin the next */
before(() => ready);
after(async () => {
  for (const cleanup of cleanups) await cleanup();
});

async function connect(options) {
  const client = new pg.Client(options);
  await client.connect();
  return client;
}

/* Runs something before the database is dropped. */
const atEnd = (cleanup) => cleanups.unshift(cleanup);

module.exports = { atEnd, connect, newName, ready };
