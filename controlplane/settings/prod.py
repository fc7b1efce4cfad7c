"""Behind TLS, configured by environment alone: SECRET_KEY, DATABASE_URL and ALLOWED_HOSTS must be given."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings.base import *

if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured("SECRET_KEY must be set to at least 50 random characters")
if KILONOVA["PLACEMENT_TEST_IDENTITY"]:
    raise ImproperlyConfigured("PLACEMENT_TEST_IDENTITY believes whatever a client says; it has no place here")

SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
WHITENOISE_USE_FINDERS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
