"""The paper's claims: statements of its text that a measurement can check.

`experiments.paper` explains the names of the methods.
"""

from __future__ import annotations

from experiments.paper import cost_comparisons as cost
from experiments.paper import quality_comparisons as quality
from experiments.paper.results import LARGE, SMALL, Results
from experiments.paper.verdicts import Claim, Verdict, judge

__all__ = ["CLAIMS", "verdicts"]

CLAIMS = (
    Claim(
        "Table 3; 6.1.3",
        "aKKm agrees better with kernel k-means than tKKm does (ARI), at every m.",
        quality.better("ari", SMALL, "tKKm"),
        "On MNIST with m = 5,000 the difference of the paper's means, 0.71 and 0.70, "
        "is not significant.",
    ),
    Claim(
        "6.1.3, images",
        "With 5,000 landmarks aKKm has an ARI of 0.84 with kernel k-means.",
        quality.ari_of_images,
        "The images are not the paper's. Different labels can be equally good: aKKm "
        "and kernel k-means have the same error (Figure 3).",
    ),
    Claim(
        "6.1.3, MNIST",
        "aKKm is as good (NMI) as kernel k-means from m = 500 on.",
        quality.equals_exact("nmi", "mnist", 500),
    ),
    Claim(
        "6.1.3, MNIST",
        "tKKm is as good (NMI) as kernel k-means from m = 5,000 on, but not for "
        "smaller m.",
        quality.two_step_late,
        "The NMI of tKKm approaches that of kernel k-means as m grows, and varies with "
        "the seed. Whether the difference is significant at a given m depends on the "
        "number of seeds.",
    ),
    Claim(
        "6.1.3, images",
        "aKKm is as good (NMI) as kernel k-means.",
        quality.equals_exact("nmi", "imagenet12"),
    ),
    Claim(
        "Figure 3(b)",
        "On MNIST aKKm reduces the error as much as kernel k-means does, from m = 500 "
        "on.",
        quality.equals_exact("reduction", "mnist", 500),
    ),
    Claim(
        "Figure 3(a)",
        "On images aKKm reduces the error as much as kernel k-means does, and tKKm "
        "reduces it less.",
        quality.together(
            quality.equals_exact("reduction", "imagenet12"),
            quality.better("reduction", ["imagenet12"], "tKKm"),
        ),
    ),
    Claim(
        "Figure 4(b)",
        "On MNIST aKKm has a higher NMI than lKKm and nysSC, from m = 500 on.",
        quality.together(
            quality.better("nmi", ["mnist"], "lKKm", 500),
            quality.better("nmi", ["mnist"], "nysSC", 500),
        ),
        "nysSC minimises another objective, and starts from k-means++ here.",
    ),
    Claim(
        "Figure 4(b)",
        "On MNIST kernel k-means, aKKm and nysSC have a higher NMI than k-means.",
        quality.against_k_means("mnist", ("KKm", "aKKm", "nysSC")),
        "The paper does not say for which m, so every m is compared.",
    ),
    Claim(
        "Figure 4(b)",
        "On MNIST tKKm and lKKm do not have a higher NMI than k-means.",
        quality.against_k_means("mnist", ("tKKm", "lKKm"), beat=False),
    ),
    Claim(
        "Figure 4(a)",
        "On images aKKm has a higher NMI than tKKm, lKKm and nysSC.",
        quality.together(
            *(
                quality.better("nmi", ["imagenet12"], x)
                for x in ("tKKm", "lKKm", "nysSC")
            )
        ),
        "Our data have only 12,000 images. With 5,000 landmarks, tKKm computes its "
        "centers from nearly half of them.",
    ),
    Claim(
        "6.1.3, images",
        "aKKm with 100 landmarks has a higher NMI than tKKm with 1,000 landmarks, and "
        "the same NMI as nysSC.",
        quality.good_with_few_landmarks,
        "The paper does not say how many landmarks nysSC has; here it has 100, too.",
    ),
    Claim(
        "6.1.3, images",
        "For equally good clusters, aKKm takes less time than tKKm.",
        cost.faster_with_few_landmarks("imagenet12", "aKKm", "tKKm"),
        "According to the paper, aKKm with 100 landmarks is as good as tKKm with 1,000 "
        "landmarks.",
    ),
    Claim(
        "6.1.3, images",
        "All kernel methods have a higher NMI than k-means.",
        quality.against_k_means("imagenet12", ("KKm", "aKKm", "tKKm", "nysSC", "lKKm")),
        "The paper does not say for which m, so every m is compared. tKKm and lKKm "
        "compute centers from few rows, and use these centers for all rows.",
    ),
    Claim(
        "6.1.3, images",
        "aKKm saves over 90 % of the time for kernel values.",
        cost.kernel_time_saved,
        "The saving is about 1 - m / n, and n is 12,000 here. In the paper's table, "
        "the saving is 88 % for m = 2,000 and 57 % for m = 5,000.",
    ),
    Claim(
        "Abstract; 6.1.3",
        "aKKm takes less time than kernel k-means.",
        cost.faster_than_exact,
        "With 5,000 landmarks, aKKm computes nearly half of the kernel values of all "
        "pairs of our 12,000 images.",
    ),
    Claim(
        "Abstract; 7",
        "aKKm takes less memory than the kernel matrix of all rows would.",
        cost.less_than_the_matrix,
        "The peak memory of the process, data included, is compared with 8 n² bytes. "
        "Images are left out, because their process also holds the kernel matrix for "
        "kernel k-means.",
    ),
    Claim(
        "6.1.3, images",
        "aKKm is faster than k-means on the pyramids, up to m = 1,000.",
        cost.faster("imagenet12", "k-means", 1000),
        "We use the k-means of scikit-learn, on sparse rows.",
    ),
    Claim(
        "6.1.3, MNIST",
        "aKKm is faster than k-means below m = 5,000.",
        cost.faster("mnist", "k-means", 2000),
        "We use the k-means of scikit-learn.",
    ),
    Claim(
        "6.1.3; 6.3.3",
        "On MNIST and Cover Type, clustering takes longer than computing kernel "
        "values. On images it does not.",
        quality.together(
            cost.kernel_and_clustering("mnist", more="clustering"),
            cost.kernel_and_clustering("covtype", more="clustering"),
            cost.kernel_and_clustering("imagenet12", more="kernel"),
        ),
        "Our clustering time includes the time to recompute kernel values.",
    ),
    Claim(
        "6.1.3; 6.3.3",
        "tKKm takes less time than aKKm, at every m.",
        quality.together(
            *(cost.faster(d, "aKKm", ours="tKKm") for d in (*SMALL, *LARGE))
        ),
        "On images both need the same expensive kernel values, and most differences "
        "are within the spread over seeds.",
    ),
    Claim(
        "6.3.3, Cover Type",
        "The time of nysSC grows with the third power of m.",
        cost.spectral_grows,
        "We fit a power m^p to the times from m = 1,000 on. The claim holds if p is at "
        "least 2.5 or the p of the paper's times, whichever is smaller. Our nysSC "
        "needs n m² + m³ operations, and n m² is the larger term if m is below n.",
    ),
    Claim(
        "6.3.3, Cover Type",
        "nysSC is faster than aKKm for small m, and slower for large m.",
        cost.crossing,
    ),
    Claim(
        "6.3.3, Cover Type",
        "aKKm is faster than k-means below m = 500.",
        cost.faster("covtype", "k-means", 200),
        "We use the k-means of scikit-learn.",
    ),
    Claim(
        "Figures 3(c), 3(d)",
        "On Cover Type and KDD aKKm reduces the error more than tKKm does, at every m.",
        quality.better("reduction", LARGE, "tKKm"),
        "aKKm starts from random labels of millions of rows, so its initial centers "
        "nearly coincide. tKKm starts from random labels of a few landmarks, so its "
        "centers differ more. With a start from k-means++, aKKm reduces the error more "
        "than with a random start (see Choices).",
    ),
    Claim(
        "Figure 4(c)",
        "On Cover Type aKKm has a higher NMI than tKKm and k-means.",
        quality.together(
            quality.better("nmi", ["covtype"], "tKKm"),
            quality.better("nmi", ["covtype"], "k-means"),
        ),
        "A lower error does not mean a higher NMI on these data: with a start from "
        "k-means++, error and NMI are both lower (see Choices).",
    ),
    Claim(
        "Figure 4(c)",
        "On Cover Type nysSC reaches the NMI of aKKm only from m = 5,000 on.",
        quality.spectral_catches_up,
        "nysSC minimises another objective, which suits these classes better.",
    ),
    Claim(
        "Table 2(d)",
        "On KDD aKKm is faster than nysSC, at every m.",
        cost.faster("kddcup99-full", "nysSC"),
        "Compared with the paper's times, our nysSC has gained far more speed than our "
        "aKKm.",
    ),
    Claim(
        "Figure 4(d)",
        "On KDD aKKm has a higher NMI than tKKm and nysSC.",
        quality.together(
            quality.better("nmi", ["kddcup99-full"], "tKKm"),
            quality.better("nmi", ["kddcup99-full"], "nysSC"),
        ),
        "A lower error does not mean a higher NMI on these data: with a start from "
        "k-means++, error and NMI are both lower on the 10 % file (see Choices).",
    ),
    Claim(
        "6.3",
        "aKKm clusters the large data sets in less than 40 GB of memory.",
        cost.little_memory,
        "The figures are the peak memory of the process, data included.",
    ),
    Claim(
        "6.3.2",
        "lKKm takes more than 24 hours on the large data sets.",
        cost.leaders_too_slow,
        "We find leaders in batches, with a threshold that gives about 1,000 leaders. "
        "The search for this threshold is not timed. The paper does not state its "
        "threshold.",
    ),
    Claim(
        "Table 4", "Uniform sampling takes the least time.", cost.uniform_is_cheapest
    ),
    Claim(
        "Table 4",
        "Column-norm and k-means sampling take much longer than uniform and diagonal "
        "sampling.",
        cost.costly_samplings,
        "Much longer means more than ten times as long as diagonal sampling. Our "
        "k-means sampling clusters 10 m candidate rows, in the kernel's leading "
        "coordinates.",
    ),
    Claim(
        "Figures 5(a), 5(b)",
        "On images column-norm sampling is worse than uniform sampling.",
        quality.samplings("imagenet12", ["column-norm"], uniform="above"),
        "We draw rows with probabilities proportional to the squared column norms. The "
        "paper writes that the rows with the largest norms are taken.",
    ),
    Claim(
        "Figures 5(a), 5(b)",
        "On images diagonal and k-means sampling are as good as uniform sampling.",
        quality.samplings("imagenet12", ["diagonal", "k-means"], uniform="alike"),
        "k(x, x) is one for every image, so diagonal sampling is uniform sampling.",
    ),
    Claim(
        "Figures 5(c), 5(d)",
        "On MNIST all sampling strategies are equally good from m = 2,000 on.",
        quality.samplings("mnist", quality.OTHERS, 2000, uniform="alike"),
    ),
    Claim(
        "6.2",
        "Uniform sampling is as good as all other strategies: on images for every m, "
        "and on MNIST from m = 2,000 on.",
        quality.together(
            quality.samplings("imagenet12", quality.OTHERS, uniform="no worse"),
            quality.samplings("mnist", quality.OTHERS, 2000, uniform="no worse"),
        ),
    ),
    Claim(
        "Table 5",
        "Combining ten partitions takes a small part of an ensemble's time.",
        cost.consensus_is_quick,
        "A small part means less than a tenth.",
    ),
    Claim(
        "Figure 6",
        "Ensembles have a higher NMI than single runs.",
        quality.ensembles_gain,
        "On MNIST and images single runs are nearly as good as kernel k-means here, so "
        "there is little to gain.",
    ),
    Claim(
        "Figure 6",
        "Ensembles gain most when m is small.",
        quality.gain_most_when_few,
        "There is no notable gain at any m.",
    ),
    Claim(
        "6.4, MNIST",
        "The NMI of an ensemble with m = 100 is about 15 % above that of single runs "
        "with m = 100, and equals that of single runs with m = 1,000.",
        quality.mnist_ensemble,
        "We count a gain of more than 10 % as about 15 %. Here, single runs with m = "
        "100 are already nearly as good as kernel k-means.",
    ),
    Claim(
        "6.4; 7",
        "Ensembles are efficient: ten runs with m = 100 take less time than one run "
        "with m = 1,000.",
        cost.faster_with_few_landmarks("mnist", "ensemble", "aKKm"),
        'The paper says "efficient"; this comparison is ours. According to its Table '
        "2(b), ten runs with m = 100 take ten times 25 s, and one run with m = 1,000 "
        "takes only 83 s.",
    ),
)


def verdicts(results: Results) -> list[Verdict]:
    """Judge all claims from stored results."""
    return [judge(claim, results) for claim in CLAIMS]
