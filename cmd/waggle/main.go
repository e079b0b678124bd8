// Command waggle runs teams of coding agents that a person can trust.
package main

import (
	"os"

	"waggle/internal/face/cli"
	"waggle/internal/sandbox/relay"
)

func main() {
	// Inside of a sandbox this program is the relay, and nothing else.
	if len(os.Args) > 1 && os.Args[1] == relay.Subcommand {
		os.Exit(relay.Main(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main())
}
