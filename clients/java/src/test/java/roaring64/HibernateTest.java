package roaring64;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.DynamicUpdate;
import org.hibernate.annotations.Type;
import org.hibernate.cfg.Configuration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import roaring64.hibernate.Roaring64Type;

/**
 * The type of Hibernate, with connections that know roaring64 by their URL, and ones that do not.
 */
class HibernateTest {
  /** What the README shows. Without DynamicUpdate, a changed name would write the set too. */
  @Entity(name = "Inbox")
  @DynamicUpdate
  static class Inbox {
    @Id Long id;

    String name;

    @Column(columnDefinition = "roaring64")
    Roaring64 read;
  }

  /** With the type named, as it had to be without Roaring64Types. */
  @Entity(name = "Named")
  static class Named {
    @Id Long id;

    @Type(Roaring64Type.class)
    @Column(columnDefinition = "roaring64")
    Roaring64 read;
  }

  private static void inTransaction(SessionFactory factory, Consumer<Session> work) {
    try (Session session = factory.openSession()) {
      session.beginTransaction();
      work.accept(session);
      session.getTransaction().commit();
    }
  }

  private static void persist(Session session, long id, Roaring64 read) {
    Inbox inbox = new Inbox();
    inbox.id = id;
    inbox.read = read;
    session.persist(inbox);
  }

  private static SessionFactory factory(String option) {
    return new Configuration()
        .addAnnotatedClass(Inbox.class)
        .addAnnotatedClass(Named.class)
        .setProperty("hibernate.connection.url", Server.url(option))
        .setProperty("hibernate.hbm2ddl.auto", "create-drop")
        .buildSessionFactory();
  }

  @ParameterizedTest
  @ValueSource(strings = {"datatype.roaring64=roaring64.Roaring64", "ApplicationName=unregistered"})
  void entity(String option) {
    try (SessionFactory factory = factory(option)) {
      inTransaction(
          factory,
          session -> {
            persist(session, 1, Roaring64.of(Sets.ENDS));
            persist(session, 2, null);
          });
      inTransaction(
          factory,
          session -> {
            assertArrayEquals(Sets.ENDS, session.get(Inbox.class, 1L).read.ids());
            assertNull(session.get(Inbox.class, 2L).read);
            session.get(Inbox.class, 2L).read = Roaring64.of();
          });
      inTransaction(
          factory,
          session -> {
            assertEquals(Roaring64.of(), session.get(Inbox.class, 2L).read);
            List<Long> found =
                session
                    .createQuery(
                        "select id from Inbox where cast(sql('? @> ?', read, -1) as Boolean)",
                        Long.class)
                    .list();
            assertEquals(List.of(1L), found);
            found =
                session
                    .createQuery("select id from Inbox where read = :set", Long.class)
                    .setParameter("set", Roaring64.of())
                    .list();
            assertEquals(List.of(2L), found);
          });
    }
  }

  /** Two sessions at once: one adds an id in SQL, the other changes another column. */
  @ParameterizedTest
  @ValueSource(strings = "datatype.roaring64=roaring64.Roaring64")
  void nothingIsLost(String option) {
    try (SessionFactory factory = factory(option)) {
      inTransaction(factory, session -> persist(session, 1, Roaring64.of(-7)));
      inTransaction(
          factory,
          session -> {
            Inbox inbox = session.get(Inbox.class, 1L);
            inTransaction(
                factory,
                other ->
                    other
                        .createNativeMutationQuery("UPDATE Inbox SET read = read | :id")
                        .setParameter("id", 5L)
                        .executeUpdate());
            inbox.name = "a";
          });
      inTransaction(
          factory, session -> assertEquals(Roaring64.of(-7, 5), session.get(Inbox.class, 1L).read));
    }
  }

