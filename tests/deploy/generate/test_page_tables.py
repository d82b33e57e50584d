from onward.deploy.generate.page_tables import pages


def test_the_tables_of_the_pages_are_current() -> None:
    """Each parameter of each method is described in its docstring, else there is no table."""
    for page, text in pages().items():
        assert page.read_text(encoding="utf-8") == text, "run: make generate"
