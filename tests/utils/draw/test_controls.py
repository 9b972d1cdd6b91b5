from utils.draw.controls import Choice, Slider, settle

CONTROLS = {
    "b": Slider("b", 1, 4, 2),
    "i": Slider("i", 1, lambda before: -(-7 // before["b"]), 3),
}


def test_starts_where_the_author_said():
    assert settle(CONTROLS, {}) == {"b": 2, "i": 3}


def test_a_later_bound_follows_an_earlier_control():
    assert settle(CONTROLS, {"b": 4, "i": 4}) == {"b": 4, "i": 2}


def test_values_outside_move_to_the_nearest_inside():
    assert settle(CONTROLS, {"b": 9, "i": -5}) == {"b": 4, "i": 1}


def test_a_start_beyond_its_bound_is_moved_too():
    assert settle({"i": Slider("i", 1, 2, 9)}, {}) == {"i": 2}


def test_an_empty_range_keeps_its_low_end():
    assert settle({"i": Slider("i", 1, lambda before: 0, 1)}, {}) == {"i": 1}


def test_a_choice_takes_only_its_options():
    choice = {"order": Choice("order", {"up": 1, "down": -1}, 1)}
    assert settle(choice, {"order": -1}) == {"order": -1}
    assert settle(choice, {"order": 7}) == {"order": 1}
