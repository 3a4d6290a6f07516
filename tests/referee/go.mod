module holdfast/tests/referee

go 1.19
