from __future__ import annotations

from django.urls import path

from benchmarks.baseline import agents, bare, burst, inserting

urlpatterns = [
    path("static", bare.static),
    path("sentence", bare.sentence),
    path("unchanged", bare.unchanged),
    path("select-1", bare.select_1),
    path("agents/<id>", agents.one),
    path("agents", agents.many),
    path("insert", inserting.insert),
    path("burst", burst.accept),
]
