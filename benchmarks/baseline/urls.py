from __future__ import annotations

from django.urls import path

from benchmarks.baseline import bare, burst

urlpatterns = [
    path("static", bare.static),
    path("unchanged", bare.unchanged),
    path("select-1", bare.select_1),
    path("burst", burst.accept),
]
