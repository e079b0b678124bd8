// Command waggle runs teams of coding agents that a person can trust.
package main

import (
	"os"

	"waggle/internal/cli"
)

func main() { os.Exit(cli.Main()) }
