"""The common settings of rerankers and retrievers of LangChain and LlamaIndex, as a Pydantic model.

The module needs Pydantic, a dependency of both frameworks, so only their modules import it.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from diverset.integrations._rerank import Choice, VectorCache, name_error
from diverset.numerics.validation import check_size

__all__ = ["RerankSettings"]


class RerankSettings(BaseModel):
    """Settings of :class:`Choice` except its size, whose name depends on the framework, and a cache of vectors."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    #: The framework's name for the number of picks, and names that the framework's serialisation adds.
    size_name: ClassVar[str] = "top_n"
    added_names: ClassVar[frozenset[str]] = frozenset()

    diversity: float = Field(default=0.5, description="0 ranks by relevance alone, 1 by diversity alone.")
    keep: float | None = Field(default=None, description="Share of relevance to keep, instead of diversity.")
    scale: str | None = Field(default="rank", description="How scores are calibrated: 'rank', 'standard' or None.")
    given: Any = Field(default=None, description="Documents, their ids or positions that were shown before.")
    groups: Any = Field(default=None, description="Metadata entry of which at most per_group picks share a value.")
    per_group: int | None = Field(default=None, description="Largest number of picks with the same value of groups.")
    min_quality: float | None = Field(default=None, description="Documents with a lower score are left out.")
    cache_size: int = Field(default=10_000, description="Number of embedded texts whose vectors are remembered.")
    _cache: VectorCache = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _check(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping):
            return settings
        settings = {name: value for name, value in settings.items() if name not in cls.added_names}
        for name in settings:
            if name not in cls.model_fields:
                raise ValueError(name_error(cls.__name__, name, cls.model_fields))
        Choice.of(settings, cls.size_name)
        check_size(settings.get("cache_size", 0), name="cache_size")
        return settings

    @model_validator(mode="after")
    def _start_cache(self) -> Self:
        self._cache = VectorCache(self.cache_size)
        return self

    def _choice(self, **changes: Any) -> Choice:
        """The settings, with changes for one call."""
        return Choice.of(self.__dict__, self.size_name).but(type(self).__name__, **changes)
