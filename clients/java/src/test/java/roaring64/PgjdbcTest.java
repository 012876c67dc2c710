package roaring64;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLState;

/** The driver with a server, in every way that it sends and receives. */
class PgjdbcTest {
  private enum Mode {
    /** A statement's results are text until it has run five times. */
    DEFAULT(),
    BINARY("prepareThreshold=-1"),
    TEXT("prepareThreshold=-1"),
    SIMPLE("preferQueryMode=simple"),
    /** By the URL alone, without register(). */
    URL("datatype.roaring64=roaring64.Roaring64");

    private final String[] options;

    Mode(String... options) {
      this.options = options;
    }

    private Connection connect() throws SQLException {
      Connection connection = Server.connect(options);
      if (this == TEXT) {
        Object oid = Server.value(connection, "SELECT 'roaring64'::regtype::oid::bigint");
        connection.close();
        connection = Server.connect("prepareThreshold=-1", "binaryTransferDisable=" + oid);
      }
      if (this != URL) {
        Roaring64.register(connection);
      }
      return connection;
    }
  }

  private static Array bigints(Connection connection, long[] ids) throws SQLException {
    return connection.createArrayOf("bigint", Arrays.stream(ids).boxed().toArray());
  }

  private static long[] longs(Object array) throws SQLException {
    return Arrays.stream((Long[]) ((Array) array).getArray()).mapToLong(Long::longValue).toArray();
  }

  /** Random sets, as the driver reads and writes bigint[], and byte for byte. */
  @ParameterizedTest
  @EnumSource
  void equalToBigintArray(Mode mode) throws SQLException {
    Random random = new Random(7);
    try (Connection connection = mode.connect()) {
      for (int i = 0; i < 60; i++) {
        long[] ids = i == 0 ? new long[0] : i == 1 ? Sets.ENDS : Sets.random(random);
        Roaring64 sent = Roaring64.of(ids);
        List<Object> row =
            Server.row(
                connection,
                "SELECT s, a::roaring64, s::bigint[], a, s::bytea, s::text"
                    + " FROM (SELECT ?::roaring64, ?::bigint[]) AS t (s, a)",
                sent,
                bigints(connection, ids));
        assertEquals(sent, row.get(0));
        assertEquals(sent, row.get(1));
        assertArrayEquals(ids, ((Roaring64) row.get(0)).ids());
        assertEquals(ids.length, ((Roaring64) row.get(1)).cardinality());
        assertArrayEquals(ids, longs(row.get(2)));
        assertArrayEquals(ids, longs(row.get(3)));
        assertArrayEquals((byte[]) row.get(4), sent.toBytes());
        assertEquals(row.get(5), sent.getValue());
        assertEquals(sent, Roaring64.of(((Roaring64) row.get(0)).bitmap()));
      }
    }
  }

