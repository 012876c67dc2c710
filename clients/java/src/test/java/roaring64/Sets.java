package roaring64;

import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.LongStream;

/** Random sets: of both signs, near both ends of bigint, of containers of every kind. */
final class Sets {
  static final long[] ENDS = {Long.MIN_VALUE, -1, 0, 1, Long.MAX_VALUE};

  private static final long[] BASES = {
    Long.MIN_VALUE, -(1L << 40), -(1L << 32), -1, 0, 1L << 16, 1L << 32, Long.MAX_VALUE
  };

  private Sets() {}

  /** Returns the ids of a set: ascending, and each once. */
  static long[] random(Random random) {
    LongStream ids = LongStream.empty();
    for (int parts = random.nextInt(5); parts > 0; parts--) {
      ids = LongStream.concat(ids, part(random));
    }
    return ids.sorted().distinct().toArray();
  }

  /** Returns a set of as many ids, of which one is another. */
  static Roaring64 another(long[] ids) {
    long[] other = ids.clone();
    for (long id = 0; other.length > 0 && Arrays.equals(ids, other); id++) {
      other[0] = Arrays.binarySearch(ids, id) < 0 ? id : ids[0];
    }
    return Roaring64.of(other);
  }

  private static LongStream part(Random random) {
    if (random.nextInt(3) == 0) {
      return random.longs(random.nextInt(60));
    }
    // what would leave bigint at one end goes on at the other
    long base = BASES[random.nextInt(BASES.length)] + random.nextInt(200) - 100;
    int size = random.nextInt(4) == 0 ? random.nextInt(70000) : random.nextInt(300);
    int step = 1 + random.nextInt(3);
    boolean holes = random.nextBoolean();
    return LongStream.range(0, size)
        .filter(i -> !holes || random.nextInt(8) != 0)
        .map(i -> base + i * step);
  }

  /** The file of bytes with what the server says of them. */
  static Path vectors() {
    String file = System.getenv("ROARING64_VECTORS");
    return file != null ? Path.of(file) : Path.of("../vectors.json");
  }

  /** Bytes of hexadecimal digits, of which ff*8192 is one byte repeated. */
  static byte[] unpack(String words) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (String word : words.isEmpty() ? new String[0] : words.split(" ")) {
      String[] parts = word.split("\\*");
      for (int times = parts.length > 1 ? Integer.parseInt(parts[1]) : 1; times > 0; times--) {
        for (int i = 0; i < parts[0].length(); i += 2) {
          bytes.write(Integer.parseInt(parts[0].substring(i, i + 2), 16));
        }
      }
    }
    return bytes.toByteArray();
  }
}
