"""The planted mistakes: each replaces a text of a file, so that a test must fail.

``python -m tests.mutants`` plants each mistake in a copy of the project and runs its tests. If a
text in a file changes, change its entry here, too (``tests/test_mutants.py``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One planted mistake.

    Parameters
    ----------
    file
        Path below ``dpviz/``.
    old, new
        Text that occurs once in the file, and its replacement.
    tests
        Files of tests below ``tests/``; at least one of these tests has to fail.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _of(file: str, *tests: str, **changes: tuple[str, str]) -> dict[str, Mistake]:
    stem = file.rsplit("/", 1)[-1].removesuffix(".py")
    return {
        f"{stem}-{name}".replace("_", "-"): Mistake(file, old, new, tests)
        for name, (old, new) in changes.items()
    }


MISTAKES: dict[str, Mistake] = {
    **_of(
        "base/compiled.py",
        "test_lazy.py",
        stored_code_loads_the_compiler=("self._load_overload(", "super().load_overload("),
    ),
    **_of(
        "base/lazy.py",
        "test_lazy.py",
        numpy_loads_f2py=('("f2py", "testing")', '("testing",)'),
        numpy_keeps_the_placeholder=("isinstance(numpy.get(part), Later)", "False"),
        a_match_loads_scipy_optimize=('find_spec("_lsap"', 'find_spec("_lsap_"'),
        a_match_is_always_least=("(cost, maximize)", "(cost, False)"),
    ),
    **_of(
        "audit/bounds.py",
        "audit/test_external.py",
        delta_is_not_allowed=("np.maximum(low - delta, 0)", "low"),
    ),
    **_of(
        "audit/external.py",
        "audit/test_external.py",
        the_test_repeats_the_choosing_runs=(
            "audited.rows(number, side, half, runs)",
            "audited.rows(number, side, 0, runs - half)",
        ),
        a_new_process_is_not_compared=("return True, [", "return False, ["),
        small_numbers_are_rounded_away=("without * scales, joined * scales", "without, joined"),
    ),
    **_of(
        "audit/external_runs.py",
        "audit/test_method_file.py",
        half_of_a_usual_grid_is_cut=("MOST_NUMBERS = 5_000", "MOST_NUMBERS = 2_000"),
        the_end_of_an_error_is_not_compared=("{_code(kind):.0f}", ""),
    ),
    **_of(
        "audit/method_file.py",
        "audit/test_method_file.py",
        the_ledger_is_not_compared=("in accountant.ledger]", "in ()]"),
    ),
    **_of(
        "wavecluster/fates.py",
        "wavecluster/test_fates.py",
        pieces_are_of_the_cluster_before=(
            "splinters=np.flatnonzero(splinters) + 1",
            "splinters=np.flatnonzero(splinters)",
        ),
    ),
    **_of(
        "figures/wavecluster/damage.py",
        "figures/test_damage.py",
        lost_clusters_have_no_outline=(
            '("lost", "grown", "shrunk", "broken")',
            '("grown", "shrunk", "broken")',
        ),
        true_and_private_are_exchanged=(
            "[[2, 1, number]]] for number in new]",
            "[[2, 0, number]]] for number in new]",
        ),
    ),
    **_of(
        "metrics/centers.py",
        "kmeans/test_headline.py",
        far_centres_are_near_ones=("far=np.flatnonzero(far)", "far=np.flatnonzero(~far)"),
    ),
    **_of(
        "data/parquet.py",
        "data/reading/test_one_record.py",
        dictionaries_keep_their_type=(
            "pa.types.is_dictionary(one.type) or holds_text(one.type)",
            "holds_text(one.type)",
        ),
        registered_types_are_one_column=("return _leaves(kind.storage_type)", "return 1"),
    ),
    **_of(
        "data/reading/table.py",
        "data/reading/test_one_record.py",
        other_rows_take_no_memory=("(self.rows + self.ragged.rows) * each", "self.rows * each"),
    ),
    **_of(
        "privacy/ledger.py",
        "privacy/test_mechanisms.py",
        exchange_counts_once=('(2 if self.relation == "replace_one" else 1)', "1"),
        cap_is_forgotten=("self.cap * (2 if", "(2 if"),
        parallel_takes_the_least=("max(cost, largest.get", "min(cost, largest.get"),
        sequential_takes_the_last=("total += cost", "total = cost"),
        parallel_is_free=("total + sum(largest.values(), nothing)", "total"),
        no_budget_is_one=("SMALLEST_EPSILON <= epsilon <= 1e6", "0 <= epsilon <= 1e6"),
        rounding_is_a_rest=("rest if rest > _ROUNDING * budget else 0.0", "rest"),
    ),
    **_of(
        "privacy/mechanisms.py",
        "privacy/test_mechanisms.py",
        "privacy/test_gradual.py",
        "privacy/test_k_norm.py",
        neighbours_are_forgotten=(
            "changed = sensitivity * self._changed",
            "changed = sensitivity",
        ),
        half_the_noise=("scale=factor * changed / epsilon", "scale=factor * changed / epsilon / 2"),
        budget_is_per_step=("if after.epsilon > self.budget", "if epsilon > self.budget"),
        every_choice_is_monotone=("factor = 1.0 if monotone else 2.0", "factor = 1.0"),
        interval_has_half_the_noise=(
            'scale = self._spend(step, sensitivity, epsilon, 2.0, "sequential")',
            'scale = self._spend(step, sensitivity, epsilon, 1.0, "sequential")',
        ),
        length_is_forgotten=("np.log(np.diff(edges)) + scores / scale", "scores / scale"),
        rows_share_the_least_noise=(
            "np.array(scales)[:, None]",
            "np.array(min(scales))",
        ),
        finer_is_half_price=(
            "part = epsilon - gradual.levels[gradual.known].epsilon",
            "part = (epsilon - gradual.levels[gradual.known].epsilon) / 2",
        ),
        split_twice=("gradual.closed = True", "gradual.closed = False"),
        refused_spends_stay=("del self._spends[before:]", "pass"),
        coarse_stays_too_often=("return math.exp(2 * (", "return math.exp(1 * ("),
        geometric_is_cut=(
            "np.floor((np.abs(unit) + more) * scale)",
            "np.floor(np.abs(unit) * scale)",
        ),
        k_norm_has_half_the_noise=(
            "self.noise.k_norm(step, scale,",
            "self.noise.k_norm(step, scale / 2,",
        ),
        all_levels_are_the_finest=(
            "[sensitivity * self._changed / level.epsilon for level in levels]",
            "[sensitivity * self._changed / levels[-1].epsilon for _ in levels]",
        ),
        length_is_no_norm=(
            "np.asarray(np.maximum(entries, lengths))",
            "np.asarray(entries)",
        ),
    ),
    **_of(
        "privacy/secure.py",
        "privacy/test_secure.py",
        "privacy/test_gradual.py",
        sensitivity_is_one=(
            "spend, change = self._spends.pop(), self._units(sensitivity)\n        if left <= 0:",
            "spend, change = self._spends.pop(), 1\n        if left <= 0:",
        ),
        units_are_rounded_down=("return math.ceil(sensitivity", "return math.floor(sensitivity"),
        map_is_ignored=("if certified <= epsilon:", "if certified > 0:"),
        lattice_rounds_up=("np.trunc(points / LATTICE)", "np.ceil(points / LATTICE)"),
        coins_are_upside_down=("found[open_] = drawn < word", "found[open_] = drawn > word"),
        fractions_get_noise=(
            "(np.isfinite(exact) & (exact == np.rint(exact))).all()",
            "np.isfinite(exact).all()",
        ),
        spends_are_forgotten=(
            "left = Fraction(self.budget) - _total(self._spends, (step, composition))",
            "left = Fraction(self.budget)",
        ),
        certificate_is_rounded_down=(
            "return near if Fraction(near) >= value else math.nextafter(near, math.inf)",
            "return near if Fraction(near) <= value else math.nextafter(near, -math.inf)",
        ),
        every_maximum_is_monotone=(
            'metric = linf_distance(T="i64", monotonic=monotone)',
            'metric = linf_distance(T="i64", monotonic=True)',
        ),
    ),
    **_of(
        "privacy/rounded.py",
        "privacy/test_k_norm.py",
        radius_is_short=(
            "_minus_log(uniforms[: columns + 1], context)",
            "_minus_log(uniforms[:columns], context)",
        ),
        ball_is_a_sphere=(
            "coordinates = coordinates[: ball + 2]",
            "coordinates = coordinates[:ball]",
        ),
        noise_is_never_negative=("[-one if sign else one for", "[one for"),
        doubt_is_ignored=(
            "if low != high:\n            return None",
            "if False:\n            pass",
        ),
    ),
    **_of(
        "privacy/budget_log.py",
        "privacy/test_budget.py",
        "privacy/test_budget_attacks.py",
        too_much_is_let_through=(
            'if micro("epsilon", epsilon) > round(self.remaining * MICRO):',
            'if micro("epsilon", epsilon) > round(self.total * MICRO):',
        ),
        epsilon_is_rounded_up=(
            "return int(Decimal(repr(number)) * MICRO)",
            "return int(Decimal(repr(number)) * MICRO) + 1",
        ),
        chain_is_not_checked=(
            "if (number, found) != (len(log.hashes) + 1, log._hash(record)):",
            "if number != len(log.hashes) + 1:",
        ),
        cut_end_is_not_seen=("if made != (len(log.hashes),):", "if made is None:"),
        hash_stands_alone=(
            'before = self.hashes[-1] if self.hashes else ""',
            'before = ""',
        ),
    ),
    **_of(
        "privacy/lifetime_budget.py",
        "privacy/test_budget.py",
        "privacy/test_budget_attacks.py",
        total_may_shrink=(
            "if asked is not None and asked != log.totals[account.id]:",
            "if asked is not None and asked > log.totals[account.id]:",
        ),
        disk_is_not_waited_for=("synchronous = EXTRA", "synchronous = OFF"),
        one_hard_link_is_fine=("if self.links > 1:", "if self.links > 2:"),
        older_copies_are_fine=(
            "if noted is not None and not log.has(noted):",
            "if noted is not None and not log.hashes:",
        ),
        replaced_file_is_fine=("if _Place.of(self.path) == place:", "if True:"),
        other_versions_are_read=("if version != VERSION:", "if False:"),
    ),
    **_of(
        "privacy/budget_log.py",
        "commands/test_payer.py",
        links_are_other_files=(
            "if one.number in self.numbers and one.number:",
            "if one.number not in self.numbers and one.number:",
        ),
        parts_are_not_their_folder=(
            "self.paths.get(one.path) or self.paths.get(one.folder)",
            "self.paths.get(one.path)",
        ),
    ),
    **_of(
        "privacy/lifetime_budget.py",
        "commands/test_payer.py",
        race_opens_two_budgets=(
            "log.owner(origins, source)\n            account",
            "account",
        ),
    ),
    **_of(
        "data/stored.py",
        "data/test_stored.py",
        files_of_other_marks_are_like_the_first=('{*floats.values()} != {"."}', "not floats"),
        files_of_other_names_are_like_the_first=(" and head.startswith(above)", ""),
        rows_of_another_width_are_alike=("any(one.wrong for one in batches)", "False"),
    ),
    **_of(
        "data/source.py",
        "data/test_stored.py",
        links_count_twice=("origin.number or origin.path", "path"),
    ),
    **_of(
        "data/source.py",
        "commands/test_payer.py",
        any_store=("not start or start[1].lower() in STORES", "not start or start[1] != 'file'"),
    ),
    **_of(
        "privacy/lifetime_budget.py",
        "release/test_release.py",
        neighbours_may_change=(
            "_check_alike(account, what, alike)\n            account",
            "account",
        ),
    ),
    **_of(
        "privacy/noise_source.py",
        "test_noise.py",
        "privacy/test_k_norm.py",
        gumbel_has_no_scale=(
            'return scale * _draw("gumbel"',
            'return _draw("gumbel"',
        ),
        laplace_has_no_scale=(
            'return scale * _draw("laplace"',
            'return _draw("laplace"',
        ),
    ),
    **_of(
        "data/units.py",
        "privacy/test_mechanisms.py",
        "data/test_stored_units.py",
        "release/test_release.py",
        one_more_record=("order[rank < cap]", "order[rank <= cap]"),
    ),
    **_of(
        "data/reading/cells.py",
        "data/test_persons.py",
        narrow_floats_are_wide=("np.finfo(values.dtype).nmant", "np.finfo(np.float64).nmant"),
    ),
    **_of(
        "data/strict/counts.py",
        "data/reading/test_read.py",
        a_thousand_is_nothing=("if found := _APART.fullmatch(text):", "if found := None:"),
    ),
    **_of(
        "release/draw.py",
        "release/test_release.py",
        debit_comes_last=(
            "with_earlier(prepared.draw(entry.epsilon)",
            "with_earlier(prepared.draw(2 * entry.epsilon)",
        ),
        bundles_are_overwritten=("    if taken:", "    if not folder:"),
        huge_numbers_stay=(
            "keep = whole_rows(points)",
            "keep = np.isfinite(points).all(axis=1)",
        ),
        names_are_not_looked_at=("if dataset.doubtful:", "if False:"),
        units_may_differ=(
            'ALIKE = ("neighbours", "unit", "unit_column")',
            'ALIKE = ("neighbours",)',
        ),
        key_is_known=("secrets.randbits(63)", "0"),
    ),
    **_of(
        "release/bundle.py",
        "release/test_package.py",
        hashes_may_be_missing=(
            "for name in sorted((listed | set(stated)) - {_SUMS}) if stated else ():",
            "for name in sorted(stated):",
        ),
        any_debit_fits=("one.epsilon == epsilon", "True"),
    ),
    **_of(
        "release/tables.py",
        "release/test_axes.py",
        cells_stay_as_they_are=(
            "for row in zip(*result[name], strict=True)",
            "for row in result[name]",
        ),
    ),
    **_of(
        "release/geojson.py",
        "release/test_axes.py",
        longitudes_stay_beyond_180=("at - (turn, 0)", "at"),
    ),
    **_of(
        "data/geographic.py",
        "data/test_geographic.py",
        a_latitude_may_be_180=("return not within(bounds, 90)", "return not within(bounds, 180)"),
        a_plane_has_no_order=("rest[0] is not None and", "False and"),
    ),
    **_of(
        "ui/data/own_columns.py",
        "ui/test_axes.py",
        bounds_stay_with_the_place=(".select((1, 0))", ""),
    ),
    **_of(
        "release/doubt.py",
        "release/test_doubt.py",
        few_null_sets=('"centers": 90', '"centers": 9'),
        half_is_enough=("np.any(seen > most, axis=1)", "np.any(2 * seen > most, axis=1)"),
        records_come_one_by_one=("return round(MORE * _group(document))", "return 1"),
        rows_are_alike=("kept = max(", "kept = 0 * max("),
        few_records_are_even=("< FEW * group", "< 0 * group"),
        empty_centres_pass=("sure &= counts >", "sure |= counts >"),
    ),
    **_of(
        "release/doubt.py",
        "release/test_accuracy.py",
        bands_of_one_cluster_only=("_RATE * (1 - SURE) / number", "_RATE * (1 - SURE)"),
        noise_is_halved=("scale * times / (one - least)", "scale * times / 2 / (one - least)"),
        places_are_exact_to_a_cell=("(error + half)", "error"),
        bands_are_too_narrow=("math.ceil(SURE * (len(errors) + 1))", "(len(errors) + 1) // 4"),
        a_size_that_half_of_the_runs_miss=(
            'if spot is not None and not np.array(drawn["labels"])[spot]:',
            "if False:",
        ),
    ),
    **_of(
        "wavecluster/methods/privthr.py",
        "wavecluster/test_methods.py",
        "test_privacy_contract.py",
        half_the_sensitivity=(
            "sensitivity=bound.nonpositive,",
            "sensitivity=bound.nonpositive / 2,",
        ),
        all_of_z_is_dropped=("round(nonpositive / 2)", "round(nonpositive)"),
        true_subband_is_cut=(
            "threshold = pruned_threshold(average, config.density, float(noisy_nonpositive))\n"
            "    return",
            "threshold = pruned_threshold(true_average, config.density, "
            "float(noisy_nonpositive))\n    return",
        ),
    ),
    **_of(
        "wavecluster/methods/privthrem.py",
        "wavecluster/test_methods.py",
        "test_replay.py",
        range_is_the_true_one=(
            "largest = float(noisy.max()) if sound else float(values.max(initial=0.0))",
            "largest = float(values.max(initial=0.0))",
        ),
        rank_has_the_sensitivity_of_z=(
            'bound.rank if config.variant == "sound" else bound.nonpositive',
            "bound.nonpositive",
        ),
    ),
    **_of(
        "wavecluster/wavelet.py",
        "wavecluster/test_wavelet.py",
        best_phase_counts=("largest = max(largest, norm)", "largest = norm"),
        target_stands_still=(
            "rank = max(rank, up + rank_of(density, down), down + rank_of(density, up))",
            "rank = max(rank, up, down)",
        ),
        negative_taps_count_up=(
            "up, down = up * axis_up + down * axis_down, up * axis_down + down * axis_up",
            "up, down = up * axis_up, up * axis_down",
        ),
    ),
    **_of(
        "wavecluster/wavelet.py",
        "wavecluster/test_threshold_components.py",
        rounding_adds_a_cell=(
            "-(-kept * int(positive) // _PARTS)",
            "-int(-(1 - density) * positive // 1)",
        ),
        rank_is_rounded_down=(
            "-(-kept * int(positive) // _PARTS)",
            "kept * int(positive) // _PARTS",
        ),
    ),
    **_of(
        "wavecluster/threshold.py",
        "wavecluster/test_threshold_components.py",
        threshold_itself_is_out=("return average >= value", "return average > value"),
    ),
    **_of(
        "wavecluster/heldout.py",
        "metrics/test_metrics.py",
        noise_is_learned_alone=(
            "tree.fit(np.argwhere(significant), labels[significant])",
            "tree.fit(np.argwhere(labels >= 0), labels.ravel())",
        ),
        corner_of_a_cell=("(cells + 0.5) / side - 0.5", "cells / side"),
    ),
    **_of(
        "metrics/matching.py",
        "metrics/test_metrics.py",
        dsg_c_takes_the_smaller=(
            "cost = np.maximum(sizes_true",
            "cost = np.minimum(sizes_true",
        ),
        alone_costs_nothing=(
            "total = (sizes_true if true_is_larger else sizes_private).sum()",
            "total = sizes_true.sum()",
        ),
        ocm_matches_the_worst=(
            "linear_sum_assignment(table, maximize=True)\n    return float(1",
            "linear_sum_assignment(table)\n    return float(1",
        ),
        pairs_count_once=("- 2 * _pairs(table)", "- _pairs(table)"),
        f_forgets_sizes=("(rows * best).sum()", "best.sum()"),
        rand_without_chance=("(2 * joined * pairs - expected)", "(2 * joined * pairs)"),
        information_without_chance=("float((mutual - expected)", "float(mutual"),
        weights_are_forgotten=("weights=np.ravel(weights), minlength", "minlength"),
        strangers_match=(
            "shared = table[rows, columns] > 0",
            "shared = table[rows, columns] >= 0",
        ),
    ),
    **_of(
        "metrics/bands.py",
        "metrics/test_metrics.py",
        "experiments/test_draws.py",
        band_is_too_narrow=("LOW, HIGH = 0.05, 0.95", "LOW, HIGH = 0.1, 0.9"),
        numpys_quantile=(
            'np.quantile(values, shares, method="weibull")',
            "np.quantile(values, shares)",
        ),
    ),
    **_of(
        "kmeans/schedule.py",
        "kmeans/test_parts.py",
        last_step_takes_no_rest=("(steps - 1 if whole else steps)", "steps"),
    ),
    **_of(
        "kmeans/space.py",
        "kmeans/test_parts.py",
        ball_forgets_the_count=('2.0 if self.geometry == "l1"', '1.0 if self.geometry == "l1"'),
        box_forgets_the_count=("self.domain.ndim + 1.0", "float(self.domain.ndim)"),
        rounding_leaves_the_box=("np.clip(scaled, self.low, 1, out=scaled)", "pass"),
        ball_is_a_shell=("points / np.maximum(norms, 1)", "points / np.maximum(norms, 1e-300)"),
    ),
    **_of(
        "kmeans/lloyd.py",
        "kmeans/test_parts.py",
        "kmeans/test_methods.py",
        outside_is_inside=("kept = ~(positive & space.contains(moved))", "kept = ~positive"),
        start_costs_nothing=(
            "left = epsilon - START_SHARE * epsilon",
            "left = epsilon",
        ),
        records_are_cut_from_the_list=(
            '    if config.variant == "published":\n        values = records.slices(space, K)',
            "    if True:\n        values = records.slices(space, K)",
        ),
    ),
    **_of(
        "kmeans/methods/contour.py",
        "kmeans/test_methods.py",
        budgets_pass_the_limit=("epsilon * gain / gain.max()", "epsilon * gain / gain.min()"),
    ),
    **_of(
        "kmeans/methods/privgene.py",
        "kmeans/test_methods.py",
        "test_replay.py",
        chosen_twice=("scores[pick] = -np.inf", "pass"),
        difference_is_halved=(
            "difference(candidates) / LATTICE) + 2",
            "difference(candidates) / 2 / LATTICE) + 2",
        ),
    ),
    **_of(
        "kmeans/methods/gupt.py",
        "kmeans/test_methods.py",
        "test_replay.py",
        range_is_one=("sensitivity=2 * K * d / share", "sensitivity=K * d / share"),
    ),
    **_of(
        "kmeans/grid.py",
        "kmeans/test_methods.py",
        "kmeans/test_parts.py",
        size_is_the_true_one=(
            'if config.variant == "published":\n        return Size',
            "if True:\n        return Size",
        ),
    ),
    **_of(
        "kmeans/residual.py",
        "kmeans/test_dprefine.py",
        distances_cost_nothing=("left = epsilon - share * epsilon", "left = epsilon"),
        residuals_are_not_clipped=(
            "(residuals(points, weights, centers, labels, squares, radius, LATTICE),)",
            "(residuals(points, weights, centers, labels, squares, 1e6, LATTICE),)",
        ),
    ),
    **_of(
        "kmeans/kernels.py",
        "kmeans/test_parts.py",
        the_second_is_the_best=(
            "np.partition(squares, 1, axis=1)[:, 1]",
            "np.partition(squares, 1, axis=1)[:, 0]",
        ),
        closest_are_forgotten=(
            "tried[i] = min(closest[i], square(points, i, points, at))",
            "tried[i] = square(points, i, points, at)",
        ),
    ),
    **_of(
        "kmeans/weighted.py",
        "kmeans/test_dprefine.py",
        an_empty_cluster_moves=("table[:, 1] > 0", "table[:, 1] >= 0"),
        losses_are_of_the_step_after=("before = centers.copy()", "before = centers"),
        the_table_is_not_emptied=("        table[:] = 0\n", "        table[:, 0] = 0\n"),
    ),
    **_of(
        "kmeans/kernels.py",
        "kmeans/test_dprefine.py",
        sums_have_no_weights=(
            "table[own, j + 2] += weight * block[i, j]",
            "table[own, j + 2] += block[i, j]",
        ),
        a_grid_begins_at_the_first_cell=("values[begin + place, 0]", "values[place, 0]"),
    ),
    **_of(
        "base/lru.py",
        "test_lru.py",
        a_place_is_kept=("with waiting(), turn:", "with turn:"),
        all_build=(
            "            with turn:\n                return",
            "            if True:\n                return",
        ),
    ),
    **_of(
        "base/tables.py",
        "test_tables.py",
        any_type_is_fine=("_check(isinstance(value, plain), value, shape, place)", "pass"),
        any_word_is_fine=("_check(value in parts, value, shape, place)", "pass"),
    ),
    **_of(
        "teaching/lessons/parser.py",
        "test_lessons.py",
        any_answer_is_right=('if not 1 <= step["right"] <= len(answers):', "if False:"),
    ),
    **_of(
        "server/loop.py",
        "test_loop.py",
        a_sleep_is_forgotten=(
            "        self._awake = False\n        super()._run_once()",
            "        super()._run_once()",
        ),
        callbacks_write=(
            "        self._awake = True\n        super()._process",
            "        super()._process",
        ),
        each_call_writes=("if not self._awake:", "if True:"),
    ),
    **_of(
        "base/threads.py",
        "test_threads.py",
        draws_multiply_with_all_processors=('    load("scipy.linalg")\n', ""),
    ),
    **_of(
        "ui/session/job.py",
        "ui/test_turns.py",
        a_file_that_is_read_rests=("CROWDED if after else", "CROWDED if sessions() > CROWD else"),
    ),
    **_of(
        "kmeans/start.py",
        "kmeans/test_methods.py",
        draws_use_all_processors=("len(points) > MANY and not ALONE.get()", "len(points) > MANY"),
    ),
    **_of(
        "ui/session/job.py",
        "ui/test_turns.py",
        waiting_pages_count_once=("drawn * max(1.0, drawn)", "drawn"),
        a_rest_is_not_looked_at=("left := _rests(self._turns) *", "left := _MOST *"),
        unasked_jobs_rest_as_little_as_asked_ones=("_RESTS if turns is CROWDED else", ""),
    ),
    **_of(
        "wavecluster/evidence.py",
        "wavecluster/test_twostage.py",
        a_padded_edge_is_structure=(
            "room = np.ones(rough.shape) if released.room is None else released.room",
            "room = np.ones(rough.shape)",
        ),
        wide_sums_are_left_out=("WIDTHS = (1, 3, 7, 15)", "WIDTHS = (1, 3)"),
        single_cells_are_left_out=(
            "rough.size * chance_of_count(float(rough[means == mean].max()), float(mean), rate)",
            "1.0",
        ),
    ),
    **_of(
        "wavecluster/random_field.py",
        "wavecluster/test_twostage.py",
        counts_of_a_part_are_alike=(
            "np.floor(-np.log1p(pick / down * np.expm1(-rate * below)) / rate)",
            "np.floor(pick / down * below)",
        ),
        neighbours_weigh_alike=("place] >= 0] += weight", "place] >= 0] += 1"),
        a_chain_starts_at_zero=("height[start],", "height[start * 0],"),
    ),
    **_of(
        "kmeans/optimum.py",
        "kmeans/test_optimum.py",
        distances_stay_squares=("np.sqrt(apart, out=apart)", "np.abs(apart)"),
        half_clusters_are_split=("(counts > 0).all(axis=1)", "(counts > 0).any(axis=1)"),
        gains_forget_sizes=("one * other / (one + other) * between", "between"),
    ),
    **_of(
        "kmeans/chain.py",
        "kmeans/test_chain.py",
        all_gaps_count_alike=("whole += abs(gaps[t, k, j])", "whole += gaps[t, k, j]"),
        a_point_keeps_its_place=("points[i, j] = new[j]", "points[i, j] = points[i, j]"),
    ),
    **_of(
        "data/reading/table.py",
        "data/reading/test_unread.py",
        many_rows_are_left_out=(
            "few = 0 if refuse else FEW * len(points)",
            "few = 0 if refuse else 1e9",
        ),
        large_numbers_are_not_named=("wrong |= large & stay[:, None]", "pass"),
        cells_are_named_whole=("[target], shown(cell)))", "[target], cell))"),
    ),
    **_of(
        "data/strict/lines.py",
        "data/reading/test_unread.py",
        a_release_forgets_ragged_lines=("ragged += others", "ragged += 0"),
    ),
    **_of(
        "data/strict/lines.py",
        "data/explore/test_cases.py",
        a_separator_at_the_end_costs_the_line=("pc.min_element_wise(at_end, more)", "0"),
        a_quotation_mark_costs_the_line=("return line.split(mark)", "return []"),
    ),
    **_of(
        "data/explore/text.py",
        "data/explore/test_cases.py",
        an_open_quotation_mark_swallows_lines=("alone = len(", "alone = 0 * len("),
        lines_above_are_rows=("if is_free else int(", "if False else int("),
    ),
    **_of(
        "data/explore/heading.py",
        "data/explore/test_cases.py",
        a_line_of_units_is_a_record=("if right or (not wrong and", "if True or (not wrong and"),
        a_sum_is_a_record=("or not _TOTAL.fullmatch(first):", "or True:"),
    ),
    **_of(
        "data/reading/far.py",
        "data/reading/test_far.py",
        a_double_range_is_far=("_NEAR = (0.05, 0.95), 5.0", "_NEAR = (0.05, 0.95), 0.5"),
        zero_is_never_a_place=("max(lo, -hi) > (hi - lo) / 2", "max(lo, -hi) > -(hi - lo)"),
        nines_are_numbers=("max(lo - nines, nines - hi) > hi - lo", "False"),
        the_earth_is_cut_at_any_gap=("-west.max()) > HALF / 2", "-west.max()) > 0"),
    ),
    **_of(
        "data/reading/table.py",
        "data/reading/test_far.py",
        a_release_turns_longitudes=("None if released or not turn else", "None if not turn else"),
    ),
    **_of(
        "data/conversion.py",
        "data/explore/test_written.py",
        a_line_break_stays=('_BREAKS = "\\r\\n|[\\r\\n', '_BREAKS = "\\r\\n|[\\r'),
    ),
    **_of(
        "ui/data/own_data.py",
        "ui/test_how_read.py",
        the_next_file_is_read_like_the_last=("forget_how(state)", "state.get"),
    ),
    **_of(
        "ui/data/own_data.py",
        "ui/test_rows.py",
        the_next_file_has_the_choice_of_the_last=(
            '("rows", "columns", "classes", "domain", "several")',
            '("columns", "classes", "domain", "several")',
        ),
    ),
    **_of(
        "privacy/explain.py",
        "privacy/test_mechanisms.py",
        little_is_called_private=("> LITTLE", "> LITTLE + 5"),
        a_person_is_one_record=('if persons else f"on {', 'if False else f"on {'),
    ),
    **_of(
        "ui/data/panel.py",
        "ui/test_true_sentences.py",
        any_file_is_public=('state.get("unprotected") == digest', 'state.get("unprotected")'),
    ),
    **_of(
        "experiments/curve.py",
        "experiments/test_curve.py",
        a_curve_has_other_seeds_than_compare=(
            "self._draw(value, range(already, end), true_runs, work)",
            "self._draw(value, range(already + 1, end + 1), true_runs, work)",
        ),
        a_curve_forgets_what_a_stopped_job_drew=(
            "rows = np.concatenate([self._known[value][1], rows])",
            "pass",
        ),
    ),
    **_of(
        "family/claim.py",
        "ui/test_true_sentences.py",
        a_name_is_a_promise=(
            'return "not private" if variant == "sound" else',
            'return "sound" if variant == "sound" else',
        ),
    ),
    **_of(
        "release/rehearsal.py",
        "release/test_rehearsal.py",
        advice_is_what_looks_best_in_few_draws=(
            "return best if near <= before - max(_NEARER, _SHARE * before) else plan.request",
            "return best",
        ),
        sample_has_the_clusters_of_the_plan=(
            "config = replace(config, **family.suited(facts))",
            "pass",
        ),
    ),
    **_of(
        "release/tables.py",
        "release/test_report.py",
        the_headline_counts_noise=(
            "sure = sum(not one.doubtful for one in facts)",
            "sure = len(facts)",
        ),
        a_newspaper_prints_noise=(
            "sure = [one for one in facts if not one.doubtful]",
            "sure = list(facts)",
        ),
        a_number_without_error=(
            "if facts.count is None or facts.band is None:",
            "if facts.count is None:",
        ),
        noise_decides_the_rank=("one.band[1] >= low for one in facts", "False for one in facts"),
        a_declaration_that_nobody_asked_for=(
            'if privacy.get("one_record_each"):',
            'if privacy["unit"] == "record":',
        ),
    ),
    **_of(
        "release/pictures.py",
        "release/test_report.py",
        the_bar_is_right_at_the_equator=(
            "pixel = (east - west) * scale.metres / frame.width",
            "pixel = (east - west) * 111195 / frame.width",
        ),
        names_lie_below_numbers=("boxes = list(taken)", "boxes: list[Box] = []"),
    ),
    **_of(
        "ui/release/public_file.py",
        "ui/test_release_steps.py",
        the_private_file_stands_in=(
            "return not active.is_sample and public.dataset.digest in digests",
            "return False",
        ),
    ),
    **_of(
        "ui/release/steps.py",
        "ui/test_release_steps.py",
        the_step_jumps_while_it_is_filled_in=("if not asked_step(state):", "if state.given:"),
    ),
    **_of(
        "ui/explorer/explorer.py",
        "ui/test_stored_picture.py",
        own_data_are_stored=("of_link = active.is_sample and", "of_link = True and"),
        own_lines_are_stored=(" or active.ground.own)", ")"),
        a_moved_slider_is_a_first_picture=(" and _BEGUN not in st.session_state", ""),
    ),
    **_of(
        "ui/session/first_picture.py",
        "ui/test_stored_picture.py",
        any_link_has_the_pictures_of_the_package=("found = {} if link else", "found ="),
        the_default_comes_before_its_code=("page not in prepared", "page in prepared"),
        the_package_hides_what_is_stored=(
            "found[mode] = (home()",
            "found[mode] = found.get(mode) or (home()",
        ),
    ),
    **_of(
        "server/web.py",
        "ui/test_stored_picture.py",
        missing_code_is_on_disk=("if not uncompiled(one.code)", "if uncompiled(one.code)"),
    ),
    **_of(
        "ui/explorer/wavecluster.py",
        "ui/test_first_picture.py",
        the_default_is_not_kept=("keep(self.name, [{}], shipped(self.name))", "pass"),
    ),
    **_of(
        "figures/svg.py",
        "figures/test_svg.py",
        cells_are_upside_down=("codes.reshape(z.shape)[::-1]", "codes.reshape(z.shape)"),
        lines_join_over_a_gap=("begins = bool(np.isnan(a))", "begins = False"),
    ),
    **_of(
        "ui/session/uploads.py",
        "ui/test_uploads.py",
        what_is_on_its_way_does_not_count=(
            "held.get(session, 0) + _COMING.get(session, 0)",
            "held.get(session, 0)",
        ),
        another_place_loses_its_file=("before.difference(*kept.values())", "before - kept[place]"),
    ),
    **_of(
        "teaching/game/rooms.py",
        "game/test_rooms.py",
        an_empty_room_stays=(", self._met + EMPTY) - now", ") - now"),
        the_room_before_stays=("self._open.pop(instead.code, None)", "pass"),
    ),
    **_of(
        "ui/compare/controls.py",
        "ui/test_state_follows.py",
        a_figure_is_a_choice=(
            "return without(told, _OF_FIGURE) if self.has_figure else told",
            "return told",
        ),
        an_empty_list_is_a_choice=(
            "            if not told[name]:  # somebody is about to choose\n"
            "                del told[name]",
            "            told[name] = told[name] or [FIRST]",
        ),
    ),
    **_of(
        "ui/session/state.py",
        "ui/test_state_follows.py",
        what_has_no_room_is_lost=("if told and name in told:", "if not told:"),
    ),
    **_of(
        "ui/data/domain_panel.py",
        "ui/test_state_follows.py",
        bounds_belong_to_positions=("bounds_of(dataset.columns) or setting", "setting"),
    ),
    **_of(
        "data/explore/layers.py",
        "data/explore/test_layers.py",
        a_layer_may_name_other_files=("if not any(_VIRTUAL", "if True or any(_VIRTUAL"),
        an_index_leads_elsewhere=('    parts[".shx"] = _index(', "    _index("),
    ),
    **_of(
        "data/explore/objects.py",
        "data/explore/test_objects.py",
        other_shapes_are_places=('if kind not in ("Point", "MultiPoint"):', "if not kind:"),
        rows_of_any_length_are_records=("if size != self._width]", "if False]"),
    ),
    **_of(
        "ui/page.py",
        "browser/test_reconnect.py",
        a_reconnect_is_no_run=("    _ask_after_reconnect()\n", ""),
    ),
    **_of(
        "ui/frontend/live_slider.js",
        "browser/test_reconnect.py",
        a_new_session_resets_the_slider=("this.session !== data.session", "false"),
    ),
    **_of(
        "ui/frontend/frame.js",
        "browser/test_reconnect.py",
        a_hand_is_ignored_after_a_reconnect=("      app.inert = true;\n", ""),
    ),
    **_of(
        "data/conversion.py",
        "commands/test_convert.py",
        long_identifiers_are_rounded=(" and not matches(_LONG, some=True)", ""),
        line_breaks_stay=('pc.replace_substring_regex(found, _BREAKS, " ")', "found"),
    ),
    **_of(
        "data/reading/proposal.py",
        "commands/test_reading.py",
        a_column_that_counts_rows_is_proposed=(
            "return column.size >= _COUNTED and",
            "return False and",
        ),
    ),
    **_of(
        "kmeans/methods/gupt.toml",
        "kmeans/test_stored.py",
        blocks_of_records_are_read_in_passes=("needs_all_records = true\n", ""),
    ),
    **_of(
        "kmeans/methods/mcmc.toml",
        "kmeans/test_methods.py",
        a_chain_is_no_post_processing=("post_processes = true\n", ""),
    ),
    **_of(
        "kmeans/methods/kmeans.py",
        "kmeans/test_few_points.py",
        equal_centres_stay=("if apart.min() > _EQUAL:", "if True:"),
    ),
    **_of(
        "figures/wavecluster/synthetic.py",
        "figures/test_wavecluster.py",
        a_box_has_the_records_of_another_box=(
            "customdata=records[shown].T",
            "customdata=records[shown]",
        ),
        lines_go_on_through_boxes=("> reached[:-1] + _ROUNDING", "> reached[:-1] + 0.1"),
    ),
    **_of(
        "figures/kmeans/iterations.py",
        "figures/test_kmeans.py",
        errors_end_before_post_processing=("in picture.path_of(run)", "in run.path"),
    ),
    **_of(
        "ui/explorer/kmeans.py",
        "ui/test_kmeans.py",
        clusters_have_another_left_picture_than_chosen=(
            "found if found.private.path else replace(found, left=found.truth.run)",
            "found",
        ),
    ),
    **_of(
        "server/door.py",
        "test_door.py",
        a_class_sends_files=('not in ("GET", "HEAD")', "in ()"),
        a_guest_takes_off_the_mark=("dropped = {GUEST.encode(), *", "dropped = {*"),
        a_foreign_page_opens_a_socket=(
            'known = known and given.get(b"origin") in (None, f"http://{self.place}")',
            "known = known and True",
        ),
    ),
    **_of(
        "ui/session/classroom.py",
        "test_door.py",
        a_left_guest_becomes_the_owner=(
            "GUEST in headers or bool(found and found.place and not len(headers))",
            "GUEST in headers",
        ),
    ),
    **_of(
        "teaching/game/rules.py",
        "ui/test_game.py",
        a_wrong_guess_loses_its_picture=("None if self.last.right else self.round.seen", "None"),
    ),
    **_of(
        "wavecluster/coarse.py",
        "wavecluster/test_coarse.py",
        pieces_of_few_records_count=("< least * np.count_nonzero(labels)", "< 0"),
        one_joined_pair_is_enough=("2 * found <= several", "found < several"),
    ),
    **_of(
        "ui/widgets/readouts.py",
        "ui/test_readouts.py",
        a_weak_promise_looks_strong=(
            'beside, kind = "proof holds; promises little", "dpv-little"',
            'beside, kind = "proof holds", "dpv-yes"',
        ),
    ),
    **_of(
        "figures/stages.py",
        "figures/test_stages.py",
        negative_cells_get_lost=("np.where(-least > most, least, most)", "most"),
        small_values_look_like_nothing=("np.ceil(_STEPS", "np.floor(_STEPS"),
    ),
    **_of(
        "figures/wavecluster/cards.py",
        "figures/test_stages.py",
        the_threshold_has_the_noise_of_counts=('"records", "nonpositive", ', '"records", '),
        details_are_at_another_place=(
            "np.block([[mosaic[: len(ad), : ad.shape[1]], ad], [da, dd]])",
            "np.block([[mosaic[: len(ad), : ad.shape[1]], da], [ad, dd]])",
        ),
    ),
    **_of(
        "ui/explorer/kmeans.py",
        "ui/test_strip.py",
        scores_of_a_step_are_those_of_the_result=(
            "known = self.runs.truth, self.shown_run, self._error",
            "known = self.runs.truth, self.runs.private, self._error",
        ),
    ),
    **_of(
        "ui/session/cache.py",
        "ui/test_working_state.py",
        parts_with_lines_of_a_user_are_shared=("or picture.ground.own:", "or False:"),
        parts_of_other_pictures_are_equal=(' if one.name != "again")', ' if one.name == "ground")'),
        parts_belong_to_one_session=(' if one.name != "again")', ")"),
    ),
    **_of(
        "ui/session/job.py",
        "ui/test_turns.py",
        an_unasked_job_begins_in_a_full_class=("and PAGES.mean() > 1 and", "and False and"),
    ),
    **_of(
        "server/loop.py",
        "test_loop.py",
        messages_of_an_ended_run_get_lost=("session._event_loop.call_soon(begin)", "begin()"),
        an_older_run_follows_the_whole_page=('getattr(now, "follows", None) is ended', "True"),
        what_is_held_at_a_close_gets_lost=(
            "self._release()\n        super().close()",
            "super().close()",
        ),
        each_message_is_sent_alone=(
            "if not self._held:",
            "if self._held:\n            self._release()\n        if not self._held:",
        ),
    ),
}
