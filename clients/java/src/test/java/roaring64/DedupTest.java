package roaring64;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Claims: one winner, and what is done with it commits with it. */
class DedupTest {
  private Connection connection;

  @BeforeEach
  void create() throws SQLException {
    connection = Server.connect();
    Server.value(connection, "SELECT roaring64_dedup_create('processed')::text");
    connection.setAutoCommit(false);
  }

  @AfterEach
  void drop() throws SQLException {
    connection.rollback();
    connection.setAutoCommit(true);
    Server.value(connection, "SELECT roaring64_dedup_drop('processed')::text");
    connection.close();
  }

  /** What all sessions see. */
  private static long[] remembered() throws SQLException {
    try (Connection other = Server.connect()) {
      Roaring64.register(other);
      Object ids = Server.value(other, "SELECT roaring64_dedup_export('processed', 'k')");
      return ids == null ? new long[0] : ((Roaring64) ids).ids();
    }
  }

  @Test
  void claims() throws SQLException {
    Dedup processed = new Dedup(connection, "processed");
    assertTrue(processed.claim("k", Long.MIN_VALUE));
    assertFalse(processed.claim("k", Long.MIN_VALUE));
    assertArrayEquals(new long[0], remembered());
    connection.rollback();
    assertTrue(processed.claim("k", Long.MIN_VALUE));
    assertTrue(processed.claim("other", Long.MIN_VALUE));
    connection.commit();
    assertFalse(processed.claim("k", Long.MIN_VALUE));
    Savepoint savepoint = connection.setSavepoint();
    assertTrue(processed.claim("k", 1));
    connection.rollback(savepoint);
    assertTrue(processed.claim("k", Long.MAX_VALUE));
    connection.commit();
    assertArrayEquals(new long[] {Long.MIN_VALUE, Long.MAX_VALUE}, remembered());
  }

  @Test
  void refusals() throws SQLException {
    Dedup processed = new Dedup(connection, "processed");
    assertThrows(SQLException.class, () -> processed.claim(null, 1));
    assertThrows(SQLException.class, () -> processed.claim("k", (UUID) null));
    assertThrows(SQLException.class, () -> processed.claim("k", (String) null));
    connection.setAutoCommit(true);
    SQLException refused = assertThrows(SQLException.class, () -> processed.claim("k", 1));
    assertEquals("25P01", refused.getSQLState());
    connection.setAutoCommit(false);
    Dedup missing = new Dedup(connection, "missing");
    refused = assertThrows(SQLException.class, () -> missing.claim("k", 1));
    assertEquals("42P01", refused.getSQLState());
    connection.rollback();
    assertArrayEquals(new long[0], remembered());
  }

  /** The function is the extension's, although its schema is not on the search path. */
  @Test
  void schemaOffTheSearchPath() throws SQLException {
    try (Connection plain = Server.connectPlain()) {
      Server.value(plain, "SELECT \"my types\".roaring64_dedup_create('public.d')::text");
      plain.setAutoCommit(false);
      assertTrue(new Dedup(plain, "public.d").claim("k", 1));
      plain.commit();
      assertFalse(new Dedup(plain, "d").claim("k", 1));
    }
  }

  /** A dedup set for ids of a type, if this server has those. */
  private Dedup dedup(String type) throws SQLException {
    assumeTrue(
        Server.value(
                connection,
                "SELECT max(proname) FROM pg_proc WHERE proname = 'roaring64_dedup_create'"
                    + " AND 'id_type' = ANY (proargnames)")
            != null,
        "dedup sets of this server have only bigints");
    Server.value(connection, "SELECT roaring64_dedup_create('d', id_type => '" + type + "')::text");
    return new Dedup(connection, "d");
  }

  @Test
  void uuid() throws SQLException {
    Dedup dedup = dedup("uuid");
    UUID id = UUID.fromString("ffffffff-0000-4000-8000-000000000001");
    assertTrue(dedup.claim("k", id));
    assertFalse(dedup.claim("k", id));
    assertTrue(dedup.claim("k", new UUID(0, 0)));
    assertTrue(dedup.claim("other", id));
  }

  @Test
  void text() throws SQLException {
    Dedup dedup = dedup("text");
    assertTrue(dedup.claim("k", "a"));
    assertFalse(dedup.claim("k", "a"));
    assertTrue(dedup.claim("k", "a "));
    assertTrue(dedup.claim("k", ""));
    assertTrue(dedup.claim("other", "a"));
  }

  /** Eight sessions claim the same ids; work that fails is done by another. */
  @Test
  void oneWinner() throws Exception {
    List<Long> won = Collections.synchronizedList(new ArrayList<>());
    ExecutorService workers = Executors.newFixedThreadPool(8);
    List<Future<Integer>> failures = new ArrayList<>();
    for (int worker = 0; worker < 8; worker++) {
      int number = worker;
      failures.add(workers.submit(() -> work(number, won)));
    }
    int failed = 0;
    for (Future<Integer> of : failures) {
      failed += of.get();
    }
    workers.shutdown();
    List<Long> all = LongStream.range(0, 50).boxed().collect(Collectors.toList());
    Collections.sort(won);
    assertEquals(all, won);
    assertTrue(failed > 0);
  }

  private static int work(int worker, List<Long> won) throws SQLException {
    int failed = 0;
    try (Connection session = Server.connect()) {
      session.setAutoCommit(false);
      Dedup processed = new Dedup(session, "processed");
      for (long id = 0; id < 50; id++) {
        if (!processed.claim("k", id)) {
          session.rollback();
        } else if ((id + worker) % 3 == 0) {
          session.rollback();
          failed++;
        } else {
          session.commit();
          won.add(id);
        }
      }
    }
    return failed;
  }
}
