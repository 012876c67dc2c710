# default.nix
#	  The extension as nixpkgs builds those of PostgreSQL, of this tree:
#
#	nix-build packaging/nix --argstr postgresql postgresql_18
#
# CRoaring is that of nixpkgs, whose sources are compiled in.
{
  pkgs ? import <nixpkgs> { },
  postgresql ? "postgresql_18",
}:

let
  server = pkgs.${postgresql};
  meta = builtins.fromJSON (builtins.readFile ../../META.json);
in
pkgs.stdenv.mkDerivation {
  pname = "roaring64";
  inherit (meta) version;

  src = pkgs.lib.cleanSource ../..;

  buildInputs = [ server ];
  nativeBuildInputs = [ (server.pg_config or server) ];

  makeFlags = [
    "ROARING_SOURCE=${pkgs.croaring.src}"
  ];

  # the server's own folders cannot be written to; its packages are put together
  # by postgresql.withPackages
  installFlags = [
    "pkglibdir=$(out)/lib"
    "datadir=$(out)/share/postgresql"
    "docdir=$(out)/share/doc/roaring64"
  ];

  meta = {
    description = meta.abstract;
    homepage = meta.resources.homepage;
    license = with pkgs.lib.licenses; [
      postgresql
      asl20
      mit
      bsd3
    ];
    platforms = server.meta.platforms;
  };
}
