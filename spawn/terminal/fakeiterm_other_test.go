//go:build !unix

package terminal_test

func itermPrograms() {}
