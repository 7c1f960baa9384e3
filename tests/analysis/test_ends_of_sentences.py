"""How a program's lines train otherwise is told once, another network before all else."""

from __future__ import annotations

from kbench.analysis import fingerprints


def test_the_same_difference_of_several_repeats_is_told_once_and_another_network_first() -> None:
    network = "unlike a/x in its model: layer 1, Dense, has units 4 instead of 8"
    found = fingerprints.each_once(
        ["unlike a/x in its number of parameters: 5 instead of 9", network, network.replace("a/x", "a/y"), "its own"]
    )
    assert found == ("unlike a/x in its number of parameters: 5 instead of 9", network, "its own")
    rate = "unlike a/x in its optimizer: learning_rate 0.1 instead of 0.2"
    assert fingerprints.ends_of_sentences([*found, rate]) == (f"is {network}, so it is not compared", f"is {rate}")
    assert (
        fingerprints.ends_of_sentences([network, "unlike a/x in its optimizer: epsilon 1e-08 instead of 1e-07"]) == ()
    )
