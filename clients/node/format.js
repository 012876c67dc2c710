'use strict';

/*
 * The portable 64-bit format of Roaring bitmaps.
 *
 * It has the number of buckets, and for each bucket the upper 32 bits of its
 * elements and a 32-bit bitmap: a cookie, for each container bits 16 to 31 of its
 * elements and how many they are, where the containers are, and these.  A
 * container has the lower 16 bits, as an array, a bitset or runs.  Elements are
 * unsigned in it: negative ids are last.
 *
 * Many byte strings are the same set.  The server writes one of them, and so does
 * this file: no empty bucket, and each container in the smallest of its forms.
 */

const ARRAY = 0,
  BITSET = 1,
  RUNS = 2;
const ARRAY_MAX = 4096,
  BITSET_BYTES = 8192;
const COOKIE = 12346,
  COOKIE_WITH_RUNS = 12347;

/* Of the two halves of a number in a BigInt64Array, the lower one. */
const LOWER = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1;

/**
 * The bits of a container's elements from 16 on, how many elements and how many
 * runs of them there are, and their lower 16 bits, ascending.
 * @typedef {{ prefix: number, count: number, runs: number, lows: () => Uint16Array }} Container
 */

/** @param {string} why @returns {never} */
function refuse(why) {
  throw new RangeError(`not the bytes of a roaring64: ${why}`);
}

/**
 * Checks all that the bytes say.  A read beyond their end throws a RangeError.
 * @param {DataView} view
 * @returns {{ containers: Container[], isCanonical: boolean }} containers by their elements in unsigned order
 */
function read(view) {
  /** @type {Container[]} */
  const containers = [];
  const buckets = view.getBigUint64(0, true);
  let isCanonical = true,
    at = 8,
    lastUpper = -1;
  for (let bucket = 0n; bucket < buckets; bucket++) {
    const upper = view.getUint32(at, true),
      begin = at + 4,
      cookie = view.getUint32(begin, true);
    const flags = (cookie & 0xffff) === COOKIE_WITH_RUNS ? begin + 4 : 0;
    const n = flags ? (cookie >>> 16) + 1 : view.getUint32(begin + 4, true);
    if (!flags && cookie !== COOKIE) refuse('a bucket has another cookie');
    if (n > 65536) refuse(`a bucket has ${n} containers`);
    if (upper <= lastUpper) refuse('buckets are not in order');
    const heads = flags ? flags + ((n + 7) >> 3) : begin + 8;
    const offsets = flags && n < 4 ? 0 : heads + 4 * n;
    let hasRuns = false,
      last = -1;
    at = heads + 4 * n * (offsets ? 2 : 1);
    if (flags && n & 7 && view.getUint8(heads - 1) >> (n & 7))
      isCanonical = false; /* a flag of no container */
    for (let i = 0; i < n; i++) {
      const key = view.getUint16(heads + 4 * i, true),
        count = view.getUint16(heads + 4 * i + 2, true) + 1;
      const isRuns = flags > 0 && ((view.getUint8(flags + (i >> 3)) >> (i & 7)) & 1) === 1;
      const kind = isRuns ? RUNS : count > ARRAY_MAX ? BITSET : ARRAY;
      if (key <= last) refuse('containers are not in order');
      if (offsets && view.getUint32(offsets + 4 * i, true) !== at - begin) refuse('an offset is wrong');
      const start = at,
        { end, runs } = readContainer(view, kind, at, count);
      const lows = () => readContainer(view, kind, start, count, new Uint16Array(count)).lows;
      containers.push({ prefix: upper * 65536 + key, count, runs, lows });
      isCanonical &&= isRuns === isSmallestAsRuns({ count, runs });
      hasRuns ||= isRuns;
      last = key;
      at = end;
    }
    isCanonical &&= n > 0 && hasRuns === flags > 0;
    lastUpper = upper;
  }
  if (at !== view.byteLength) refuse('bytes come after the set');
  return { containers, isCanonical };
}

/**
 * Checks a container, and copies the lower 16 bits of its elements if they are wanted.
 * @template {Uint16Array | undefined} T
 * @param {DataView} view @param {number} kind @param {number} at @param {number} count @param {T} [lows]
 * @returns {{ end: number, runs: number, lows: T }}
 */
function readContainer(view, kind, at, count, lows) {
  const isRuns = kind === RUNS;
  let n = 0,
    runs = 0,
    last = -2,
    end = at + BITSET_BYTES;
  if (kind === BITSET) {
    for (let base = 0; at < end; base += 32, at += 4) {
      for (let bits = view.getUint32(at, true); bits !== 0; bits &= bits - 1, n++) {
        const low = base + 31 - Math.clz32(bits & -bits);
        if (lows) lows[n] = low;
        if (low !== last + 1) runs++;
        last = low;
      }
    }
  } else {
    end = isRuns ? at + 2 + 4 * view.getUint16(at, true) : at + 2 * count;
    for (at += isRuns ? 2 : 0; at < end; at += isRuns ? 4 : 2) {
      const first = view.getUint16(at, true);
      if (first < last + (isRuns ? 2 : 1)) refuse('elements are not in order, or runs touch');
      if (first !== last + 1) runs++;
      last = first + (isRuns ? view.getUint16(at + 2, true) : 0);
      if (lows) for (let low = first, to = n; low <= last; low++, to++) lows[to] = low;
      n += last - first + 1;
    }
  }
  if (n !== count || last > 65535) refuse('a container has another number of elements');
  return { end, runs, lows: /** @type {T} */ (lows) };
}

