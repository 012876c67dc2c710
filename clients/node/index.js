'use strict';

const { inspect } = require('node:util');
const { Roaring64Set, toId } = require('./set.js');

/** @typedef {import('./set.js').Id} Id */
/** @typedef {{ rows: any[] }} Result */

/**
 * A client of node-postgres.
 * @typedef {object} Client
 * @property {(text: string, values?: any[]) => Promise<Result>} query
 * @property {(oid: number, format: any, parse: (value: any) => any) => unknown} setTypeParser
 */

/**
 * The sql of postgres.js, but for that of a transaction.
 * @typedef {object} Sql
 * @property {(text: string, values?: any[]) => PromiseLike<any[]>} unsafe
 * @property {{ parsers: any, serializers: any }} options
 */

/* Type and functions are where the extension is, whatever the search path. */
const FIND_EXTENSION = `SELECT t.oid::bigint AS oid, t.typarray::bigint AS array,
    pg_catalog.quote_ident(n.nspname) AS schema
  FROM pg_catalog.pg_extension e
  JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
  JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'
  WHERE e.extname = 'roaring64'`;

/** Where it is for a client, or a transaction of postgres.js. @type {WeakMap<object, string>} */
const schemas = new WeakMap();

/** @param {any} db @param {string} text @param {unknown[]} [values] @returns {Promise<any>} the first row */
async function first(db, text, values) {
  return typeof db.unsafe === 'function'
    ? (await db.unsafe(text, values))[0]
    : (await db.query(text, values)).rows[0];
}

/** @param {any} db @returns {Promise<any>} the row of FIND_EXTENSION, whose schema is remembered */
async function findExtension(db) {
  const row = await first(db, FIND_EXTENSION);
  if (!row)
    throw new Error('the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64');
  schemas.set(db, row.schema);
  return row;
}

/**
 * Lets a connection read roaring64, and arrays of it, as Roaring64Set, and
 * postgres.js write other iterables of ids.  Rejects if the database has no
 * extension roaring64.
 *
 * Of node-postgres it takes a client; a pool: new Pool({ onConnect: register }).
 * Of postgres.js it takes the sql, for all its connections.
 * @param {Client | Sql} db
 * @returns {Promise<void>}
 */
async function register(db) {
  if (!('setTypeParser' in db) && !('options' in db && 'unsafe' in db && 'parsers' in db.options)) {
    throw new TypeError(
      'register() takes a client, or the sql of postgres.js; a pool: new Pool({ onConnect: register })',
    );
  }
  const row = await findExtension(db);
  const oid = Number(row.oid),
    array = Number(row.array);
  if ('setTypeParser' in db) {
    db.setTypeParser(oid, 'text', Roaring64Set.fromText);
    db.setTypeParser(array, 'text', parseArray);
    for (const type of [oid, array]) db.setTypeParser(type, 'binary', refuseBinary);
  } else {
    const { parsers, serializers } = db.options;
    parsers[oid] = Roaring64Set.fromText;
    parsers[array] = parseArray;
    serializers[oid] = toText;
    serializers[array] = toArrayText;
  }
}

/** @returns {never} */
function refuseBinary() {
  throw new Error('node-postgres takes binary results for UTF-8: read sets without "binary: true"');
}

/** @typedef {(Roaring64Set | null | SetArray)[]} SetArray */

/**
 * An array of sets, whose elements are NULL or within quotes, and of which only
 * backslashes are escaped.
 * @param {string} text
 * @returns {SetArray}
 */
function parseArray(text) {
  let at = text.indexOf('{'); /* bounds are before it */
  /** @returns {SetArray} */
  function parseList() {
    const list = [];
    for (at++; text[at] !== '}';) {
      if (text[at] === '{') list.push(parseList());
      else if (text.startsWith('NULL', at)) {
        list.push(null);
        at += 4;
      } else {
        const end = text.indexOf('"', at + 1);
        if (text[at] !== '"' || end < 0) throw new RangeError('this is not the text of a roaring64[]');
        list.push(Roaring64Set.fromText(text.slice(at + 1, end).replaceAll('\\\\', '\\')));
        at = end + 1;
      }
      if (text[at] === ',') at++;
    }
    at++;
    return list;
  }
  return parseList();
}

/** @param {any} value a set, or ids, or a text for the server to read @returns {string} */
function toText(value) {
  return typeof value === 'string' ? value : Roaring64Set.from(value).toString();
}

/** @param {any} value @returns {string} */
function toArrayText(value) {
  if (!Array.isArray(value)) return toText(value);
  const isList = (/** @type {unknown} */ item) => Array.isArray(item) && typeof item[0] === 'object';
  return `{${value.map((item) =>
    item == null ? 'NULL' : isList(item) ? toArrayText(item) : `"${toText(item).replace('\\', '\\\\')}"`,
  )}}`;
}

/**
 * Claims an id of a dedup set in the transaction of a client, and resolves to
 * whether it is new.  What the transaction does for a new id is committed with
 * the claim, or neither is, and then the id is as new as before.
 *
 * The first claim of a client that is not registered, or of a transaction of
 * postgres.js, asks the server where the extension is.
 *
 * An id is an integer, a text, or { uuid: text }.
 * @param {Pick<Client, 'query'> | Pick<Sql, 'unsafe'>} transaction
 * @param {string} dedup
 * @param {string} key
 * @param {Id | string | { uuid: string }} id
 * @returns {Promise<boolean>}
 */
async function claim(transaction, dedup, key, id) {
  const tx = /** @type {any} */ (transaction);
  if (tx.begin || tx.totalCount !== undefined || tx.getTransactionStatus?.() === 'I') {
    throw new TypeError('claim() needs a transaction: the client after BEGIN, or the sql that begin() gives');
  }
  for (const text of [dedup, key]) checkText(text);
  let type = 'bigint',
    value;
  if (typeof id === 'string') {
    type = 'text';
    value = checkText(id);
  } else if (typeof id === 'object' && id !== null) {
    type = 'uuid';
    value = String(id.uuid);
    if (!/^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(value))
      throw new TypeError(`${inspect(id)} is no UUID`);
  } else value = String(toId(id));
  const schema = schemas.get(tx) ?? (await findExtension(tx)).schema;
  const row = await first(
    tx,
    `SELECT ${schema}.roaring64_dedup_claim($1::text::regclass, $2::text, $3::text::${type}) AS claimed`,
    [dedup, key, value],
  );
  return row.claimed;
}

/** @param {unknown} text @returns {string} */
function checkText(text) {
  if (typeof text !== 'string' || text.includes('\0')) {
    throw new TypeError(`${inspect(text)} is no text that PostgreSQL could have`);
  }
  return text;
}

module.exports = { Roaring64Set, claim, register };
