"""Operations of migrations."""

from django.contrib.postgres.operations import CreateExtension


class Roaring64Extension(CreateExtension):
    """CREATE EXTENSION roaring64, for the first migration."""

    def __init__(self) -> None:
        super().__init__("roaring64")
