import pytest

from tests.authoring.workshop import Workshop


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path / "course")
