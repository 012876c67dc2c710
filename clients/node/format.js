'use strict';

/*
 * A set of bigint, as its bytes in the portable 64-bit format of Roaring bitmaps.
 *
 * That is the number of buckets, and for each bucket the upper 32 bits of its
 * elements and a 32-bit bitmap: a cookie, for each container bits 16 to 31 of its
 * elements and how many they are, where the containers are, and these.  A
 * container has the lower 16 bits, as an array, a bitset or runs.  Elements are
 * unsigned in it: negative ids are last.
 */

const ARRAY = 0,
  BITSET = 1,
  RUNS = 2;
const ARRAY_MAX = 4096,
  BITSET_BYTES = 8192;
const COOKIE = 12346,
  COOKIE_WITH_RUNS = 12347;
const FIRST_NEGATIVE = 2 ** 47; /* among elements without their lower 16 bits */

/* Of the two halves of a number in a BigInt64Array, which is the lower one. */
const LOWER = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;

/**
 * Where a container is: the bits of its elements from 16 on, how it has the lower
 * 16 bits, at which byte, and of how many elements.
 * @typedef {{ prefix: number, kind: number, at: number, count: number }} Container
 */

/** @param {string} why @returns {never} */
function refuse(why) {
  throw new RangeError(`these are not the bytes of a roaring64: ${why}`);
}

/**
 * The containers of a set, by their elements in unsigned order.  All that the
 * bytes say is checked; a read beyond their end throws a RangeError.
 * @param {DataView} view
 * @returns {Container[]}
 */
function findContainers(view) {
  /** @type {Container[]} */
  const found = [];
  const buckets = view.getBigUint64(0, true);
  let at = 8,
    last = -1;
  for (let bucket = 0n; bucket < buckets; bucket++) {
    const upper = view.getUint32(at, true),
      begin = at + 4,
      cookie = view.getUint32(begin, true);
    const flags = (cookie & 0xffff) === COOKIE_WITH_RUNS ? begin + 4 : 0;
    const containers = flags ? (cookie >>> 16) + 1 : view.getUint32(begin + 4, true);
    if (!flags && cookie !== COOKIE) refuse('a bucket has another cookie');
    if (containers < 1 || containers > 65536) refuse(`a bucket has ${containers} containers`);
    const heads = flags ? flags + ((containers + 7) >> 3) : begin + 8;
    const offsets = flags && containers < 4 ? 0 : heads + 4 * containers;
    at = heads + 4 * containers * (offsets ? 2 : 1);
    for (let i = 0; i < containers; i++) {
      const prefix = upper * 65536 + view.getUint16(heads + 4 * i, true);
      const count = view.getUint16(heads + 4 * i + 2, true) + 1;
      const isRuns = flags > 0 && (view.getUint8(flags + (i >> 3)) >> (i & 7)) & 1;
      const kind = isRuns ? RUNS : count > ARRAY_MAX ? BITSET : ARRAY;
      if (prefix <= last) refuse('containers are not in order');
      if (offsets && view.getUint32(offsets + 4 * i, true) !== at - begin) refuse('an offset is wrong');
      found.push({ prefix: (last = prefix), kind, at, count });
      at = readContainer(view, found[found.length - 1]);
    }
  }
  if (at !== view.byteLength) refuse('bytes come after the set');
  return found;
}

/**
 * Checks a container, and copies the lower 16 bits of its elements if they are wanted.
 * @param {DataView} view @param {Container} container @param {Uint16Array} [lows] @returns {number} its end
 */
function readContainer(view, { kind, at, count }, lows) {
  let n = 0,
    last = -1,
    end = at + BITSET_BYTES;
  if (kind === BITSET) {
    for (let base = 0; at < end; base += 32, at += 4) {
      for (let bits = view.getUint32(at, true); bits !== 0; bits &= bits - 1, n++) {
        if (lows) lows[n] = base + 31 - Math.clz32(bits & -bits);
      }
    }
  } else {
    const isRuns = kind === RUNS;
    end = isRuns ? at + 2 + 4 * view.getUint16(at, true) : at + 2 * count;
    for (at += isRuns ? 2 : 0; at < end; at += isRuns ? 4 : 2) {
      const first = view.getUint16(at, true);
      if (first <= last) refuse('elements are not in order');
      last = first + (isRuns ? view.getUint16(at + 2, true) : 0);
      if (lows) for (let low = first, to = n; low <= last; low++, to++) lows[to] = low;
      n += last - first + 1;
    }
  }
  if (n !== count || last > 65535) refuse('a container has another number of elements');
  return end;
}

/**
 * The bytes of elements in ascending order, unsigned, which may be there twice.
 * None of them are runs, which the server makes.
 * @param {BigUint64Array} elements
 * @returns {Uint8Array}
 */
function write(elements) {
  const halves = new Uint32Array(elements.buffer, elements.byteOffset, 2 * elements.length);
  const lows = new Uint16Array(elements.length);
  const prefixes = /** @type {number[]} */ ([]);
  const starts = /** @type {number[]} */ ([]);
  let n = 0;
  for (let i = 0; i < halves.length; i += 2) {
    const lower = halves[i + LOWER],
      prefix = halves[i + 1 - LOWER] * 65536 + (lower >>> 16),
      low = lower & 0xffff;
    if (prefix !== prefixes[prefixes.length - 1]) {
      prefixes.push(prefix);
      starts.push(n);
    } else if (low === lows[n - 1]) continue;
    lows[n++] = low;
  }
  starts.push(n);

  const uppers = prefixes.map((prefix) => Math.floor(prefix / 65536));
  const buckets = uppers.filter((upper, i) => upper !== uppers[i - 1]).length;
  const size = prefixes.reduce((sum, _, i) => sum + 8 + sizeOf(starts[i + 1] - starts[i]), 8 + 12 * buckets);
  const bytes = new Uint8Array(size),
    view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(buckets), true);
  for (let i = 0, at = 8; i < prefixes.length;) {
    const begin = at + 4,
      upper = uppers[i];
    let count = 1;
    while (uppers[i + count] === upper) count++;
    view.setUint32(at, upper, true);
    view.setUint32(begin, COOKIE, true);
    view.setUint32(begin + 4, count, true);
    at = begin + 8 + 8 * count;
    for (let head = begin + 8; head < begin + 8 + 4 * count; head += 4, i++) {
      const start = starts[i],
        past = starts[i + 1];
      view.setUint16(head, prefixes[i] % 65536, true);
      view.setUint16(head + 2, past - start - 1, true);
      view.setUint32(head + 4 * count, at - begin, true);
      if (past - start > ARRAY_MAX)
        for (let k = start; k < past; k++) bytes[at + (lows[k] >> 3)] |= 1 << (lows[k] & 7);
      else for (let k = start; k < past; k++) view.setUint16(at + 2 * (k - start), lows[k], true);
      at += sizeOf(past - start);
    }
  }
  return bytes;
}

/** @param {number} elements of a container @returns {number} its bytes */
function sizeOf(elements) {
  return elements > ARRAY_MAX ? BITSET_BYTES : 2 * elements;
}

module.exports = { findContainers, readContainer, write, LOWER, FIRST_NEGATIVE };
