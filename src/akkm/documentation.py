"""Links from the HTML representation of estimators to the documentation."""

__all__ = ["DOCUMENTATION", "DocumentationLink"]

DOCUMENTATION = "https://docs.akkm.example"


class DocumentationLink:
    """Tells scikit-learn the address of a class's page in the API reference."""

    _doc_link_module = "akkm"
    _doc_link_template = DOCUMENTATION + "/api/generated/{page}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        kind = type(self)
        module = ".".join(kind.__module__.split(".")[:2])
        # Estimators are public as akkm.NAME, other classes as akkm.PACKAGE.NAME.
        return {"page": f"{module.replace('.estimators', '')}.{kind.__name__}"}
