module holdfast/tests/referee/recorders/go

go 1.19

require holdfast/clients/go v0.2.0

replace holdfast/clients/go => ../../../../clients/go
