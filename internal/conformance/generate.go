package conformance

//go:generate go run ./write ../../docs/conformance.md
