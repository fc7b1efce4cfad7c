"""The API's own page: Swagger UI, whose widgets set styles on their elements."""

from csp.constants import SELF, UNSAFE_INLINE
from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularSwaggerSplitView


# Styles only, and only here: scripts stay those that this site serves as files.
@method_decorator(csp_update({"style-src": [SELF, UNSAFE_INLINE]}), name="dispatch")
class ApiDocs(SpectacularSwaggerSplitView):
    """Swagger UI under a policy that lets inline styles through."""

    metadata_class = None  # OPTIONS would be answered by the page's template
