module holdfast/clients/go

go 1.19
