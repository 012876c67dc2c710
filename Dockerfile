# Dockerfile
#	  The official PostgreSQL image with roaring64.
#
#	docker build --build-arg POSTGRES=18 --tag postgres-roaring64 .
#	docker run --env POSTGRES_PASSWORD=secret postgres-roaring64
#
# CRoaring's sources become part of the module, so the image has no more than
# PostgreSQL's own and three folders' files of roaring64.

ARG POSTGRES=18
FROM postgres:${POSTGRES} AS build
ARG CROARING=v4.6.1
RUN apt-get update && apt-get install -y --no-install-recommends \
	ca-certificates git gcc libc6-dev make "postgresql-server-dev-$PG_MAJOR"
RUN git clone --depth 1 --branch "$CROARING" \
	https://github.com/RoaringBitmap/CRoaring /croaring
COPY . /roaring64
RUN make -C /roaring64 clean && \
	make -C /roaring64 ROARING_SOURCE=/croaring DESTDIR=/installed install

FROM postgres:${POSTGRES}
COPY --from=build /installed/ /
