"""The Kube in memory keeps the port's contract."""

from __future__ import annotations

import pytest

from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.kube_contract import KubeContract


class TestFakeKube(KubeContract):
    @pytest.fixture
    def kube(self) -> FakeKube:
        return FakeKube(FakeCluster())
