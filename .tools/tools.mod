module waybill/tools

go 1.26.0

tool (
	github.com/golang/mock/mockgen
	github.com/google/wire/cmd/wire
)

require (
	github.com/golang/mock v1.6.0 // indirect
	github.com/google/subcommands v1.2.0 // indirect
	github.com/google/wire v0.7.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/mod v0.20.0 // indirect
	golang.org/x/sync v0.8.0 // indirect
	golang.org/x/tools v0.24.1 // indirect
)
