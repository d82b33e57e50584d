from onward.deploy.generate.operations_tables import PAGE, with_current_tables


def test_the_tables_of_the_operations_page_are_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_current_tables(page) == page, "run: make generate"
