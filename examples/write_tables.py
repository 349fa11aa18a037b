"""Write two tables that ship with scikit-learn as CSV, for `make demo`."""

from sklearn.datasets import load_digits, load_wine

wine = load_wine(as_frame=True)
table = wine.data.assign(cultivar=wine.target_names[wine.target])
table.to_csv("akkm-demo-wines.csv", index=False)
digits = load_digits(as_frame=True)
digits.data.assign(digit=digits.target).to_csv("akkm-demo-digits.csv", index=False)
print("178 wines of three cultivars, and 1,797 images of digits")
