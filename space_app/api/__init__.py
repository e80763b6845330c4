"""Stage 7 of 8. In: answers of the query stage. Out: JSON and typed arrays over HTTP, as docs/http_api.md says."""

from space_app.api.routes import create_api

__all__ = ["create_api"]
