'use strict';

const { Roaring64Set, toText } = require('./set.js');

/**
 * A client of node-postgres.
 * @typedef {object} Client
 * @property {(text: string, values?: any[]) => Promise<{ rows: any[] }>} query
 * @property {(oid: number, format: any, parse: (value: any) => any) => unknown} setTypeParser
 */

/**
 * A pool of node-postgres.
 * @typedef {object} Pool
 * @property {(text: string, values?: any[]) => Promise<{ rows: any[] }>} query
 * @property {(event: 'acquire', listener: (client: any) => void) => unknown} on
 * @property {number} totalCount
 */

/**
 * The sql of postgres.js, but for that of a transaction.
 * @typedef {object} Sql
 * @property {(text: string, values?: any[]) => PromiseLike<any[]>} unsafe
 * @property {any} options
 */

/* The type is where the extension is, whatever the search path. */
const FIND_TYPE = `SELECT t.oid::bigint AS oid, t.typarray::bigint AS array, e.extversion AS version,
    pg_catalog.string_to_array(e.extversion, '.')::int[] < '{1,0}' AS old
  FROM pg_catalog.pg_extension e
  JOIN pg_catalog.pg_type t ON t.typnamespace = e.extnamespace AND t.typname = 'roaring64'
  WHERE e.extname = 'roaring64'`;

/** @typedef {(Roaring64Set | null | SetArray)[]} SetArray */
/** @typedef {Map<number, (text: string) => Roaring64Set | SetArray>} Parsers  by the OID of a type */

/**
 * Lets connections read roaring64, and arrays of it, as Roaring64Set: a client or a
 * pool of node-postgres, or the sql of postgres.js, for all its connections.
 * postgres.js then writes other iterables of ids, too.  Rejects if the database has
 * no extension roaring64, or an older one.
 * @param {Client | Pool | Sql} db
 * @returns {Promise<void>}
 */
async function register(db) {
  const any = /** @type {any} */ (db),
    isPool = any?.totalCount !== undefined && typeof any.on === 'function';
  if (any?.options?.serializers) {
    const [row] = await any.unsafe(FIND_TYPE);
    registerSql(any.options, parsersOf(row));
  } else if (isPool || typeof any?.setTypeParser === 'function') {
    const { rows } = await any.query(FIND_TYPE),
      parsers = parsersOf(rows[0]);
    if (isPool) any.on('acquire', (/** @type {Client} */ client) => registerClient(client, parsers));
    else registerClient(any, parsers);
  } else
    throw new TypeError('register() takes a client or a pool of node-postgres, or the sql of postgres.js');
}

/** @param {any} row of FIND_TYPE @returns {Parsers} */
function parsersOf(row) {
  if (!row) throw new Error('this database has no extension roaring64: CREATE EXTENSION roaring64');
  if (row.old)
    throw new Error(`roaring64 ${row.version} is too old, 1.0 is needed: ALTER EXTENSION roaring64 UPDATE`);
  return new Map().set(Number(row.oid), Roaring64Set.fromText).set(Number(row.array), parseArray);
}

/** @param {Client} client @param {Parsers} parsers */
function registerClient(client, parsers) {
  for (const [oid, parser] of parsers) {
    client.setTypeParser(oid, 'text', parser);
    client.setTypeParser(oid, 'binary', refuseBinary);
  }
}

/** @returns {never} */
function refuseBinary() {
  throw new Error('node-postgres takes binary results for UTF-8: read sets without "binary: true"');
}

/**
 * A statement that was prepared before keeps the parsers of its columns, so their
 * values are looked at as they come.
 * @param {any} options of postgres.js
 * @param {Parsers} parsers
 */
function registerSql(options, parsers) {
  const { from } = options.transform.value;
  const [oid, array] = parsers.keys();
  options.serializers[oid] = toText;
  options.serializers[array] = toArrayText;
  options.parsers[array] = parseArray;
  options.transform.value.from = (/** @type {any} */ value, /** @type {any} */ column) => {
    const parsed = parsers.has(column.type) ? parse(value) : value;
    return from ? from(parsed, column) : parsed;
  };
}

/** @param {any} value a text, an array of such, or what has been parsed @returns {any} */
function parse(value) {
  if (Array.isArray(value)) return value.map(parse);
  if (value === 'NULL') return null; /* of an array, to postgres.js */
  return typeof value === 'string' ? Roaring64Set.fromText(value) : value;
}

/**
 * An array of sets, whose elements are NULL or within quotes, and of which only
 * backslashes are escaped.
 * @param {string} text
 * @returns {SetArray}
 */
function parseArray(text) {
  const json = text
    .slice(text.indexOf('{')) /* bounds are before it */
    .replace(/"[^"]*"|[{}]|NULL/g, (part) => ({ '{': '[', '}': ']', NULL: 'null' })[part] ?? part);
  return JSON.parse(json, (_, item) => (typeof item === 'string' ? Roaring64Set.fromText(item) : item));
}

/** @param {unknown} value @returns {string} */
function toArrayText(value) {
  if (!Array.isArray(value)) return toText(value);
  const isList = (/** @type {unknown} */ item) => Array.isArray(item) && typeof item[0] === 'object';
  return `{${value.map((item) =>
    item == null ? 'NULL' : isList(item) ? toArrayText(item) : JSON.stringify(toText(item)),
  )}}`;
}

module.exports = { Roaring64Set, register };
