# roaring64.rb
#	  The formula for Homebrew.  "make dist" writes the version and the checksum
#	  into it.  The archive has CRoaring's sources in it.
class Roaring64 < Formula
  desc "Sets of bigint for PostgreSQL as 64-bit Roaring bitmaps"
  homepage "@HOMEPAGE@"
  url "@HOMEPAGE@/releases/download/v@VERSION@/roaring64-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license all_of: ["PostgreSQL", { any_of: ["Apache-2.0", "MIT"] }, "BSD-3-Clause"]

  depends_on "postgresql@17" => [:build, :test]
  depends_on "postgresql@18" => [:build, :test]

  def postgresqls
    deps.map(&:to_formula).sort_by(&:version).filter { |f| f.name.start_with?("postgresql@") }
  end

  def install
    postgresqls.each do |postgresql|
      system "make", "clean", "PG_CONFIG=#{postgresql.opt_bin}/pg_config"
      system "make", "PG_CONFIG=#{postgresql.opt_bin}/pg_config"
      # below this formula's folder, from which Homebrew links it into the server's
      system "make", "install", "PG_CONFIG=#{postgresql.opt_bin}/pg_config",
             "pkglibdir=#{lib}/#{postgresql.name}",
             "datadir=#{share}/#{postgresql.name}",
             "docdir=#{doc}"
    end
  end

  test do
    ENV["LC_ALL"] = "C"
    postgresqls.each do |postgresql|
      pg_ctl = postgresql.opt_bin/"pg_ctl"
      psql = postgresql.opt_bin/"psql"
      port = free_port
      datadir = testpath/postgresql.name
      system pg_ctl, "initdb", "-D", datadir
      (datadir/"postgresql.conf").write "port = #{port}\n", mode: "a+"
      system pg_ctl, "start", "-D", datadir, "-l", testpath/"log-#{postgresql.name}"
      begin
        system psql, "-p", port.to_s, "-c", "CREATE EXTENSION roaring64_tables CASCADE", "postgres"
        output = shell_output("#{psql} -XqAt -p #{port} -c \"SELECT roaring64 '{1,2,3}' & '{2,3,4}'\" postgres")
        assert_equal "{2,3}", output.strip
      ensure
        system pg_ctl, "stop", "-D", datadir
      end
    end
  end
end
