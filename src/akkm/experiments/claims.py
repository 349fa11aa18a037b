"""The paper's claims: what its text says that a measurement can check."""

from __future__ import annotations

from akkm.experiments import _checks as c
from akkm.experiments import _cost_checks as cost
from akkm.experiments._results import LARGE, SMALL, Results
from akkm.experiments._verdicts import Claim, Verdict, judge

__all__ = ["CLAIMS", "verdicts"]

CLAIMS = (
    Claim(
        "Table 3; 6.1.3",
        "aKKm agrees better with kernel k-means than tKKm does (ARI), at every m.",
        c.ari_above,
    ),
    Claim(
        "6.1.3, MNIST",
        "aKKm is as good as kernel k-means from m = 500 on.",
        c.mnist_equals_exact,
    ),
    Claim(
        "6.1.3, MNIST",
        "tKKm is as good as kernel k-means from m = 5,000 on, and not before.",
        c.two_step_late,
    ),
    Claim(
        "Figure 3(b)",
        "On MNIST aKKm reduces the error as much as kernel k-means, from m = 500 on.",
        c.reduction_equals_exact("mnist", 500),
    ),
    Claim(
        "Figure 3(a)",
        "On images aKKm reduces the error as much as kernel k-means does; tKKm less.",
        c.together(
            c.reduction_equals_exact("imagenet12", 0),
            c.better("reduction", ["imagenet12"], "tKKm"),
        ),
    ),
    Claim(
        "Figure 4(b)",
        "On MNIST aKKm has a higher NMI than lKKm and nysSC, from m = 500 on.",
        c.together(
            c.better("nmi", ["mnist"], "lKKm", 500),
            c.better("nmi", ["mnist"], "nysSC", 500),
        ),
        "nysSC minimises another objective, and its start here is k-means++.",
    ),
    Claim(
        "Figure 4(b)",
        "On MNIST kernel k-means, aKKm and nysSC have a higher NMI than k-means.",
        c.kernels_beat_k_means("mnist", ("KKm", "aKKm", "nysSC")),
    ),
    Claim(
        "Figure 4(a)",
        "On images aKKm has a higher NMI than tKKm, lKKm and nysSC.",
        c.together(
            *(c.better("nmi", ["imagenet12"], x) for x in ("tKKm", "lKKm", "nysSC"))
        ),
    ),
    Claim(
        "6.1.3, images",
        "With 100 landmarks aKKm beats tKKm with 1,000, and equals nysSC.",
        c.few_against_many,
    ),
    Claim(
        "6.1.3, images",
        "All kernel methods have a higher NMI than k-means.",
        c.kernels_beat_k_means("imagenet12", ("KKm", "aKKm", "tKKm", "nysSC", "lKKm")),
    ),
    Claim(
        "6.1.3, images",
        "Over 90 % of the time for kernel values is saved.",
        cost.kernel_time_saved,
        "What is saved is about 1 - m / n; here n is 12,000 and 70,000.",
    ),
    Claim(
        "6.1.3, images",
        "aKKm is faster than k-means on the pyramids, up to m = 1,000.",
        cost.faster_than_k_means("imagenet12", 1000),
        "k-means is scikit-learn's, on sparse rows.",
    ),
    Claim(
        "6.1.3, MNIST",
        "aKKm is faster than k-means below m = 5,000.",
        cost.faster_than_k_means("mnist", 2000),
        "k-means is scikit-learn's.",
    ),
    Claim(
        "6.1.3, MNIST",
        "Clustering takes longer than computing kernel values.",
        cost.clustering_outweighs_kernel,
        "Clustering here includes kernel values that are computed more than once.",
    ),
    Claim("Table 2", "tKKm is the fastest, everywhere.", cost.two_step_fastest),
    Claim(
        "6.3.3, Cover Type",
        "The time of nysSC grows with the third power of m.",
        cost.spectral_grows,
        "Judged by the slope of log time from m = 1,000 on: at least 2.5. Ours needs "
        "n m² operations and m³, of which the first are more as long as m is below n.",
    ),
    Claim(
        "6.3.3, Cover Type",
        "nysSC is faster than aKKm for small m, and slower for large m.",
        cost.crossing,
    ),
    Claim(
        "6.3.3, Cover Type",
        "aKKm is faster than k-means below m = 500.",
        cost.faster_than_k_means("covtype", 200),
        "k-means is scikit-learn's.",
    ),
    Claim(
        "Figures 3(c), 3(d)",
        "On Cover Type and KDD aKKm reduces the error more than tKKm, at every m.",
        c.better("reduction", LARGE, "tKKm"),
    ),
    Claim(
        "Figure 4(c)",
        "On Cover Type aKKm has a higher NMI than tKKm and k-means.",
        c.together(
            c.better("nmi", ["covtype"], "tKKm"),
            c.better("nmi", ["covtype"], "k-means"),
        ),
    ),
    Claim(
        "Figure 4(c)",
        "On Cover Type nysSC has aKKm's NMI only from m = 5,000 on.",
        c.spectral_catches_up,
    ),
    Claim(
        "Table 2(d)",
        "On KDD aKKm is faster than nysSC, at every m.",
        cost.faster_than_spectral,
    ),
    Claim(
        "Figure 4(d)",
        "On KDD aKKm has a higher NMI than tKKm and nysSC.",
        c.together(
            c.better("nmi", ["kddcup99-full"], "tKKm"),
            c.better("nmi", ["kddcup99-full"], "nysSC"),
        ),
    ),
    Claim(
        "6.3.2",
        "aKKm clusters the large sets in less than 40 GB.",
        cost.little_memory,
        "Peak memory of the process, data included.",
    ),
    Claim(
        "6.3.2",
        "lKKm takes more than 24 hours on the large sets.",
        cost.leaders_too_slow,
        "Our leaders are found in batches, with a threshold that gives 1,000 of them "
        "and was looked for before; the paper does not name its own.",
    ),
    Claim(
        "Table 4",
        "Uniform sampling takes the least time.",
        cost.uniform_is_cheapest,
    ),
    Claim(
        "Table 4",
        "Column norms and k-means take much longer than uniform and diagonal sampling.",
        cost.costly_samplings,
        "Much longer: ten times. k-means is done on 10 m candidates here, in the "
        "kernel's leading coordinates.",
    ),
    Claim(
        "Figures 5(a), 5(b)",
        "On images column-norm sampling is worse than uniform sampling.",
        c.samplings("imagenet12", ["column-norm"], 0, worse=True),
    ),
    Claim(
        "Figures 5(a), 5(b)",
        "On images diagonal and k-means sampling are like uniform sampling.",
        c.samplings("imagenet12", ["diagonal", "k-means"], 0),
        "k(x, x) is one for every image, so that diagonal sampling is uniform.",
    ),
    Claim(
        "Figures 5(c), 5(d)",
        "On MNIST all ways to sample are alike from m = 2,000 on.",
        c.samplings("mnist", ["diagonal", "column-norm", "k-means"], 2000),
    ),
    Claim(
        "6.2",
        "Uniform sampling is as good as any other, once m is large (1,000).",
        c.uniform_is_enough,
    ),
    Claim(
        "Table 5",
        "Combining ten partitions takes little of an ensemble's time.",
        cost.consensus_is_quick,
        "Little: below a tenth.",
    ),
    Claim(
        "Figure 6",
        "Ensembles have a higher NMI than single runs.",
        c.ensembles_gain((*SMALL, *LARGE)),
    ),
    Claim("Figure 6", "They gain most when m is small.", c.gain_most_when_few),
    Claim(
        "6.4, MNIST",
        "With m = 100 an ensemble gains about 15 % in NMI (here: more than 10 %), and "
        "equals single runs with 1,000.",
        c.mnist_ensemble,
    ),
)


def verdicts(results: Results) -> list[Verdict]:
    """All claims, judged by stored results."""
    return [judge(claim, results) for claim in CLAIMS]
