package roaring64;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PGobject;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.convert.converter.Converter;
import org.springframework.data.annotation.Id;
import org.springframework.data.convert.ReadingConverter;
import org.springframework.data.jdbc.core.JdbcAggregateTemplate;
import org.springframework.data.jdbc.repository.config.AbstractJdbcConfiguration;
import org.springframework.data.jdbc.repository.config.EnableJdbcRepositories;
import org.springframework.data.jdbc.repository.query.Modifying;
import org.springframework.data.jdbc.repository.query.Query;
import org.springframework.data.relational.core.mapping.Table;
import org.springframework.data.repository.CrudRepository;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** Spring Data JDBC, which takes the types of pgjdbc as they are, with what the README shows. */
class SpringDataJdbcTest {
  @Table("spring_inbox")
  record Inbox(@Id Long id, Roaring64 read, Roaring64 starred) {}

  interface Inboxes extends CrudRepository<Inbox, Long> {
    @Modifying
    @Query("UPDATE spring_inbox SET read = read | :ids WHERE id = :id")
    int add(long id, Roaring64 ids);

    @Query("SELECT * FROM spring_inbox WHERE read @> :id")
    List<Inbox> having(long id);
  }

  /** Only for connections that do not know roaring64 by their URL. */
  @ReadingConverter
  enum Reader implements Converter<PGobject, Roaring64> {
    INSTANCE;

    @Override
    public Roaring64 convert(PGobject read) {
      try {
        return Roaring64.from(read);
      } catch (SQLException e) {
        throw new IllegalArgumentException(e);
      }
    }
  }

  @EnableJdbcRepositories(
      basePackageClasses = SpringDataJdbcTest.class,
      considerNestedRepositories = true)
  static class Configured extends AbstractJdbcConfiguration {
    static String option;

    @Bean
    DataSource dataSource() {
      return new DriverManagerDataSource(Server.url(option));
    }

    @Bean
    NamedParameterJdbcTemplate namedParameterJdbcOperations(DataSource source) {
      return new NamedParameterJdbcTemplate(source);
    }

    @Bean
    JdbcTransactionManager transactionManager(DataSource source) {
      return new JdbcTransactionManager(source);
    }

    @Override
    protected List<?> userConverters() {
      return option.startsWith("datatype") ? List.of() : List.of(Reader.INSTANCE);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"datatype.roaring64=roaring64.Roaring64", "ApplicationName=unregistered"})
  void repository(String option) {
    Configured.option = option;
    try (AnnotationConfigApplicationContext context =
        new AnnotationConfigApplicationContext(Configured.class)) {
      Inboxes inboxes = context.getBean(Inboxes.class);
      JdbcTemplate template = new JdbcTemplate(context.getBean(DataSource.class));
      template.execute(
          "CREATE TABLE spring_inbox (id bigint PRIMARY KEY, read roaring64, starred roaring64)");
      Roaring64 ends = Roaring64.of(Sets.ENDS);
      context.getBean(JdbcAggregateTemplate.class).insert(new Inbox(1L, ends, null));
      assertEquals(Optional.of(new Inbox(1L, ends, null)), inboxes.findById(1L));
      inboxes.save(new Inbox(1L, Roaring64.of(1), Roaring64.of()));
      assertEquals(1, inboxes.add(1, Roaring64.of(-5, 7)));
      assertEquals(
          List.of(new Inbox(1L, Roaring64.of(-5, 1, 7), Roaring64.of())), inboxes.having(-5));
      assertEquals(List.of(), inboxes.having(5));
      template.execute("DROP TABLE spring_inbox");
    }
  }
}
