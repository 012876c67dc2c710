package roaring64.hibernate;

import org.hibernate.boot.model.TypeContributions;
import org.hibernate.boot.model.TypeContributor;
import org.hibernate.service.ServiceRegistry;

/** Makes {@link Roaring64Type} the type of each Roaring64: attributes, and parameters. */
public class Roaring64Types implements TypeContributor {
  /** Made by Hibernate, which finds the name in META-INF/services. */
  public Roaring64Types() {}

  @Override
  public void contribute(TypeContributions types, ServiceRegistry registry) {
    types.contributeType(new Roaring64Type());
  }
}