  /** The formats are what the modes say. */
  @ParameterizedTest
  @EnumSource
  void format(Mode mode) throws SQLException {
    Roaring64 set = Roaring64.of(1, 2);
    try (Connection connection = mode.connect();
        PreparedStatement statement = connection.prepareStatement("SELECT ?::roaring64")) {
      for (int i = 1; i <= 7; i++) {
        statement.setObject(1, set);
        try (ResultSet rows = statement.executeQuery()) {
          rows.next();
          boolean prepared = i > 5 && (mode == Mode.DEFAULT || mode == Mode.URL);
          boolean binary = mode == Mode.BINARY || prepared;
          assertArrayEquals(binary ? set.toBytes() : "{1,2}".getBytes(), rows.getBytes(1));
          assertEquals("{1,2}", rows.getString(1));
          assertEquals(set, rows.getObject(1, Roaring64.class));
          assertEquals(Types.OTHER, rows.getMetaData().getColumnType(1));
          assertEquals("roaring64", rows.getMetaData().getColumnTypeName(1));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void outputFormats(Mode mode) throws SQLException {
    Roaring64 set = Roaring64.of(LongStream.range(-2000, 2000).map(i -> 3 * i).toArray());
    try (Connection connection = mode.connect()) {
      for (String format : List.of("array", "hex")) {
        Server.run(connection, "SET roaring64.output_format = '" + format + "'");
        assertEquals(
            List.of(set, Roaring64.of()),
            Server.row(connection, "SELECT ?::roaring64, '{}'::roaring64", set));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void nullAndEmpty(Mode mode) throws SQLException {
    try (Connection connection = mode.connect()) {
      Server.run(connection, "CREATE TEMP TABLE t (id serial, s roaring64)");
      try (PreparedStatement insert =
          connection.prepareStatement("INSERT INTO t (s) VALUES (?), (?), (?), (?)")) {
        insert.setObject(1, null);
        insert.setNull(2, Types.OTHER);
        insert.setNull(3, Types.OTHER, "roaring64");
        insert.setObject(4, Roaring64.of());
        insert.executeUpdate();
      }
      for (int i = 1; i <= 6; i++) {
        for (int id = 1; id <= 4; id++) {
          List<Object> row =
              Server.row(connection, "SELECT s, s IS NULL, s = '{}' FROM t WHERE id = ?", id);
          assertEquals(id < 4 ? null : Roaring64.of(), row.get(0));
          assertEquals(id < 4, row.get(1));
          assertEquals(id < 4 ? null : true, row.get(2));
        }
      }
      try (PreparedStatement select = connection.prepareStatement("SELECT s FROM t WHERE id = 1");
          ResultSet rows = select.executeQuery()) {
        rows.next();
        assertNull(rows.getObject(1));
        Roaring64 none = rows.getObject(1, Roaring64.class);
        assertTrue(none.isNull());
        assertNull(none.getValue());
        assertNull(Roaring64.from(none));
        assertThrows(NullPointerException.class, none::ids);
        assertThrows(NullPointerException.class, none::cardinality);
        assertEquals(true, Server.value(connection, "SELECT ?::roaring64 IS NULL", none));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void arraysOfSets(Mode mode) throws SQLException {
    Roaring64 large = Roaring64.of(LongStream.range(-1000, 3000).toArray());
    Object[] sets = {Roaring64.of(1, 2), null, Roaring64.of(Sets.ENDS), Roaring64.of(), large};
    try (Connection connection = mode.connect()) {
      for (int i = 1; i <= 7; i++) {
        Array sent = connection.createArrayOf("roaring64", sets);
        List<Object> row =
            Server.row(
                connection,
                "SELECT a, cardinality(a), a[1], a[2] IS NULL, a[4] = '{}', ARRAY[a[5]],"
                    + " '{}'::roaring64[] FROM (SELECT ?::roaring64[]) AS t (a)",
                sent);
        assertArrayEquals(sets, (Object[]) ((Array) row.get(0)).getArray());
        assertEquals(List.of(5, sets[0], true, true), row.subList(1, 5));
        assertArrayEquals(new Object[] {large}, (Object[]) ((Array) row.get(5)).getArray());
        assertArrayEquals(new Object[0], (Object[]) ((Array) row.get(6)).getArray());
        Object[][] square = {{sets[0], sets[2]}, {large, sets[3]}};
        Object back =
            Server.value(
                connection, "SELECT ?::roaring64[]", connection.createArrayOf("roaring64", square));
        assertArrayEquals(square, (Object[]) ((Array) back).getArray());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void operatorsAndBatches(Mode mode) throws SQLException {
    try (Connection connection = mode.connect()) {
      Server.run(connection, "CREATE TEMP TABLE t (id int PRIMARY KEY, s roaring64 DEFAULT '{}')");
      try (PreparedStatement insert = connection.prepareStatement("INSERT INTO t VALUES (?, ?)");
          PreparedStatement add = connection.prepareStatement("UPDATE t SET s = s | ?")) {
        for (int i = 0; i < 20; i++) {
          insert.setInt(1, i);
          insert.setObject(2, i % 3 == 0 ? null : Roaring64.of(i, -i));
          insert.addBatch();
        }
        insert.executeBatch();
        add.setObject(1, Roaring64.of(100, -7));
        assertEquals(20, add.executeUpdate());
      }
      assertEquals(
          List.of(Roaring64.of(-7, -5, 5, 100), true, false),
          Server.row(
              connection,
              "SELECT s, s @> ?::bigint, s && ? FROM t WHERE id = 5",
              -5L,
              Roaring64.of(6, 7)));
      assertEquals(7L, Server.value(connection, "SELECT count(*) FROM t WHERE s IS NULL"));
    }
  }

  /** What was read from NULL is no element, and null where from() makes it one. */
  @ParameterizedTest
  @EnumSource
  void arrayWithWhatWasReadFromNull(Mode mode) throws SQLException {
    try (Connection connection = mode.connect();
        PreparedStatement select = connection.prepareStatement("SELECT NULL::roaring64");
        ResultSet rows = select.executeQuery()) {
      rows.next();
      Roaring64 none = rows.getObject(1, Roaring64.class);
      Object[] sets = {Roaring64.of(1), Roaring64.from(none)};
      Array array = connection.createArrayOf("roaring64", sets);
      Object back = Server.value(connection, "SELECT ?::roaring64[]", array);
      assertArrayEquals(sets, (Object[]) ((Array) back).getArray());
      Array wrong = connection.createArrayOf("roaring64", new Object[] {none});
      SQLException refused =
          assertThrows(
              SQLException.class, () -> Server.value(connection, "SELECT ?::roaring64[]", wrong));
      assertTrue(refused.getMessage().contains("roaring64: \"NULL\""), refused.getMessage());
    }
  }

  /** 1,000 sets as parameters, elements of an array, and parts of a composite. */
  @ParameterizedTest
  @EnumSource
  void thousandSets(Mode mode) throws SQLException {
    Random random = new Random(11);
    try (Connection connection = mode.connect()) {
      Roaring64[] sets = new Roaring64[1000];
      for (int i = 0; i < sets.length; i++) {
        sets[i] = Roaring64.of(Sets.random(random));
        assertEquals(sets[i], Server.value(connection, "SELECT ?::roaring64", sets[i]));
      }
      Array array = connection.createArrayOf("roaring64", sets);
      Object back = Server.value(connection, "SELECT ?::roaring64[]", array);
      assertArrayEquals(sets, (Object[]) ((Array) back).getArray());
      Server.run(connection, "CREATE TYPE pg_temp.pair AS (n int, read roaring64)");
      back =
          Server.value(
              connection,
              "SELECT array_agg((p::pg_temp.pair).read ORDER BY (p::pg_temp.pair).n)"
                  + " FROM (SELECT ROW(n, s)::pg_temp.pair"
                  + " FROM unnest(?::roaring64[]) WITH ORDINALITY AS t (s, n)) AS t (p)",
              array);
      assertArrayEquals(sets, (Object[]) ((Array) back).getArray());
    }
  }

  @Test
  void olderExtension() throws SQLException {
    try (Connection connection = Server.connect()) {
      connection.setAutoCommit(false);
      Server.run(connection, "UPDATE pg_extension SET extversion = '0.9'");
      SQLException old = assertThrows(SQLException.class, () -> Roaring64.register(connection));
      assertTrue(old.getMessage().matches("this package needs roaring64 1.0 .* has 0.9: ALTER.*"));
      connection.rollback();
      Roaring64.register(connection);
    }
  }

  /** The statement of the README: a claim goes with its transaction. */
  @Test
  void claims() throws SQLException {
    try (Connection connection = Server.connect()) {
      Server.run(connection, "SELECT roaring64_dedup_create('processed')");
      connection.setAutoCommit(false);
      String claim = "SELECT roaring64_dedup_claim('processed', ?, ?::bigint)";
      assertEquals(true, Server.value(connection, claim, "payments", Long.MAX_VALUE));
      connection.rollback();
      assertEquals(true, Server.value(connection, claim, "payments", Long.MAX_VALUE));
      connection.commit();
      assertEquals(false, Server.value(connection, claim, "payments", Long.MAX_VALUE));
      Server.run(connection, "SELECT roaring64_dedup_drop('processed')");
      connection.commit();
    }
  }

  /** Damaged bytes are refused here exactly if the server refuses them, and read alike if not. */
  @Test
  void damagedBytes() throws SQLException {
    Random random = new Random(3);
    int refused = 0;
    int accepted = 0;
    try (Connection connection = Server.connect()) {
      Roaring64.register(connection);
      for (int i = 0; i < 1500; i++) {
        byte[] damaged = damage(random);
        Roaring64 read = null;
        try {
          read = Roaring64.ofBytes(damaged);
          accepted++;
        } catch (IllegalArgumentException wrong) {
          refused++;
        }
        Object reason = Server.value(connection, "SELECT roaring64_invalid_reason(?)", damaged);
        assertEquals(reason == null, read != null, () -> reason + ": " + Arrays.toString(damaged));
        if (read != null) {
          assertEquals(read, Server.value(connection, "SELECT ?::bytea::roaring64", damaged));
        }
      }
    }
    assertTrue(refused > 150 && accepted > 150, refused + " refused, " + accepted + " accepted");
  }

  private static byte[] damage(Random random) {
    byte[] bytes = Roaring64.of(Sets.random(random)).toBytes();
    for (int changes = random.nextInt(3); changes > 0; changes--) {
      if (random.nextInt(5) == 0) {
        bytes = Arrays.copyOf(bytes, Math.max(0, bytes.length + random.nextInt(9) - 4));
      } else if (bytes.length > 0) {
        // mostly where the headers are
        int place =
            random.nextInt(random.nextBoolean() ? bytes.length : Math.min(bytes.length, 60));
        bytes[place] = (byte) (random.nextBoolean() ? random.nextInt() : bytes[place] + 1);
      }
    }
    return bytes;
  }

  /** Legal, but not as the server stores them. */
  @Test
  void variants() throws SQLException {
    byte[] empty = new byte[8];
    String emptyBucket = "\\x0100000000000000" + "05000000" + "3a300000" + "00000000";
    String twoBuckets =
        "\\x0200000000000000"
            + "05000000"
            + "3a300000"
            + "00000000"
            + "06000000"
            + "3a300000"
            + "01000000"
            + "0000"
            + "0000"
            + "10000000"
            + "0700";
    String runOfOne =
        "\\x0100000000000000"
            + "00000000"
            + "3b300000"
            + "01"
            + "0000"
            + "0000"
            + "0100"
            + "0700"
            + "0000";
    try (Connection connection = Server.connect()) {
      Roaring64.register(connection);
      for (String variant : List.of(emptyBucket, twoBuckets, runOfOne)) {
        Roaring64 set = Roaring64.from(variant);
        assertEquals(set, Server.value(connection, "SELECT ?::text::roaring64", variant));
        assertFalse(variant.equals("\\x" + hex(set.toBytes())));
      }
    }
    assertArrayEquals(empty, Roaring64.from(emptyBucket).toBytes());
    assertArrayEquals(new long[] {0x600000007L}, Roaring64.from(twoBuckets).ids());
    assertArrayEquals(new long[] {7}, Roaring64.from(runOfOne).ids());
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) {
      text.append(String.format("%02x", b));
    }
    return text.toString();
  }

  /** The type is the extension's, although the search path has another of that name. */
  @Test
  void schemaOffTheSearchPath() throws SQLException {
    try (Connection connection = Server.connectPlain()) {
      Server.run(
          connection, "CREATE TABLE t (s \"my types\".roaring64, a \"my types\".roaring64[])");
      Object before = Server.value(connection, "SELECT '{1}'::\"my types\".roaring64");
      assertEquals(PGobject.class, before.getClass());
      assertEquals(Roaring64.of(1), Roaring64.from(before));
      Roaring64.register(connection);
      Roaring64.register(connection);
      for (int i = 1; i <= 7; i++) {
        Roaring64 set = Roaring64.of(i, -i);
        Array array = connection.createArrayOf("roaring64", new Object[] {set});
        List<Object> row =
            Server.row(connection, "INSERT INTO t VALUES (?, ?) RETURNING s, a", set, array);
        assertEquals(set, row.get(0));
        assertArrayEquals(new Object[] {set}, (Object[]) ((Array) row.get(1)).getArray());
      }
    }
  }

  /** It begins no transaction, so that what may only be set outside of one still can be. */
  @Test
  void registerBeginsNoTransaction() throws SQLException {
    try (Connection connection = Server.connect()) {
      connection.setAutoCommit(false);
      Roaring64.register(connection);
      connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      connection.rollback();
      assertEquals(Roaring64.of(1), Server.value(connection, "SELECT '{1}'::roaring64"));
    }
  }

  @Test
  void withoutTheExtension() throws SQLException {
    try (Connection connection = Server.connect()) {
      connection.setAutoCommit(false);
      Server.run(connection, "DROP EXTENSION roaring64 CASCADE");
      SQLException missing = assertThrows(SQLException.class, () -> Roaring64.register(connection));
      assertEquals(PSQLState.UNDEFINED_OBJECT.getState(), missing.getSQLState());
      connection.rollback();
      Roaring64.register(connection);
      assertInstanceOf(Roaring64.class, Server.value(connection, "SELECT '{1}'::roaring64"));
    }
  }
}
