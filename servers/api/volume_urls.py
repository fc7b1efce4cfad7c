"""Volumes under /api/: their snapshots, types and transfers, and the pools that they are in."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.storage_pools import StoragePoolViewSet
from servers.api.views.volume_backups import VolumeBackupViewSet
from servers.api.views.volume_snapshots import VolumeSnapshotViewSet
from servers.api.views.volume_transfers import VolumeTransferViewSet
from servers.api.views.volume_types import VolumeTypeProjectsView, VolumeTypeProjectView, VolumeTypeViewSet
from servers.api.views.volumes import VolumeViewSet

router = SimpleRouter()
router.register("volumes", VolumeViewSet, basename="volume")
router.register("volume-snapshots", VolumeSnapshotViewSet, basename="volume-snapshot")
router.register("volume-backups", VolumeBackupViewSet, basename="volume-backup")
router.register("volume-types", VolumeTypeViewSet, basename="volume-type")
router.register("volume-transfers", VolumeTransferViewSet, basename="volume-transfer")
router.register("storage-pools", StoragePoolViewSet, basename="storage-pool")

urlpatterns = [
    *router.urls,
    path("volume-types/<str:pk>/projects/", VolumeTypeProjectsView.as_view(), name="volume-type-projects"),
    path("volume-types/<str:pk>/projects/<str:project>/", VolumeTypeProjectView.as_view(), name="volume-type-project"),
]
