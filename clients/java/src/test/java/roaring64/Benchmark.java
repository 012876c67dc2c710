package roaring64;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * A million ids as a roaring64 and as a bigint[], out and in: {@code mvn test -Dtest=Benchmark}.
 *
 * <p>The server has to be on this Linux machine. Prints Markdown. Times are medians in milliseconds
 * of processor time, of this process, its compiler and collector included, and of the server's.
 */
class Benchmark {
  private static final int RUNS = 11;

  private Path backend;

  private static long spent(Path task) {
    try {
      return Long.parseLong(Files.readString(task.resolve("schedstat")).split(" ")[0]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private double now() throws IOException {
    try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
      long here = threads.mapToLong(Benchmark::spent).sum();
      return (here + (backend == null ? 0 : spent(backend))) / 1e6;
    }
  }

  private double median(Callable<?> work) throws Exception {
    double[] times = new double[RUNS];
    for (int i = -RUNS; i < RUNS; i++) {
      double began = now();
      work.call();
      times[Math.max(i, 0)] = now() - began;
    }
    Arrays.sort(times);
    return times[RUNS / 2];
  }

  private static Object read(PreparedStatement select, boolean array) throws SQLException {
    try (ResultSet rows = select.executeQuery()) {
      rows.next();
      return array ? rows.getArray(1).getArray() : ((Roaring64) rows.getObject(1)).ids();
    }
  }

  private static Object send(PreparedStatement statement, Object value) throws SQLException {
    statement.setObject(1, value);
    try (ResultSet rows = statement.executeQuery()) {
      return rows.next();
    }
  }

  @Test
  void run() throws Exception {
    long[] ids =
        new Random(1).longs(1_100_000, -5_000_000, 5_000_000).distinct().limit(1_000_000).toArray();
    Arrays.sort(ids);
    Roaring64 set = Roaring64.of(ids);
    System.out.println("| format | out: set | `bigint[]` | ratio | in: set | `bigint[]` | ratio |");
    System.out.println("|---|---|---|---|---|---|---|");
    Object oid;
    try (Connection connection = Server.connect()) {
      oid = Server.value(connection, "SELECT 'roaring64'::regtype::oid::bigint");
    }
    for (String format : List.of("text", "binary")) {
      String[] options =
          format.equals("text")
              ? new String[] {"binaryTransfer=false", "binaryTransferDisable=" + oid}
              : new String[] {"prepareThreshold=-1"};
      try (Connection connection = Server.connect(options)) {
        measure(connection, format, ids, set);
      }
    }
    backend = null;
    try (Connection connection = Server.connect()) {
      System.out.printf(
          "%nof(long[]): %.1f, ids(): %.1f, bitmap(): %.1f, of(bitmap): %.1f, register: %.1f%n",
          median(() -> Roaring64.of(ids)),
          median(set::ids),
          median(set::bitmap),
          median(() -> Roaring64.of(set.bitmap())),
          median(
              () -> {
                Roaring64.register(connection);
                return null;
              }));
      List<Object> sizes =
          Server.row(
              connection,
              "SELECT octet_length(s::bytea), octet_length(array_send(s::bigint[])),"
                  + " length(s::text), length(s::bigint[]::text)"
                  + " FROM (SELECT ?::bytea::roaring64) AS t (s)",
              set.toBytes());
      System.out.println(
          "Bytes of the set and the array: binary "
              + sizes.subList(0, 2)
              + ", text "
              + sizes.subList(2, 4));
    }
  }

  private void measure(Connection connection, String format, long[] ids, Roaring64 set)
      throws Exception {
    Roaring64.register(connection);
    backend = Path.of("/proc/" + Server.value(connection, "SELECT pg_backend_pid()"));
    Server.run(connection, "CREATE TEMP TABLE t (s roaring64, a bigint[])");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (?, ?)")) {
      insert.setObject(1, set);
      insert.setObject(2, ids);
      insert.executeUpdate();
    }
    try (PreparedStatement getSet = connection.prepareStatement("SELECT s FROM t");
        PreparedStatement getArray = connection.prepareStatement("SELECT a FROM t");
        PreparedStatement sendSet = connection.prepareStatement("SELECT ?::roaring64 IS NULL");
        PreparedStatement sendArray = connection.prepareStatement("SELECT ?::bigint[] IS NULL")) {
      assertArrayEquals(ids, (long[]) read(getSet, false));
      double[] times = {
        median(() -> read(getSet, false)),
        median(() -> read(getArray, true)),
        median(() -> send(sendSet, set)),
        median(() -> send(sendArray, ids))
      };
      System.out.printf(
          "| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |%n",
          format, times[0], times[1], times[1] / times[0], times[2], times[3], times[3] / times[2]);
    }
  }
}
