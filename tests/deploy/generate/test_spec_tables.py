from onward.deploy.generate.spec_tables import PAGE, with_current_tables


def test_the_table_of_the_page_of_specs_is_current() -> None:
    """Each parameter of each method is described in its docstring, else there is no table."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_current_tables(page) == page, "run: make generate"
