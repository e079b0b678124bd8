package worker

import (
	"golang.org/x/net/idna"

	"waggle/policy"
)

// readHost is policy.ReadHost with international names.
func readHost(asked string) (host, port string, err error) {
	return policy.ReadHost(asked, idna.Lookup.ToASCII)
}
