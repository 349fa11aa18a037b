"""The plan of the paper's experiments."""

import json

from experiments.paper import Cell, experiments


def test_cells_used_by_several_tables_are_planned_once():
    plan = {experiment.name: set(experiment.cells) for experiment in experiments()}
    assert plan["table3"] < plan["table2"]
    assert len(set().union(*plan.values())) < sum(map(len, plan.values())) / 1.5


def test_every_table_has_enough_seeds_for_each_number_of_landmarks():
    cells = {cell for e in experiments() for cell in e.cells}

    def n_seeds(*group):
        found = (c for c in cells if (c.data, c.method, c.m, c.settings) == group)
        return len({c.seed for c in found})

    for data in ("imagenet12", "mnist", "covtype"):
        for method in ("aKKm", "tKKm", "nysSC"):
            for m in (100, 200, 500, 1000, 2000):
                assert n_seeds(data, method, m, ()) == 10
            assert n_seeds(data, method, 5000, ()) >= 3
    for m in (100, 200, 500, 1000, 2000):
        assert n_seeds("kddcup99-full", "aKKm", m, ()) >= 3
        assert n_seeds("mnist", "aKKm", m, (("landmarks", "diagonal"),)) == 10
    assert n_seeds("mnist", "KKm", None, ()) == 10


def test_exact_kernel_k_means_runs_before_methods_compared_with_it(all_cells):
    for data in ("tiny-mnist", "tiny-imagenet12"):
        methods = [cell.method for cell in all_cells if cell.data == data]
        assert methods[:2] == ["KKm", "KKm"]
        assert "KKm" not in methods[2:]


def test_a_cell_restored_from_json_is_equal():
    cell = Cell("mnist", "aKKm", 100, 3, (("init", "k-means++"), ("x", 1.5)))
    assert Cell.from_json(json.loads(cell.key)) == cell
