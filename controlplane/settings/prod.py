"""Behind TLS, configured by environment alone: SECRET_KEY, DATABASE_URL and ALLOWED_HOSTS must be given.

A proxy that speaks TLS is named by TRUSTED_PROXIES=1; where that is 0, the web server itself speaks it.
"""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings import env
from controlplane.settings.base import *

if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured("SECRET_KEY must be set to at least 50 random characters")
if any(len(key) < 50 for key in SECRET_KEY_FALLBACKS):
    raise ImproperlyConfigured("SECRET_KEY_FALLBACKS must be keys of at least 50 characters, separated by commas")
if not env.is_given("DATABASE_URL"):
    raise ImproperlyConfigured("DATABASE_URL must be set: no database of production is made by accident")
if KILONOVA["PLACEMENT_TEST_IDENTITY"]:
    raise ImproperlyConfigured("PLACEMENT_TEST_IDENTITY believes whatever a client says; it has no place here")

# Without a proxy the header comes from the client, and would make plain HTTP count as HTTPS.
if KILONOVA["TRUSTED_PROXIES"]:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = installation.hsts_seconds
SECURE_HSTS_INCLUDE_SUBDOMAINS = installation.hsts_include_subdomains
SECURE_HSTS_PRELOAD = installation.hsts_preload
# Both promises are made for other names too, so whoever runs those decides.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
WHITENOISE_USE_FINDERS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
