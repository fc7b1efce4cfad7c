"""The admin app with our site."""

from django.contrib.admin.apps import AdminConfig


class PanelAdminConfig(AdminConfig):
    """Django's admin; its site is the panel's."""

    default_site = "controlplane.dashboard.django_admin.site.PanelAdminSite"
