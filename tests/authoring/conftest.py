import pytest

from tests.authoring.workshop import Workshop


@pytest.fixture
def graded_workshop(workshop):
    workshop.graded()
    return workshop


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path / "course")
