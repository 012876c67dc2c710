package roaring64;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import java.util.List;
import java.util.function.Consumer;
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

  private static SessionFactory factory(String option) {
    return new Configuration()
        .addAnnotatedClass(Inbox.class)
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
            Inbox inbox = new Inbox();
            inbox.id = 1L;
            inbox.read = Roaring64.of(Sets.ENDS);
            session.persist(inbox);
            Inbox none = new Inbox();
            none.id = 2L;
            session.persist(none);
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
      inTransaction(
          factory,
          session -> {
            Inbox inbox = new Inbox();
            inbox.id = 1L;
            inbox.read = Roaring64.of(-7);
            session.persist(inbox);
          });
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
}