  /** A set as a parameter of native queries, and as their result. */
  @ParameterizedTest
  @ValueSource(strings = {"datatype.roaring64=roaring64.Roaring64", "ApplicationName=unregistered"})
  void nativeQueries(String option) {
    try (SessionFactory factory = factory(option)) {
      inTransaction(
          factory,
          session -> {
            Named named = new Named();
            named.id = 1L;
            named.read = Roaring64.of(-7);
            session.persist(named);
          });
      Roaring64 more = Roaring64.of(LongStream.range(0, 3000).map(i -> 2 * i).toArray());
      inTransaction(
          factory,
          session -> {
            assertEquals(
                1,
                session
                    .createNativeMutationQuery("UPDATE Named SET read = read | :more")
                    .setParameter("more", more)
                    .executeUpdate());
            assertEquals(
                1,
                session
                    .createNativeMutationQuery(
                        "UPDATE Named SET read = read | CAST(:more AS roaring64)")
                    .setParameter("more", Roaring64.of(9).toBytes())
                    .executeUpdate());
          });
      inTransaction(
          factory,
          session -> {
            Named read =
                session
                    .createNativeQuery(
                        "SELECT * FROM Named WHERE read && :set AND id <@ :ids", Named.class)
                    .setParameter("set", Roaring64.of(9))
                    .setParameter("ids", Roaring64.of(1, 2))
                    .getSingleResult();
            assertEquals(3002, read.read.cardinality());
            byte[] bytes =
                session
                    .createNativeQuery("SELECT CAST(read AS bytea) FROM Named", byte[].class)
                    .getSingleResult();
            assertEquals(read.read, Roaring64.ofBytes(bytes));
          });
    }
  }

  /**
   * An array of sets is no attribute (Hibernate knows no name of the type of its elements): native
   * queries give the elements as rows, and doWork() has the driver's connection.
   */
  @ParameterizedTest
  @ValueSource(strings = {"datatype.roaring64=roaring64.Roaring64", "ApplicationName=unregistered"})
  void arrays(String option) {
    Roaring64[] sets = {Roaring64.of(Sets.ENDS), null, Roaring64.of()};
    try (SessionFactory factory = factory(option)) {
      inTransaction(
          factory,
          session -> {
            session
                .createNativeMutationQuery("CREATE TEMP TABLE many (sets roaring64[])")
                .executeUpdate();
            session.doWork(
                connection -> {
                  try (var insert = connection.prepareStatement("INSERT INTO many VALUES (?)")) {
                    insert.setArray(1, connection.createArrayOf("roaring64", sets));
                    insert.executeUpdate();
                  }
                });
            List<byte[]> rows =
                session
                    .createNativeQuery(
                        "SELECT CAST(s AS bytea) FROM many, unnest(sets) WITH ORDINALITY AS u (s, n)"
                            + " ORDER BY n",
                        byte[].class)
                    .list();
            Roaring64[] read =
                rows.stream()
                    .map(bytes -> bytes == null ? null : Roaring64.ofBytes(bytes))
                    .toArray(Roaring64[]::new);
            assertArrayEquals(sets, read);
          });
    }
  }

  /** 1,000 sets are what an entity reads, and a change to another of the size is written. */
  @ParameterizedTest
  @ValueSource(strings = "datatype.roaring64=roaring64.Roaring64")
  void thousandSets(String option) {
    Random random = new Random(11);
    List<long[]> ids = Stream.generate(() -> Sets.random(random)).limit(1000).toList();
    try (SessionFactory factory = factory(option)) {
      inTransaction(
          factory,
          session -> {
            for (int i = 0; i < ids.size(); i++) {
              persist(session, i, Roaring64.of(ids.get(i)));
            }
          });
      inTransaction(
          factory,
          session -> {
            for (int i = 0; i < ids.size(); i++) {
              Inbox inbox = session.get(Inbox.class, (long) i);
              assertEquals(Roaring64.of(ids.get(i)), inbox.read);
              inbox.read = Sets.another(ids.get(i));
            }
          });
      inTransaction(
          factory,
          session -> {
            for (int i = 0; i < ids.size(); i++) {
              Roaring64 read = session.get(Inbox.class, (long) i).read;
              assertEquals(Sets.another(ids.get(i)), read);
              assertEquals(ids.get(i).length, read.cardinality());
              assertTrue(ids.get(i).length == 0 || !read.equals(Roaring64.of(ids.get(i))));
            }
          });
    }
  }
}
