//go:build !unix

package cli

import "os"

// signalCode is 1: a process ends by no signal here.
func signalCode(*os.ProcessState) int { return 1 }
