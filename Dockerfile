# Dockerfile
#	  The official PostgreSQL image with roaring64.
#
#	docker build --build-arg POSTGRES=18 --tag postgres-roaring64 .
#	docker run --env POSTGRES_PASSWORD=secret postgres-roaring64
#
# CRoaring's sources become part of the module, so the image has no more than
# PostgreSQL's own, three folders' files of roaring64, and their licenses.

ARG POSTGRES=18
FROM postgres:${POSTGRES} AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
	ca-certificates git gcc libc6-dev make "postgresql-server-dev-$PG_MAJOR"
COPY . /roaring64
WORKDIR /roaring64
RUN [ -d croaring ] || \
	git clone --depth 1 --branch "v$(cat packaging/croaring-version)" \
	https://github.com/RoaringBitmap/CRoaring croaring
RUN make clean && make DESTDIR=/installed install && \
	cp LICENSE "/installed$(pg_config --docdir)/extension/roaring64.txt"

FROM postgres:${POSTGRES}
COPY --from=build /installed/ /