/**
 * The containers of elements in ascending order, unsigned, which may be there twice.
 * @param {BigUint64Array} elements
 * @returns {Container[]}
 */
function group(elements) {
  const halves = new Uint32Array(elements.buffer, elements.byteOffset, 2 * elements.length);
  const all = new Uint16Array(elements.length);
  /** @type {Container[]} */
  const containers = [];
  let n = 0,
    last = -1,
    container;
  for (let i = 0; i < halves.length; i += 2) {
    const lower = halves[i + LOWER],
      prefix = halves[i + 1 - LOWER] * 65536 + (lower >>> 16),
      low = lower & 0xffff;
    if (prefix !== container?.prefix) {
      const start = n;
      /** @type {Container} */
      const made = { prefix, count: 0, runs: 0, lows: () => all.subarray(start, start + made.count) };
      containers.push((container = made));
      last = -2;
    }
    if (low === last) continue;
    if (low !== last + 1) container.runs++;
    container.count++;
    all[n++] = last = low;
  }
  return containers;
}

/**
 * The bytes of containers, as the server writes them.
 * @param {Container[]} containers
 * @returns {Uint8Array}
 */
function write(containers) {
  const upperOf = (/** @type {Container} */ { prefix }) => Math.floor(prefix / 65536);
  const buckets = /** @type {Container[][]} */ ([]);
  for (const container of containers) {
    const bucket = buckets[buckets.length - 1];
    if (bucket && upperOf(bucket[0]) === upperOf(container)) bucket.push(container);
    else buckets.push([container]);
  }
  const sizes = buckets.map((bucket) => 4 + bucket.reduce((sum, c) => sum + sizeOf(c), headSize(bucket)));
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 8)),
    view = new DataView(bytes.buffer);
  let at = 8;
  view.setBigUint64(0, BigInt(buckets.length), true);
  for (const bucket of buckets) {
    const n = bucket.length,
      begin = at + 4,
      flags = begin + 4,
      hasRuns = bucket.some(isSmallestAsRuns),
      heads = hasRuns ? flags + ((n + 7) >> 3) : begin + 8;
    view.setUint32(at, upperOf(bucket[0]), true);
    view.setUint32(begin, hasRuns ? COOKIE_WITH_RUNS + (n - 1) * 65536 : COOKIE, true);
    if (!hasRuns) view.setUint32(begin + 4, n, true);
    at = begin + headSize(bucket);
    bucket.forEach((container, i) => {
      view.setUint16(heads + 4 * i, container.prefix % 65536, true);
      view.setUint16(heads + 4 * i + 2, container.count - 1, true);
      if (!hasRuns || n >= 4) view.setUint32(heads + 4 * (n + i), at - begin, true);
      if (isSmallestAsRuns(container)) bytes[flags + (i >> 3)] |= 1 << (i & 7);
      writeContainer(view, at, container);
      at += sizeOf(container);
    });
  }
  return bytes;
}

/** @param {Container[]} bucket */
function headSize(bucket) {
  const n = bucket.length;
  return bucket.some(isSmallestAsRuns) ? 4 + ((n + 7) >> 3) + 4 * n * (n < 4 ? 1 : 2) : 8 + 8 * n;
}

/** @param {{ count: number, runs: number }} container */
function sizeOf({ count, runs }) {
  return Math.min(2 + 4 * runs, 2 * count, BITSET_BYTES);
}

/** @param {{ count: number, runs: number }} container */
function isSmallestAsRuns({ count, runs }) {
  return 2 + 4 * runs < Math.min(2 * count, BITSET_BYTES);
}

/** @param {DataView} view @param {number} at @param {Container} container */
function writeContainer(view, at, container) {
  const lows = container.lows(),
    count = lows.length;
  if (isSmallestAsRuns(container)) {
    view.setUint16(at, container.runs, true);
    for (let i = 0; i < count;) {
      const first = i;
      while (++i < count && lows[i] === lows[i - 1] + 1);
      view.setUint16((at += 2), lows[first], true);
      view.setUint16((at += 2), i - first - 1, true);
    }
  } else if (count > ARRAY_MAX) {
    for (const low of lows) view.setUint8(at + (low >> 3), view.getUint8(at + (low >> 3)) | (1 << (low & 7)));
  } else lows.forEach((low, i) => view.setUint16(at + 2 * i, low, true));
}

module.exports = { read, group, write, LOWER };
