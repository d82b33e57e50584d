from onward.deploy.generate.operations_tables import PAGE, renew


def test_the_tables_of_the_operations_page_are_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert renew(page) == page, "run: make generate"
