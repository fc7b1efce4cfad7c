"""What the search found, as the API shows it."""

from typing import Any

from rest_framework import serializers

from servers.search.selectors import SearchResult


class FoundOutput(serializers.Serializer[Any]):
    """One thing. `key` is its id, or its name where that is what it is addressed by."""

    kind = serializers.CharField()
    key = serializers.CharField()
    name = serializers.CharField()
    note = serializers.CharField()
    project = serializers.CharField(help_text="Its project's name, for administrators; else empty.")


class SearchOutput(serializers.Serializer[SearchResult]):
    """The first of each kind."""

    q = serializers.CharField(source="term.text")
    found = FoundOutput(many=True)
    more_of = serializers.SerializerMethodField(help_text="Kinds of which there is more than is shown.")

    def get_more_of(self, result: SearchResult) -> list[str]:
        """In order of the alphabet."""
        return sorted(result.cut)
